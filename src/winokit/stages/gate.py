"""`winokit gate`: has a new model lost more than is allowed? For continuous training, and for pull requests.

Each metric is a paired test over units: the interval of old minus new, on the same problems. The gate fails where it
lies wholly above the drop that is allowed, the margin; a strict gate passes only where it lies wholly below. Several
metrics share the level (Bonferroni), so that the printed intervals hold together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from winokit.answers import Answers
from winokit.data.loading import DATA_HELP, DataLike, load_one
from winokit.data.predictions.in_memory import Predictions, columns_of_frame, is_folder, run_of_predictions
from winokit.data.runs import Run
from winokit.drawing.page import rendered_plain
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import percent, plural, points
from winokit.errors import BadInput, UnknownName
from winokit.files import write_whole
from winokit.methods.metrics.judge_pairs import (
    POWER,
    Comparison,
    PairMeasure,
    SharedAnswers,
    compare_answers,
    keys_of,
    usual_measures,
)
from winokit.methods.scoring.base import SCORINGS
from winokit.progress import tell
from winokit.results import Brief
from winokit.settings import Help, verb
from winokit.stages.compare.run import replay_notes

RUN_HELP = "A run's folder, or a file of predictions."
PASSED, FAILED, OPEN = "passed", "failed", "open"
SWITCHED = "switched"
"""The variant that consistency needs."""


@dataclass(frozen=True)
class DropTest:
    """One metric of two models on the same problems, as shares; the drop is old minus new, with its interval."""

    metric: str
    old: float
    new: float
    drop: float
    low: float
    high: float
    n: int
    """Problems, or groups where the metric counts those."""
    found: float | None
    """The smallest drop that would have failed the gate with 80 % power; None where none would have."""
    verdict: str
    """`failed`: dropped by more than is allowed, or answers nothing; `passed`: by less; `open`: may be either."""
    answers_nothing: bool = False
    """Whether the new model abstains everywhere: it never passes."""

    def sentence(self, margin: float) -> str:
        """What a person reads of it."""
        rose = self.drop < 0
        ends = (-self.high, -self.low) if rose else (self.low, self.high)
        moved = f"{'rose' if rose else 'fell'} by {100 * abs(self.drop):.1f}" if self.drop else "stayed the same"
        interval = ", ".join(points(end).removeprefix("+") for end in ends)
        said = f"{self.metric.replace('_', ' ')} {moved} [{interval}]"
        if self.answers_nothing:
            return f"{said}, and the new model answers nothing"
        if self.verdict == FAILED:
            return f"{said}, more than the {margin:.1f} allowed"
        if self.verdict == OPEN:
            said += f", not shown to be more or less than the {margin:.1f} allowed"
        drop = "no drop" if self.found is None else f"a drop of {100 * self.found:.1f}"
        return f"{said}; {drop} would have been found with {100 * POWER:.0f} % power"


@dataclass(frozen=True, repr=False)
class GateOutcome(Brief):
    """Whether the new model may pass, and the tests that say so; `margin`, the drop that is allowed, is in points."""

    passed: bool
    tests: tuple[DropTest, ...]
    new: str
    old: str
    dataset: str
    scoring: str
    margin: float
    level: float
    strict: bool
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """One per metric."""
        return [test.sentence(self.margin) for test in self.tests]

    @property
    def verdict(self) -> str:
        """The whole in one line."""
        strictly = " (--strict)" if self.strict else ""
        word = "passed" if self.passed else "failed"
        return f"{word}{strictly}: {self.new} against {self.old} on {self.dataset}, scored by {self.scoring}"


@verb
def gate(
    new: Annotated[Run | Predictions, Help(RUN_HELP, metavar="NEW", typed=Path)],
    *,
    against: Annotated[Run | Predictions, Help(f"{RUN_HELP} The run to compare NEW with.", metavar="OLD", typed=Path)],
    metric: Annotated[
        Sequence[PairMeasure] | None,
        Help(
            "The metric that must not drop; repeatable. Default: accuracy, and group_accuracy where there are groups."
        ),
    ] = None,
    margin: Annotated[float, Help("The allowed drop, in points.", least=0, most=100, was="max_drop")] = 1.0,
    level: Annotated[float, Help("1 minus the joint confidence of all intervals.", above=0, below=1)] = 0.05,
    strict: Annotated[bool, Help("Pass only if the drop is shown to be smaller than allowed.")] = False,
    model: Annotated[str | None, Help("Which model, if a run has several.", metavar="NAME")] = None,
    scoring: Annotated[str | None, Help("Which scoring, if a model has several.", metavar="NAME")] = None,
    data: Annotated[
        DataLike | None,
        Help(f"{DATA_HELP} The dataset of the prediction files. Default: that of the other run.", metavar="DATA"),
    ] = None,
    markdown: Annotated[Path | None, Help("Write a summary for a pull request to this file.", metavar="FILE")] = None,
) -> GateOutcome:
    """Fail if a new model has lost more than is allowed: one paired test over units per metric.

    Exit code 1 if it fails. Runs that differ in problems, scoring or shots are refused.
    """
    given = {"NEW": new, "--against": against}
    runs = _loaded(given, data)
    ours, theirs = (_side(run, name, model, scoring) for name, run in runs.items())
    if model not in (None, ours.model, theirs.model):
        raise UnknownName("model in the runs", str(model), [ours.model, theirs.model])
    if scoring not in (None, ours.scoring, theirs.scoring):
        raise UnknownName("scoring in the runs", str(scoring), [ours.scoring, theirs.scoring])
    _check_alike(ours, theirs)
    notes = _scoring_notes(ours, theirs) + replay_notes(runs)
    tell(notes)
    measures = tuple(dict.fromkeys(metric or usual_measures(SharedAnswers.of(ours.answers(), theirs.answers()))))
    tests = tuple(_test_drop(each, ours, theirs, margin / 100, 1 - level / len(measures)) for each in measures)
    verdicts = {test.verdict for test in tests}
    passed = verdicts == {PASSED} if strict else FAILED not in verdicts
    names = _model_names(ours, theirs, given)
    outcome = GateOutcome(
        passed,
        tests,
        *names,
        ours.run.dataset.card.name,
        _scoring_words(ours, theirs),
        margin,
        level,
        strict,
        tuple(notes),
    )
    if markdown is not None:
        shown = rendered_plain("stages/gate.md.j2", outcome=outcome, rows=[*_rows(outcome)][1:])
        write_whole(markdown, shown)
    return outcome


def _loaded(given: Mapping[str, Run | Predictions], data: DataLike | None) -> dict[str, Run]:
    """The runs; predictions are read with the problems of `data`, or of the run beside them."""
    runs: dict[str, Run] = {}
    for name, side in given.items():
        if isinstance(side, Run):
            runs[name] = side
        elif is_folder(side, data):
            runs[name] = Run.load(Path(str(side)))
    dataset = load_one(data) if data is not None else next((run.dataset for run in runs.values()), None)
    for name, side in given.items():
        if name not in runs:
            assert not isinstance(side, Run)
            runs[name] = run_of_predictions(columns_of_frame(side, data), dataset)
    return {name: runs[name] for name in given}


@dataclass(frozen=True)
class GateSide:
    """One of the two runs, and whose answers in it are compared."""

    run: Run
    model: str
    scoring: str

    def answers(self, variant: str = "original") -> Answers:
        """The answers to the problems of a variant."""
        return self.run.answers(variant, self.model, self.scoring)

    @property
    def is_scored_by_us(self) -> bool:
        """Whether its scoring is one of ours; predictions of files have the name of a format, or their own."""
        return self.scoring.split("?")[0] in SCORINGS


def _side(run: Run, name: str, model: str | None, scoring: str | None) -> GateSide:
    """The model of a run that is asked for, or the only one; likewise its scoring."""
    if not run.predictions:
        raise BadInput(f"{name} has no predictions")
    model = _only(f"{name} has several models", (row.model for row in run.predictions), model, "--model")
    own = [row for row in run.predictions if row.model == model]
    scoring = _only(f"{name} has several scorings", (row.scoring for row in own), scoring, "--scoring")
    return GateSide(run, model, scoring)


def _only(several: str, names: Iterable[str], asked: str | None, option: str) -> str:
    """The name that is asked for where there are several, or the only one."""
    known = list(dict.fromkeys(names))
    if len(known) != 1 and asked not in known:
        raise BadInput(f"{several}: name one with {option} ({', '.join(known)})")
    return asked if asked in known else known[0]


def _check_alike(new: GateSide, old: GateSide) -> None:
    """Refuse runs that differ in more than the model; a file of predictions says its scoring alone."""
    if new.run.dataset.content_hash != old.run.dataset.content_hash:
        datasets = [side.run.dataset for side in (new, old)]
        about = [f"{dataset.card.name} ({plural(len(dataset), 'problem')})" for dataset in datasets]
        raise BadInput(f"NEW is over {about[0]}, --against over {about[1]}: a gate needs the same problems and answers")
    values: dict[str, tuple[Any, Any]] = {}
    if new.is_scored_by_us and old.is_scored_by_us:
        values["scoring"] = (new.scoring, old.scoring)
    ours, theirs = new.run.settings, old.run.settings
    if ours and theirs:
        names = ["shots", "substitution", "prompt", "style"]
        if ours.get("shots"):
            names += ["shots_from", "seed"]
        values |= {name: (ours.get(name), theirs.get(name)) for name in names}
    for name, (own, other) in values.items():
        if own != other:
            raise BadInput(f"NEW has {name} {own}, --against {other}: a gate needs the same")


def _scoring_notes(new: GateSide, old: GateSide) -> list[str]:
    """A note if the predictions of a file do not say whether they were scored as the others were."""
    if new.scoring == old.scoring:
        return []
    unknown = [
        f"{name} ({side.scoring})" for name, side in (("NEW", new), ("--against", old)) if not side.is_scored_by_us
    ]
    verb = "do" if len(unknown) > 1 else "does"
    return [f"{' and '.join(unknown)} {verb} not say how the model was scored: a difference may be one of scoring"]


def _scoring_words(new: GateSide, old: GateSide) -> str:
    """How both were scored."""
    return new.scoring if new.scoring == old.scoring else f"{new.scoring} against {old.scoring}"


def _model_names(new: GateSide, old: GateSide, given: Mapping[str, Run | Predictions]) -> tuple[str, str]:
    """The models; with the folder or file only to tell two of one name apart."""
    places = [Path(each).name if isinstance(each, (str, Path)) else "" for each in given.values()]
    if new.model == old.model and places[0] != places[1]:
        names = [f"{new.model} ({place})" if place else new.model for place in places]
        return names[0], names[1]
    return new.model, old.model


def _test_drop(metric: PairMeasure, new: GateSide, old: GateSide, allowed: float, level: float) -> DropTest:
    """The test of one metric: old minus new, and whether it is more or less than allowed."""
    found = _compared(metric, new, old, level)
    least_drop = found.resolution.gap_to_find(1 - level, POWER, allowed=allowed, most=found.first)
    interval = found.interval
    answers_nothing = found.second_refuses
    verdict = OPEN
    if answers_nothing or interval.low > allowed:
        verdict = FAILED
    elif interval.high < allowed:
        verdict = PASSED
    means = (found.first, found.second)
    ends = (interval.low, interval.high)
    return DropTest(metric, *means, found.difference, *ends, found.n, least_drop, verdict, answers_nothing)


def _compared(metric: PairMeasure, new: GateSide, old: GateSide, level: float) -> Comparison:
    """Old against new by one metric. Raises BadInput if they did not answer the same problems."""
    _check_same_problems(metric, new, old)
    switched = None
    if metric == "consistency":
        switched = (old.answers(SWITCHED), new.answers(SWITCHED))
    found = compare_answers(old.answers(), new.answers(), [metric], switched=switched, level=level)
    if metric not in found:
        raise BadInput(f"{metric}: {new.run.dataset.card.name} has nothing to take it from")
    return found[metric]


def _check_same_problems(metric: PairMeasure, new: GateSide, old: GateSide) -> None:
    """Refuse predictions for different problems, and a metric without its predictions."""
    answered = []
    for side in (new, old):
        ids = {name for _, name in keys_of(side.answers())}
        if metric == "consistency":
            ids &= {name for _, name in keys_of(side.answers(SWITCHED))}
        if not ids:
            raise BadInput(f"{metric}: {side.model} has no predictions to take it from")
        answered.append(ids)
    ours, theirs = answered
    if ours != theirs:
        counts = f"{len(ours):,} and {len(theirs):,}, {len(ours & theirs):,} in common"
        raise BadInput(f"{metric}: NEW and --against answer different problems ({counts}): a gate needs the same")


def _rows(outcome: GateOutcome) -> Iterator[tuple[str, ...]]:
    yield "metric", "old", "new", "drop", "interval", "verdict"
    for test in outcome.tests:
        ends = f"{points(test.low)} to {points(test.high)}"
        yield test.metric, percent(test.old), percent(test.new), points(test.drop), ends, test.verdict


def lines(outcome: GateOutcome) -> Lines:
    """The verdict, a sentence per metric, and the numbers."""
    head, *rows = _rows(outcome)
    return [outcome.verdict, *outcome.sentences, table(head, rows, words=(-1,))]


def as_json(outcome: GateOutcome) -> dict[str, Any]:
    """The same for scripts."""
    return {**asdict(outcome), "sentences": outcome.sentences}


def code(outcome: GateOutcome) -> int:
    """1 where the gate is closed."""
    return 0 if outcome.passed else 1
