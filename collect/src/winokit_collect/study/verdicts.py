"""Decide which problems of a study are valid, by one rule for all or by the rule of each.

| rule | a problem is valid if |
|---|---|
| `v1` | every vote is for it: Sakaguchi et al. (2019) in their first version |
| `majority` | each of the three rules holds for more than half of the votes |
| `dawid-skene` | it is likelier valid than not, by Dawid and Skene's model of the votes for and against |

A requester's decision holds under any rule. A problem that still lacks votes is neither valid nor invalid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from winokit_collect.study import schema
from winokit_collect.study.dawid_skene import DawidSkeneFit, fit_dawid_skene
from winokit_collect.study.schema import ProblemRow, Vote
from winokit_collect.study.validity import judge, judgements

Rule = Literal["v1", "majority", "dawid-skene"]
DAWID_SKENE = "dawid-skene"
AS_SETTING: Mapping[str, str] = {"v1": "unanimous", "majority": "majority"}
"""Rules as study.toml names them, by their names in an export."""


@dataclass(frozen=True)
class JudgedVotes:
    """Dawid and Skene's model, fitted to the votes for and against problems."""

    problems: Mapping[int, int]
    """Index of each problem in the fit, by its id in the database."""
    workers: Mapping[int, int]
    """Index of each worker in the fit, by their id in the database."""
    counts: Mapping[int, int]
    """Number of votes of each worker, by their id."""
    fit: DawidSkeneFit

    def is_valid(self, problem_id: int) -> bool:
        """Whether a problem is more likely valid than not."""
        item = self.problems[problem_id]
        return bool(self.fit.shares[item, 1] > 0.5)

    def reliability(self, worker_id: int) -> float:
        """Probability that a worker's vote is right."""
        return float(self.fit.reliability[self.workers[worker_id]])


def fit_judgements(votes: Sequence[tuple[int, int, bool]]) -> JudgedVotes | None:
    """Fit Dawid and Skene's model to votes for and against problems.

    A vote is (problem id, worker id, whether it is for the problem). None if there are no votes.
    """
    if not votes:
        return None
    problems: dict[int, int] = {}
    workers: dict[int, int] = {}
    counts: dict[int, int] = {}
    items = []
    judges = []
    choices = []
    for problem_id, worker_id, is_for in votes:
        items.append(problems.setdefault(problem_id, len(problems)))
        judges.append(workers.setdefault(worker_id, len(workers)))
        choices.append(int(is_for))
        counts[worker_id] = counts.get(worker_id, 0) + 1
    fit = fit_dawid_skene(items, judges, choices, choice_count=2)
    return JudgedVotes(problems, workers, counts, fit)


@dataclass
class Verdicts:
    """Verdicts on an export's problems, by one rule or each problem's own."""

    rule: Rule | None
    """The rule for all problems. None means that each problem has the rule it was made under."""
    kept_rules: Mapping[int | None, str]
    """The rule of study.toml, by number of the settings version."""
    model: JudgedVotes | None = field(default=None)

    def name_rule(self, row: ProblemRow) -> str:
        """Name of the rule for a problem, as an export writes it."""
        return self.rule or self.kept_rules[row.settings_id]

    def name_setting(self, row: ProblemRow) -> str:
        """Rule of study.toml that applies to a problem's votes.

        Dawid and Skene's rule is not among those, and the problem's own rule is named instead.
        """
        if self.rule is None or self.rule == DAWID_SKENE:
            return self.kept_rules[row.settings_id]
        return AS_SETTING[self.rule]

    def find_valid(self, row: ProblemRow) -> bool | None:
        """Whether a problem is valid, or None while votes are missing.

        A requester's decision comes before the votes.
        """
        if self.rule is None:
            return row.valid
        if row.decisions and row.decisions[0].valid is not None:
            return row.decisions[0].valid
        votes = complete_votes(row, schema.VALIDATE)
        if not votes or row.answer is None:
            return None
        if self.rule == DAWID_SKENE:
            return self.model is not None and self.model.is_valid(row.id)
        judged = judgements(deciding_votes(votes), row.answer)
        return judge(judged, AS_SETTING[self.rule]).valid


def decide_under(rule: Rule | None, rows: Sequence[ProblemRow], kept_rules: Mapping[int | None, str]) -> Verdicts:
    """Decide about problems, by one rule or each problem's own.

    A `rule` of None means each problem's own. The rows must be loaded with votes, tasks and decisions. `kept_rules` has
    the rule by number of the settings version.
    """
    verdicts = Verdicts(rule, kept_rules)
    if rule == DAWID_SKENE:
        cast = []
        for row in rows:
            if row.answer is None:
                continue
            for vote in _list_counted_votes(row, schema.VALIDATE):
                judgement = judgements([vote], row.answer)[0]
                cast.append((row.id, vote.worker_id, all(judgement)))
        verdicts.model = fit_judgements(cast)
    return verdicts


def complete_votes(row: ProblemRow, kind: str) -> list[Vote]:
    """The counting votes of a kind on a problem, if all are in.

    Empty if there are fewer than were asked for.
    """
    votes = _list_counted_votes(row, kind)
    needed_count = next((task.asked for task in row.tasks if task.kind == kind and task.asked is not None), 1)
    return votes if len(votes) >= needed_count else []


def _list_counted_votes(row: ProblemRow, kind: str) -> list[Vote]:
    """The counting votes of a kind on a problem, without gold."""
    return [vote for vote in row.votes if vote.kind == kind and vote.counted and not vote.gold]


def deciding_votes(votes: Sequence[Vote]) -> list[Vote]:
    """Votes that decide: all except the doubted ones, which were replaced."""
    return [vote for vote in votes if not vote.doubted]
