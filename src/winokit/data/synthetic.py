"""Many twins with a planted, known artifact.

For tests of debiasing and for showing what it does.

The twins are made of parts and read so; they are not a benchmark. What they have that real data lacks is the truth: a
share `bias` of the pairs gives its answers away through one word each, and `labels["planted"]` says which.
"""

import numpy as np

from winokit.files import our_toml
from winokit.problem import Card, Dataset, Problem

_PARTS = our_toml("assets/synthetic.toml")
PEOPLE: list[str] = _PARTS["people"].split()
THINGS: list[str] = _PARTS["things"].split()
NEUTRAL: list[str] = _PARTS["neutral"].split()
PLANTED: list[str] = _PARTS["planted"].split()
SCENES: list[tuple[str, str, tuple[str, str]]] = _PARTS["scenes"]


def synthetic(n: int, *, bias: float = 0.4, seed: int = 0) -> Dataset:
    """Make `n` pairs of twins with a planted artifact.

    In a share `bias` of the pairs, a word at the end gives the answer away.

    >>> data = synthetic(100, bias=0.4, seed=1)
    >>> len(data), sum(problem.labels["planted"] for problem in data)
    (200, 80)

    Returns
    -------
    Dataset
        `2 * n` problems; the label `planted` says which carry the artifact.

    Raises
    ------
    ValueError
        `n` is negative, or `bias` lies outside 0 to 1.
    """
    if n < 0 or not 0 <= bias <= 1:
        raise ValueError(f"n must be 0 or more, and bias between 0 and 1; found {n} and {bias}")
    rng = np.random.default_rng(seed)
    planted_count = round(bias * n)
    is_planted = np.zeros(n, dtype=bool)
    is_planted[rng.permutation(n)[:planted_count]] = True
    problems: list[Problem] = []
    for pair in range(n):
        clause, connective, predicates = SCENES[rng.integers(len(SCENES))]
        # Two different people of one gender: women and men alternate in the list.
        people_numbers = rng.permutation(10)[:2] * 2 + rng.integers(2)
        first, second = (PEOPLE[number] for number in people_numbers)
        thing = THINGS[rng.integers(len(THINGS))]
        start = f"{clause.format(a=first, b=second, thing=thing)} {connective} "
        plain = NEUTRAL[rng.integers(len(NEUTRAL))]
        candidates = (first, second) if rng.random() < 0.5 else (second, first)
        for role in rng.permutation(2):
            answer = candidates.index((first, second)[role])
            predicate = predicates[role]
            word = PLANTED[answer] if is_planted[pair] else plain
            end = f" {predicate}, {word}."
            labels = {"special_word": predicate, "planted": bool(is_planted[pair])}
            group = f"synthetic-{pair:06d}"
            problems.append(Problem(start, end, candidates, answer, group=group, domain="social", labels=labels))
    title = f"{n} made-up twins, {100 * bias:.0f} % planted"
    card = Card(f"synthetic-{n}", title, "CC0-1.0", "generated", "1")
    return Dataset(problems, card)
