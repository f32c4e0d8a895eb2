"""How often the leak checks cry wolf on answers drawn by chance, and how often they find a leak that was planted.

python benchmarks/leaks.py [draws | --quick]
"""

import sys
from collections.abc import Iterator

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
    made = synthetic(units, bias=0, seed=int(rng.integers(1 << 31))).problems
    for number in range(units):
        kind = SHAPES[rng.integers(len(SHAPES) - 1)] if shape == "mixed" else shape
        problem, twin = made[2 * number : 2 * number + 2]
        answer = int(rng.integers(2))
        if kind == "singles":
            yield [problem.replace(answer=answer, group=None)]
        elif kind == "pairs":
            yield [problem.replace(answer=answer), twin.replace(answer=1 - answer)]
        elif kind == "triplicates":
            yield [problem.replace(answer=answer, after=f" {n}{problem.after}") for n in ("once", "twice", "always")]
        else:
            yield [problem.replace(answer=answer, group=None, pronoun=pronoun) for pronoun in ("he", "she", "they")]


def with_ids(problems: list[Problem], rng: np.random.Generator) -> list[Problem]:
    """The problems with ids as sources have them: random hexadecimal digits."""
    return [p.replace(provenance={"id": f"{int(rng.integers(1 << 60)):015x}"}) for p in problems]


def alarms(datasets: Iterator[Dataset], name: str | None = None) -> float:
    """The share of datasets in which a leak is found; of that name, where one is given."""
    flags = [any(leak.found and name in (None, leak.name) for leak in find_leaks(data)) for data in datasets]
    return sum(flags) / len(flags)


def leak_false_alarms(shape: str, draws: int = 200, *, units: int = 100, seed: int = 0) -> float:
    """The share of leakless datasets of a shape in which any leak is said to be found."""
    rng = np.random.default_rng(seed)
    return alarms(Dataset(with_ids([p for unit in drawn(shape, units, rng) for p in unit], rng)) for _ in range(draws))


def leak_power(shape: str, leak: str, draws: int = 50, *, units: int = 200, seed: int = 0) -> float:
    """The share of datasets in which a leak is found that 40 % of the units have; the rest have answers by chance.

    The leak of a candidate is a name that is right wherever it stands, in one unit of ten.
    """
    rng = np.random.default_rng(seed)
    return alarms((_planted(shape, leak, units, rng) for _ in range(draws)), leak)


def _planted(shape: str, leak: str, units: int, rng: np.random.Generator) -> Dataset:
    problems: list[Problem] = []
    for unit in drawn(shape, units, rng):
        names, wanted = unit[0].candidates, unit[0].answer
        if leak == "candidate":
            wanted = names.index("Anna") if "Anna" in names else wanted
        elif rng.random() < STRENGTH and leak != "source id":
            wanted = 0 if leak == "answer position" else names.index(min(names, key=unit[0].before.find))
        named = with_ids([p.replace(answer=p.answer if wanted == unit[0].answer else 1 - p.answer) for p in unit], rng)
        if leak == "source id" and rng.random() < STRENGTH:
            named = [p.replace(provenance={"id": f"{p.provenance['id']}{p.answer}"}) for p in named]
        problems += named
    return Dataset(problems)


def main() -> None:
    draws = 2 if "--quick" in sys.argv else int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print(f"false alarms of {draws} draws, wanted at most 1 %:")
    for shape in SHAPES:
        sizes = "  ".join(
            f"{units} units {leak_false_alarms(shape, draws, units=units):6.1%}" for units in (30, 100, 400)
        )
        print(f"  {shape:12} {sizes}")
    print("leaks found that were planted in 40 % of 200 units (candidate: a name that is always right):")
    for shape in ("singles", "triplicates"):
        cells = "  ".join(f"{leak} {leak_power(shape, leak, max(draws // 4, 5)):4.0%}" for leak in PLANTED)
        print(f"  {shape:12} {cells}")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
