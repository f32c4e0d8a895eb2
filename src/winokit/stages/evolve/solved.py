"""Which groups are too easy for the models, with chance taken out: retire the excess, and no more than that.

A group is solved where a stated majority of the models gets everything right that was asked about it: each twin, and
where it makes sense, each again with the candidates switched; a model that only guesses, or that likes one candidate,
seldom does. Guessing solves some too, and with the same probability gets everything wrong, so that a group would be
solved if its answers were turned round: as many groups as are *turned* may be solved by chance. Only where
significantly more are solved than turned (a sign test, exact whatever the models have in common) is anything retired,
and then the difference, drawn at random. What stays is solved as often as turned, for each way in which the models
agree: where some of them are enough, one way may have more turned than solved, and these are drawn from.

That keeps hidden answers hidden. Who has the models sees on which groups of a published test they are decided: had more
of the turned stayed than of the solved, the opposite of the models' answers would be the better guess. So dev and test
are counted apart: of a balance over both, the half in dev is public and tells the other. What is new has no split yet
and may fall into any, so there every decided group goes, solved or turned.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.methods.metrics.compare import holm
from winokit.methods.metrics.luck import p_chance
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants
from winokit.methods.transforms.variants import make_variants
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem, grouped
from winokit.progress import Progress
from winokit.stages.release.hidden import Draws

ORIGINAL, SWITCHED = "original", "switched"
Unit = Sequence[Problem]
NEW = "new"
"""What stands in no split yet."""


@dataclass(frozen=True)
class EvolveAnswers:
    """Which problems a model gets right, as they are and with their candidates switched, by id."""

    model: str
    right: Mapping[str, bool]
    switched: Mapping[str, bool] = field(default_factory=dict)

    def outcomes(self, name: str) -> list[bool]:
        """Everything that was asked about a problem."""
        return [self.right[name], *([self.switched[name]] if name in self.switched else [])]


def answers_of(
    problems: Dataset, against: str | Path, *, cache: Cache | None = None, progress: Progress | None = None
) -> list[EvolveAnswers]:
    """The answers of a model (a SPEC), or of every model in a file of predictions; an abstention is wrong."""
    rows: dict[tuple[str, str], list[Prediction]] = defaultdict(list)
    if Path(against).is_file():
        for read in read_predictions(Path(against), problems):
            rows[read.model, read.scoring] += read.predictions
    else:
        variants = {name: variant.problems for name, variant in make_variants(problems, {SWITCHED}).items()}
        model, plan, asked = load_model(str(against)), ScoringPlan(), {ORIGINAL: problems} | variants
        rows[str(against), ""] += score_variants(asked, model, plan, cache=cache, progress=progress)
    answers = [EvolveAnswers(name, _right(own, ORIGINAL), _right(own, SWITCHED)) for (name, _), own in rows.items()]
    for model_answers in answers:
        missing = sum(problem.id not in model_answers.right for problem in problems)
        if missing:
            total = f"{missing:,} of the {len(problems):,} problems to filter"
            raise BadInput(f"{against}: no prediction of {model_answers.model} for {total}")
    return answers


def _right(rows: Iterable[Prediction], variant: str) -> dict[str, bool]:
    """Whether each prediction for a variant is right, by the answer beside it."""
    own = (row for row in rows if row.variant == variant and row.answer is not None)
    return {row.id: row.prediction == row.answer for row in own}


@dataclass(frozen=True, slots=True)
class Stratum:
    """Groups of one kind, and what became of them."""

    split: str
    """Dev, test or new; empty where all is of one split."""
    members: int
    """Problems in each: 1 for problems alone, 2 for pairs."""
    switched: int
    """How many of these are answered with their candidates switched as well."""
    groups: int
    solved: int
    turned: int
    """Solved if every answer were turned round: as many are solved by chance."""
    p: float
    """Probability that guessing solves so many more than it turns, corrected for the number of strata."""
    retired: int

    @property
    def kind(self) -> str:
        """What groups these are, in words."""
        name = {1: "problems alone", 2: "pairs"}.get(self.members, f"groups of {self.members}")
        if self.split:
            name = f"new {name}" if self.split == NEW else f"{name} of {self.split}"
        if not self.switched:
            return name
        share = "" if self.switched == self.members else f"{self.switched} of {self.members} "
        return f"{name} ({share}switched too)"


@dataclass(frozen=True)
class Solved:
    """The outcome: ids to retire, and the reasoning in numbers."""

    retire: frozenset[str]
    strata: tuple[Stratum, ...]
    needed: int
    """Models that must solve a group."""


def solved_beyond_chance(
    problems: Dataset,
    answers: Sequence[EvolveAnswers],
    *,
    majority: float = 1.0,
    alpha: float = 0.05,
    secret: Draws | None = None,
    where: Mapping[str, str] | None = None,
) -> Solved:
    """Whole groups to retire, since more of them are solved than chance explains.

    Parameters
    ----------
    where
        The split of each id; what is missing is new. Default: everything is of one split.
    """
    needed = max(1, math.ceil(majority * len(answers) - 1e-9))
    units = grouped((f"alone {p.id}" if p.group is None else f"group {p.group}", p) for p in problems)
    strata: dict[tuple[str, int, int], list[Unit]] = defaultdict(list)
    for unit in units.values():
        split = "" if where is None else where.get(unit[0].id, NEW)
        switched = sum(any(problem.id in model.switched for model in answers) for problem in unit)
        strata[split, len(unit), switched].append(unit)
    solved = {key: [unit for unit in strata[key] if is_solved(unit, answers, needed)] for key in sorted(strata)}
    turned = {key: [unit for unit in strata[key] if is_solved(unit, answers, needed, turned=True)] for key in solved}
    raw = [p_chance(len(easy), max(1, len(easy) + len(turned[key]))) for key, easy in solved.items()]
    secret = secret or Draws.fresh()
    retire: set[str] = set()
    counts = []
    for (key, easy), p in zip(solved.items(), holm(raw), strict=True):
        # Apart for each way in which the models agree, and on the side that has more: balanced only in sum, the best
        # guess would be what all of three say and the opposite of what two say.
        decided = [(easy, False), (turned[key], True)] if p < alpha else []
        sides = [grouped((_stances(unit, answers, turned=side), unit) for unit in own) for own, side in decided]
        chosen: list[Unit] = []
        for own, others in zip(sides, sides[::-1], strict=True):
            for stances, alike in own.items():
                drawn = secret.ordered("retired", alike, lambda unit: min(problem.id for problem in unit))
                chosen += drawn[len(others.get(stances, ())) :]
        if chosen and key[0] == NEW:
            chosen = [*easy, *turned[key]]
        retire |= {problem.id for unit in chosen for problem in unit}
        counts.append(Stratum(*key, len(strata[key]), len(easy), len(turned[key]), p, len(chosen)))
    return Solved(frozenset(retire), tuple(counts), needed)


def is_solved(unit: Unit, answers: Sequence[EvolveAnswers], needed: int, *, turned: bool = False) -> bool:
    """Whether enough models get everything right, or would if all answers were turned round."""
    return sum(all(right != turned for p in unit for right in model.outcomes(p.id)) for model in answers) >= needed


def _stances(unit: Unit, answers: Sequence[EvolveAnswers], *, turned: bool = False) -> tuple[int, ...]:
    """For each model 1 if it solves a unit, -1 if it turns it, else 0; the other way round if `turned`."""
    solves = [[is_solved(unit, [model], 1, turned=side) for side in (turned, not turned)] for model in answers]
    return tuple(one - other for one, other in solves)
