"""A model small enough to train in a test, for every verb that trains."""

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
    from support import tiny

    return f"hf:{tiny.tiny('bert', tmp_path_factory.mktemp('bert'), initializer_range=0.1)}"
