"""The page of a search: how trials lie, what the best of them owes to luck, and what the five best do together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winokit.drawing.decision import VerdictTile
from winokit.drawing.figures import write_figures
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import LIU, Citation
from winokit.drawing.wording import percent, plural
from winokit.methods.training.finetune import DEV
from winokit.stages.search.findings import CHOSEN, SearchFindings, tries_up_to
from winokit.stages.search.luck import DRAWS, best_of
from winokit.stages.search.plots import axis, by_setting, figures_of_search, strips, ticks
from winokit.stages.search.trials import DIVERGED, FAILED
from winokit.stages.search.verdict import verdict_of_search

DODGE = Citation(
    "Dodge et al., 2019",
    "Jesse Dodge, Suchin Gururangan, Dallas Card, Roy Schwartz and Noah A. Smith. 2019. Show Your Work: Improved "
    "Reporting of Experimental Results. EMNLP 2019.",
    "https://aclanthology.org/D19-1224",
)
TSAMARDINOS = Citation(
    "Tsamardinos et al., 2018",
    "Ioannis Tsamardinos, Elissavet Greasidou and Giorgos Borboudakis. 2018. Bootstrapping the Out-of-sample "
    "Predictions for Efficient and Accurate Cross-validation. Machine Learning 107.",
    "https://doi.org/10.1007/s10994-018-5714-4",
)
WHITE = Citation(
    "White, 2000",
    "Halbert White. 2000. A Reality Check for Data Snooping. Econometrica 68(5).",
    "https://doi.org/10.1111/1468-0262.00152",
)


def write_search_page(findings: SearchFindings, folder: Path) -> Path:
    """Write the page of a search, with its figures as PNG and SVG, and return it."""
    shown = search_page(findings)
    figures = write_figures(figures_of_search(findings, shown["strips"]), folder / "figures")
    write_page(folder / INDEX, "stages/search/page.html.j2", **shown, figures=figures)
    return folder / INDEX


def search_page(findings: SearchFindings) -> dict[str, Any]:
    """Everything the page of a search shows, by the names its template has for it."""
    scale = axis(findings)
    done = [one for one in findings.found if one.luck is not None]
    lucky = [(one.formalization, one.luck, one) for one in done]
    if len(done) > 1:
        lucky.append(("any of these", findings.overall, findings.best))
    tries = tries_up_to(max(len(one.scores) for one in done))
    tests = {name: test.card.name for name, test in findings.answered.items()}
    return {
        "findings": findings,
        "verdict": verdict_of_search(findings),
        "tiles": list(_tiles(findings)),
        "scale": scale,
        "ticks": ticks(scale),
        "strips": strips(findings, scale),
        "done": done,
        "lucky": lucky,
        "sets": {DEV: f"dev: {findings.dev.card.name}", **tests},
        "tries": tries,
        "best_of": [(one.formalization, [best_of(one.scores, number) for number in tries]) for one in done],
        "by_setting": {name: list(by_setting(findings, name)) for name in findings.space.varied},
        "settings": flat(findings.run),
        "sources": (LIU, DODGE, TSAMARDINOS, WHITE),
        "draws": DRAWS,
    }


def _tiles(findings: SearchFindings) -> Iterator[VerdictTile]:
    """Trials, those that learned nothing, the best on dev, what is left of it, and on tests."""
    lucky, trials = findings.overall, findings.trials
    failed = sum(one.count(FAILED) for one in findings.found)
    more = f", {failed} failed" if failed else ""
    yield VerdictTile("Trials", f"{lucky.trials:,}", f"of {plural(len(findings.found), 'formalization')}{more}")
    diverged = sum(one.count(DIVERGED) for one in findings.found)
    some = sum(one.degenerate for one in findings.found)
    yield VerdictTile("Degenerate", f"{some:,}", f"of {len(trials):,}, {diverged} diverged")
    yield VerdictTile("Best on dev", percent(lucky.best), f"best of guessers {percent(lucky.guessing)}")
    if lucky.corrected is not None:
        yield VerdictTile("Corrected", percent(lucky.corrected), f"{percent(lucky.low)} to {percent(lucky.high)}")
    for name, dataset in findings.answered.items():
        if (row := findings.best.score(CHOSEN, name)) is not None:
            yield VerdictTile(
                f"Test: {dataset.card.name}", percent(row.value), f"{percent(row.low)} to {percent(row.high)}"
            )
