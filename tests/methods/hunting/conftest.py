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
    with SentenceIndex(index_path) as sentence_index:
        yield sentence_index


def twins(before, ends, candidates, pronoun, group):
    """Two problems that differ in what follows the blank.

    The first has the first candidate as its answer, the second the second.
    """
    return [Problem(before, end, candidates, answer, pronoun, group=group) for answer, end in enumerate(ends)]


@pytest.fixture(scope="session")
def planted() -> Dataset:
    """Twins with evidence in the corpus for each of them."""
    vessels = ("the jug", "the cup")
    people = ("Nora", "Ines")
    dogs = ("Rex", "Max")
    poured = "I poured water from the jug into the cup until "
    problems = twins("Nora could not carry Ines because ", (" was tired.", " was heavy."), people, "she", "carry")
    problems += twins("Nora thanked Ines because ", (" had been helped.", " had helped."), people, "she", "thank")
    problems += twins(poured, (" was empty.", " was full."), vessels, "it", "pour")
    problems.append(Problem("Rex bit Max, so we scolded ", ".", dogs, 0, "him", group="bite"))
    problems.append(Problem("Rex bit Max, so we comforted ", ".", dogs, 1, "him", group="bite"))
    return Dataset(problems)


@pytest.fixture(scope="session")
def unplanted() -> Dataset:
    """Twins with nothing in the corpus to go by: no evidence, a reading that fails, evidence that says otherwise."""
    people = ("Nora", "Ines")
    problems = twins("Nora sold Ines a car because ", (" was leaving.", " was arriving."), people, "she", "a")
    problems += twins("Nora left when Ines came, so ", (" was alone.", " was missed."), people, "she", "b")
    return Dataset(problems)
