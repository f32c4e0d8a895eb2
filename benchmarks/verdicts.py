"""How often is winokit's sentence right? Scorers of known nature, audited again and again.

    python benchmarks/verdicts.py [--times 400] [--sizes 20 60 200 428 1267] [--workers 2] [--json] [--quick]

Each scorer is simulated, so that what it really does is known: whether it is above chance on problems and on whole
groups, reads artifacts, follows a switch, is helped by association, minds the place of the right candidate. Its
predictions go through the audit's own protocols, and the words of the verdict are read, not the numbers behind them.

- right: the headline claims what is so, and nothing else;
- shy: it leaves open something that is so (few problems cannot show everything);
- bold: it claims something that is not so. At most 5 % of verdicts may, in every cell;
- findings: the share of verdicts with a bold sentence below the headline.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from winokit.methods.metrics.compare import compare
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.variants import ARTIFACTS, Variant
from winokit.problem import Dataset, Problem
from winokit.results import ABOVE, AT, BELOW, Metric
from winokit.stages.audit.protocols import PROTOCOLS
from winokit.stages.audit.sheet import ORIGINAL, AuditSheet
from winokit.stages.audit.verdict import NEARLY, verdict
from winokit.stages.compare.run import comparison_sentences, paired

SIZES = (20, 60, 200, 428, 1267)
TIMES = 400
HEAD = ("single", "group")
RUN = ("accuracy", "groups", "switching", "association", "artifacts", "position", "dependence", "strict", "luck")
ASSOCIATIVE = 0.15
RETOLD = (ORIGINAL, "switched", "reversed")
ASKED = (ORIGINAL, *ARTIFACTS, "switched", "reversed")

WORDS: dict[str, dict[str, str]] = {
    "Nothing was decided": {},
    "No accuracy to judge": {},
    "Borderline on problems, above chance on groups": {"group": ABOVE},
    "Borderline on problems, below chance on groups": {"group": BELOW},
    "Borderline: one test excludes guessing, the other does not": {},
    "Above chance, on whole groups too": {"single": ABOVE, "group": ABOVE},
    "Above chance on problems, indistinguishable from it on whole groups": {"single": ABOVE},
    "Above chance on problems, below it on whole groups": {"single": ABOVE, "group": BELOW},
    "Above chance": {"single": ABOVE},
    "Indistinguishable from guessing on problems, above chance on groups": {"group": ABOVE},
    "Indistinguishable from guessing on problems, below chance on groups": {"group": BELOW},
    "Indistinguishable from guessing": {},
    "Below chance on problems, above it on whole groups": {"single": BELOW, "group": ABOVE},
    "Below chance": {"single": BELOW},
}
"""What each word of a verdict claims, as a reader would take it."""


@dataclass(frozen=True)
class Study:
    """Problems, and for each its number in the arrays that scorers fill."""

    dataset: Dataset
    variants: Mapping[str, Variant]
    answers: np.ndarray
    group: np.ndarray
    associative: np.ndarray

    def __len__(self) -> int:
        return len(self.answers)


def make_study(n: int, seed: int = 0) -> Study:
    """Problems as WinoGrande's dev set has them: 45 % in pairs, each pair with opposite answers, the rest alone."""
    rng = np.random.default_rng(seed)
    pairs = max(round(n * 0.45 / 2), 4)
    problems, group = [], []
    for number in range(n):
        twin = number // 2 if number < 2 * pairs else None
        name = f"pair {twin}" if twin is not None else None
        answer = number % 2 if twin is not None else int(rng.integers(2))
        labels = {"associative": bool(rng.random() < ASSOCIATIVE)}
        text = f"Text {number} says that _ did it."
        problems.append(Problem.from_text(text, ("the first", "the second"), answer=answer, group=name, labels=labels))
        group.append(twin if twin is not None else pairs + number)
    order = rng.permutation(pairs) % 2  # which twin comes first is an accident
    for pair, turned in enumerate(order):
        if turned:
            problems[2 * pair : 2 * pair + 2] = problems[2 * pair : 2 * pair + 2][::-1]
    dataset = Dataset(problems)
    made = [p.replace(provenance={"of": p.id}) for p in dataset]
    variants = {name: Variant(Dataset(made)) for name in ARTIFACTS}
    variants["reversed"] = Variant(Dataset([p.with_order((1, 0)) for p in made]))
    switched = [p.replace(answer=1 - int(p.answer or 0)) for p in made]
    variants["switched"] = Variant(Dataset(switched))
    answers = np.array([p.answer for p in dataset])
    return Study(dataset, variants, answers, np.array(group), np.array([p.labels["associative"] for p in dataset]))


ScoredText = dict[str, np.ndarray]
"""Predictions by variant, -1 for an abstention."""


@dataclass(frozen=True)
class Nature:
    """A scorer, and what is so of it; what is not named stands at chance."""

    name: str
    score: Callable[[Study, np.random.Generator], ScoredText]
    truth: Mapping[str, str]


def _right_with(study: Study, rng: np.random.Generator, shares: Mapping[str, float | np.ndarray]) -> ScoredText:
    """Predictions that are right with a probability of their own in each variant, independently."""
    made = {}
    for name in ASKED:
        answers = study.answers if name in (ORIGINAL, *ARTIFACTS) else 1 - study.answers
        right = rng.random(len(study)) < shares.get(name, 0.5)
        made[name] = np.where(right, answers, 1 - answers)
    return made


def coin(study: Study, rng: np.random.Generator) -> ScoredText:
    return _right_with(study, rng, {})


def abstaining(pattern: Callable[[Study, np.random.Generator], np.ndarray]) -> Callable[..., ScoredText]:
    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        return {name: np.where(pattern(study, rng), -1, choices) for name, choices in coin(study, rng).items()}

    return score


def place_biased(study: Study, rng: np.random.Generator) -> ScoredText:
    """Takes what is offered first, four times in five."""
    return {
        name: (rng.random(len(study)) >= 0.8).astype(int) for name in (ORIGINAL, *ARTIFACTS, "switched", "reversed")
    }


def name_biased(study: Study, rng: np.random.Generator) -> ScoredText:
    """Has a favourite candidate in each group, and takes it nine times in ten, whatever the text says."""
    favourite = rng.integers(0, 2, study.group.max() + 1)[study.group]
    made = {}
    for name in ASKED:
        wanted = 1 - favourite if name == "reversed" else favourite
        made[name] = np.where(rng.random(len(study)) < 0.9, wanted, 1 - wanted)
    return made


def artifact_reader(study: Study, rng: np.random.Generator) -> ScoredText:
    return _right_with(study, rng, dict.fromkeys(ASKED, 0.75))


def association_reader(study: Study, rng: np.random.Generator) -> ScoredText:
    shares = np.where(study.associative, 0.95, 0.5)
    return _right_with(study, rng, dict.fromkeys(RETOLD, shares))


def reasoner(study: Study, rng: np.random.Generator) -> ScoredText:
    return _right_with(study, rng, dict.fromkeys(RETOLD, 0.8))


def silent_reasoner(study: Study, rng: np.random.Generator) -> ScoredText:
    """Right on 80 %, and silent on half of the problems that are not associative."""
    made, silent = reasoner(study, rng), ~study.associative & (rng.random(len(study)) < 0.5)
    return {name: np.where(silent, -1, choices) for name, choices in made.items()}


def always_first(study: Study, rng: np.random.Generator) -> ScoredText:
    return {name: np.zeros(len(study), int) for name in ASKED}


ABOVE_BOTH = {"single": ABOVE, "group": ABOVE, "consistency": ABOVE}
NATURES = (
    Nature("a coin", coin, {}),
    Nature("a coin that abstains on 3 in 10", abstaining(lambda s, r: r.random(len(s)) < 0.3), {}),
    Nature("… on 9 in 10", abstaining(lambda s, r: r.random(len(s)) < 0.9), {}),
    Nature("… on one of two twins", abstaining(lambda s, r: _first_of_group(s)), {}),
    Nature("… on half of the groups", abstaining(lambda s, r: r.permutation(s.group.max() + 1)[s.group] % 2 == 0), {}),
    Nature("… where the first is right", abstaining(lambda s, r: (s.answers == 0) & (r.random(len(s)) < 0.8)), {}),
    Nature("takes the first, 4 in 5", place_biased, {"group": BELOW, "consistency": BELOW, "place": ABOVE}),
    Nature("takes its favourite, 9 in 10", name_biased, {"group": BELOW, "consistency": BELOW}),
    Nature("reads artifacts, 75 %", artifact_reader, ABOVE_BOTH | {f"artifacts {name}": ABOVE for name in ARTIFACTS}),
    Nature("reads association", association_reader, ABOVE_BOTH | {"association": ABOVE}),
    Nature("reasons, 60 %", lambda s, r: _right_with(s, r, dict.fromkeys(RETOLD, 0.6)), ABOVE_BOTH),
    Nature("reasons, 80 %", reasoner, ABOVE_BOTH),
    Nature("… and is silent on some kinds", silent_reasoner, ABOVE_BOTH),
    Nature("always takes the first", always_first, {"group": BELOW, "consistency": BELOW, "place": ABOVE}),
)


def _first_of_group(study: Study) -> np.ndarray:
    return np.append(True, study.group[1:] != study.group[:-1])


def audited(study: Study, scored: ScoredText) -> list[Metric]:
    """The rows of an audit of these predictions."""
    ids = [problem.id for problem in study.dataset]
    predictions = {
        name: {
            key: Prediction(key, name, "simulated", "own", None, None if choice < 0 else int(choice), None)
            for key, choice in zip(ids, choices, strict=True)
        }
        for name, choices in scored.items()
    }
    sheet = AuditSheet(study.dataset, predictions, study.variants, "simulated", "own")
    return [row for name in RUN for row in PROTOCOLS[name].rows(sheet)]


@dataclass(frozen=True)
class Cell:
    """How verdicts on one scorer at one size turned out, as shares."""

    nature: str
    n: int
    times: int
    right: float
    shy: float
    bold: float
    findings: float


def judge(nature: Nature, n: int, times: int, seed: int = 0) -> Cell:
    """Audit a scorer again and again, each time on problems drawn anew, and read the verdicts."""
    rng = np.random.default_rng([seed, n])
    bold = shy = loud = 0
    for round_ in range(times):
        study = make_study(n, seed * 1_000_003 + round_)
        said = verdict(audited(study, nature.score(study, rng)))
        claims = WORDS[said.word.removesuffix(NEARLY)]
        wrong = any(nature.truth.get(fact, AT) != where for fact, where in claims.items())
        bold += wrong
        shy += not wrong and any(fact not in claims for fact in HEAD if fact in nature.truth)
        below = [
            claim for point in said.points for claim in point.claims.items() if claim[0] not in ("single", "group")
        ]
        loud += any(where in (ABOVE, BELOW) and nature.truth.get(fact, AT) != where for fact, where in below)
    return Cell(nature.name, n, times, (times - bold - shy) / times, shy / times, bold / times, loud / times)


def compared(better: float, n: int, times: int, seed: int = 0) -> Cell:
    """Two models that share their difficulties, one better by so much or not at all: who is said to be ahead?"""
    rng = np.random.default_rng([seed, n, 7])
    bold = shy = 0
    for round_ in range(times):
        study = make_study(n, seed * 1_000_003 + round_)
        hard = rng.random(len(study)) < 0.6  # on these both do the same
        shared = rng.random(len(study))
        first = np.where(hard, shared, rng.random(len(study))) < 0.7 + better
        second = np.where(hard, shared, rng.random(len(study))) < 0.7
        twins = np.bincount(study.group) == 2
        whole = [np.bincount(study.group, weights=right)[twins] == 2 for right in (first, second)]
        tests = {
            ("A", "B", "accuracy"): compare(first, second, study.group),
            ("A", "B", "group_accuracy"): compare(*whole, np.arange(len(whole[0]))),
        }
        said = " ".join(comparison_sentences(paired(tests)))
        ahead = "A is ahead" in said
        behind = "B is ahead" in said
        bold += behind or (ahead and better == 0)
        shy += better > 0 and not ahead and not behind
    name = "two equal models" if better == 0 else f"one better by {100 * better:.0f} points"
    return Cell(name, n, times, (times - bold - shy) / times, shy / times, bold / times, 0.0)


BIASED = (
    "Less linear bias",
    "The linear bias is still there",
    "Nothing was removed, though there is linear bias",
    "More was removed than by chance",
    "Over-filtered",
)
"""How words of debias begin that say there was something to remove."""


def debiased(bias: float, times: int) -> Cell:
    """AFLite on 300 problems with features that say nothing, or that give a share of the pairs away."""
    from relabelled import words_of_debias

    words = words_of_debias(times, share=bias)
    claimed = sum(count for word, count in words.items() if word.startswith(BIASED))
    open_ = sum(count for word, count in words.items() if word.startswith(("It depends", "Undecided", "Not ")))
    name = "debias, noise" if bias == 0 else f"debias, bias in {bias:.0%} of pairs"
    if bias == 0:
        return Cell(name, 300, times, 1 - (claimed + open_) / times, open_ / times, claimed / times, 0.0)
    return Cell(name, 300, times, claimed / times, 1 - claimed / times, 0.0, 0.0)


def table(sizes: tuple[int, ...], times: int, seed: int = 0, workers: int = 1) -> Iterator[Cell]:
    """Every scorer at every size, then the comparisons, then debiasing."""
    asked = [("judge", place, n) for place in range(len(NATURES)) for n in sizes]
    asked += [("compared", better, n) for better in (0.0, 0.02, 0.1) for n in sizes]
    asked += [("debiased", bias, max(times // 8, 2)) for bias in (0.0, 0.3)]
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_cell, asked, repeat(times), repeat(seed))


def _cell(asked: tuple[str, float, int], times: int, seed: int) -> Cell:
    kind, what, n = asked
    if kind == "judge":
        return judge(NATURES[int(what)], n, times, seed)
    return compared(what, n, times, seed) if kind == "compared" else debiased(what, n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="4 audits of each scorer on 20 problems")
    asked = parser.parse_args()
    if asked.quick:
        asked.times, asked.sizes = 4, [20]
    cells = []
    if not asked.json:
        print(f"{'scorer':34} {'problems':>8} {'right':>7} {'shy':>7} {'bold':>7} {'findings':>9}")
    for cell in table(tuple(asked.sizes), asked.times, asked.seed, asked.workers):
        cells.append(cell)
        if not asked.json:
            shares = f"{cell.right:7.1%} {cell.shy:7.1%} {cell.bold:7.1%} {cell.findings:9.1%}"
            print(f"{cell.nature:34} {cell.n:8,} {shares}", flush=True)
    if asked.json:
        print(json.dumps([cell.__dict__ for cell in cells], indent=1))
    worst = max(cells, key=lambda cell: max(cell.bold, cell.findings))
    if not asked.json:
        print(f"worst: {worst.nature}, {worst.n:,} problems, {max(worst.bold, worst.findings):.1%} too bold")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
