"""The page of a search: how trials lie, what the best of them owes to luck, and what the five best do together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from winokit.drawing.decision import Verdict
from winokit.drawing.figures import write_figures
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.drawing.protocols import LIU, Citation
from winokit.drawing.wording import percent, plural
from winokit.methods.training.finetune import DEV
from winokit.stages.debias.page import DebiasTile
from winokit.stages.search.findings import CHOSEN, SearchFinding, SearchFindings, tries_up_to
from winokit.stages.search.luck import DRAWS, SearchLuck, best_of
from winokit.stages.search.plots import TrialStrip, axis, by_setting, figures_of_search, strips, ticks
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


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Everything the page shows."""

    findings: SearchFindings
    verdict: Verdict
    tiles: tuple[DebiasTile, ...]
    scale: Forest
    ticks: tuple[float, ...]
    strips: tuple[TrialStrip, ...]
    done: tuple[SearchFinding, ...]
    """The formalizations of which a trial came to its end."""
    lucky: tuple[tuple[str, SearchLuck, SearchFinding], ...]
    """What the best of each formalization owes to luck, and of all of them as one search."""
    sets: dict[str, str]
    """The dev set and the test sets with answers: how the tables name each."""
    tries: list[int]
    best_of: tuple[tuple[str, tuple[float, ...]], ...]
    by_setting: dict[str, list[tuple[str, list[tuple[float, int] | None]]]]
    """By setting that was varied and value, the median of each formalization and of how many."""
    settings: tuple[tuple[str, str], ...]
    sources: tuple[Citation, ...] = (LIU, DODGE, TSAMARDINOS, WHITE)
    draws: int = DRAWS


def write_search_page(findings: SearchFindings, folder: Path) -> Path:
    """Write the page of a search, with its figures as PNG and SVG, and return it."""
    page = search_page(findings)
    figures = write_figures(figures_of_search(findings, page.strips), folder / "figures")
    write_page(folder / INDEX, "stages/search/page.html.j2", page=page, figures=figures)
    return folder / INDEX


def search_page(findings: SearchFindings) -> SearchPage:
    """Everything the page of a search shows."""
    scale = axis(findings)
    done = tuple(one for one in findings.found if one.luck is not None)
    lucky = tuple((one.formalization, one.luck, one) for one in done if one.luck is not None)
    tries = tries_up_to(max(len(one.scores) for one in done))
    tests = {name: test.card.name for name, test in findings.answered.items()}
    return SearchPage(
        findings=findings,
        verdict=verdict_of_search(findings),
        tiles=tuple(_tiles(findings)),
        scale=scale,
        ticks=ticks(scale),
        strips=strips(findings, scale),
        done=done,
        lucky=(*lucky, ("any of these", findings.overall, findings.best)) if len(done) > 1 else lucky,
        sets={DEV: f"dev: {findings.dev.card.name}", **tests},
        tries=tries,
        best_of=tuple((one.formalization, tuple(best_of(one.scores, number) for number in tries)) for one in done),
        by_setting={name: list(by_setting(findings, name)) for name in findings.space.varied},
        settings=tuple(flat(findings.run)),
    )


def _tiles(findings: SearchFindings) -> Iterator[DebiasTile]:
    """Trials, those that learned nothing, the best on dev, what is left of it, and on tests."""
    lucky, trials = findings.overall, findings.trials
    failed = sum(one.count(FAILED) for one in findings.found)
    more = f", {failed} failed" if failed else ""
    yield DebiasTile("Trials", f"{lucky.trials:,}", f"of {plural(len(findings.found), 'formalization')}{more}")
    diverged = sum(one.count(DIVERGED) for one in findings.found)
    some = sum(one.degenerate for one in findings.found)
    yield DebiasTile("Degenerate", f"{some:,}", f"of {len(trials):,}, {diverged} diverged")
    yield DebiasTile("Best on dev", percent(lucky.best), f"best of guessers {percent(lucky.guessing)}")
    if lucky.corrected is not None:
        yield DebiasTile("Corrected", percent(lucky.corrected), f"{percent(lucky.low)} to {percent(lucky.high)}")
    for name, dataset in findings.answered.items():
        if (row := findings.best.score(CHOSEN, name)) is not None:
            yield DebiasTile(
                f"Test: {dataset.card.name}", percent(row.value), f"{percent(row.low)} to {percent(row.high)}"
            )
