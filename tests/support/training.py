import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import numpy as np

from winokit.problem import Card, Dataset, Problem


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Models this small lose more to a second thread than they gain."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny():
    from support import tiny

    return tiny


@pytest.fixture(scope="session")
def bert(tiny, tmp_path_factory) -> str:
    """SPEC of a tiny BERT with weights small enough for learning."""
    return f"hf:{tiny.tiny('bert', tmp_path_factory.mktemp('bert'), initializer_range=0.1)}"


def easy(n: int, seed: int, name: str) -> Dataset:
    """Problems that a tiny model learns at once: Jim and Bill are always right, Kevin and the book never.

    Each has words of its own at both ends, so that no two texts are nearly the same.
    """
    rng = np.random.default_rng(seed)
    verbs = ("lent", "asked", "sold", "hid", "thanked")
    ends = ("was upset", "had left", "knew it", "was glad")
    problems = []
    for number in range(n):
        right = ("Jim", "Bill")[rng.integers(2)]
        wrong = ("Kevin", "the book")[rng.integers(2)]
        pair = (right, wrong) if number % 2 else (wrong, right)
        word = f"{name}{number}"
        start = f"{word}a {word}b {word}c"
        end = f"{word}d {word}e {word}f"
        before = f"{start} {pair[0]} {verbs[rng.integers(5)]} {pair[1]} because "
        after = f" {ends[rng.integers(4)]} {end}."
        problems.append(Problem(before, after, pair, pair.index(right), "he", group=f"{name}{number // 2}"))
    return Dataset(problems, Card(name))


@pytest.fixture(scope="session")
def planted() -> Dataset:
    return easy(64, 1, "planted")


@pytest.fixture(scope="session")
def unseen() -> Dataset:
    return easy(40, 9, "unseen")
