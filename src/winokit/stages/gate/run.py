"""`winokit gate`: whether a new model lost more than is allowed, for continuous training and pull requests.

Each metric is a paired test over units: the interval of old minus new, on the same problems. Several metrics share the
level (Bonferroni), so that the printed intervals hold together.
"""

from pathlib import Path
from typing import Annotated

from winokit.data.predictions.in_memory import Predictions
from winokit.data.runs import Run
from winokit.methods.metrics.judge_pairs import SharedAnswers, usual_measures
from winokit.progress import tell
from winokit.settings import Help, verb
from winokit.stages.compare.run import replay_notes
from winokit.stages.gate.page import write_summary
from winokit.stages.gate.settings import GateSettings
from winokit.stages.gate.sides import GateSide, model_names, read_sides, scoring_in_words, scoring_notes
from winokit.stages.gate.verdict import FAILED, PASSED, DropTest, GateOutcome, judge_drop

RUN_HELP = "A run's folder, or a file of predictions."


@verb
def gate(
    new: Annotated[Run | Predictions, Help(RUN_HELP, metavar="NEW", typed=Path)],
    *,
    against: Annotated[Run | Predictions, Help(f"{RUN_HELP} The run to compare NEW with.", metavar="OLD", typed=Path)],
    settings: GateSettings = GateSettings(),
    markdown: Annotated[Path | None, Help("Write a summary for a pull request to this file.", metavar="FILE")] = None,
) -> GateOutcome:
    """Fail if a new model has lost more than is allowed: one paired test over units per metric.

    Exit code 1 if it fails. Runs that differ in problems, scoring or shots are refused.
    """
    ours, theirs = read_sides(new, against, settings)
    notes = scoring_notes(ours, theirs) + replay_notes({"NEW": ours.run, "--against": theirs.run})
    tell(notes)
    tests = judge_drops(ours, theirs, settings)
    new_name, old_name = model_names(ours, theirs, (new, against))
    outcome = GateOutcome(
        passed=may_pass(tests, strict=settings.strict),
        tests=tests,
        new=new_name,
        old=old_name,
        dataset=ours.run.dataset.card.name,
        scoring=scoring_in_words(ours, theirs),
        margin=settings.margin,
        level=settings.level,
        strict=settings.strict,
        notes=tuple(notes),
    )
    if markdown is not None:
        write_summary(outcome, markdown)
    return outcome


def judge_drops(ours: GateSide, theirs: GateSide, settings: GateSettings) -> tuple[DropTest, ...]:
    """Test the drop of every metric, at a level that they share.

    The metrics are those of the settings, or the usual ones.
    """
    measures = settings.measures or usual_measures(SharedAnswers.of(ours.answers(), theirs.answers()))
    level_each = 1 - settings.level / len(measures)
    return tuple(judge_drop(measure, ours, theirs, settings.margin_share, level_each) for measure in measures)


def may_pass(tests: tuple[DropTest, ...], *, strict: bool) -> bool:
    """Whether the new model may pass.

    A strict gate requires that every test passes, another that none fails.
    """
    verdicts = {test.verdict for test in tests}
    return verdicts == {PASSED} if strict else FAILED not in verdicts
