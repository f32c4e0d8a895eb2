"""Models of a known skill, and protocols that run quickly."""

import numpy as np
import pytest

from winokit.data.loading import load
from winokit.models.base import Choose, Scores

QUICK = ("accuracy", "groups")
"""Protocols that look at the problems as they are."""


class Skilled:
    """A model that knows a share of the answers, which is its skill, and guesses the others."""

    kind = "any"
    can = frozenset({Choose})

    def __init__(self, name, skill, data, seed=0):
        self.spec = name
        self.skill = skill
        self.fingerprint = f"{name} {skill} {seed}"
        self.answers = {(problem.before, problem.after): problem.answer for problem in data}
        self.seed = seed
        self.request_count = 0
        self.close_count = 0

    def answer(self, requests):
        for index, request in enumerate(requests):
            self.request_count += 1
            text = request.before + request.after
            rng = np.random.default_rng([self.seed, *map(ord, text)])
            knows_answer = rng.random() < self.skill
            choice = self.answers[request.before, request.after]
            if not knows_answer:
                choice = int(rng.integers(2))
            yield index, Scores((float(choice == 0), float(choice == 1)))

    def close(self):
        self.close_count += 1


@pytest.fixture(scope="session")
def open_data():
    return load("open")


@pytest.fixture
def skilled(open_data):
    """Function that makes a model of some skill, which has answers to the bundled problems by default."""

    def make(name, skill, seed=0, data=open_data):
        return Skilled(name, skill, data, seed)

    return make
