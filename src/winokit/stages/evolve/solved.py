"""Groups that are too easy: only the excess over chance retires.

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
"""The name of a problem's split while it has none."""
Group = list[int]
"""The rows of a group's problems in a dataset; one row for a problem that is in no group."""
StratumKey = tuple[str, int, int]
"""Of the groups of a stratum: their split, their number of problems, and how many of these were switched too."""


@dataclass(frozen=True)
class EvolveAnswers:
    """The answers of one model, with candidates as they are and switched."""

    model: str
    answers: Answers
    """Rows of the variants `original` and `switched`. Not every problem can be switched."""

    @classmethod
    def of(cls, model: str, asked: AskedProblems, predictions: Iterable[Prediction]) -> "EvolveAnswers":
        """Make answers of a model's predictions.

        Predictions on other problems or variants are ignored.
        """
        asked_predictions = [row for row in predictions if (row.variant, row.id) in asked.row_of]
        rows = np.array([asked.row_of[row.variant, row.id] for row in asked_predictions], np.int64)
        choices = choice_numbers([row.prediction for row in asked_predictions])
        return cls(model, Answers(asked, rows, choices, (Scorer(model),)))

    @cached_property
    def choice_of(self) -> dict[tuple[str, str], int]:
        """Index of the chosen candidate by variant and original problem's id.

        It is -1 for an abstention.
        """
        variants = self.answers.asked.variants
        problem_indices = self.answers.problem_index.tolist()
        choices = self.answers.choices.tolist()
        choice_of = {}
        for index, problem, choice in zip(problem_indices, self.answers.problems, choices, strict=True):
            choice_of[variants[index], original_id(problem)] = choice
        return choice_of

    def was_switched(self, problem: Problem) -> bool:
        """Whether the model also answered a problem with switched candidates."""
        return (SWITCHED, original_id(problem)) in self.choice_of

    def on(self, problems: Dataset) -> Answers:
        """The model's answers to these problems as they are.

        There is a row per problem. Raises KeyError if the model was not asked one of them.
        """
        choices = [self.choice_of[ORIGINAL, original_id(problem)] for problem in problems]
        return Answers.of_choices(problems, choice_numbers(choices), Scorer(self.model))

    def settled_on(self, problems: Dataset) -> Answers:
        """The model's answers that stay the same when candidates are switched.

        There is a row per problem. All other answers count as abstentions. A problem that was not switched keeps its
        answer.
        """
        choices = [self._find_settled_choice(problem) for problem in problems]
        return Answers.of_choices(problems, choice_numbers(choices), Scorer(self.model))

    def _find_settled_choice(self, problem: Problem) -> int:
        """Index of the candidate that is chosen in both orders.

        It is -1 if the model abstains or changes its answer. A problem that was not switched has the one choice.
        """
        name = original_id(problem)
        choice = self.choice_of[ORIGINAL, name]
        if choice == ABSTAINED:
            return ABSTAINED
        # Only problems with two candidates are switched, and then the same answer has the other index.
        expected_choice = 1 - choice
        switched_choice = self.choice_of.get((SWITCHED, name), expected_choice)
        return choice if switched_choice == expected_choice else ABSTAINED


def answers_of(
    problems: Dataset, against: str | Path, *, cache: Cache | None = None, progress: Progress | None = None
) -> list[EvolveAnswers]:
    """Ask a model, or read every model in a file of predictions.

    `against` is the model's SPEC or the file's path. Problems are asked as they are and with candidates switched.
    Raises BadInput if a file lacks a prediction for one of the problems.
    """
    variants = {name: variant.problems for name, variant in make_variants(problems, {SWITCHED}).items()}
    predictions: dict[tuple[str, str], list[Prediction]] = defaultdict(list)  # by model and scoring
    if Path(against).is_file():
        for part in read_predictions(Path(against), problems):
            predictions[part.model, part.scoring] += part.predictions
    else:
        model = load_model(str(against))
        versions = {ORIGINAL: problems} | variants
        predictions[str(against), ""] += score_variants(versions, model, ScoringPlan(), cache=cache, progress=progress)
    asked_problems = AskedProblems.of(problems, variants)
    answers = []
    for (name, _), model_predictions in predictions.items():
        refuse_samples(model_predictions, "evolve")
        answers.append(EvolveAnswers.of(name, asked_problems, model_predictions))
    for model_answers in answers:
        missing = sum((ORIGINAL, original_id(problem)) not in model_answers.choice_of for problem in problems)
        if missing:
            total = f"{missing:,} of the {len(problems):,} problems to filter"
            raise BadInput(f"{against}: no prediction of {model_answers.model} for {total}")
    return answers


@dataclass(frozen=True, slots=True)
class Stratum:
    """Counts of the groups of one kind: solved, turned and retired."""

    split: str
    """Dev, test or new. Empty if all problems are of one split."""
    members: int
    """Problems in each group: 1 for problems alone, 2 for pairs."""
    switched: int
    """How many problems of each group are answered with their candidates switched as well."""
    groups: int
    """How many groups there are."""
    solved: int
    """Groups in which every answer is right."""
    turned: int
    """Groups in which every answer is wrong: as many may be solved by chance."""
    p: float
    """Probability of at least so many solved groups if right answers change places, corrected over all strata."""
    retired: int
    """Groups to retire."""

    @property
    def kind(self) -> str:
        """A phrase for these groups, such as "pairs of dev (switched too)"."""
        name = {1: "problems alone", 2: "pairs"}.get(self.members, f"groups of {self.members}")
        if self.split:
            name = f"new {name}" if self.split == NEW else f"{name} of {self.split}"
        if not self.switched:
            return name
        share = "" if self.switched == self.members else f"{self.switched} of {self.members} "
        return f"{name} ({share}switched too)"


@dataclass(frozen=True)
class Solved:
    """Problems to retire since models solve them beyond chance."""

    retire: frozenset[str]
    """Ids of the problems to retire."""
    strata: tuple[Stratum, ...]
    needed: int
    """How many models must agree on a group to solve it."""


def solved_beyond_chance(
    problems: Dataset,
    answers: Sequence[EvolveAnswers],
    *,
    majority: float = 1.0,
    alpha: float = 0.05,
    secret: Draws | None = None,
    where: Mapping[str, str] | None = None,
) -> Solved:
    """Find the groups to retire: the excess that chance does not explain.

    Where models solve significantly more groups of a kind than chance does, the surplus is drawn from them.

    Parameters
    ----------
    majority
        Share of the models that must agree on the answers of a group, more than half.
    alpha
        Significance level of the number of solved groups, corrected over the kinds of groups (Holm).
    secret
        Source of the draws. Default: a fresh one.
    where
        The split of each problem by id. A problem without one is new. Default: everything is of one split.
    """
    secret = secret or Draws.fresh()
    needed = models_needed(majority, len(answers))
    settled = [model.settled_on(problems) for model in answers]
    agreed = agreed_answers(problems, settled, needed)
    groups_by_key = _stratify_groups(problems, answers, where)
    keys = sorted(groups_by_key)
    raw_p_values = []
    for key in keys:
        rows = list(chain.from_iterable(groups_by_key[key]))
        raw_p_values.append(p_solved(agreed.take(rows)))
    retired_ids: set[str] = set()
    strata = []
    for key, p in zip(keys, holm(raw_p_values), strict=True):
        groups = groups_by_key[key]
        solved = [group for group in groups if is_solved(agreed, group)]
        turned = [group for group in groups if is_turned(agreed, group)]
        retired: list[Group] = []
        if p < alpha:
            retired = _draw_excess(problems, settled, solved, turned, secret)
        is_new = key[0] == NEW
        if retired and is_new:
            retired = [*solved, *turned]
        retired_rows = chain.from_iterable(retired)
        retired_ids |= {problems[row].id for row in retired_rows}
        strata.append(Stratum(*key, len(groups), len(solved), len(turned), p, len(retired)))
    return Solved(frozenset(retired_ids), tuple(strata), needed)


def _stratify_groups(
    problems: Dataset, answers: Sequence[EvolveAnswers], where: Mapping[str, str] | None
) -> dict[StratumKey, list[Group]]:
    """Sort groups into strata by split, size and switched problems.

    A switched problem is one that some model also answered with its candidates switched. `where` is the split of each
    problem by id. The split is empty if `where` is None.
    """
    strata: dict[StratumKey, list[Group]] = defaultdict(list)
    for group in _list_groups(problems):
        members = [problems[row] for row in group]
        split = "" if where is None else where.get(members[0].id, NEW)
        switched = [problem for problem in members if _was_switched_for_any(answers, problem)]
        strata[split, len(group), len(switched)].append(group)
    return strata


def _was_switched_for_any(answers: Sequence[EvolveAnswers], problem: Problem) -> bool:
    """Whether at least one model answered the problem with its candidates switched."""
    return any(model.was_switched(problem) for model in answers)


def models_needed(majority: float, models: int) -> int:
    """Number of models that are a majority, at least 1.

    `majority` is a share, and `models` is the number of all models.
    """
    least_count = math.ceil(majority * models - 1e-9)  # a product like 2.0000000001 counts as 2
    return max(1, least_count)


def agreed_answers(problems: Dataset, settled: Sequence[Answers], needed: int) -> Answers:
    """Return the answers on which enough models agree in whole groups.

    At least `needed` models must give the same answers to every problem of a group. `settled` has the answers of each
    model, a row per problem. In all other groups, and where the agreed answers hold an abstention, the result abstains.

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
    """Whether the answers to all problems of a group are right."""
    return bool(answers.correct[group].all())


def is_turned(answers: Answers, group: Group) -> bool:
    """Whether every problem of a group is answered, and answered wrong."""
    is_right_or_silent = answers.correct[group] | answers.silent[group]
    return not is_right_or_silent.any()


def _list_groups(problems: Dataset) -> list[Group]:
    """List the rows of each group. A problem without one is alone."""
    rows_by_name: dict[str, list[int]] = {}
    for row, problem in enumerate(problems):
        name = f"alone {problem.id}" if problem.group is None else f"group {problem.group}"
        rows_by_name.setdefault(name, []).append(row)
    return list(rows_by_name.values())


def _draw_excess(
    problems: Dataset, settled: Sequence[Answers], solved: list[Group], turned: list[Group], secret: Draws
) -> list[Group]:
    """Draw the solved or turned groups to retire, pattern by pattern.

    As many solved as turned groups remain for each pattern of agreement. A pattern says which models solve a group; a
    turned group has the pattern it would have if wrong answers were right. Balanced only in sum over patterns, the best
    guess would be what all of three models say and the opposite of what two say.
    """

    def smallest_id(group: Group) -> str:
        return min(problems[row].id for row in group)

    solved_by_pattern = grouped((_find_stances(settled, group), group) for group in solved)
    turned_by_pattern = grouped((_find_stances(settled, group, turned=True), group) for group in turned)
    drawn: list[Group] = []
    for groups_by_pattern, opposites in (
        (solved_by_pattern, turned_by_pattern),
        (turned_by_pattern, solved_by_pattern),
    ):
        for pattern, groups in groups_by_pattern.items():
            remaining_count = len(opposites.get(pattern, ()))
            ordered_groups = secret.ordered("retired", groups, smallest_id)
            drawn += ordered_groups[remaining_count:]
    return drawn


def _find_stances(settled: Sequence[Answers], group: Group, *, turned: bool = False) -> tuple[int, ...]:
    """Return how each model stands to a group: 1, 0 or -1.

    It is 1 if the model solves the group, -1 if all its answers are wrong, else 0. With `turned` the signs are
    exchanged.
    """
    stances = []
    for answers in settled:
        stance = int(is_solved(answers, group)) - int(is_turned(answers, group))
        stances.append(-stance if turned else stance)
    return tuple(stances)
