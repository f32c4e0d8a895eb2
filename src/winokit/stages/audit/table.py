"""Terminal output of an audit: the verdict, a few numbers, or all of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from winokit.data.runs import Run
from winokit.drawing.decision import BAD, Verdict, VerdictPoint
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
"""Facts that the headline has stated already."""
REPLY_SHOWN = 300
"""Number of characters of a reply that a terminal shows."""
LISTED = 20
"""Number of scorers that a terminal shows if there are too many for a column each."""


def lines(run: Run, every: bool = False) -> Iterator[str | Table]:
    """Lines for the terminal: verdicts, the main numbers, and the report's path.

    `every` shows the main results of every protocol. A dry run has the counts of requests instead, a run that stopped
    after its preview has that, and a run in which nothing was decided has the reasons, unless `every`.
    """
    if "plan" in run.settings:
        yield from plan_lines(run.settings["plan"])
        return
    if "preview" in run.settings:
        from winokit.stages.audit.preview import preview_lines

        yield from preview_lines(run.settings)
        return
    undecided_run = undecided(run)
    if undecided_run is not None and not every:
        yield from _describe_undecided(run, undecided_run)
        yield from readings_lines(run)
        return
    judged = judge(run)
    if len(judged) > MANY:
        yield ""
        yield from _list_best_scorers(judged)
    else:
        yield from _describe_verdicts(run, judged)
        yield ""
        yield from _make_number_tables(run, judged, every)
    yield ""
    yield from readings_lines(run)
    yield from run.replay_notes
    if not every and len(judged) <= MANY:
        yield "Every row: --all"
    if run.report is not None:
        yield f"Full report: {run.report}"


def _list_best_scorers(judged: Sequence[JudgedScorer]) -> Iterator[str | Table]:
    """Table of the most accurate scorers, and the number of others."""
    yield _make_comparison(judged[:LISTED])
    if len(judged) > LISTED:
        yield f"… and {len(judged) - LISTED:,} more, in the report and in results.json"


def _describe_verdicts(run: Run, judged: Sequence[JudgedScorer]) -> Iterator[str]:
    """Headline of each scorer, with its cause or main findings.

    Reasons for undecided problems follow.
    """
    for scorer in judged:
        yield f"{scorer.scorer.name} on {run.dataset.card.name}: {scorer.verdict.headline}"
        if len(judged) == 1:
            yield from (point.text for point in scorer.verdict.points if _is_shown_first(point))
        else:
            yield from _describe_cause(scorer.verdict)
            yield from _describe_abstentions(scorer.verdict)
        yield from _describe_silence(run, scorer)


def _is_shown_first(point: VerdictPoint) -> bool:
    """Whether a terminal shows a finding below the headline.

    It does if the finding must be said, or is bad and not yet in the headline.
    """
    return point.is_needed or (point.tone == BAD and not FIRST & {*point.claims})


def _describe_cause(verdict: Verdict) -> Iterator[str]:
    """The cause of a verdict, unless its headline has stated it."""
    cause = verdict.cause
    if cause is not None and not FIRST & {*cause.claims}:
        yield f"  {as_sentence(cause.text)}"


def _describe_abstentions(verdict: Verdict) -> Iterator[str]:
    """The finding on abstentions, if the numbers cannot be read without it."""
    for point in verdict.points:
        if point.is_needed and "abstained" in point.claims:
            yield f"  {point.text}"


def _describe_silence(run: Run, judged: JudgedScorer) -> Iterator[str]:
    """Reasons why a scorer leaves problems undecided, and one of its replies.

    No lines unless that is the cause of its verdict.
    """
    undecided_run = undecided_of(run, judged) if is_silent(judged) else None
    if undecided_run is not None:
        yield from _describe_reasons(undecided_run)


def _make_number_tables(run: Run, judged: Sequence[JudgedScorer], every: bool) -> Iterator[str | Table]:
    """Yield tables of results.

    They are every main result if `every`, else the numbers at the top and the rows of protocols that a user named.
    """
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
    """A sentence on each scorer, and how to see the rest of the results."""
    undecided_run = undecided(run)
    if undecided_run is not None:
        yield next(_describe_undecided(run, undecided_run))
    else:
        for judged in judge(run):
            yield f"{judged.scorer.name} on {run.dataset.card.name}: {judged.verdict.headline}"
    if run.report is not None:
        yield f"Full report: {run.report}"
    else:
        yield "Every row: run.to_frame()"


def readings_lines(run: Run) -> Iterator[str | Table]:
    """Lines on what several readings show, under the names of the models.

    No lines for a run without readings.
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


def _describe_undecided(run: Run, undecided_run: UndecidedRun) -> Iterator[str]:
    """Lines on a run in which nothing was decided, with reasons and one reply."""
    models = join(undecided_run.models)
    answers = plural(undecided_run.predictions, "prediction")
    yield f"Nothing was decided: {models} on {run.dataset.card.name} chose a candidate in none of {answers}."
    yield from _describe_reasons(undecided_run)
    yield from run.replay_notes
    if run.report is not None:
        yield f"Full report: {run.report}"


def _describe_reasons(undecided_run: UndecidedRun) -> Iterator[str]:
    """The reasons why problems were left undecided, one reply, and advice."""
    from winokit.methods.scoring.canary import shortened

    yield from (f"{plural(number, 'prediction')}: {reason}" for reason, number in undecided_run.reasons)
    for reply in undecided_run.replies[:1]:
        yield f"To {shortened(reply.question)!r} {reply.model} said {shortened(reply.reply, REPLY_SHOWN)!r}"
    if undecided_run.way_out:
        yield f"What to try: {undecided_run.way_out}"


def _make_short_table(run: Run, judged: JudgedScorer) -> Table:
    """Table of one scorer's numbers at the top, a line each, and of its luck."""
    lines: list[list[str | Text]] = []
    for label, row in judged.tiles.items():
        name = f"{label} ({row.subset})" if row.protocol == "artifacts" else label
        value = dim(say(row), stands(row) == AT)
        lines.append([name, value, say_interval(row), say_chance(row), f"{row.n:,}"])
    scorer_rows = MetricRows(row for row in run.metrics if owner(row, [judged.scorer]) is not None)
    luck = scorer_rows.find("luck", "all", "p_null")
    if luck is not None:
        lines.append(["Chance scores this high", often(luck.value), "of the time", "", f"{luck.n:,}"])
    return table(["", "", "95\u00a0% interval", "chance", "n"], lines)


def _make_comparison(judged: Sequence[JudgedScorer]) -> Table:
    """Table with a line per scorer, and one for guessing."""
    chance_rows = labels(judged)
    lines: list[list[str | Text]] = []
    for scorer in judged:
        cells = [_format_row(scorer.tiles.get(label)) for label in chance_rows]
        lines.append([scorer.scorer.name, *cells])
    coin = name_coin(next(iter(chance_rows.values()), None))
    lines.append([coin, *map(say_coin, chance_rows.values())])
    return table(["", *chance_rows], lines)


def _format_row(row: Metric | None) -> str | Text:
    """Cell with the value and the interval of a row.

    It is dim if the row is at chance. Empty without a row.
    """
    return "" if row is None else dim(f"{say(row)} {say_interval(row)}".strip(), stands(row) == AT)


def as_json(run: Run) -> dict[str, Any]:
    """Settings, rows and report of a run as JSON-ready values.

    The report is its path or None.
    """
    return {"run": run.settings, "metrics": rows_to_json(run.metrics), "report": run.report and str(run.report)}


def figure(run: Run, name: str) -> Any:
    """Draw a figure of the report by its name, with matplotlib.

    Raises UnknownName for a figure that the run has no data for.
    """
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
    lines = _make_block_rows(forest(main_rows, run_scorers).blocks, run_scorers)
    coin = name_coin(next((row for row in run.metrics if row.protocol == "accuracy"), None))
    lines += _make_luck_rows(run, "p_chance", ["Luck", f"{coin} scores this high"], often)
    lines += _make_luck_rows(run, "n_to_beat_chance", ["", "problems needed to beat chance"], count)
    return _make_result_table(run_scorers, lines)


def _make_luck_rows(
    run: Run, metric: str, titles: list[str], say_value: Callable[[float], str]
) -> Iterator[list[str | Text]]:
    """Yield the line of a metric of luck, a cell per scorer.

    No line if no scorer has it. `titles` are the first two cells.
    """
    cells: list[str | Text] = []
    counts = []
    for scorer in scorers(run):
        row = run.find_or_none("luck", "all", metric, scorer.model, scorer.scoring)
        cells.append("" if row is None else say_value(row.value))
        if row is not None:
            counts.append(f"{row.n:,}")
    if counts:
        yield [*titles, *cells, "", counts[0]]


def _make_block_rows(blocks: Iterable[ForestBlock], columns: Sequence[ShownScorer]) -> list[list[str | Text]]:
    """A line per result, with the name of its protocol before the first."""
    lines: list[list[str | Text]] = []
    for block in blocks:
        title = block.title
        for line in block.lines:
            by_scorer = {mark.scorer: mark.row for mark in line.marks}
            cells = [_format_row(by_scorer.get(index)) for index in range(len(columns))]
            first = line.marks[0].row
            lines.append([title, line.title, *cells, say_chance(first), f"{first.n:,}"])
            title = ""
    return lines


def _make_result_table(columns: Sequence[ShownScorer], lines: Iterable[Sequence[str | Text]]) -> Table:
    """Table of results: protocol, result, a column for each scorer, chance and n.

    `lines` have a cell for each of these columns.
    """
    return table(["protocol", "result", *(scorer.name for scorer in columns), "chance", "n"], lines, left=2)
