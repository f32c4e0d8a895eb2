"""`winokit grade`: submissions against the hidden labels of a release, and the leaderboard of those graded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winokit.cli.common import Json, print_json, tell
from winokit.cli.guards import refuse_overwriting

if TYPE_CHECKING:
    from winokit.stages.grade.run import Graded, GradeScore
    from winokit.stages.grade.statement import Statement

QUESTIONS = {
    "--formalization": "Formalization (how problems become inputs and decisions: mc-sent, partial scoring, …)",
    "--training-data": "Training data (what the model was trained on for this task; 'none' if nothing)",
    "--trials": "Number of trials (settings and seeds tried before this one)",
}


def grade(
    release: Annotated[Path, typer.Argument(help="A folder of winokit release.", metavar="DIR", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="predictions.lst (one label a line, or five: xs,s,m,l,xl), predictions.jsonl, or a file a size.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    hidden: Annotated[
        Path | None, typer.Option("--hidden", help="The folder of hidden labels. Default: DIR.hidden.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="The entry's name. Default: the file's.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Which model it is.")] = None,
    formalization: Annotated[
        str | None, typer.Option("--formalization", help="How problems became inputs and decisions.")
    ] = None,
    training_data: Annotated[
        str | None, typer.Option("--training-data", help="What the model was trained on; 'none' if nothing.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", help="How many settings and seeds were tried.", min=1)
    ] = None,
    board: Annotated[
        Path | None,
        typer.Option("--board", help="Make the leaderboard page of a folder of graded entries.", metavar="FOLDER"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write the entry (GRADED.json), or the page with --board."),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Different submissions to grade on this test. Default: by its size; docs/grading.md.", min=1),
    ] = None,
    owner: Annotated[
        bool, typer.Option("--owner", help="Show every score, for the owner of the labels: not to be passed on.")
    ] = False,
    json: Json = False,
) -> None:
    """Grade predictions against the hidden test of a release, or make its leaderboard.

    A score is shown to a step, and only where it beats the best shown under its name; labels and the outcome of single
    problems never are. Every grading is logged in full beside the hidden labels. A leaderboard entry (--out) must say
    its formalization, training data and number of trials.
    """
    if board is not None:
        stated = {"--name": name, "--model": model, "--formalization": formalization}
        _refuse_stated({**stated, "--training-data": training_data, "--trials": trials, "--budget": budget})
        _board(release, board, out or Path("board.html"), hidden, files, owner, json)
        return
    from winokit.stages.grade.run import grade as run
    from winokit.stages.grade.run import write_graded

    if out is not None:
        _check_out(out, files or [])
    said = _statement(files or [], name, model, formalization, training_data, trials, entry=out is not None)
    grading = run(release, files or [], said, hidden=hidden, budget=budget)
    if out is not None:
        write_graded(grading.public, out)
    graded = grading.owner if owner else grading.public
    if json:
        print_json(graded.to_json())
        return
    _show(graded)
    if out is not None:
        typer.echo(f"entry: {out}")


def _check_out(out: Path, files: list[Path]) -> None:
    """Refuse a place where no entry can be written before anything is graded, since every grading is logged."""
    from winokit.errors import BadInput

    refuse_overwriting(out, files)
    if out.is_dir():
        raise BadInput(f"{out}: a folder; an entry is a file: --out {out / 'NAME.json'}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{out}: cannot be written ({error.strerror or error})") from None


def _statement(
    files: list[Path],
    name: str | None,
    model: str | None,
    formalization: str | None,
    training_data: str | None,
    trials: int | None,
    *,
    entry: bool,
) -> Statement | None:
    """What the entry says of itself, asked for where a person sits; None where nothing is said and no entry is made."""
    from winokit.errors import BadInput
    from winokit.stages.grade.statement import Statement, missing_options

    missing = missing_options(formalization, training_data, trials)
    if missing and sys.stdin.isatty() and sys.stderr.isatty():
        formalization = formalization or typer.prompt(QUESTIONS["--formalization"], err=True)
        training_data = training_data or typer.prompt(QUESTIONS["--training-data"], err=True)
        trials = trials or typer.prompt(QUESTIONS["--trials"], err=True, type=int)
    elif missing and entry:
        raise BadInput(f"a leaderboard entry must say {', '.join(missing)}")
    elif missing:
        tell([f"no entry, and no score corrected for luck, without {', '.join(missing)}"])
        return None
    own = name or (files[0].name.partition(".")[0] if files else "")
    return Statement(own, str(formalization), str(training_data), trials or 0, model)


def _show(graded: Graded) -> None:
    """The scores as a table, and what must be known beside them."""
    test, asked = graded.release["test"], graded.gradings
    typer.echo(
        f"{graded.release.get('name', 'release')} {graded.release.get('version', '')}".strip()
        + f": {test['problems']:,} test problems, {test['groups']:,} groups"
    )
    if graded.scores:
        corrected = "  luck-corrected" if graded.statement is not None else ""
        typer.echo(f"{'size':6}  {'score':14}  value   95 % interval   chance" + corrected)
    for score in graded.scores:
        typer.echo(_line(score))
    if graded.statement is not None:
        said = graded.statement
        trials = f"{said.trials:,} {'trial' if said.trials == 1 else 'trials'}"
        untrained = said.training_data.casefold() == "none"
        trained = "not trained for the task" if untrained else f"trained on {said.training_data}"
        typer.echo(f"{said.name}: {said.formalization}; {trained}; {trials}")
    tell(graded.notes)
    named = f", {asked.by_name:,} under this name" if graded.statement is not None else ""
    many = "1 submission" if asked.different == 1 else f"{asked.different:,} different submissions"
    rules = graded.rules
    tell([f"{many} graded on this test so far{named}; its budget is {rules.budget:,}, {rules.per_name:,} a name"])


def _line(score: GradeScore) -> str:
    from winokit.stages.grade.submissions import ONE

    size = "–" if score.size == ONE else score.size
    interval = f"{score.low:.1%} to {score.high:.1%}"
    corrected = "" if score.luck_corrected is None else f"  {score.luck_corrected:>14.1%}"
    name = score.metric.replace("_", " ")
    return f"{size:6}  {name:14}  {score.value:>5.1%}  {interval:>14}  {score.chance:>6.1%}{corrected}"


def _refuse_stated(said: dict[str, str | int | None]) -> None:
    """Refuse what an entry says of itself where none is graded."""
    from winokit.errors import BadInput

    for option, value in said.items():
        if value is not None:
            raise BadInput(f"{option}: said when an entry is graded; --board shows what entries have said")


def _board(
    release: Path, folder: Path, page: Path, hidden: Path | None, files: list[Path] | None, owner: bool, json: bool
) -> None:
    """Make the leaderboard page."""
    from winokit.errors import BadInput
    from winokit.stages.grade.leaderboard import leaderboard
    from winokit.stages.grade.page import write_board

    if files:
        raise BadInput(f"--board takes a folder of graded entries and no predictions: leave out {files[0]}")
    refuse_overwriting(page, folder.glob("*.json"))
    made = leaderboard(release, folder, hidden=hidden, owner=owner)
    write_board(made, page)
    tell(made.notes)
    if json:
        print_json(made.to_json())
    else:
        count = len(made.places)
        typer.echo(f"{count:,} {'entry' if count == 1 else 'entries'} written to {page}")
