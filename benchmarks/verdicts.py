"""Measure how often winokit's sentence is right: scorers of known nature, audited again and again.

    python benchmarks/verdicts.py [--times 400] [--sizes 20 60 200 428 1267] [--workers 2] [--json] [--quick]

Each scorer is simulated, so that its true properties are known: whether it is above chance on problems and on twins,
reads artifacts, follows a switch, is helped by association, depends on the place of the right candidate. Its
predictions go through the audit's own protocols, and the words of the verdict are read, not the numbers behind them.

Half of the scorers are adversaries: they know nothing and look as if they did. They nearly always take one place where
right answers are unbalanced, answer only sometimes, have seen every problem three times, or know the texts by heart.

- right: the headline claims what is true, and nothing else;
- shy: it leaves open something that is true (few problems cannot show everything);
- bold: it claims something that is not true. At most 5 % of verdicts may, in every cell;
- findings: the share of verdicts with a bold sentence below the headline.

The last table is the coverage of intervals, by row, of scorers that are asked four times.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import product, repeat

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
    "accuracy",
    "groups",
    "samples",
    "switching",
    "association",
    "artifacts",
    "position",
    "dependence",
    "strict",
    "luck",
)
"""Protocols of the audits."""
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
    """Problems with their variants, and arrays with a value per problem, in the dataset's order."""

    dataset: Dataset
    variants: Mapping[str, Variant]
    answers: np.ndarray
    candidates: np.ndarray
    """Number of candidates."""
    group: np.ndarray
    """Number of the group; a problem alone has a number of its own."""
    associative: np.ndarray

    def __len__(self) -> int:
        return len(self.answers)


def study_of(problems: list[Problem], variants: bool = True) -> Study:
    """Make a study of these problems, with every variant that scorers are asked about, or with none."""
    dataset = Dataset(problems)
    group_numbers: dict[str, int] = {}
    for problem in dataset:
        group_numbers.setdefault(problem.group or problem.id, len(group_numbers))
    return Study(
        dataset,
        variants=make_copied_variants(dataset) if variants else {},
        answers=np.array([problem.answer for problem in dataset]),
        candidates=np.array([len(problem.candidates) for problem in dataset]),
        group=np.array([group_numbers[problem.group or problem.id] for problem in dataset]),
        associative=np.array([bool(problem.labels.get("associative")) for problem in dataset]),
    )


def make_copied_variants(dataset: Dataset) -> dict[str, Variant]:
    """Variants by name, whose texts are those of the originals, since no simulated scorer reads them."""
    copies = [problem.replace(provenance={"of": problem.id}) for problem in dataset]
    reversed_copies = [problem.with_order((1, 0)) for problem in copies]
    switched_copies = [problem.replace(answer=1 - int(problem.answer or 0)) for problem in copies]
    variants = {name: Variant(Dataset(copies)) for name in ARTIFACTS}
    variants["reversed"] = Variant(Dataset(reversed_copies))
    variants["switched"] = Variant(Dataset(switched_copies))
    return variants


def as_winogrande(n: int, rng: np.random.Generator) -> list[Problem]:
    """Make problems like WinoGrande's dev set: 45 % in pairs, each pair with opposite answers, the rest alone."""
    pair_count = max(round(n * 0.45 / 2), 4)
    problems = []
    for number in range(n):
        group = None
        if number < 2 * pair_count:
            group = f"pair {number // 2}"
            answer = number % 2
        else:
            answer = int(rng.integers(2))
        labels = {"associative": bool(rng.random() < ASSOCIATIVE)}
        text = f"Text {number} says that _ did it."
        problem = Problem.from_text(text, ("the first", "the second"), answer=answer, group=group, labels=labels)
        problems.append(problem)
    is_turned = rng.permutation(pair_count) % 2  # which twin comes first is an accident
    for pair in np.flatnonzero(is_turned):
        first, second = problems[2 * pair : 2 * pair + 2]
        problems[2 * pair] = second
        problems[2 * pair + 1] = first
    return problems


def make_study(n: int, seed: int = 0) -> Study:
    """Make a study like WinoGrande's dev set."""
    return study_of(as_winogrande(n, np.random.default_rng(seed)))


def make_alone(n: int, seed: int, share: float = 0.5) -> Study:
    """Make problems without twins, with the first candidate right in a share of them."""
    rng = np.random.default_rng(seed)
    answers = (rng.random(n) >= share).astype(int)
    problems = [
        Problem.from_text(f"Text {number} says that _ did it.", ("the first", "the second"), answer=int(answer))
        for number, answer in enumerate(answers)
    ]
    return study_of(problems)


def make_unbalanced(n: int, seed: int) -> Study:
    """Make problems without twins, 65 % of them with the first candidate right."""
    return make_alone(n, seed, UNBALANCED)


def make_four(n: int, seed: int) -> Study:
    """Make problems with four candidates, of which the first is right in 40 %."""
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
        text_number = number - number % 3 // 2  # of three questions the last two are on one text
        before = f"Text {text_number} says that Jim saw Kevin since "
        answer = int(rng.random() >= UNBALANCED)
        problems.append(Problem(before, " was near.", ("no", "yes"), answer, "he", query=f"Jim {number}"))
    return study_of(problems, variants=False)


def make_copies(n: int, seed: int) -> Study:
    """Make problems of which each is written three times, under one template."""
    rng = np.random.default_rng(seed)
    originals = as_winogrande(max(n // 3, 8), rng)
    problems = []
    for opening in ("One", "Two", "Three"):
        for problem in originals:
            group = f"{problem.group} {opening}" if problem.group else problem.group
            labels = {**problem.labels, "template": problem.group or problem.before}
            problems.append(problem.replace(before=f"{opening} {problem.before}", group=group, labels=labels))
    return study_of(problems)


def make_unequal(n: int, seed: int) -> Study:
    """Make pairs in units of one to twelve pairs, until there are at least `n` problems."""
    rng = np.random.default_rng(seed)
    candidates = ("the first", "the second")
    problems: list[Problem] = []
    template = 0
    while len(problems) < n:
        labels = {"template": template}
        for _ in range(int(rng.integers(1, 13))):
            pair = len(problems) // 2
            before = f"Text {pair} says that "
            for answer, after in enumerate((" was helped.", " helped.")):
                problems.append(Problem(before, after, candidates, answer, group=f"{pair}", labels=labels))
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


def _variant_names(study: Study) -> tuple[str, ...]:
    """Names of the versions that scorers are asked about, the original first."""
    return (ORIGINAL, *study.variants)


def _draw_right(study: Study, rng: np.random.Generator, shares: Mapping[str, float | np.ndarray]) -> ScoredText:
    """Draw predictions that are right with the probability of their variant, independently.

    The probability is one number or one per problem, and 0.5 for variants that `shares` does not name.
    """
    predictions = {}
    for name in _variant_names(study):
        # A switched text and reversed candidates have the right answer at the other place.
        answers = study.answers if name in (ORIGINAL, *ARTIFACTS) else 1 - study.answers
        is_right = rng.random(len(study)) < shares.get(name, 0.5)
        wrong = (answers + rng.integers(1, study.candidates)) % study.candidates
        predictions[name] = np.where(is_right, answers, wrong)
    return predictions


def coin(study: Study, rng: np.random.Generator) -> ScoredText:
    """Draw each choice by chance."""
    predictions = {}
    for name in _variant_names(study):
        draws = rng.random(len(study))
        predictions[name] = (draws * study.candidates).astype(int)
    return predictions


def coin_per_unit(study: Study, rng: np.random.Generator) -> ScoredText:
    """Draw one choice for all problems of a unit."""
    units = study.dataset.units
    predictions = {}
    for name in _variant_names(study):
        choice_of_unit = rng.integers(0, 2, units.count)
        predictions[name] = choice_of_unit[units.numbers]
    return predictions


def abstaining(pattern: Callable[[Study, np.random.Generator], np.ndarray], scorer: Draw = coin) -> Draw:
    """Make a scorer silent where a pattern is true, drawn anew for each variant."""

    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        predictions = scorer(study, rng)
        return {name: np.where(pattern(study, rng), -1, choices) for name, choices in predictions.items()}

    return score


def mostly_first(share: float) -> Draw:
    """Make a scorer that takes the first candidate in a share of the problems, and tosses a coin in the others."""

    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        predictions = {}
        for name, choices in coin(study, rng).items():
            is_first_taken = rng.random(len(study)) < share
            predictions[name] = np.where(is_first_taken, 0, choices)
        return predictions

    return score


def name_biased(study: Study, rng: np.random.Generator) -> ScoredText:
    """Draw a favourite candidate for each group, which is chosen nine times in ten."""
    favourite_of_group = rng.integers(0, 2, study.group.max() + 1)
    favourites = favourite_of_group[study.group]
    predictions = {}
    for name in ASKED:
        candidates = 1 - favourites if name == "reversed" else favourites
        is_favourite_taken = rng.random(len(study)) < 0.9
        predictions[name] = np.where(is_favourite_taken, candidates, 1 - candidates)
    return predictions


def artifact_reader(study: Study, rng: np.random.Generator) -> ScoredText:
    """Draw predictions that are right in 75 % of every variant, however little of the text it has."""
    return _draw_right(study, rng, dict.fromkeys(ASKED, 0.75))


def association_reader(study: Study, rng: np.random.Generator) -> ScoredText:
    """Draw predictions that are right in 95 % of the associative problems, and by chance in the others."""
    shares = np.where(study.associative, 0.95, 0.5)
    return _draw_right(study, rng, dict.fromkeys(RETOLD, shares))


def reasoner(share: float) -> Draw:
    """Make a scorer that is right on a share of the problems, in every version that has the whole text."""
    return lambda study, rng: _draw_right(study, rng, dict.fromkeys(RETOLD, share))


def silent_reasoner(study: Study, rng: np.random.Generator) -> ScoredText:
    """Draw predictions right on 80 %, and none on half of the problems that are not associative."""
    is_silent = ~study.associative & (rng.random(len(study)) < 0.5)
    predictions = reasoner(0.8)(study, rng)
    return {name: np.where(is_silent, -1, choices) for name, choices in predictions.items()}


def by_heart(study: Study, rng: np.random.Generator) -> ScoredText:
    """Draw predictions of a scorer that knows 77 % of the texts by heart.

    It gives the candidate it remembers where candidates change places too.
    """
    is_remembered = rng.random(len(study)) < 0.77
    predictions = coin(study, rng)
    for name in RETOLD:
        remembered_choices = 1 - study.answers if name == "reversed" else study.answers
        predictions[name] = np.where(is_remembered, remembered_choices, predictions[name])
    return predictions


def in_samples(scorer: Draw) -> Draw:
    """Make a scorer that is asked several times, and answers anew each time."""

    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        samples = [scorer(study, rng) for _ in range(SAMPLES)]
        predictions = {}
        for name in samples[0]:
            columns = [sample[name] for sample in samples]
            predictions[name] = np.stack(columns, axis=1)
        return predictions

    return score


def copied(scorer: Draw) -> Draw:
    """Make a scorer that is asked several times, and always gives its first answer."""

    def score(study: Study, rng: np.random.Generator) -> ScoredText:
        predictions = scorer(study, rng)
        return {name: np.repeat(choices[:, None], SAMPLES, axis=1) for name, choices in predictions.items()}

    return score


def _is_first_of_group(study: Study, rng: np.random.Generator) -> np.ndarray:
    """Whether each problem is the first of its group.

    Nothing is drawn.
    """
    return np.append(True, study.group[1:] != study.group[:-1])


def _is_in_half_of_the_groups(study: Study, rng: np.random.Generator) -> np.ndarray:
    """Whether each problem's group is in a random half."""
    is_group_in_half = rng.permutation(study.group.max() + 1) % 2 == 0
    return is_group_in_half[study.group]


def _is_first_right_mostly(study: Study, rng: np.random.Generator) -> np.ndarray:
    """Whether each problem is among a random 80 % of those whose first candidate is right."""
    return (study.answers == 0) & (rng.random(len(study)) < 0.8)


def _make_silence(share: float) -> Callable[[Study, np.random.Generator], np.ndarray]:
    """Make a pattern that is true for each problem with a probability of `share`."""
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
    Nature("… where the first is right", abstaining(_is_first_right_mostly), {}),
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
    """Study made by `make`, drawn once however many scorers are asked."""
    return make(n, seed)


def audited(study: Study, scored: ScoredText, protocols: Sequence[str] = RUN) -> list[Metric]:
    """Rows of an audit of these predictions."""
    predictions: dict[str, dict[str, list[Prediction]]] = {}
    for name, choices in scored.items():
        predictions[name] = {}
        for problem, problem_choices in zip(study.dataset, choices, strict=True):
            samples = np.atleast_1d(problem_choices).tolist()
            predictions[name][problem.id] = _make_predictions(problem.id, name, samples)
    sheet = AuditSheet(study.dataset, predictions, study.variants, "simulated", "own")
    rows: list[Metric] = []
    for name in protocols:
        rows += PROTOCOLS[name].rows(sheet)
    return rows


def _make_predictions(problem_id: str, variant: str, choices: Sequence[int]) -> list[Prediction]:
    """Make the predictions for one problem from its choices, a sample each, -1 for an abstention."""
    predictions = []
    for number, choice in enumerate(choices):
        sample = number if len(choices) > 1 else None
        prediction = None if choice < 0 else choice
        predictions.append(Prediction(problem_id, variant, "simulated", "own", None, prediction, None, sample=sample))
    return predictions


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
    """Audit a scorer `times` times, each time with choices drawn anew, and count the kinds of verdicts."""
    rng = np.random.default_rng([seed, n])
    bold = shy = loud = 0
    for round_ in range(times):
        study = drawn_study(nature.study, n, seed * 1_000_003 + round_ % STUDIES)
        audit_verdict = verdict(audited(study, nature.score(study, rng)))
        claims = WORDS[audit_verdict.word.removesuffix(NEARLY)]
        if _has_wrong_claim(claims, nature.truth):
            bold += 1
        elif _has_open_fact(claims, nature.truth):
            shy += 1
        loud += any(_has_wrong_finding(point.claims, nature.truth) for point in audit_verdict.points)
    return Cell(nature.name, n, times, (times - bold - shy) / times, shy / times, bold / times, loud / times)


def _has_wrong_claim(claims: Mapping[str, str], truth: Mapping[str, str]) -> bool:
    """Whether a headline claims something that is not true."""
    return any(truth.get(fact, AT) != claim for fact, claim in claims.items())


def _has_open_fact(claims: Mapping[str, str], truth: Mapping[str, str]) -> bool:
    """Whether a headline leaves open a true property of problems or twins."""
    return any(fact in truth and fact not in claims for fact in HEAD)


def _has_wrong_finding(claims: Mapping[str, str], truth: Mapping[str, str]) -> bool:
    """Whether a sentence below the headline claims a difference from chance that is not true."""
    for fact, claim in claims.items():
        if fact in HEAD or claim not in (ABOVE, BELOW):
            continue
        if truth.get(fact, AT) != claim:
            return True
    return False


def compared(better: float, n: int, times: int, seed: int = 0) -> Cell:
    """Compare two models `times` times, and count which one is said to be ahead.

    They share their difficulties. The first is better by `better`, a share of problems, which may be 0.
    """
    rng = np.random.default_rng([seed, n, 7])
    bold = shy = 0
    for round_ in range(times):
        study = drawn_study(make_study, n, seed * 1_000_003 + round_ % STUDIES)
        is_hard = rng.random(len(study)) < 0.6  # on these both do the same
        shared_draws = rng.random(len(study))
        tables = []
        for share in (0.7 + better, 0.7):
            draws = np.where(is_hard, shared_draws, rng.random(len(study)))
            choices = np.where(draws < share, study.answers, 1 - study.answers)
            tables.append(Answers.of_choices(study.dataset, choices))
        comparisons = list(compare_answers(*tables).values())
        leads = {comparison.lead for comparison in verdicts(comparisons)}
        is_false_lead = 1 in leads and better == 0
        bold += -1 in leads or is_false_lead
        shy += better > 0 and leads == {0}
    name = "two equal models" if better == 0 else f"one better by {100 * better:.0f} points"
    return Cell(name, n, times, (times - bold - shy) / times, shy / times, bold / times, 0.0)


@dataclass(frozen=True)
class Wavering:
    """A scorer that has a probability of being right for each problem, and draws anew in every sample."""

    name: str
    levels: tuple[float, ...]
    """Probabilities of being right."""
    shares: tuple[float, ...]
    """Share of the problems that have each of these probabilities."""

    def draw(self, study: Study, rng: np.random.Generator) -> ScoredText:
        """Draw the scorer's samples of each problem, where half of the twins are as hard as each other."""
        chances_alone = rng.choice(self.levels, len(study), p=self.shares)
        chances_of_group = rng.choice(self.levels, len(study), p=self.shares)
        is_group_alike = rng.random(study.group.max() + 1) < TWINS_ALIKE
        chances = np.where(is_group_alike[study.group], chances_of_group[study.group], chances_alone)
        is_right = rng.random((len(study), SAMPLES)) < chances[:, None]
        answers = study.answers[:, None]
        return {ORIGINAL: np.where(is_right, answers, 1 - answers)}

    def truths(self) -> dict[tuple[str, str, str], float]:
        """True values that the rows of an audit estimate, by protocol, subset and metric.

        They are means over all possible problems.
        """
        levels = np.array(self.levels)
        shares = np.array(self.shares)

        def mean(values: np.ndarray) -> float:
            return float((shares * values).sum())

        def of_pairs(values: np.ndarray) -> float:
            return TWINS_ALIKE * mean(values**2) + (1 - TWINS_ALIKE) * mean(values) ** 2

        always = levels**SAMPLES
        never = (1 - levels) ** SAMPLES
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
    """Audit a scorer of several samples `times` times, and count the intervals with the truth in them, by row.

    Problems and choices are drawn anew each time.
    """
    rng = np.random.default_rng([seed, n, 11])
    truths = scorer.truths()
    inside = dict.fromkeys(truths, 0)
    widths = dict.fromkeys(truths, 0.0)
    for round_ in range(times):
        study = drawn_study(make_bare, n, seed * 1_000_003 + round_ % STUDIES)
        for row in audited(study, scorer.draw(study, rng), INTERVALS):
            name = (row.protocol, row.subset, row.metric)
            if name in truths and row.low is not None and row.high is not None:
                inside[name] += row.low - ROUNDING <= truths[name] <= row.high + ROUNDING
                widths[name] += row.high - row.low
    rows = []
    for name in truths:
        rows.append(Coverage(scorer.name, n, " ".join(name), times, inside[name] / times, widths[name] / times))
    return rows


def make_bare(n: int, seed: int) -> Study:
    """Make a study like WinoGrande's dev set, without variants."""
    return study_of(as_winogrande(n, np.random.default_rng(seed)), variants=False)


INTERVALS = ("accuracy", "groups", "samples")
"""Protocols whose intervals are counted."""
ROUNDING = 1e-9


def coverage(sizes: Sequence[int], times: int, seed: int = 0, workers: int = 1) -> Iterator[Coverage]:
    """Coverage of the intervals over samples, of every scorer of `WAVERING` at every size."""
    scorers, counts = zip(*product(WAVERING, sizes), strict=True)
    with ProcessPoolExecutor(workers) as pool:
        for rows in pool.map(covered, scorers, counts, repeat(times), repeat(seed)):
            yield from rows


BIASED = (
    "Less linear bias",
    "The linear bias is still there",
    "Nothing was removed, though there is linear bias",
    "More was removed than by chance",
    "Over-filtered",
)
"""Beginnings of the words of debias that say there was something to remove."""


UNDECIDED = ("It depends", "Undecided", "Not ")
"""Beginnings of the words of debias that leave that open."""


def debiased(bias: float, times: int) -> Cell:
    """Count the verdicts on AFLite on 300 problems.

    The features say nothing if `bias` is 0, else they give that share of the pairs away.
    """
    from relabelled import words_of_debias

    words = words_of_debias(times, share=bias)
    claimed = sum(count for word, count in words.items() if word.startswith(BIASED))
    undecided = sum(count for word, count in words.items() if word.startswith(UNDECIDED))
    if bias == 0:
        right = 1 - (claimed + undecided) / times
        return Cell("debias, noise", 300, times, right, undecided / times, claimed / times, 0.0)
    name = f"debias, bias in {bias:.0%} of pairs"
    return Cell(name, 300, times, claimed / times, 1 - claimed / times, 0.0, 0.0)


def table(sizes: tuple[int, ...], times: int, seed: int = 0, workers: int = 1) -> Iterator[Cell]:
    """Cells of every scorer at every size, then of the comparisons, then of debiasing."""
    tasks: list[Task] = [("judge", index, n) for index, n in product(range(len(NATURES)), sizes)]
    tasks += [("compared", better, n) for better, n in product((0.0, 0.02, 0.1), sizes)]
    tasks += [("debiased", bias, max(times // 8, 2)) for bias in (0.0, 0.3)]
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_measure_cell, tasks, repeat(times), repeat(seed))


Task = tuple[str, float, int]
"""Kind of a cell, what it varies (index of a scorer, lead or bias), and problems (audits if the kind is "debiased")."""


def _measure_cell(task: Task, times: int, seed: int) -> Cell:
    """Measure one cell.

    Debiasing is repeated as often as its task says, not `times` times.
    """
    kind, setting, n = task
    if kind == "judge":
        return judge(NATURES[int(setting)], n, times, seed)
    if kind == "compared":
        return compared(setting, n, times, seed)
    return debiased(setting, n)


def summary(cells: Sequence[Cell]) -> Iterator[str]:
    """Lines with the share of bold verdicts, and the cells in which more than the claimed 5 % are bold.

    A cell is named if the excess is significant at 5 %, corrected for the number of cells (Holm).
    """
    from scipy import stats

    shares_by_kind = {
        "bold headlines": [cell.bold for cell in cells],
        "bold findings": [cell.findings for cell in cells],
    }
    audits = sum(cell.times for cell in cells)
    p_values = []
    lines = []
    for kind, shares in shares_by_kind.items():
        counts = [round(share * cell.times) for cell, share in zip(cells, shares, strict=True)]
        yield f"{kind}: {sum(counts):,} of {audits:,} verdicts, {sum(counts) / audits:.1%}"
        for cell, count in zip(cells, counts, strict=True):
            p_values.append(float(stats.binom.sf(count - 1, cell.times, MOST_BOLD)))
            where = f"{cell.nature}, {cell.n:,} problems"
            lines.append(f"above {MOST_BOLD:.0%}, {kind}: {where}: {count} of {cell.times}")
    corrected = holm(p_values)
    significant_lines = [line for p, line in zip(corrected, lines, strict=True) if p < MOST_BOLD]
    yield from significant_lines
    if not significant_lines:
        yield f"in no cell more than {MOST_BOLD:.0%} are shown to be bold"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="4 audits of each scorer on 20 problems")
    args = parser.parse_args()
    if args.quick:
        args.times = 4
        args.sizes = [20]
    cells = table(tuple(args.sizes), args.times, args.seed, args.workers)
    if args.json:
        print(json.dumps([cell.__dict__ for cell in cells], indent=1))
        return
    print_cells(cells)
    print(f"\n{'95 % intervals over 4 samples':32} {'problems':>8} {'row':36} {'covered':>8} {'width':>6}")
    for row in coverage(args.sizes, args.times, args.seed, args.workers):
        print(f"{row.nature:32} {row.n:8,} {row.row:36} {row.covered:8.1%} {row.width:6.3f}", flush=True)


def print_cells(measured_cells: Iterable[Cell]) -> None:
    """Print each cell as soon as it is measured, then the power and the summary."""
    print(f"{'scorer':34} {'problems':>8} {'right':>7} {'shy':>7} {'bold':>7} {'findings':>9}")
    cells = []
    for cell in measured_cells:
        cells.append(cell)
        shares = f"{cell.right:7.1%} {cell.shy:7.1%} {cell.bold:7.1%} {cell.findings:9.1%}"
        print(f"{cell.nature:34} {cell.n:8,} {shares}", flush=True)
    for cell in cells:
        floor = FLOORS.get((cell.nature, cell.n))
        if floor is not None:
            print(f"power: {cell.nature}, {cell.n:,} problems: {cell.right:.2f}, at least {floor:.2f} wanted")
    print(*summary(cells), sep="\n")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
