"""The null on real datasets: how often scorers that never read are claimed to know something, and readers likewise.

    python benchmarks/null.py [--times 300] [--json]

Datasets are found through WINOKIT_DATA. Every scorer is drawn anew each time and judged as an audit judges it: two
tests, of all problems and of the twins told apart, that share a level of 3 %. A claim is that one of them rejects.

- coin: one choice per problem, and one per unit;
- first: the first candidate in 95 % of the problems;
- commonest: the commonest right answer in 80 %;
- right 65 %, and right 60 %: power.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import winokit
from winokit.answers import Answers
from winokit.methods.metrics.null import Null
from winokit.problem import Dataset

DATA = Path(os.environ.get("WINOKIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = {
    "WinoGrande dev": "winogrande/dev.jsonl",
    "WSC285": "wsc/WSCollection.xml",
    "SuperGLUE-WSC val": "superglue-wsc/val.jsonl",
    "SuperGLUE-WSC train": "superglue-wsc/train.jsonl",
    "PDP": "pdp/PDPChallenge2016.xml",
    "WinoBias pro dev": "winobias/pro_stereotyped_type1.txt.dev",
    "Winogender": "winogender/all_sentences.tsv",
    "KnowRef": "knowref/knowref_test.json",
    "DPR test": "dpr/test.c.txt",
}
LEVEL = 0.03
"""Level of all tests of a headline together."""

Choices = np.ndarray
Draw = Callable[[Answers, np.random.Generator], Choices]


def draw_coins(answers: Answers, rng: np.random.Generator) -> Choices:
    """Draw a choice for each problem by chance."""
    return (rng.random(len(answers)) * answers.candidates).astype(int)


def draw_a_coin_per_unit(answers: Answers, rng: np.random.Generator) -> Choices:
    """Draw a choice for each unit by chance, which all its problems share."""
    share = rng.random(answers.units.count)[answers.units.numbers]
    return (share * answers.candidates).astype(int)


def draw_mostly_first(answers: Answers, rng: np.random.Generator) -> Choices:
    """Draw choices of which 95 % are the first candidate, the others by chance."""
    return np.where(rng.random(len(answers)) < 0.95, 0, draw_coins(answers, rng))


def draw_mostly_commonest(answers: Answers, rng: np.random.Generator) -> Choices:
    """Draw choices of which 80 % are the commonest right answer, the others by chance."""
    commonest = int(np.bincount(answers.answers).argmax())
    return np.where(rng.random(len(answers)) < 0.8, commonest, draw_coins(answers, rng))


def draw_right(share: float) -> Draw:
    """Return a function that draws choices of which a share is right."""

    def draw(answers: Answers, rng: np.random.Generator) -> Choices:
        wrong = (answers.answers + 1) % answers.candidates
        return np.where(rng.random(len(answers)) < share, answers.answers, wrong)

    return draw


SCORERS: dict[str, Draw] = {
    "coin": draw_coins,
    "coin per unit": draw_a_coin_per_unit,
    "first in 95 %": draw_mostly_first,
    "commonest in 80 %": draw_mostly_commonest,
    "right 60 %": draw_right(0.6),
    "right 65 %": draw_right(0.65),
}


@dataclass(frozen=True)
class Cell:
    """Shares of draws of one scorer on one dataset in which a claim was made."""

    dataset: str
    problems: int
    units: int
    untestable: int
    scorer: str
    above: float
    below: float


def claims_of(answers: Answers) -> tuple[bool, bool, int]:
    """Whether something above and something below chance is claimed, and how many problems are untestable."""
    null = Null(answers)
    tests = [test for test in (null.right(), null.whole_groups()) if test.p is not None]
    above = below = False
    for test in tests:
        if test.p is not None and test.null is not None and test.p < LEVEL / len(tests):
            is_above = test.observed / test.n > test.null
            above |= is_above
            below |= not is_above
    return above, below, null.untestable


def judge_scorer(name: str, data: Dataset, scorer: str, times: int, seed: int) -> Cell:
    """Draw a scorer `times` times, and count the claims above and below chance."""
    rng = np.random.default_rng([seed, len(data), list(SCORERS).index(scorer)])
    start = Answers.of_choices(data, np.zeros(len(data), int))
    claim_counts = np.zeros(2)
    untestable = 0
    for _ in range(times):
        choices = SCORERS[scorer](start, rng).astype(np.int64)
        above, below, untestable = claims_of(Answers(start.asked, start.problem_index, choices))
        claim_counts += above, below
    above_share, below_share = (claim_counts / times).tolist()
    return Cell(name, len(start), start.units.count, untestable, scorer, above_share, below_share)


def cells(times: int, seed: int = 0) -> Iterator[Cell]:
    """Judge every scorer on every dataset that exists."""
    for name, file in SETS.items():
        if not (DATA / file).exists():
            continue
        data = winokit.load(str(DATA / file))
        for scorer in SCORERS:
            yield judge_scorer(name, data, scorer, times, seed)


def main() -> None:
    """Print a line per scorer and dataset, or all of them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="3 draws of each scorer")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"no datasets at {DATA}: set WINOKIT_DATA")
        return
    results = []
    if not options.json:
        print(f"{'dataset':20} {'problems':>8} {'units':>6} {'fixed':>6}  {'scorer':18} {'above':>6} {'below':>6}")
    for cell in cells(3 if options.quick else options.times, options.seed):
        results.append(cell)
        if not options.json:
            dataset_cells = f"{cell.dataset:20} {cell.problems:8,} {cell.units:6,} {cell.untestable:6,}"
            print(f"{dataset_cells}  {cell.scorer:18} {cell.above:6.3f} {cell.below:6.3f}", flush=True)
    if options.json:
        print(json.dumps([asdict(cell) for cell in results], indent=1))


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
