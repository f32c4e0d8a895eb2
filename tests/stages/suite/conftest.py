import numpy as np
import pytest

from winokit.data.loading import load
from winokit.models.base import Choose, Scores

QUICK = ("accuracy", "groups")
"""Protocols that look at the problems as they are."""


class Skilled:
    """A model that knows some of the answers, and guesses the others: as many as its skill says."""

    kind = "any"
    can = frozenset({Choose})

    def __init__(self, name, skill, data, seed=0):
        self.spec = name
        self.skill = skill
        self.fingerprint = f"{name} {skill} {seed}"
        self.answers = {(p.before, p.after): p.answer for p in data}
        self.seed = seed
        self.asked = 0
        self.closed = 0

    def answer(self, requests):
        for index, request in enumerate(requests):
            self.asked += 1
            text = request.before + request.after
            rng = np.random.default_rng([self.seed, *map(ord, text)])
            knows_answer = rng.random() < self.skill
            choice = self.answers[request.before, request.after]
            if not knows_answer:
                choice = int(rng.integers(2))
            yield index, Scores((float(choice == 0), float(choice == 1)))

    def close(self):
        self.closed += 1


@pytest.fixture(scope="session")
def open_data():
    return load("open")


@pytest.fixture
def skilled(open_data):
    """Makes a model of some skill that has answers to the bundled problems unless others are given."""

    def make(name, skill, seed=0, data=open_data):
        return Skilled(name, skill, data, seed)

    return make
