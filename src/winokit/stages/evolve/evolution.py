"""The benchmark that evolves: a new version, filtered against models that were not there when the last was made.

"Future benchmarks should dynamically evolve together with the evolving state of the art", ends the first WinoGrande
paper (Sakaguchi et al., 2019). Groups of dev, test and the new problems that models solve beyond chance are retired
(`solved`).

A retired test group is gone: with the models it was retired for, its answers are known. A retired dev group, and a new
one that is too easy, goes to training. Training problems stay where they are, since models have read them. How each
model fares on each version is recorded: accuracy and group accuracy with intervals, over what can be evaluated on.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import product
from pathlib import Path

from winokit.drawing.wording import join
from winokit.errors import BadInput, refusing
from winokit.files import read_object
from winokit.methods.metrics.judge import judge
from winokit.problem import Dataset
from winokit.results import NULL, Metric, P
from winokit.stages.evolve.pool import EvolvePool
from winokit.stages.evolve.settings import EvolveSettings
from winokit.stages.evolve.solved import EvolveAnswers, Solved, solved_beyond_chance
from winokit.stages.grade.ladder import on_grid, steps_of
from winokit.stages.release.hidden import units_by_id
from winokit.stages.release.manifest import ADDED, KEPT, REMOVED, RETIRED, TEST, TRAIN, Row, lineage_row

RECORD = "evolution.json"
SHOWN = ("accuracy", "group_accuracy")
"""What is told of a model on each version."""


@dataclass(frozen=True, slots=True)
class Fare:
    """One model on one version, as the judge says it."""

    version: str
    model: str
    against: bool
    """Whether this version was filtered against the model: then a fall is of our own making."""
    metric: str
    value: float
    low: float
    high: float
    n: int
    chance: float
    null: float | None = None
    """What its own choices would get if right answers changed places; unknown where scores are rounded."""
    p: float | None = None
    """The p-value of that."""

    @classmethod
    def of(cls, row: Metric, version: str, model: str, against: bool) -> "Fare":
        """The fare that a row of the judge, with its interval, says."""
        assert row.low is not None
        assert row.high is not None
        assert row.chance is not None
        null = row.details.get(NULL)
        null_share = None if null is None else float(null)
        return cls(
            version, model, against, row.metric, row.value, row.low, row.high, row.n, row.chance, null_share, row.p
        )

    @property
    def row(self) -> Metric:
        """The row of results that it is."""
        null_details = {name: value for name, value in ((NULL, self.null), (P, self.p)) if value is not None}
        numbers = (self.value, self.n, self.low, self.high, self.chance)
        return Metric("", self.model, "", None, "", self.version, self.metric, *numbers, details=null_details)


@dataclass(frozen=True)
class Evolution:
    """A new version, ready to be released."""

    version: str
    previous: str
    kept: Dataset
    removed: Dataset
    """For training alone."""
    lineage: tuple[Row, ...]
    """One row for every problem there ever was; a new problem's split is None until it is drawn."""
    fixed: Mapping[str, str]
    """Splits that are settled, by id; what is missing may be drawn."""
    solved: Solved
    fares: tuple[Fare, ...]
    """How each model fares on each version."""
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """How many groups are solved, in words: counted with hidden answers, and so the owner's."""
    units: Mapping[str, int] = field(default_factory=dict)
    """The stored units of the previous test, by id."""
    returned: tuple[str, ...] = ()
    """Ids of problems that were retired before, and are brought back for training."""

    def placed(self, where: Mapping[str, str]) -> list[Row]:
        """The lineage once splits are drawn. A problem that got into no file is retired, if it was here before.

        A new one then has no row. Ids are hashes of what anybody may guess: that the text of a test problem was offered
        with another candidate too would say that the one both have is the answer.
        """
        rows = []
        for row in self.lineage:
            if row["status"] != RETIRED:
                row = {**row, "split": where.get(row["id"])}
                if row["split"] is None and row["since"] == self.version:
                    continue
                if row["split"] is None:
                    reason = "in no file of this version: splits would overlap, or the test give an answer away"
                    row |= {"why": reason, "status": RETIRED, "until": self.version}
            rows.append(row)
        return rows


def make_evolution(
    pool: EvolvePool,
    against: Sequence[EvolveAnswers],
    settings: EvolveSettings,
    *,
    watched: Sequence[EvolveAnswers] = (),
) -> Evolution:
    """Make a new version of what is in the pool.

    Parameters
    ----------
    against
        Answers to `pool.asked` of the models to filter against.
    watched
        Answers of models that are *not* filtered against: how they fare tells whether the new version is harder, or
        only harder for the models it was made against.
    """
    if not against:
        raise BadInput("filter against what? Name a model that answers: --model")
    if settings.version == pool.version:
        raise BadInput(f"the new version must not be called {pool.version}, as the previous one is: --version")
    asked_problems = pool.asked
    solved = solved_beyond_chance(
        asked_problems,
        against,
        majority=settings.majority,
        alpha=settings.alpha,
        secret=settings.secret,
        where=pool.where,
    )
    models = join([answers.model for answers in against])
    reasons = dict.fromkeys(solved.retire, f"such groups are solved by {models} beyond chance")
    stays = asked_problems.filter(lambda p: p.id not in reasons)
    if not len(stays):
        raise BadInput("nothing is left to evaluate: every problem of dev and test, and every new one, was retired")
    # A retired test problem is gone, and any other that is retired is for training alone.
    gone = {name for name in reasons if pool.where.get(name) == TEST}
    trained = (pool.removed | reasons.keys()) - gone
    closing = (
        f"{len(gone):,} test problems of {pool.version} are retired; anyone with the models can now infer their "
        f"answers, so close the leaderboard of {pool.version} when this version opens"
    )
    # A new twin follows its group by itself; named here, it would count as one whose order of candidates is public.
    settled = pool.before | set(pool.returning)
    fixed = {name: split for name, split in pool.where.items() if name in settled and name not in reasons}
    return Evolution(
        version=settings.version,
        previous=pool.version,
        kept=pool.problems.filter(lambda p: p.id not in gone and p.id not in trained),
        removed=pool.problems.filter(lambda p: p.id in trained),
        lineage=tuple(_make_lineage(pool, reasons, settings.version)),
        fixed=fixed
        | {problem.id: TRAIN for problem in pool.problems if problem.id in reasons and problem.id not in gone},
        solved=solved,
        fares=_collect_known_fares(settings.previous, _measure_fares(pool, stays, against, watched, settings.version)),
        notes=(*pool.notes, closing) if gone else pool.notes,
        findings=tuple(_describe_findings(solved)),
        units=pool.units,
        returned=tuple(name for name in pool.returning if pool.where.get(name) == TRAIN),
    )


def _make_lineage(pool: EvolvePool, why: Mapping[str, str], version: str) -> Iterator[Row]:
    """One row per problem. Rows of what stays say nothing of who solved it: that would tell hidden answers."""
    for problem in pool.problems:
        name = problem.id
        split = pool.where.get(problem.id)
        row = pool.lineage.get(name, {})
        since = version if pool.is_new(problem) else str(row.get("since") or pool.version)
        if name in why and split == TEST:
            yield lineage_row(name, None, RETIRED, why[name], since, until=version)
        elif name in why:
            yield lineage_row(name, TRAIN, REMOVED, f"for training alone: {why[name]}", since)
        elif pool.is_new(problem):
            status = REMOVED if name in pool.removed else ADDED
            past = f"retired from {row['until']} before, and brought back" if "until" in row else "new in this version"
            yield lineage_row(name, split, status, past, since)
        elif name in pool.removed:
            yield lineage_row(name, split, REMOVED, str(row.get("why", "")), since)
        else:
            yield lineage_row(name, split, KEPT, "here before", since)
    there = {problem.id for problem in pool.problems}
    yield from (row for name, row in pool.lineage.items() if name not in there)


def _describe_findings(solved: Solved) -> Iterator[str]:
    for stratum in solved.strata:
        yield (
            f"{stratum.solved:,} of {stratum.groups:,} {stratum.kind} solved, {stratum.turned:,} answered wrong "
            f"throughout (p {'< 0.001' if stratum.p < 0.001 else f'= {stratum.p:.3f}'}): {stratum.retired:,} retired"
        )


def _measure_fares(
    pool: EvolvePool, stays: Dataset, against: Sequence[EvolveAnswers], watched: Sequence[EvolveAnswers], version: str
) -> Iterator[Fare]:
    """Every model on dev and test of the previous version, and on what `stays` for the new one to evaluate on."""
    before = pool.asked.filter(lambda problem: not pool.is_new(problem))
    unit_of = units_by_id(pool.problems, pool.units)
    for answers, (problems, name) in product((*against, *watched), ((before, pool.version), (stays, version))):
        if not len(problems):
            continue
        is_filtered = problems is stays and any(answers is model for model in against)
        for row in judge(answers.on(problems).with_units(unit_of), by=()):
            if row.metric in SHOWN:
                yield Fare.of(row, name, answers.model, is_filtered)


def coarse_fare(fare: Fare) -> Fare:
    """A fare that may be published though hidden answers are in it: to the nearest step, its interval a step wider.

    Null and p-value would tell the score that was rounded, and are left out.
    """
    steps = steps_of(fare.n)
    ends = (math.floor(fare.low * steps), math.ceil(fare.high * steps))
    value, low, high = (on_grid(level, steps) for level in (round(fare.value * steps), *ends))
    return replace(fare, value=value, low=low, high=high, null=None, p=None)


def _collect_known_fares(previous: Path | None, measured: Iterable[Fare]) -> tuple[Fare, ...]:
    """Scores of all versions, with the last measurement of each.

    A model that was filtered against stays marked as such.
    """
    fares_by_key: dict[tuple[str, str, str], Fare] = {}
    if previous is not None and (path := previous / RECORD).is_file():
        content = read_object(path)
        with refusing(f"{path}: not what winokit evolve writes", KeyError, TypeError):
            earlier = [Fare(**row) for row in content["fares"]]
            if not all(map(_is_numeric, earlier)):
                raise TypeError("a score is no number")
        fares_by_key = {(fare.version, fare.model, fare.metric): fare for fare in earlier}
    for fare in measured:
        key = (fare.version, fare.model, fare.metric)
        fares_by_key[key] = replace(fare, against=fare.against or (key in fares_by_key and fares_by_key[key].against))
    return tuple(fares_by_key.values())


def _is_numeric(fare: Fare) -> bool:
    """Whether its scores are numbers. The null and its p-value may be missing."""
    *scores, null, p = astuple(fare)[4:]
    numbers = [*scores, *(number for number in (null, p) if number is not None)]
    return all(isinstance(number, int | float) for number in numbers)
