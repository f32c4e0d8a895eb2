"""A next version of a benchmark, filtered against models of its time.

"Future benchmarks should dynamically evolve together with the evolving state of the art", ends the first WinoGrande
paper (Sakaguchi et al., 2019). Groups of dev, test and the new problems that models solve beyond chance are retired
(`solved`).

A retired test group is gone: with the models it was retired for, its answers are known. A retired dev group, and a new
one that is too easy, goes to training. Training problems stay where they are, since models have read them. How each
model fares on each version is recorded: accuracy and group accuracy with intervals, over what can be evaluated on.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from winokit.drawing.wording import join
from winokit.errors import BadInput, refusing
from winokit.files import read_object
from winokit.methods.metrics.judge import judge
from winokit.problem import Dataset, Problem
from winokit.results import NULL, Detail, Metric, P
from winokit.stages.evolve.pool import EvolvePool
from winokit.stages.evolve.settings import EvolveSettings
from winokit.stages.evolve.solved import EvolveAnswers, Solved, solved_beyond_chance
from winokit.stages.grade.ladder import on_grid, steps_of
from winokit.stages.release.hidden import units_by_id
from winokit.stages.release.manifest import ADDED, KEPT, REMOVED, RETIRED, TEST, TRAIN, Row, lineage_row

RECORD = "evolution.json"
SHOWN = ("accuracy", "group_accuracy")
"""The metrics that are recorded of each model on each version."""
IN_NO_FILE = "in no file of this version: splits would overlap, or the test give an answer away"
"""The reason in the lineage of a problem that retires because no split can hold it."""


@dataclass(frozen=True, slots=True)
class Fare:
    """A score: how one model fares on one version of the benchmark.

    Its value, interval and chance are shares, and `n` counts problems, or groups for group accuracy.
    """

    version: str
    model: str
    against: bool
    """Whether this version was filtered against the model, so that a lower score is expected by construction."""
    metric: str
    value: float
    low: float
    high: float
    n: int
    chance: float
    null: float | None = None
    """The score that the model's own choices would get if right answers changed places.

    None where scores are rounded.
    """
    p: float | None = None
    """The p-value of the score under that null. None where scores are rounded."""

    @classmethod
    def of(cls, row: Metric, version: str, model: str, against: bool) -> "Fare":
        """Make a score of a metric row of the judge.

        The row must have an interval and a chance level.
        """
        assert row.low is not None
        assert row.high is not None
        assert row.chance is not None
        null = row.details.get(NULL)
        return cls(
            version,
            model,
            against,
            row.metric,
            row.value,
            row.low,
            row.high,
            row.n,
            row.chance,
            null=None if null is None else float(null),
            p=row.p,
        )

    @property
    def row(self) -> Metric:
        """The fare as a metric row, with the version as its subset.

        Its dataset, scoring and protocol are empty.
        """
        details: dict[str, Detail] = {}
        if self.null is not None:
            details[NULL] = self.null
        if self.p is not None:
            details[P] = self.p
        return Metric(
            dataset="",
            model=self.model,
            scoring="",
            formalization=None,
            protocol="",
            subset=self.version,
            metric=self.metric,
            value=self.value,
            n=self.n,
            low=self.low,
            high=self.high,
            chance=self.chance,
            details=details,
        )


@dataclass(frozen=True)
class Evolution:
    """A new version, ready to be released."""

    version: str
    previous: str
    kept: Dataset
    """Problems for every split."""
    removed: Dataset
    """Problems for training alone."""
    lineage: tuple[Row, ...]
    """One row for every problem of any version. A new problem's split is None until it is drawn."""
    fixed: Mapping[str, str]
    """The split of each problem that must stay in it, by id. Other problems may be drawn into any."""
    solved: Solved
    fares: tuple[Fare, ...]
    """How each model fares on each version."""
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """Sentences on how many groups are solved. They depend on hidden answers, so only the owner sees them."""
    units: Mapping[str, int] = field(default_factory=dict)
    """The stored units of the previous test, by id."""
    returned: tuple[str, ...] = ()
    """Ids of problems that were retired before, and are brought back for training."""

    def placed(self, split_of: Mapping[str, str]) -> list[Row]:
        """Rows of the lineage, completed with the splits that were drawn.

        `split_of` is the split of each problem in a file of the release, by id. A problem of the previous version that
        is in no file is retired. A new problem in no file has no row: ids are hashes of what anybody may guess, and
        that the text of a test problem was offered with another candidate too would say that the one both have is the
        answer.
        """
        rows = []
        for row in self.lineage:
            if row["status"] == RETIRED:
                rows.append(row)
                continue
            split = split_of.get(row["id"])
            placed_row = {**row, "split": split}
            if split is None and row["since"] == self.version:
                continue
            if split is None:
                placed_row["why"] = IN_NO_FILE
                placed_row["status"] = RETIRED
                placed_row["until"] = self.version
            rows.append(placed_row)
        return rows


def make_evolution(
    pool: EvolvePool,
    against: Sequence[EvolveAnswers],
    settings: EvolveSettings,
    *,
    watched: Sequence[EvolveAnswers] = (),
) -> Evolution:
    """Make a new version, without groups that models solve beyond chance.

    Raises BadInput if `against` is empty, if the new version is named as the previous one, or if no problem is left to
    evaluate on.

    Parameters
    ----------
    against
        Answers to `pool.asked` of the models to filter against.
    watched
        Answers of models that are *not* filtered against: their scores tell whether the new version is harder, or
        only harder for the models it was made against.
    """
    if not against:
        raise BadInput("filter against what? Name a model that answers: --model")
    if settings.version == pool.version:
        raise BadInput(f"the new version must not be called {pool.version}, as the previous one is: --version")
    solved = solved_beyond_chance(
        pool.asked,
        against,
        majority=settings.majority,
        alpha=settings.alpha,
        secret=settings.secret,
        where=pool.where,
    )
    models = join([answers.model for answers in against])
    reasons = dict.fromkeys(solved.retire, f"such groups are solved by {models} beyond chance")
    remaining = pool.asked.filter(lambda problem: problem.id not in reasons)
    if not len(remaining):
        raise BadInput("nothing is left to evaluate: every problem of dev and test, and every new one, was retired")
    # A retired test problem is gone, and any other that is retired is for training alone.
    gone_ids = {name for name in reasons if pool.where.get(name) == TEST}
    training_ids = (pool.removed | reasons.keys()) - gone_ids
    left_out_ids = gone_ids | training_ids
    notes = list(pool.notes)
    if gone_ids:
        notes.append(_describe_closing(len(gone_ids), pool.version))
    measured_fares = _measure_fares(pool, remaining, against, watched, settings.version)
    return Evolution(
        version=settings.version,
        previous=pool.version,
        kept=pool.problems.filter(lambda problem: problem.id not in left_out_ids),
        removed=pool.problems.filter(lambda problem: problem.id in training_ids),
        lineage=tuple(_make_lineage(pool, reasons, settings.version)),
        fixed=_fix_splits(pool, set(reasons), gone_ids),
        solved=solved,
        fares=_merge_fares(settings.previous, measured_fares),
        notes=tuple(notes),
        findings=tuple(_describe_findings(solved)),
        units=pool.units,
        returned=tuple(name for name in pool.returning if pool.where.get(name) == TRAIN),
    )


def _describe_closing(gone_count: int, version: str) -> str:
    """Note that the leaderboard of the previous version should close.

    `gone_count` is the number of its test problems that retire, and `version` its number.
    """
    return (
        f"{gone_count:,} test problems of {version} are retired; anyone with the models can now infer their "
        f"answers, so close the leaderboard of {version} when this version opens"
    )


def _fix_splits(pool: EvolvePool, retired_ids: Set[str], gone_ids: Set[str]) -> dict[str, str]:
    """Split of each problem that has to be in it, by id.

    `retired_ids` are all that retire now, and `gone_ids` those of them that were in the test. The others go to train.
    """
    # A new twin follows its group by itself; named here, it would count as one whose order of candidates is public.
    settled_ids = (pool.before | set(pool.returning)) - retired_ids
    fixed = {name: split for name, split in pool.where.items() if name in settled_ids}
    to_train = retired_ids - gone_ids
    fixed |= {problem.id: TRAIN for problem in pool.problems if problem.id in to_train}
    return fixed


def _make_lineage(pool: EvolvePool, reasons: Mapping[str, str], version: str) -> Iterator[Row]:
    """Yield the lineage rows of a new version.

    Each problem of the pool has one. The previous rows of problems that are not in the pool follow. `reasons` says why
    a problem retires in the new `version`, by the ids of those that do.
    """
    for problem in pool.problems:
        reason = reasons.get(problem.id)
        if reason is None:
            yield _make_staying_row(pool, problem, version)
        else:
            yield _make_retired_row(pool, problem, reason, version)
    pool_ids = {problem.id for problem in pool.problems}
    for name, row in pool.lineage.items():
        if name not in pool_ids:
            yield row


def _make_retired_row(pool: EvolvePool, problem: Problem, reason: str, version: str) -> Row:
    """Lineage row of a problem that retires in the new version.

    `reason` says why. A test problem is gone from the benchmark; any other stays for training alone.
    """
    since = _find_first_version(pool, problem, version)
    if pool.where.get(problem.id) == TEST:
        return lineage_row(problem.id, None, RETIRED, reason, since, until=version)
    return lineage_row(problem.id, TRAIN, REMOVED, f"for training alone: {reason}", since)


def _make_staying_row(pool: EvolvePool, problem: Problem, version: str) -> Row:
    """Lineage row of a problem that does not retire.

    It says nothing of who solved the problem: that would tell hidden answers.
    """
    name = problem.id
    split = pool.where.get(name)
    previous_row = pool.lineage.get(name, {})
    since = _find_first_version(pool, problem, version)
    is_removed = name in pool.removed
    if pool.is_new(problem):
        status = REMOVED if is_removed else ADDED
        past = "new in this version"
        if "until" in previous_row:
            past = f"retired from {previous_row['until']} before, and brought back"
        return lineage_row(name, split, status, past, since)
    if is_removed:
        return lineage_row(name, split, REMOVED, str(previous_row.get("why", "")), since)
    return lineage_row(name, split, KEPT, "here before", since)


def _find_first_version(pool: EvolvePool, problem: Problem, version: str) -> str:
    """The version since which a problem is in the benchmark.

    That is `version`, the one being made, for a new problem.
    """
    if pool.is_new(problem):
        return version
    return str(pool.lineage.get(problem.id, {}).get("since") or pool.version)


def _describe_findings(solved: Solved) -> Iterator[str]:
    """Yield a sentence on the solved and retired groups of each stratum."""
    for stratum in solved.strata:
        p_words = "< 0.001" if stratum.p < 0.001 else f"= {stratum.p:.3f}"
        yield (
            f"{stratum.solved:,} of {stratum.groups:,} {stratum.kind} solved, {stratum.turned:,} answered wrong "
            f"throughout (p {p_words}): {stratum.retired:,} retired"
        )


def _measure_fares(
    pool: EvolvePool,
    remaining: Dataset,
    against: Sequence[EvolveAnswers],
    watched: Sequence[EvolveAnswers],
    version: str,
) -> Iterator[Fare]:
    """Yield scores of every model on the previous and the new version.

    The previous version is evaluated on its dev and test problems. `remaining` are the problems that the new `version`
    may evaluate on.
    """
    previous_problems = pool.asked.filter(lambda problem: not pool.is_new(problem))
    unit_of = units_by_id(pool.problems, pool.units)
    for answers in (*against, *watched):
        is_solver = any(answers is model for model in against)
        for problems, name in ((previous_problems, pool.version), (remaining, version)):
            if not len(problems):
                continue
            is_filtered = is_solver and problems is remaining
            for row in judge(answers.on(problems).with_units(unit_of), by=()):
                if row.metric in SHOWN:
                    yield Fare.of(row, name, answers.model, is_filtered)


def coarse_fare(fare: Fare) -> Fare:
    """Round a model's score so that it reveals no hidden answers.

    The value goes to the nearest step of a leaderboard, and its interval is widened to whole steps. Null and p-value
    would tell the score that was rounded, and are left out.
    """
    steps = steps_of(fare.n)
    return replace(
        fare,
        value=on_grid(round(fare.value * steps), steps),
        low=on_grid(math.floor(fare.low * steps), steps),
        high=on_grid(math.ceil(fare.high * steps), steps),
        null=None,
        p=None,
    )


def _merge_fares(previous: Path | None, measured: Iterable[Fare]) -> tuple[Fare, ...]:
    """Merge recorded scores of models with those measured now.

    A score measured now replaces a recorded one. A model that a version was filtered against stays marked as such.
    `previous` is the folder of the previous release, or None if there are no recorded scores.
    """
    fares_by_key: dict[tuple[str, str, str], Fare] = {}
    if previous is not None:
        for fare in _read_fares(previous / RECORD):
            fares_by_key[fare.version, fare.model, fare.metric] = fare
    for fare in measured:
        key = (fare.version, fare.model, fare.metric)
        recorded_fare = fares_by_key.get(key)
        was_against = recorded_fare is not None and recorded_fare.against
        fares_by_key[key] = replace(fare, against=fare.against or was_against)
    return tuple(fares_by_key.values())


def _read_fares(path: Path) -> list[Fare]:
    """Read the scores of models from an evolution.json.

    Empty if there is no such file. Raises BadInput if the file has other content.
    """
    if not path.is_file():
        return []
    content = read_object(path)
    with refusing(f"{path}: not what winokit evolve writes", KeyError, TypeError):
        fares = [Fare(**row) for row in content["fares"]]
        if not all(map(_is_numeric, fares)):
            raise TypeError("a score is no number")
    return fares


def _is_numeric(fare: Fare) -> bool:
    """Whether a model's score, interval and null are numbers.

    The null and its p-value may be missing.
    """
    *scores, null, p = astuple(fare)[4:]
    null_numbers = [number for number in (null, p) if number is not None]
    return all(isinstance(number, int | float) for number in [*scores, *null_numbers])
