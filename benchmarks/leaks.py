"""Measure how often the leak checks find a leak by chance, and how often they find one that was planted.

python benchmarks/leaks.py [draws | --quick]
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from winokit.data.checks.leaks import find_leaks
from winokit.data.synthetic import synthetic
from winokit.problem import Dataset, Problem

SHAPES = ("singles", "pairs", "triplicates", "repeats", "mixed")
PLANTED = ("source id", "answer position", "mention order", "candidate")
STRENGTH = 0.4


def drawn(shape: str, units: int, rng: np.random.Generator) -> Iterator[list[Problem]]:
    """Units of problems with answers by chance: a coin for each unit.

    `pairs` are twins with opposite answers, `triplicates` groups of three texts with one answer, `repeats` one text
    three times without a group (as Winogender's genders), `mixed` any of these.
    """
    problems = synthetic(units, bias=0, seed=int(rng.integers(1 << 31))).problems
    for number in range(units):
        kind = SHAPES[rng.integers(len(SHAPES) - 1)] if shape == "mixed" else shape
        problem, twin = problems[2 * number : 2 * number + 2]
        answer = int(rng.integers(2))
        if kind == "singles":
            yield [problem.replace(answer=answer, group=None)]
        elif kind == "pairs":
            yield [problem.replace(answer=answer), twin.replace(answer=1 - answer)]
        elif kind == "triplicates":
            yield [problem.replace(answer=answer, after=f" {n}{problem.after}") for n in ("once", "twice", "always")]
        else:
            yield [problem.replace(answer=answer, group=None, pronoun=pronoun) for pronoun in ("he", "she", "they")]


def drawn_dataset(shape: str, units: int, rng: np.random.Generator) -> Dataset:
    """Draw a dataset without a leak: units of a shape, with random ids."""
    return Dataset(with_ids(list(chain.from_iterable(drawn(shape, units, rng))), rng))


def with_ids(problems: list[Problem], rng: np.random.Generator) -> list[Problem]:
    """Give problems ids as sources have them: random hexadecimal digits."""
    return [p.replace(provenance={"id": f"{int(rng.integers(1 << 60)):015x}"}) for p in problems]


def alarms(datasets: Iterable[Dataset], name: str | None = None) -> float:
    """Share of datasets in which a leak is found, the leak of a name if it is given."""
    flags = [has_leak(data, name) for data in datasets]
    return sum(flags) / len(flags)


def has_leak(data: Dataset, name: str | None) -> bool:
    """Whether the checks find a leak of this name, or any leak if it is None."""
    return any(leak.found and name in (None, leak.name) for leak in find_leaks(data))


def leak_false_alarms(shape: str, draws: int = 200, *, units: int = 100, seed: int = 0) -> float:
    """Share of leakless datasets of a shape in which any leak is said to be found."""
    rng = np.random.default_rng(seed)
    return alarms(drawn_dataset(shape, units, rng) for _ in range(draws))


def leak_power(shape: str, leak: str, draws: int = 50, *, units: int = 200, seed: int = 0) -> float:
    """Share of datasets in which a leak is found that 40 % of the units have.

    Other units have answers by chance. The leak of a candidate is a name that is right wherever it stands, in one unit
    of ten.
    """
    rng = np.random.default_rng(seed)
    return alarms((_draw_leaky(shape, leak, units, rng) for _ in range(draws)), leak)


def _draw_leaky(shape: str, leak: str, units: int, rng: np.random.Generator) -> Dataset:
    """Draw a dataset whose answers a leak gives away in some units."""
    problems: list[Problem] = []
    for unit in drawn(shape, units, rng):
        answer = _choose_answer(unit[0], leak, rng)
        if answer != unit[0].answer:
            unit = [problem.replace(answer=1 - problem.answer) for problem in unit]
        unit = with_ids(unit, rng)
        if leak == "source id" and rng.random() < STRENGTH:
            unit = [p.replace(provenance={"id": f"{p.provenance['id']}{p.answer}"}) for p in unit]
        problems += unit
    return Dataset(problems)


def _choose_answer(problem: Problem, leak: str, rng: np.random.Generator) -> int | None:
    """Choose the answer that a leak gives a unit's first problem, often the one it has."""
    names = problem.candidates
    if leak == "candidate":
        return names.index("Anna") if "Anna" in names else problem.answer
    if rng.random() < STRENGTH and leak != "source id":
        return 0 if leak == "answer position" else names.index(min(names, key=problem.before.find))
    return problem.answer


def main() -> None:
    """Print false alarms by shape and size, and the leaks found by kind."""
    draws = 40
    if "--quick" in sys.argv:
        draws = 2
    elif len(sys.argv) > 1:
        draws = int(sys.argv[1])
    print(f"false alarms of {draws} draws, wanted at most 1 %:")
    for shape in SHAPES:
        shares = {units: leak_false_alarms(shape, draws, units=units) for units in (30, 100, 400)}
        sizes = "  ".join(f"{units} units {share:6.1%}" for units, share in shares.items())
        print(f"  {shape:12} {sizes}")
    print("leaks found that were planted in 40 % of 200 units (candidate: a name that is always right):")
    for shape in ("singles", "triplicates"):
        powers = {leak: leak_power(shape, leak, max(draws // 4, 5)) for leak in PLANTED}
        cells = "  ".join(f"{leak} {power:4.0%}" for leak, power in powers.items())
        print(f"  {shape:12} {cells}")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
