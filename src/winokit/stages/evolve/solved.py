"""Groups that are too easy for models: the excess over chance retires, and no more.

A group is solved where a stated majority of the models gets everything right that was asked about it: each twin, and
where it makes sense, each again with the candidates switched; a model that only guesses, or that likes one candidate,
seldom does. Guessing solves some too, and with the same probability gets everything wrong, so that a group would be
solved if its answers were turned round: as many groups as are *turned* may be solved by chance. Silence neither solves
nor turns. Only where significantly more are solved than if right answers changed places (the one null, METHODS M.1,
unit by unit) is anything retired, and then the difference to the turned, drawn at random. What stays is solved as often
as turned, for each way in which the models agree: where some of them are enough, one way may have more turned than
solved, and these are drawn from.

That keeps hidden answers hidden. Who has the models sees on which groups of a published test they are decided: had more
of the turned stayed than of the solved, the opposite of the models' answers would be the better guess. So dev and test
are counted apart: of a balance over both, the half in dev is public and tells the other. What is new has no split yet
and may fall into any, so there every decided group goes, solved or turned.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from winokit.answers import ABSTAINED, Answers, AskedProblems, Scorer, choice_numbers
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.methods.arrays import IntArray
from winokit.methods.metrics.corrections import holm
from winokit.methods.metrics.judge_solved import p_solved
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.majority import refuse_samples
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants
from winokit.methods.transforms.variants import make_variants
from winokit.models.registry import load_model
from winokit.problem import ORIGINAL, Dataset, Problem, grouped, original_id
from winokit.progress import Progress
from winokit.stages.release.hidden import Draws

SWITCHED = "switched"
NEW = "new"
"""What stands in no split yet."""
Group = list[int]
"""The rows of a group, or that of a problem alone."""


@dataclass(frozen=True)
class EvolveAnswers:
    """The answers of one model: to problems as they are, and to those that were asked with candidates switched too."""

    model: str
    answers: Answers
    """Rows of the variants `original` and `switched`."""

    @classmethod
    def of(cls, model: str, asked: AskedProblems, predictions: Iterable[Prediction]) -> "EvolveAnswers":
        """Select the predictions on problems and variants that were asked."""
        asked_rows = [row for row in predictions if (row.variant, row.id) in asked.row_of]
        rows = np.array([asked.row_of[row.variant, row.id] for row in asked_rows], np.int64)
        return cls(
            model, Answers(asked, rows, choice_numbers([row.prediction for row in asked_rows]), (Scorer(model),))
        )

    @cached_property
    def choice_of(self) -> dict[tuple[str, str], int]:
        """Chosen candidate by variant and id of the original (-1 for an abstention)."""
        variants = self.answers.asked.variants
        return {
            (variants[index], original_id(problem)): choice
            for index, problem, choice in zip(
                self.answers.problem_index.tolist(), self.answers.problems, self.answers.choices.tolist(), strict=True
            )
        }

    def was_switched(self, problem: Problem) -> bool:
        """Whether it was asked about the problem with its candidates switched."""
        return (SWITCHED, original_id(problem)) in self.choice_of

    def on(self, problems: Dataset) -> Answers:
        """Its answers to problems as they are."""
        choices = choice_numbers([self.choice_of[ORIGINAL, original_id(problem)] for problem in problems])
        return Answers.of_choices(problems, choices, Scorer(self.model))

    def settled_on(self, problems: Dataset) -> Answers:
        """Its answers that stay when candidates change places. Elsewhere it is silent."""
        choices = [self._find_settled_choice(problem) for problem in problems]
        return Answers.of_choices(problems, choice_numbers(choices), Scorer(self.model))

    def _find_settled_choice(self, problem: Problem) -> int:
        name = original_id(problem)
        choice = self.choice_of[ORIGINAL, name]
        if choice == ABSTAINED:
            return ABSTAINED
        # Only problems with two candidates are switched, and then the other one is right.
        if self.choice_of.get((SWITCHED, name), 1 - choice) != 1 - choice:
            return ABSTAINED
        return choice


def answers_of(
    problems: Dataset, against: str | Path, *, cache: Cache | None = None, progress: Progress | None = None
) -> list[EvolveAnswers]:
    """The answers of a model (a SPEC), or of every model in a file of predictions."""
    variants = {name: variant.problems for name, variant in make_variants(problems, {SWITCHED}).items()}
    rows: dict[tuple[str, str], list[Prediction]] = defaultdict(list)
    if Path(against).is_file():
        for read in read_predictions(Path(against), problems):
            rows[read.model, read.scoring] += read.predictions
    else:
        model = load_model(str(against))
        plan = ScoringPlan()
        asked_now = {ORIGINAL: problems} | variants
        rows[str(against), ""] += score_variants(asked_now, model, plan, cache=cache, progress=progress)
    for own in rows.values():
        refuse_samples(own, "evolve")
    asked = AskedProblems.of(problems, variants)
    answers = [EvolveAnswers.of(name, asked, own) for (name, _), own in rows.items()]
    for model_answers in answers:
        missing = sum((ORIGINAL, original_id(problem)) not in model_answers.choice_of for problem in problems)
        if missing:
            total = f"{missing:,} of the {len(problems):,} problems to filter"
            raise BadInput(f"{against}: no prediction of {model_answers.model} for {total}")
    return answers


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
    """Probability that right answers which change places solve so many, corrected for the number of strata."""
    retired: int

    @property
    def kind(self) -> str:
        """A phrase for these groups."""
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
    secret = secret or Draws.fresh()
    needed = models_needed(majority, len(answers))
    settled = [model.settled_on(problems) for model in answers]
    agreed = agreed_answers(problems, settled, needed)
    strata: dict[tuple[str, int, int], list[Group]] = defaultdict(list)
    for group in _list_groups(problems):
        members = [problems[row] for row in group]
        split = "" if where is None else where.get(members[0].id, NEW)
        switched = sum(any(model.was_switched(problem) for model in answers) for problem in members)
        strata[split, len(group), switched].append(group)
    keys = sorted(strata)
    raw_p_values = []
    for key in keys:
        rows = list(chain.from_iterable(strata[key]))
        raw_p_values.append(p_solved(agreed.take(rows)))
    retire: set[str] = set()
    counts = []
    for key, p in zip(keys, holm(raw_p_values), strict=True):
        solved = [group for group in strata[key] if is_solved(agreed, group)]
        turned = [group for group in strata[key] if is_turned(agreed, group)]
        retired: list[Group] = []
        if p < alpha:
            retired = _draw_excess(problems, settled, solved, turned, secret)
        if retired and key[0] == NEW:
            retired = [*solved, *turned]
        retire |= {problems[row].id for row in chain.from_iterable(retired)}
        counts.append(Stratum(*key, len(strata[key]), len(solved), len(turned), p, len(retired)))
    return Solved(frozenset(retire), tuple(counts), needed)


def models_needed(majority: float, models: int) -> int:
    """Return how many of these models are a majority."""
    return max(1, math.ceil(majority * models - 1e-9))


def agreed_answers(problems: Dataset, settled: Sequence[Answers], needed: int) -> Answers:
    """Return the answers on which a majority of models agrees in a whole group.

    Elsewhere it is silent.

    >>> twins = [Problem("Ana thanked Ruth because ", end, ("Ana", "Ruth"), answer, group="help")
    ...          for answer, end in enumerate([" was helped.", " helped."])]
    >>> data = Dataset(twins)
    >>> models = [Answers.of_choices(data, choices) for choices in ([0, 1], [0, 1], [0, 0])]
    >>> agreed_answers(data, models, 2).choices.tolist(), agreed_answers(data, models, 3).choices.tolist()
    ([0, 1], [-1, -1])
    """
    choices: IntArray = np.full(len(problems), ABSTAINED)
    for group in _list_groups(problems):
        counts = Counter(tuple(model.choices[group].tolist()) for model in settled)
        ((commonest, count),) = counts.most_common(1)
        if count >= needed and ABSTAINED not in commonest:
            choices[group] = commonest
    return Answers.of_choices(problems, choices, Scorer("agreed"))


def is_solved(answers: Answers, group: Group) -> bool:
    """Whether every member of a group is right."""
    return bool(answers.correct[group].all())


def is_turned(answers: Answers, group: Group) -> bool:
    """Whether every member of a group is answered, and wrong."""
    return not (answers.correct[group] | answers.silent[group]).any()


def _list_groups(problems: Dataset) -> list[Group]:
    """The rows of each group, and of each problem alone."""
    rows_by_name: dict[str, list[int]] = {}
    for row, problem in enumerate(problems):
        name = f"alone {problem.id}" if problem.group is None else f"group {problem.group}"
        rows_by_name.setdefault(name, []).append(row)
    return list(rows_by_name.values())


def _draw_excess(
    problems: Dataset, settled: Sequence[Answers], solved: list[Group], turned: list[Group], secret: Draws
) -> list[Group]:
    """Draw the groups by which one side exceeds the other, at random.

    This is done apart for each way in which the models agree.

    Balanced only in sum, the best guess would be what all of three say and the opposite of what two say.
    """
    sides = [
        grouped((_find_stances(settled, group), group) for group in solved),
        grouped((_find_stances(settled, group, turned=True), group) for group in turned),
    ]
    chosen: list[Group] = []
    for own, others in zip(sides, sides[::-1], strict=True):
        for stances, alike in own.items():
            ordered_groups = secret.ordered("retired", alike, lambda group: min(problems[row].id for row in group))
            chosen += ordered_groups[len(others.get(stances, ())) :]
    return chosen


def _find_stances(settled: Sequence[Answers], group: Group, *, turned: bool = False) -> tuple[int, ...]:
    """Return for each model 1 if it solves a group, -1 if it turns it, else 0.

    The signs are exchanged if `turned`.
    """
    stances = []
    for answers in settled:
        stance = int(is_solved(answers, group)) - int(is_turned(answers, group))
        stances.append(-stance if turned else stance)
    return tuple(stances)
