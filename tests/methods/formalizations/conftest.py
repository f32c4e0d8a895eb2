import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="session")
def tiny():
    from support import tiny

    return tiny


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Run on one thread: models this small lose more to a second thread than they gain."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def bert(tiny, tmp_path_factory) -> str:
    """The SPEC of a tiny BERT."""
    folder = tiny.tiny("bert", tmp_path_factory.mktemp("bert"))
    return f"hf:{folder}"
