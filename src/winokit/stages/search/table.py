"""What a search shows on the terminal and to scripts, and the files it leaves for other tools."""

import re
from typing import TYPE_CHECKING, Any

from winokit.drawing.page import INDEX
from winokit.drawing.tables import Lines, table
from winokit.files import csv_bytes, result_bytes, write_whole
from winokit.methods.scoring.scorer import write_predictions
from winokit.results import rows_to_json
from winokit.stages.train.run import share_and_interval

if TYPE_CHECKING:
    from winokit.stages.search.findings import SearchFinding, SearchFindings

RESULTS, TRIALS, ENSEMBLES = "results.json", "trials.csv", "ensembles"
ENDED = ("state", "accuracy", "group_accuracy", "steps", "kept_step", "stopped_early", "seconds")


def as_json(findings: "SearchFindings") -> dict[str, Any]:
    """What scripts read of a search."""
    return {
        "out": str(findings.folder),
        "report": str(findings.folder / "report" / INDEX),
        "run": findings.run,
        "metrics": rows_to_json(findings.metrics),
        "notes": findings.notes,
    }


def lines(findings: "SearchFindings") -> Lines:
    """One line per formalization: how trials lie, the best of them; then what the numbers are to be held against."""
    heads = "formalization trials degenerate median quartiles best std kurtosis corrected guessing".split()
    for test in findings.answered.values():
        heads += [f"chosen on {test.card.name}", f"five on {test.card.name}"]
    yield table(heads, ([one.formalization, *_cells(one, findings)] for one in findings.found))
    luck, folder = findings.overall, findings.folder
    people = "" if findings.human is None else f", people {_percent(findings.human)}"
    guessing = f"guessing {_percent(findings.chance)}, commonest answer {_percent(findings.majority)}"
    yield f"{findings.dev.card.name}: {guessing}{people}"
    p = "< 0.001" if luck.p_guessing < 0.001 else f"= {luck.p_guessing:.3f}"
    expected = luck.corrected and f"; on problems it was not chosen on {_percent(luck.corrected)} expected"
    yield (
        f"best of {luck.trials:,} trials {_percent(luck.best)}; of as many guessers {_percent(luck.guessing)} (p {p})"
        f"{expected or ''}"
    )
    yield f"{folder / TRIALS}, results.json, study.db; page: {folder / 'report' / INDEX}"


def _cells(one: "SearchFinding", findings: "SearchFindings") -> list[str]:
    spread, luck = one.spread, one.luck
    if spread is None or luck is None:
        return ["0", str(one.degenerate)]
    scores = [one.score(which, name) for name in findings.answered for which in ("chosen", "ensemble")]
    return [
        str(spread.n),
        str(one.degenerate),
        _percent(spread.median),
        f"{100 * spread.lower_quartile:.1f} to {100 * spread.upper_quartile:.1f}",
        _percent(spread.best),
        "" if spread.std is None else f"{100 * spread.std:.1f}",
        "" if spread.excess_kurtosis is None else f"{spread.excess_kurtosis:.1f}",
        "" if luck.corrected is None else _percent(luck.corrected),
        _percent(one.chance),
        *("" if row is None else share_and_interval(row) for row in scores),
    ]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def save(findings: "SearchFindings") -> None:
    """Write trials.csv, the ensembles' predictions and results.json.

    One line of trials.csv per trial. Test scores are not in it: no trial can be chosen by them.
    """
    rows = [
        {
            "formalization": trial.formalization,
            "trial": trial.number,
            **trial.drawn,
            **{name: getattr(trial.ended, name) for name in ENDED},
            "degenerate": trial.degenerate,
            "warnings": "; ".join(trial.ended.warnings),
            "why": trial.ended.why or "",
        }
        for trial in findings.trials
    ]
    write_whole(findings.folder / TRIALS, csv_bytes([rows[0], *(row.values() for row in rows)]))
    for finding in findings.found:
        name = re.sub(r"[^\w.-]+", "-", finding.formalization)
        for which, predictions in finding.voted.items():
            write_predictions(predictions, findings.folder / ENSEMBLES / name / f"{which}.jsonl")
    results = {"run": findings.run, "metrics": rows_to_json(findings.metrics), "notes": findings.notes}
    write_whole(findings.folder / RESULTS, result_bytes(results))
