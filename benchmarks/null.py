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
"""Of all tests of a headline together."""

Choices = np.ndarray
Draw = Callable[[Answers, np.random.Generator], Choices]


def draw_coins(answers: Answers, rng: np.random.Generator) -> Choices:
    return (rng.random(len(answers)) * answers.candidates).astype(int)


def draw_a_coin_per_unit(answers: Answers, rng: np.random.Generator) -> Choices:
    share = rng.random(answers.units.count)[answers.units.numbers]
    return (share * answers.candidates).astype(int)


def draw_mostly_first(answers: Answers, rng: np.random.Generator) -> Choices:
    return np.where(rng.random(len(answers)) < 0.95, 0, draw_coins(answers, rng))


def draw_mostly_commonest(answers: Answers, rng: np.random.Generator) -> Choices:
    commonest = int(np.bincount(answers.answers).argmax())
    return np.where(rng.random(len(answers)) < 0.8, commonest, draw_coins(answers, rng))


def draw_right(share: float) -> Draw:
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
    """How often claims were made of one scorer on one dataset, as shares."""

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
    """Draw a scorer again and again and count what is claimed of it."""
    rng = np.random.default_rng([seed, len(data), list(SCORERS).index(scorer)])
    start = Answers.of_choices(data, np.zeros(len(data), int))
    claimed = np.zeros(2)
    untestable = 0
    for _ in range(times):
        choices = SCORERS[scorer](start, rng).astype(np.int64)
        above, below, untestable = claims_of(Answers(start.asked, start.problem_index, choices))
        claimed += above, below
    above_share, below_share = (claimed / times).tolist()
    return Cell(name, len(start), start.units.count, untestable, scorer, above_share, below_share)


def cells(times: int, seed: int = 0) -> Iterator[Cell]:
    """Every scorer on every dataset that is there."""
    for name, file in SETS.items():
        if not (DATA / file).exists():
            continue
        data = winokit.load(str(DATA / file))
        for scorer in SCORERS:
            yield judge_scorer(name, data, scorer, times, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="3 draws of each scorer")
    asked = parser.parse_args()
    if not DATA.is_dir():
        print(f"no datasets at {DATA}: set WINOKIT_DATA")
        return
    found = []
    if not asked.json:
        print(f"{'dataset':20} {'problems':>8} {'units':>6} {'fixed':>6}  {'scorer':18} {'above':>6} {'below':>6}")
    for cell in cells(3 if asked.quick else asked.times, asked.seed):
        found.append(cell)
        if not asked.json:
            about = f"{cell.dataset:20} {cell.problems:8,} {cell.units:6,} {cell.untestable:6,}"
            print(f"{about}  {cell.scorer:18} {cell.above:6.3f} {cell.below:6.3f}", flush=True)
    if asked.json:
        print(json.dumps([asdict(cell) for cell in found], indent=1))


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
