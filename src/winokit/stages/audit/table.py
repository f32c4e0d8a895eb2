"""Terminal output of an audit: the verdict, a few numbers, or all of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from winokit.data.runs import Run
from winokit.drawing.decision import BAD, Verdict
from winokit.drawing.plots import ForestBlock, ShownScorer, forest, owner, scorers
from winokit.drawing.tables import Table, Text, dim, plan_lines, table
from winokit.drawing.wording import (
    as_sentence,
    count,
    join,
    name_coin,
    often,
    plural,
    say,
    say_chance,
    say_coin,
    say_interval,
)
from winokit.errors import check_known
from winokit.results import AT, READINGS, Metric, rows_to_json, stands
from winokit.stages.audit.page import (
    MANY,
    AuditPage,
    JudgedScorer,
    first_numbers,
    is_silent,
    judge,
    labels,
    rows_asked_for,
    undecided_of,
)
from winokit.stages.audit.scored_rows import MetricRows
from winokit.stages.audit.undecided import UndecidedRun, undecided

FIRST = {"single", "twins", "fall"}
"""Facts that the headline has told already."""
REPLY_SHOWN = 300
"""Characters of a reply that a terminal shows."""
LISTED = 20
"""Scorers that a terminal shows where there are too many for a column each."""


def lines(run: Run, every: bool = False) -> Iterator[str | Table]:
    """The verdicts in sentences, the few numbers behind them, or every one, and where the report lies."""
    if "plan" in run.settings:
        yield from plan_lines(run.settings["plan"])
        return
    if "preview" in run.settings:
        from winokit.stages.audit.preview import preview_lines

        yield from preview_lines(run.settings)
        return
    nothing = undecided(run)
    if nothing is not None and not every:
        yield from _describe_undecided(run, nothing)
        yield from readings_lines(run)
        return
    judged = judge(run)
    for each in judged if len(judged) <= MANY else ():
        yield f"{each.scorer.name} on {run.dataset.card.name}: {each.verdict.headline}"
        if len(judged) == 1:
            yield from (
                point.text for point in each.verdict.points if point.tone == BAD and not FIRST & {*point.claims}
            )
        else:
            yield from _describe_cause(each.verdict)
        yield from _describe_silence(run, each)
    yield ""
    if len(judged) > MANY:
        yield _make_comparison(judged[:LISTED])
        if len(judged) > LISTED:
            yield f"… and {len(judged) - LISTED:,} more, in the report and in results.json"
    else:
        yield from _make_number_tables(run, judged, every)
    yield ""
    yield from readings_lines(run)
    yield from run.replay_notes
    if not every and len(judged) <= MANY:
        yield "Every row: --all"
    if run.report is not None:
        yield f"Full report: {run.report}"


def _describe_cause(verdict: Verdict) -> Iterator[str]:
    """The cause of a verdict, if its headline has not told it."""
    cause = verdict.cause
    if cause is not None and not FIRST & {*cause.claims}:
        yield f"  {as_sentence(cause.text)}"


def _describe_silence(run: Run, judged: JudgedScorer) -> Iterator[str]:
    """Why a scorer left its problems undecided, and one of its replies."""
    nothing = undecided_of(run, judged) if is_silent(judged) else None
    if nothing is not None:
        yield from _describe_reasons(nothing)


def _make_number_tables(run: Run, judged: Sequence[JudgedScorer], every: bool) -> Iterator[str | Table]:
    """Every main result, or the few first numbers and what was asked for by name."""
    if every:
        yield summary_table(run)
        return
    tiles = first_numbers(judged)
    if tiles:
        yield _make_short_table(run, judged[0]) if len(judged) == 1 else _make_comparison(judged)
    columns = scorers(run)
    blocks = rows_asked_for(run, columns, tiles)
    if tiles and blocks:
        yield ""
    if blocks:
        yield _make_result_table(columns, _make_block_rows(blocks, columns))


def summary(run: Run) -> Iterator[str]:
    """A sentence on each scorer, and where the report is or how to see every row."""
    nothing = undecided(run)
    if nothing is not None:
        yield next(_describe_undecided(run, nothing))
    else:
        for each in judge(run):
            yield f"{each.scorer.name} on {run.dataset.card.name}: {each.verdict.headline}"
    if run.report is not None:
        yield f"Full report: {run.report}"
    else:
        yield "Every row: run.to_frame()"


def readings_lines(run: Run) -> Iterator[str | Table]:
    """Yield lines on what several readings show.

    No lines for a run without them.
    """
    if all(row.protocol != READINGS for row in run.metrics):
        return
    from winokit.stages.audit.readings_verdict import ReadingResults

    results = ReadingResults.of(run.metrics)
    yield "Readings:"
    subject = ""
    for sentence in results.sentences():
        if sentence.subject != subject:
            yield f"  {sentence.subject}"
        subject = sentence.subject
        yield f"    {sentence.text}"
    yield ""


def _describe_undecided(run: Run, nothing: UndecidedRun) -> Iterator[str]:
    """Of a run in which nothing was decided: why, one reply as it came, and where the others are."""
    models = join(nothing.models)
    answers = plural(nothing.predictions, "prediction")
    yield f"Nothing was decided: {models} on {run.dataset.card.name} chose a candidate in none of {answers}."
    yield from _describe_reasons(nothing)
    yield from run.replay_notes
    if run.report is not None:
        yield f"Full report: {run.report}"


def _describe_reasons(nothing: UndecidedRun) -> Iterator[str]:
    """Why nothing was decided, one reply as it came, and what to try."""
    from winokit.methods.scoring.canary import shortened

    yield from (f"{plural(number, 'prediction')}: {reason}" for reason, number in nothing.reasons)
    for each in nothing.replies[:1]:
        yield f"To {shortened(each.question)!r} {each.model} said {shortened(each.reply, REPLY_SHOWN)!r}"
    if nothing.way_out:
        yield f"What to try: {nothing.way_out}"


def _make_short_table(run: Run, judged: JudgedScorer) -> Table:
    """A line per number of one scorer."""
    rows = MetricRows(row for row in run.metrics if owner(row, [judged.scorer]) is not None)
    tiles = dict(judged.tiles)
    made: list[list[str | Text]] = []
    for label, row in tiles.items():
        name = f"{label} ({row.subset})" if row.protocol == "artifacts" else label
        made.append([name, dim(say(row), stands(row) == AT), say_interval(row), say_chance(row), f"{row.n:,}"])
    if luck := rows.find("luck", "all", "p_null"):
        made.append(["Chance scores this high", often(luck.value), "of the time", "", f"{luck.n:,}"])
    return table(["", "", "95\u00a0% interval", "chance", "n"], made)


def _make_comparison(judged: Sequence[JudgedScorer]) -> Table:
    """A line per scorer, and one for what guessing gets."""
    heads = labels(judged)
    rows: list[list[str | Text]] = [
        [each.scorer.name, *(_format_row(each.tiles.get(name)) for name in heads)] for each in judged
    ]
    return table(["", *heads], [*rows, [name_coin(next(iter(heads.values()), None)), *map(say_coin, heads.values())]])


def _format_row(row: Metric | None) -> str | Text:
    return "" if row is None else dim(f"{say(row)} {say_interval(row)}".strip(), stands(row) == AT)


def as_json(run: Run) -> dict[str, Any]:
    """The run's settings and rows, and where the report lies."""
    return {"run": run.settings, "metrics": rows_to_json(run.metrics), "report": run.report and str(run.report)}


def figure(run: Run, name: str) -> Any:
    """A figure of the report, as matplotlib's."""
    from winokit.drawing.figures import canvas
    from winokit.stages.audit.figures import figures_of

    figures = figures_of(AuditPage(run))
    check_known("figure", name, figures)
    return canvas(figures[name])


def summary_table(run: Run) -> Table:
    """Table of every protocol's main results, with a column per scorer.

    Cells at chance are dim.
    """
    run_scorers = scorers(run)
    main_rows = [row for row in run.metrics if row.protocol != READINGS]
    rows = _make_block_rows(forest(main_rows, run_scorers).blocks, run_scorers)
    coin = name_coin(next((row for row in run.metrics if row.protocol == "accuracy"), None))
    for name, title, speak in (
        ("p_chance", f"{coin} scores this high", often),
        ("n_to_beat_chance", "problems needed to beat chance", count),
    ):
        luck = [run.find_or_none("luck", "all", name, scorer.model, scorer.scoring) for scorer in run_scorers]
        if any(luck):
            numbers = [speak(row.value) if row else "" for row in luck]
            n = next(f"{row.n:,}" for row in luck if row)
            rows.append(["Luck" if name == "p_chance" else "", title, *numbers, "", n])
    return _make_result_table(run_scorers, rows)


def _make_block_rows(blocks: Iterable[ForestBlock], known: Sequence[ShownScorer]) -> list[list[str | Text]]:
    """A line per result, with the name of its protocol before the first."""
    rows: list[list[str | Text]] = []
    for block in blocks:
        for place, line in enumerate(block.lines):
            by_scorer = {mark.scorer: mark.row for mark in line.marks}
            cells = [_format_row(by_scorer.get(index)) for index in range(len(known))]
            first = line.marks[0].row
            rows.append([block.title if not place else "", line.title, *cells, say_chance(first), f"{first.n:,}"])
    return rows


def _make_result_table(known: Sequence[ShownScorer], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Results with a column for each scorer."""
    return table(["protocol", "result", *(scorer.name for scorer in known), "chance", "n"], rows, left=2)
