"""Twins made from templates, as Winogender's: a text stands in three groups, and all of a template are one unit."""

from itertools import product

import numpy as np

from winokit.problem import Card, Dataset, Problem


def template_twins(templates: int = 60) -> Dataset:
    """Twelve sentences from each template: two people, named or not, three pronouns, and an answer each."""
    problems = []
    for number in range(templates):
        for other, pronoun, answer in product((f"client{number}", "someone"), ("he", "she", "they"), (0, 1)):
            end = (f" mended{number}.", f" paid{number}.")[answer]
            names = (f"worker{number}", other)
            group = f"{number} {other} {pronoun}"
            before = f"{names[0]} told {other} that "
            problems.append(Problem(before, end, names, answer, pronoun, group=group, labels={"template": number}))
    return Dataset(problems, Card("templates"))


def text_noise(data: Dataset, seed: int, width: int = 20) -> np.ndarray:
    """Features drawn once for each text, whatever its pronoun: who knows a text knows its answer, and nothing else."""
    _, text = np.unique([problem.text for problem in data], return_inverse=True)
    return np.random.default_rng(seed).standard_normal((text.max() + 1, width))[text].astype(np.float32)
