"""An original corpus with planted evidence, an index of it, and the problems it was planted for."""

import shutil
from pathlib import Path

import pytest

from winokit.methods.hunting.building import build_index
from winokit.methods.hunting.search import SentenceIndex
from winokit.problem import Dataset, Problem

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    shutil.copy(HERE / "corpus.txt", path)
    return path


@pytest.fixture(scope="session")
def index_path(corpus_file, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("index") / "corpus.db"
    build_index([corpus_file], path)
    return path


@pytest.fixture(scope="session")
def index(index_path):
    with SentenceIndex(index_path) as opened:
        yield opened


def twins(before, after, candidates, pronoun, group):
    """Two problems that differ in what follows the blank; the first has the first candidate as its answer."""
    return [Problem(before, ending, candidates, answer, pronoun, group=group) for answer, ending in enumerate(after)]


@pytest.fixture(scope="session")
def planted() -> Dataset:
    """Twins with evidence in the corpus for each of them."""
    things = ("the jug", "the cup")
    people = ("Nora", "Ines")
    poured = "I poured water from the jug into the cup until "
    return Dataset(
        [
            *twins("Nora could not carry Ines because ", (" was tired.", " was heavy."), people, "she", "carry"),
            *twins("Nora thanked Ines because ", (" had been helped.", " had helped."), people, "she", "thank"),
            *twins(poured, (" was empty.", " was full."), things, "it", "pour"),
            Problem("Rex bit Max, so we scolded ", ".", ("Rex", "Max"), 0, "him", group="bite"),
            Problem("Rex bit Max, so we comforted ", ".", ("Rex", "Max"), 1, "him", group="bite"),
        ]
    )


@pytest.fixture(scope="session")
def unplanted() -> Dataset:
    """Twins with nothing in the corpus to go by: no evidence, a reading that fails, evidence that says otherwise."""
    return Dataset(
        [
            *twins("Nora sold Ines a car because ", (" was leaving.", " was arriving."), ("Nora", "Ines"), "she", "a"),
            *twins("Nora left when Ines came, so ", (" was alone.", " was missed."), ("Nora", "Ines"), "she", "b"),
        ]
    )
