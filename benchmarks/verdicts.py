"""Measure how often winokit's sentence is right: scorers of known nature, audited again and again.

    python benchmarks/verdicts.py [--times 400] [--sizes 20 60 200 428 1267] [--workers 2] [--json] [--quick]

Each scorer is simulated, so that what it really does is known: whether it is above chance on problems and on twins,
reads artifacts, follows a switch, is helped by association, minds the place of the right candidate. Its predictions go
through the audit's own protocols, and the words of the verdict are read, not the numbers behind them.

Half of the scorers are adversaries: they know nothing and look as if they did. They nearly always take one place where
right answers are unbalanced, answer only sometimes, have seen every problem three times, or know the texts by heart.

- right: the headline claims what is so, and nothing else;
- shy: it leaves open something that is so (few problems cannot show everything);
- bold: it claims something that is not so. At most 5 % of verdicts may, in every cell;
- findings: the share of verdicts with a bold sentence below the headline.

Below stands how often the intervals of scorers that are asked four times have the truth in them, by row.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat

import numpy as np

from winokit.answers import Answers
from winokit.methods.metrics.corrections import holm
from winokit.methods.metrics.judge_pairs import compare_answers, verdicts
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.variants import ARTIFACTS, Variant
from winokit.problem import ORIGINAL, Dataset, Problem
from winokit.results import ABOVE, AT, BELOW, Metric
from winokit.stages.audit.protocols import PROTOCOLS
from winokit.stages.audit.scored_rows import FALLS
from winokit.stages.audit.sheet import AuditSheet
from winokit.stages.audit.verdict import NEARLY, verdict

SAMPLES = 4
"""Answers to each problem of a scorer that is asked several times."""
SIZES = (20, 60, 200, 428, 1267)
TIMES = 400
HEAD = ("single", "twins")
RUN = (
    *("accuracy", "groups", "samples", "switching", "association", "artifacts", "position", "dependence", "strict"),
    "luck",
)
ASSOCIATIVE = 0.15
RETOLD = (ORIGINAL, "switched", "reversed")
ASKED = (ORIGINAL, *ARTIFACTS, "switched", "reversed")
UNBALANCED = 0.65
"""Share of right answers at the first place, in the studies that are unbalanced."""
STUDIES = 16
"""Drawn datasets of each kind and size; every verdict draws the scorer's choices anew on one of them."""

WORDS: dict[str, dict[str, str]] = {
    "Nothing was decided": {},
    "Nothing can be told: the right answer is always in one place": {},
    "No accuracy to judge": {},
    "It may have seen these texts": {"single": ABOVE, "fall": FALLS},
    "Nothing can be told: right answers cannot change places": {},
    "Above chance on problems, and on the pairs it tells apart": {"single": ABOVE, "twins": ABOVE},
    "Indistinguishable from chance on problems, above it on the pairs it tells apart": {"twins": ABOVE},
    "Below chance on problems, above it on the pairs it tells apart": {"single": BELOW, "twins": ABOVE},
    "Above chance, on twins too": {"single": ABOVE, "twins": ABOVE},
    "Above chance on problems, indistinguishable from it on twins": {"single": ABOVE},
    "Above chance on problems, below it on twins": {"single": ABOVE, "twins": BELOW},
    "Above chance": {"single": ABOVE},
    "Indistinguishable from chance on problems, above it on twins": {"twins": ABOVE},
    "Indistinguishable from chance on problems, below it on twins": {"twins": BELOW},
    "Indistinguishable from chance": {},
    "Below chance on problems, above it on twins": {"single": BELOW, "twins": ABOVE},
    "Below chance": {"single": BELOW},
}
"""What each word of a verdict claims, as a reader would take it."""


@dataclass(frozen=True)
class Study:
    """Problems, and for each its number in the arrays that scorers fill."""

    dataset: Dataset
    variants: Mapping[str, Variant]
    answers: np.ndarray
    candidates: np.ndarray
    group: np.ndarray
    associative: np.ndarray

    def __len__(self) -> int:
        return len(self.answers)


def study_of(problems: list[Problem], variants: bool = True) -> Study:
    """A study of these problems, with every variant that scorers are asked about."""
    dataset = Dataset(problems)
    copies = [problem.replace(provenance={"of": problem.id}) for problem in dataset]
    made: dict[str, Variant] = {}
    if variants:
        made = {name: Variant(Dataset(copies)) for name in ARTIFACTS}
        made["reversed"] = Variant(Dataset([problem.with_order((1, 0)) for problem in copies]))
        turned = [problem.replace(answer=1 - int(problem.answer or 0)) for problem in copies]
        made["switched"] = Variant(Dataset(turned))
    numbers: dict[str, int] = {}
    group = [numbers.setdefault(problem.group or problem.id, len(numbers)) for problem in dataset]
    return Study(
        dataset,
        made,
        np.array([problem.answer for problem in dataset]),
        np.array([len(problem.candidates) for problem in dataset]),
        np.array(group),
        np.array([bool(problem.labels.get("associative")) for problem in dataset]),
    )


def as_winogrande(n: int, rng: np.random.Generator) -> list[Problem]:
    """Problems as WinoGrande's dev set has them: 45 % in pairs, each pair with opposite answers, the rest alone."""
    pair_count = max(round(n * 0.45 / 2), 4)
    problems = []
    for number in range(n):
        twin = number // 2 if number < 2 * pair_count else None
        answer = number % 2 if twin is not None else int(rng.integers(2))
        labels = {"associative": bool(rng.random() < ASSOCIATIVE)}
        name = None if twin is None else f"pair {twin}"
        text = f"Text {number} says that _ did it."
        problems.append(Problem.from_text(text, ("the first", "the second"), answer=answer, group=name, labels=labels))
    for pair in np.flatnonzero(rng.permutation(pair_count) % 2):  # which twin comes first is an accident
        problems[2 * pair : 2 * pair + 2] = problems[2 * pair : 2 * pair + 2][::-1]
    return problems


def make_study(n: int, seed: int = 0) -> Study:
    """A study as WinoGrande's dev set is."""
    return study_of(as_winogrande(n, np.random.default_rng(seed)))


def make_alone(n: int, seed: int, share: float = 0.5) -> Study:
    """Problems without twins, so many of them with the first candidate right."""
    rng = np.random.default_rng(seed)
    answers = (rng.random(n) >= share).astype(int)
    problems = [
        Problem.from_text(f"Text {number} says that _ did it.", ("the first", "the second"), answer=int(answer))
        for number, answer in enumerate(answers)
    ]
    return study_of(problems)


def make_unbalanced(n: int, seed: int) -> Study:
    """Problems without twins, 65 % of them with the first candidate right."""
    return make_alone(n, seed, UNBALANCED)


def make_four(n: int, seed: int) -> Study:
    """Problems with four candidates, of which the first is right in 40 %."""
    rng = np.random.default_rng(seed)
    answers = np.where(rng.random(n) < 0.4, 0, rng.integers(1, 4, n))
    names = ("the cook", "the clerk", "the guard", "the nurse")
    problems = [
        Problem.from_text(f"Text {number} says that _ did it.", names, answer=int(answer))
        for number, answer in enumerate(answers)
    ]
    return study_of(problems, variants=False)


def make_yes_or_no(n: int, seed: int) -> Study:
    """Make yes/no questions of which 65 % have the answer no, with every second text asked about twice."""
    rng = np.random.default_rng(seed)
    problems = []
    for number in range(n):
        text = number - number % 3 // 2  # of three questions the last two are on one text
        start, end = f"Text {text} says that Jim saw Kevin since ", " was near."
        answer = int(rng.random() >= UNBALANCED)
        problems.append(Problem(start, end, ("no", "yes"), answer, "he", query=f"Jim {number}"))
    return study_of(problems, variants=False)


def make_copies(n: int, seed: int) -> Study:
    """Problems of which each is written three times, under one template."""
    rng = np.random.default_rng(seed)
    once = as_winogrande(max(n // 3, 8), rng)
    problems = []
    for opening in ("One", "Two", "Three"):
        for problem in once:
            name = problem.group and f"{problem.group} {opening}"
            labels = {**problem.labels, "template": problem.group or problem.before}
            problems.append(problem.replace(before=f"{opening} {problem.before}", group=name, labels=labels))
    return study_of(problems)


def make_unequal(n: int, seed: int) -> Study:
    """Pairs in units of one to twelve pairs."""
    rng = np.random.default_rng(seed)
    problems: list[Problem] = []
    template = 0
    while len(problems) < n:
        for _ in range(int(rng.integers(1, 13))):
            pair = len(problems) // 2
            for answer, end in enumerate((" was helped.", " helped.")):
                names, labels = ("the first", "the second"), {"template": template}
                problems.append(Problem(f"Text {pair} says that ", end, names, answer, group=f"{pair}", labels=labels))
        template += 1
    return study_of(problems)


ScoredText = dict[str, np.ndarray]
"""Predictions by variant, -1 for an abstention; of several samples a column each."""
Draw = Callable[[Study, np.random.Generator], ScoredText]


@dataclass(frozen=True)
class Nature:
    """A scorer, its true properties, and the problems it is asked. A property that is not named is at chance."""

    name: str
    score: Draw
    truth: Mapping[str, str]
    study: Callable[[int, int], Study] = make_study


def _list_asked(study: Study) -> tuple[str, ...]:
    return (ORIGINAL, *study.variants)


def _draw_right(study: Study, rng: np.random.Generator, shares: Mapping[str, float | np.ndarray]) -> ScoredText:
    """Predictions that are right with a probability of their own in each variant, independently."""
    made = {}
    for name in _list_asked(study):
        # A switched text and reversed candidates have the right answer at the other place.
        answers = study.answers if name in (ORIGINAL, *ARTIFACTS) else 1 - study.answers
        is_right = rng.random(len(study)) < shares.get(name, 0.5)
        wrong = (answers + rng.integers(1, study.candidates)) % study.candidates
        made[name] = np.where(is_right, answers, wrong)
    return made


def coin(study: Study, rng: np.random.Generator) -> ScoredText:
    return {name: (rng.random(len(study)) * study.candidates).astype(int) for name in _list_asked(study)}


def coin_per_unit(study: Study, rng: np.random.Generator) -> ScoredText:
    """One choice for all problems of a unit."""
    units = study.dataset.units
    return {name: rng.integers(0, 2, units.count)[units.numbers] for name in _list_asked(study)}


def abstaining(pattern: Callable[[Study, np.random.Generator], np.ndarray], scorer: Draw = coin) -> Draw:
    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        return {name: np.where(pattern(study, rng), -1, choices) for name, choices in scorer(study, rng).items()}

    return score


def mostly_first(share: float) -> Draw:
    """Takes what is offered first in so many problems, whatever the text says."""

    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        others = coin(study, rng)
        return {name: np.where(rng.random(len(study)) < share, 0, choices) for name, choices in others.items()}

    return score


def name_biased(study: Study, rng: np.random.Generator) -> ScoredText:
    """Has a favourite candidate in each group, and takes it nine times in ten, whatever the text says."""
    favourite = rng.integers(0, 2, study.group.max() + 1)[study.group]
    made = {}
    for name in ASKED:
        wanted = 1 - favourite if name == "reversed" else favourite
        made[name] = np.where(rng.random(len(study)) < 0.9, wanted, 1 - wanted)
    return made


def artifact_reader(study: Study, rng: np.random.Generator) -> ScoredText:
    return _draw_right(study, rng, dict.fromkeys(ASKED, 0.75))


def association_reader(study: Study, rng: np.random.Generator) -> ScoredText:
    shares = np.where(study.associative, 0.95, 0.5)
    return _draw_right(study, rng, dict.fromkeys(RETOLD, shares))


def reasoner(share: float) -> Draw:
    """Right on so many problems, in every version that has the whole text."""
    return lambda study, rng: _draw_right(study, rng, dict.fromkeys(RETOLD, share))


def silent_reasoner(study: Study, rng: np.random.Generator) -> ScoredText:
    """Right on 80 %, and silent on half of the problems that are not associative."""
    silent = ~study.associative & (rng.random(len(study)) < 0.5)
    return {name: np.where(silent, -1, choices) for name, choices in reasoner(0.8)(study, rng).items()}


def by_heart(study: Study, rng: np.random.Generator) -> ScoredText:
    """Knows 77 % of the texts by heart, and gives the candidate it remembers where they change places too."""
    known = rng.random(len(study)) < 0.77
    made = coin(study, rng)
    for name in RETOLD:
        remembered = 1 - study.answers if name == "reversed" else study.answers
        made[name] = np.where(known, remembered, made[name])
    return made


def in_samples(scorer: Draw) -> Draw:
    """A scorer that is asked several times, and answers anew each time."""

    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        drawn = [scorer(study, rng) for _ in range(SAMPLES)]
        return {name: np.stack([own[name] for own in drawn], axis=1) for name in drawn[0]}

    return score


def copied(scorer: Draw) -> Draw:
    """A scorer that is asked several times, and always gives the answer that it gave first."""

    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        return {name: np.repeat(own[:, None], SAMPLES, axis=1) for name, own in scorer(study, rng).items()}

    return score


def _is_first_of_group(study: Study, rng: np.random.Generator) -> np.ndarray:
    return np.append(True, study.group[1:] != study.group[:-1])


def _is_in_half_of_the_groups(study: Study, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(study.group.max() + 1)[study.group] % 2 == 0


def _make_silence(share: float) -> Callable[[Study, np.random.Generator], np.ndarray]:
    return lambda study, rng: rng.random(len(study)) < share


ABOVE_BOTH = {"single": ABOVE, "twins": ABOVE, "told": ABOVE, "consistency": ABOVE}
FAVOURED_BY_UNIT = {"told": BELOW, "consistency": AT}
FAVOURITE = {"consistency": BELOW, "told": BELOW}
NATURES = (
    Nature("a coin", coin, {}),
    Nature("a coin that abstains on 3 in 10", abstaining(_make_silence(0.3)), {}),
    Nature("… on 9 in 10", abstaining(_make_silence(0.9)), {}),
    Nature("… on one of two twins", abstaining(_is_first_of_group), {}),
    Nature("… on half of the groups", abstaining(_is_in_half_of_the_groups), {}),
    Nature("… where the first is right", abstaining(lambda s, r: (s.answers == 0) & (r.random(len(s)) < 0.8)), {}),
    Nature("takes the first, 4 in 5", mostly_first(0.6), {"consistency": BELOW, "place": ABOVE}),
    Nature("always takes the first", mostly_first(1.0), {"consistency": BELOW, "place": ABOVE}),
    Nature("takes its favourite, 9 in 10", name_biased, FAVOURITE),
    Nature("reads artifacts, 75 %", artifact_reader, ABOVE_BOTH | {f"artifacts {name}": ABOVE for name in ARTIFACTS}),
    Nature("reads association", association_reader, ABOVE_BOTH | {"association": ABOVE}),
    Nature("reasons, 60 %", reasoner(0.6), ABOVE_BOTH),
    Nature("reasons, 80 %", reasoner(0.8), ABOVE_BOTH),
    Nature("… and is silent on some kinds", silent_reasoner, ABOVE_BOTH),
    Nature(
        "knows the texts by heart",
        by_heart,
        {"single": ABOVE, "told": ABOVE, "fall": FALLS, "switched": ABOVE, "consistency": BELOW},
    ),
    Nature("unbalanced: a coin", coin, {}, make_unbalanced),
    Nature("unbalanced: first in 95 %", mostly_first(0.9), {"consistency": BELOW, "place": ABOVE}, make_unbalanced),
    Nature("unbalanced: first in 99 %", mostly_first(0.98), {"consistency": BELOW, "place": ABOVE}, make_unbalanced),
    Nature("unbalanced: always the first", mostly_first(1.0), {"consistency": BELOW, "place": ABOVE}, make_unbalanced),
    Nature("four candidates: a coin", coin, {}, make_four),
    Nature("four candidates: mostly the first", mostly_first(0.9), {}, make_four),
    Nature("four candidates: right on 45 %", reasoner(0.45), {"single": ABOVE}, make_four),
    Nature("yes or no: a coin", coin, {}, make_yes_or_no),
    Nature("yes or no: no in 95 %", mostly_first(0.9), {}, make_yes_or_no),
    Nature("yes or no: right on 65 %", reasoner(0.65), {"single": ABOVE}, make_yes_or_no),
    Nature("copies: a coin", coin, {}, make_copies),
    Nature("copies: a coin per unit", coin_per_unit, {"told": BELOW, "consistency": AT}, make_copies),
    Nature("unequal units: a coin", coin, {}, make_unequal),
    Nature("unequal units: a coin per unit", coin_per_unit, {"told": BELOW, "consistency": AT}, make_unequal),
    Nature("says nothing", abstaining(_make_silence(1.0)), {"consistency": AT}),
    Nature("says nearly nothing", abstaining(_make_silence(0.97)), {}),
    Nature(
        "knows when to speak, 60 % silent",
        abstaining(_make_silence(0.6), reasoner(0.9)),
        ABOVE_BOTH,
    ),
    Nature(
        "knows one twin of each pair",
        abstaining(_is_first_of_group, reasoner(1.0)),
        {"single": ABOVE, "consistency": ABOVE, "alone": BELOW},
    ),
    Nature("alone: right on 60 %", reasoner(0.6), {"single": ABOVE, "consistency": ABOVE}, make_alone),
    Nature("4 samples: a coin in each", in_samples(coin), {}),
    Nature("4 samples: a coin, copied", copied(coin), {}),
    Nature("4 samples: takes the first, 4 in 5", in_samples(mostly_first(0.6)), {"consistency": BELOW, "place": ABOVE}),
    Nature("4 samples: reasons, 60 %", in_samples(reasoner(0.6)), ABOVE_BOTH),
    Nature("4 samples: yes or no, a coin in each", in_samples(coin), {}, make_yes_or_no),
    Nature("4 samples: copies, a coin per unit", in_samples(coin_per_unit), FAVOURED_BY_UNIT, make_copies),
)
MOST_BOLD = 0.05
"""The share of verdicts in a cell that may be bold."""
FLOORS = {("alone: right on 60 %", 200): 0.60, ("alone: right on 60 %", 1267): 0.98}
"""The least share of verdicts that must find what is so, by scorer and size."""


@lru_cache(maxsize=STUDIES * len(SIZES))
def drawn_study(make: Callable[[int, int], Study], n: int, seed: int) -> Study:
    """A study that is drawn once however many scorers are asked."""
    return make(n, seed)


def audited(study: Study, scored: ScoredText, protocols: Sequence[str] = RUN) -> list[Metric]:
    """The rows of an audit of these predictions."""
    ids = [problem.id for problem in study.dataset]
    predictions = {
        name: {key: _make_predictions(key, name, np.atleast_1d(own)) for key, own in zip(ids, choices, strict=True)}
        for name, choices in scored.items()
    }
    sheet = AuditSheet(study.dataset, predictions, study.variants, "simulated", "own")
    return [row for name in protocols for row in PROTOCOLS[name].rows(sheet)]


def _make_predictions(key: str, variant: str, choices: np.ndarray) -> list[Prediction]:
    """The predictions for one problem, a sample each."""
    numbers = range(len(choices)) if len(choices) > 1 else [None]
    made = zip(numbers, (None if choice < 0 else int(choice) for choice in choices.tolist()), strict=True)
    return [Prediction(key, variant, "simulated", "own", None, one, None, sample=number) for number, one in made]


@dataclass(frozen=True)
class Cell:
    """Verdicts on one scorer at one size, as shares."""

    nature: str
    n: int
    times: int
    right: float
    shy: float
    bold: float
    findings: float


def judge(nature: Nature, n: int, times: int, seed: int = 0) -> Cell:
    """Audit a scorer again and again, each time with choices drawn anew, and read the verdicts."""
    rng = np.random.default_rng([seed, n])
    bold = shy = loud = 0
    for round_ in range(times):
        study = drawn_study(nature.study, n, seed * 1_000_003 + round_ % STUDIES)
        said = verdict(audited(study, nature.score(study, rng)))
        claims = WORDS[said.word.removesuffix(NEARLY)]
        is_wrong = any(nature.truth.get(fact, AT) != where for fact, where in claims.items())
        bold += is_wrong
        shy += not is_wrong and any(fact not in claims for fact in HEAD if fact in nature.truth)
        below = [
            claim for point in said.points for claim in point.claims.items() if claim[0] not in ("single", "twins")
        ]
        loud += any(where in (ABOVE, BELOW) and nature.truth.get(fact, AT) != where for fact, where in below)
    return Cell(nature.name, n, times, (times - bold - shy) / times, shy / times, bold / times, loud / times)


def compared(better: float, n: int, times: int, seed: int = 0) -> Cell:
    """Two models that share their difficulties, one better by so much or not at all: who is said to be ahead?"""
    rng = np.random.default_rng([seed, n, 7])
    bold = shy = 0
    for round_ in range(times):
        study = drawn_study(make_study, n, seed * 1_000_003 + round_ % STUDIES)
        is_hard = rng.random(len(study)) < 0.6  # on these both do the same
        shared = rng.random(len(study))
        tables = []
        for share in (0.7 + better, 0.7):
            is_right = np.where(is_hard, shared, rng.random(len(study))) < share
            choices = np.where(is_right, study.answers, 1 - study.answers)
            tables.append(Answers.of_choices(study.dataset, choices))
        leads = {said.lead for said in verdicts(list(compare_answers(*tables).values()))}
        bold += -1 in leads or (1 in leads and better == 0)
        shy += better > 0 and leads == {0}
    name = "two equal models" if better == 0 else f"one better by {100 * better:.0f} points"
    return Cell(name, n, times, (times - bold - shy) / times, shy / times, bold / times, 0.0)


@dataclass(frozen=True)
class Wavering:
    """A scorer that gets each problem right with a probability of its own, in every sample anew."""

    name: str
    levels: tuple[float, ...]
    """Probabilities of being right."""
    shares: tuple[float, ...]
    """On how many problems it has each of them."""

    def draw(self, study: Study, rng: np.random.Generator) -> ScoredText:
        """Draw the scorer's samples of each problem, where half of the twins are as hard as each other."""
        own, of_group = (rng.choice(self.levels, len(study), p=self.shares) for _ in range(2))
        is_shared = (rng.random(study.group.max() + 1) < TWINS_ALIKE)[study.group]
        chances = np.where(is_shared, of_group[study.group], own)
        is_right = rng.random((len(study), SAMPLES)) < chances[:, None]
        answers = study.answers[:, None]
        return {ORIGINAL: np.where(is_right, answers, 1 - answers)}

    def truths(self) -> dict[tuple[str, str, str], float]:
        """True values that the rows of an audit estimate: means over all possible problems."""
        levels, shares = np.array(self.levels), np.array(self.shares)

        def mean(values: np.ndarray) -> float:
            return float((shares * values).sum())

        def of_pairs(values: np.ndarray) -> float:
            return TWINS_ALIKE * mean(values**2) + (1 - TWINS_ALIKE) * mean(values) ** 2

        always, never = levels**SAMPLES, (1 - levels) ** SAMPLES
        return {
            ("accuracy", "all", "accuracy"): mean(levels),
            ("samples", "all", "all_right"): mean(always),
            ("samples", "all", "any_right"): 1 - mean(never),
            ("samples", "all", "same_answer"): mean(always + never),
            ("groups", "complete", "group_accuracy"): of_pairs(levels),
            ("samples", "complete", "group_accuracy"): of_pairs(always),
        }


TWINS_ALIKE = 0.5
"""How often twins are as hard as each other, by being so drawn."""
WAVERING = (
    Wavering("a coin in every sample", (0.5,), (1.0,)),
    Wavering("the same every time", (1.0, 0.0), (0.7, 0.3)),
    Wavering("knows some, wavers on others", (1.0, 0.75, 0.5, 0.0), (0.4, 0.2, 0.3, 0.1)),
    Wavering("nearly always right", (1.0, 0.8), (0.8, 0.2)),
)


@dataclass(frozen=True)
class Coverage:
    """Coverage of the intervals of one row, over audits of one scorer at one size."""

    nature: str
    n: int
    row: str
    times: int
    covered: float
    width: float
    """Of the interval, on average."""


def covered(scorer: Wavering, n: int, times: int, seed: int = 0) -> list[Coverage]:
    """Audit a scorer of several samples again and again, each time with problems and choices drawn anew."""
    rng = np.random.default_rng([seed, n, 11])
    truths = scorer.truths()
    inside, widths = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0.0)
    for round_ in range(times):
        study = drawn_study(make_bare, n, seed * 1_000_003 + round_ % STUDIES)
        for row in audited(study, scorer.draw(study, rng), INTERVALS):
            name = (row.protocol, row.subset, row.metric)
            if name in truths and row.low is not None and row.high is not None:
                inside[name] += row.low - ROUNDING <= truths[name] <= row.high + ROUNDING
                widths[name] += row.high - row.low
    return [
        Coverage(scorer.name, n, " ".join(name), times, inside[name] / times, widths[name] / times) for name in truths
    ]


def make_bare(n: int, seed: int) -> Study:
    """A study as WinoGrande's dev set is, without variants."""
    return study_of(as_winogrande(n, np.random.default_rng(seed)), variants=False)


INTERVALS = ("accuracy", "groups", "samples")
"""The protocols of which coverage is counted."""
ROUNDING = 1e-9


def coverage(sizes: Sequence[int], times: int, seed: int = 0, workers: int = 1) -> Iterator[Coverage]:
    """Coverage of the intervals over samples: every scorer that wavers, at every size."""
    asked = [(scorer, n) for scorer in WAVERING for n in sizes]
    with ProcessPoolExecutor(workers) as pool:
        for rows in pool.map(covered, *zip(*asked, strict=True), repeat(times), repeat(seed)):
            yield from rows


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
        yield from pool.map(_measure_cell, asked, repeat(times), repeat(seed))


def _measure_cell(asked: tuple[str, float, int], times: int, seed: int) -> Cell:
    kind, what, n = asked
    if kind == "judge":
        return judge(NATURES[int(what)], n, times, seed)
    return compared(what, n, times, seed) if kind == "compared" else debiased(what, n)


def summary(cells: Sequence[Cell]) -> Iterator[str]:
    """Summarise how many verdicts were bold, and the cells in which more than the claimed 5 % are.

    A cell is named if so many bold verdicts are no accident at 5 %, corrected for the number of cells (Holm).
    """
    from scipy import stats

    kinds = {"bold headlines": lambda cell: cell.bold, "bold findings": lambda cell: cell.findings}
    tests = []
    for kind, share_of in kinds.items():
        counts = [round(share_of(cell) * cell.times) for cell in cells]
        audits = sum(cell.times for cell in cells)
        yield f"{kind}: {sum(counts):,} of {audits:,} verdicts, {sum(counts) / audits:.1%}"
        for cell, count in zip(cells, counts, strict=True):
            p = float(stats.binom.sf(count - 1, cell.times, MOST_BOLD))
            tests.append(
                (p, f"above {MOST_BOLD:.0%}, {kind}: {cell.nature}, {cell.n:,} problems: {count} of {cell.times}")
            )
    corrected = holm([p for p, _ in tests])
    shown = [said for p, (_, said) in zip(corrected, tests, strict=True) if p < MOST_BOLD]
    yield from shown
    if not shown:
        yield f"in no cell more than {MOST_BOLD:.0%} are shown to be bold"


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
    for cell in cells:
        floor = FLOORS.get((cell.nature, cell.n))
        if floor is not None and not asked.json:
            print(f"power: {cell.nature}, {cell.n:,} problems: {cell.right:.2f}, at least {floor:.2f} wanted")
    if not asked.json:
        print(*summary(cells), sep="\n")
        print(f"\n{'95 % intervals over 4 samples':32} {'problems':>8} {'row':36} {'covered':>8} {'width':>6}")
        for own in coverage(asked.sizes, asked.times, asked.seed, asked.workers):
            print(f"{own.nature:32} {own.n:8,} {own.row:36} {own.covered:8.1%} {own.width:6.3f}", flush=True)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
