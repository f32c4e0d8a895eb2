"""The page of a search: how trials lie, what the best of them owes to luck, and what the five best do together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from winokit.drawing.decision import Verdict
from winokit.drawing.figures import write_figures
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.drawing.protocols import LIU, Citation
from winokit.drawing.wording import percent, plural
from winokit.methods.training.finetune import DEV
from winokit.results import Metric
from winokit.stages.debias.page import DebiasTile
from winokit.stages.search.figures import figures_of_search
from winokit.stages.search.findings import CHOSEN, ENSEMBLE, TRIES, SearchFinding, SearchFindings
from winokit.stages.search.luck import DRAWS, SearchLuck, best_of
from winokit.stages.search.plots import BySetting, TrialStrip, axis, by_setting, strips, ticks
from winokit.stages.search.trials import DIVERGED, FAILED, Trial
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
class SearchLine:
    """One formalization in the tables: what it found, and rows by test set."""

    finding: SearchFinding
    chosen: tuple[Metric | None, ...]
    ensemble: tuple[Metric | None, ...]
    ensemble_groups: tuple[Metric | None, ...]
    """Dev set first, then test sets."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Everything the page shows."""

    findings: SearchFindings
    name: str
    verdict: Verdict
    tiles: tuple[DebiasTile, ...]
    scale: Forest
    ticks: tuple[float, ...]
    strips: tuple[TrialStrip, ...]
    lines: tuple[SearchLine, ...]
    lucky: tuple[tuple[str, SearchLuck, tuple[Metric | None, ...]], ...]
    """What the best owes to luck, and what it does on each set."""
    sets: tuple[str, ...]
    """The dev set and the test sets, as the tables name them."""
    tries: tuple[int, ...]
    best_of: tuple[tuple[str, tuple[float, ...]], ...]
    by_setting: tuple[BySetting, ...]
    trials: tuple[tuple[str, tuple[Trial, ...]], ...]
    numbers: tuple[Metric, ...]
    settings: tuple[tuple[str, str], ...]
    sources: tuple[Citation, ...]
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
    done = [one for one in findings.found if one.luck is not None]
    most = max(len(one.scores) for one in done)
    tries = tuple([number for number in TRIES if number < most] + [most])
    lines = tuple(_line(one, findings) for one in done)
    return SearchPage(
        findings=findings,
        name=findings.run["train"],
        verdict=verdict_of_search(findings),
        tiles=tuple(_tiles(findings)),
        scale=scale,
        ticks=ticks(scale),
        strips=strips(findings, scale),
        lines=lines,
        lucky=tuple(_lucky(lines, findings)),
        sets=(f"dev: {findings.dev.card.name}", *(test.card.name for test in findings.answered.values())),
        tries=tries,
        best_of=tuple((one.formalization, tuple(best_of(one.scores, number) for number in tries)) for one in done),
        by_setting=by_setting(findings),
        trials=tuple(_in_order(findings)),
        numbers=tuple(findings.metrics),
        settings=tuple(flat(findings.run)),
        sources=(LIU, DODGE, TSAMARDINOS, WHITE),
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


def _line(one: SearchFinding, findings: SearchFindings) -> SearchLine:
    sets = [DEV, *findings.answered]
    return SearchLine(
        one,
        tuple(one.score(CHOSEN, name) for name in sets),
        tuple(one.score(ENSEMBLE, name) for name in sets),
        tuple(one.row(ENSEMBLE, name, "group_accuracy") for name in sets),
    )


def _lucky(
    lines: Sequence[SearchLine], findings: SearchFindings
) -> Iterator[tuple[str, SearchLuck, tuple[Metric | None, ...]]]:
    """Each formalization, and all of them as one search."""
    for line in lines:
        assert line.finding.luck is not None
        yield line.finding.formalization, line.finding.luck, line.chosen
    if len(lines) > 1:
        best = next(line for line in lines if line.finding is findings.best)
        yield "any of these", findings.overall, best.chosen


def _in_order(findings: SearchFindings) -> Iterator[tuple[str, tuple[Trial, ...]]]:
    """The trials of each formalization, the best first and those without a score last."""
    for one in findings.found:
        ordered = sorted(one.trials, key=lambda trial: (-(trial.ended.accuracy or -1.0), trial.number))
        yield one.formalization, tuple(ordered)
