"""A model small enough to train in a test, for every verb that trains."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def one_thread():
    """Models this small lose more to a second thread than they gain."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def bert(tmp_path_factory, one_thread) -> str:
    path = Path(__file__).parents[1] / "formalizations" / "tiny.py"
    spec = importlib.util.spec_from_file_location("tiny", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return f"hf:{module.tiny('bert', tmp_path_factory.mktemp('bert'), initializer_range=0.1)}"
