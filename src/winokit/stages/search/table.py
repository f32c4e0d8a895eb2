"""Output of a search: lines for the terminal, JSON and files."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from winokit.drawing.page import INDEX
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import percent, say, say_interval
from winokit.files import as_file_name, csv_bytes, result_bytes, write_whole
from winokit.methods.scoring.scorer import write_predictions
from winokit.results import rows_to_json

if TYPE_CHECKING:
    from winokit.stages.search.findings import SearchFinding, SearchFindings
    from winokit.stages.search.trials import Trial

RESULTS = "results.json"
TRIAL_LIST = "trials.csv"
ENSEMBLES = "ensembles"
HEADS = "formalization trials degenerate median quartiles best std kurtosis corrected guessing".split()
ENDED = ("state", "accuracy", "group_accuracy", "steps", "kept_step", "stopped_early", "seconds")
"""Columns of trials.csv with the outcome of a trial."""


def as_json(findings: "SearchFindings") -> dict[str, Any]:
    """Return the output of `--json`: folder, page, and the content of results.json."""
    return {
        "out": str(findings.folder),
        "report": str(findings.folder / "report" / INDEX),
        **_make_results(findings),
    }


def lines(findings: "SearchFindings") -> Lines:
    """Yield the output for the terminal: a table of formalizations, luck, and files."""
    heads = list(HEADS)
    for test in findings.answered.values():
        heads += [f"chosen on {test.card.name}", f"five on {test.card.name}"]
    table_rows = []
    for finding in findings.found:
        cells = _make_cells(finding, findings)
        table_rows.append([finding.formalization, *cells])
    yield table(heads, table_rows)
    yield from _describe_luck(findings)
    folder = findings.folder
    yield f"{folder / TRIAL_LIST}, results.json, study.db; page: {folder / 'report' / INDEX}"


def _describe_luck(findings: "SearchFindings") -> Iterator[str]:
    """Yield lines on the accuracy of guessing and of people, and on luck."""
    luck = findings.overall
    people = "" if findings.human is None else f", people {percent(findings.human)}"
    guessing = f"guessing {percent(findings.chance)}, commonest answer {percent(findings.majority)}"
    yield f"{findings.dev.card.name}: {guessing}{people}"
    p = "< 0.001" if luck.p_guessing < 0.001 else f"= {luck.p_guessing:.3f}"
    expected = ""
    if luck.corrected:
        expected = f"; on problems it was not chosen on {percent(luck.corrected)} expected"
    best = f"best of {luck.trials:,} trials {percent(luck.best)}"
    yield f"{best}; of as many guessers {percent(luck.guessing)} (p {p}){expected}"


def _make_cells(finding: "SearchFinding", findings: "SearchFindings") -> list[str]:
    """Return the cells of a formalization's row, only two if no trial is finished."""
    spread = finding.spread
    luck = finding.luck
    if spread is None or luck is None:
        return ["0", str(finding.degenerate)]
    cells = [
        str(spread.n),
        str(finding.degenerate),
        percent(spread.median),
        f"{100 * spread.lower_quartile:.1f} to {100 * spread.upper_quartile:.1f}",
        percent(spread.best),
        "" if spread.std is None else f"{100 * spread.std:.1f}",
        "" if spread.excess_kurtosis is None else f"{spread.excess_kurtosis:.1f}",
        "" if luck.corrected is None else percent(luck.corrected),
        percent(finding.chance),
    ]
    for name in findings.answered:
        for protocol in ("chosen", "ensemble"):
            row = finding.score(protocol, name)
            cell = "" if row is None else f"{say(row)} {say_interval(row)}"
            cells.append(cell.strip())
    return cells


def save_search(findings: "SearchFindings") -> None:
    """Write trials.csv, the ensembles' predictions and results.json.

    trials.csv has no test scores, so that no trial is chosen by them.
    """
    rows = [_make_trial_row(trial) for trial in findings.trials]
    heads = list(rows[0])
    csv_rows = [heads]
    csv_rows += [list(row.values()) for row in rows]
    write_whole(findings.folder / TRIAL_LIST, csv_bytes(csv_rows))
    for finding in findings.found:
        folder = findings.folder / ENSEMBLES / as_file_name(finding.formalization)
        for set_name, predictions in finding.voted.items():
            write_predictions(predictions, folder / f"{set_name}.jsonl")
    write_whole(findings.folder / RESULTS, result_bytes(_make_results(findings)))


def _make_trial_row(trial: "Trial") -> dict[str, Any]:
    """Return a row of trials.csv, by column."""
    outcome = {name: getattr(trial.ended, name) for name in ENDED}
    return {
        "formalization": trial.formalization,
        "trial": trial.number,
        **trial.drawn,
        **outcome,
        "degenerate": trial.degenerate,
        "warnings": "; ".join(trial.ended.warnings),
        "why": trial.ended.why or "",
    }


def _make_results(findings: "SearchFindings") -> dict[str, Any]:
    """Return the content of results.json."""
    return {"run": findings.run, "metrics": rows_to_json(findings.metrics), "notes": findings.notes}
