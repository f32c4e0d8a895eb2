"""The page of a debiasing: what was removed, whether it was more than chance, and what that changed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from winokit.drawing.decision import SMALL
from winokit.drawing.figures import write_figures
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import percent, say, say_chance
from winokit.methods.aflite.methods import METHODS
from winokit.methods.aflite.overuse import Overuse
from winokit.problem import Problem, grouped
from winokit.stages.debias.plots import figures_of, phase_charts, probe_forest, title_of
from winokit.stages.debias.verdict import before_of, verdict_of, word_of

if TYPE_CHECKING:
    from winokit.stages.debias.run import Debiased

MOST_WORDS, FEWEST_WORDS = 20, 5


class RemovedExample(NamedTuple):
    """A problem as the page shows it, and whether its twin is kept, removed, or there is none."""

    problem: Problem
    phase: int | None
    score: float | None
    twin: str


def write_debias_page(filtering: "Debiased", folder: Path) -> Path:
    """Write the page of a debiasing, with its figures as PNG and SVG, and return it."""
    page = debias_page(filtering)
    figures = write_figures(figures_of(filtering, page["probe"], page["charts"]), folder / "figures")
    shown = {"page": page, "figures": figures, "word_of": word_of, "before_of": before_of}
    return write_page(folder / INDEX, "stages/debias/page.html.j2", filtering=filtering, **shown)


def debias_page(filtering: "Debiased") -> dict[str, Any]:
    """What the page shows and the debiasing itself does not say."""
    chosen, null, dataset, arms = filtering.chosen, filtering.null, filtering.dataset, filtering.arms
    traits = list(_traits(filtering))
    ends = [abs(trait.log_odds) + 0.5 * (trait.high - trait.low) / 2 for *_, table in traits for trait in table]
    reach = next((reach for reach in (0.5, 1.0, 2.0, 3.0) if max(ends, default=0.0) <= reach), 4.0)
    ways = [f"kl_{name}{way}" for name in ("histogram", "knn", "gaussian") for way in ("", "_reverse")]
    ways = ways if filtering.pictures else []
    many = len(filtering.seeds)
    keeping = np.bincount(filtering.seeds_keeping, minlength=many + 1).tolist() if many > 1 else ()
    return {
        "card": dataset.card,
        "method": title_of(filtering.method, within=True),
        "n": len(dataset),
        "kept": int(chosen.keep.sum()),
        "verdict": verdict_of(filtering),
        "tiles": tuple(_tiles(filtering)),
        # Each arm with its divergences, by every estimator both ways; `.refit` is how the subsets of such rows end.
        "divergences": {
            title: [(title_of(arm.name), [filtering.rows[arm.name + end, way] for way in ways]) for arm in arms]
            for title, end in (("Component of all problems", ""), ("Component found anew in what is kept", ".refit"))
        },
        "probe": probe_forest(filtering),
        "charts": phase_charts(chosen.history, chosen.settings),
        # Whether phases may have trained on a problem's twin.
        "apart": bool(chosen.history) and chosen.settings.get("twins") == "apart" and bool(dataset.groups),
        "score": METHODS[filtering.method].score_title if filtering.method in METHODS else "",
        "seeds": filtering.seeds if many > 1 else (),
        # How many problems are kept by so many of the seeds: all of them first.
        "keeping": tuple(enumerate(keeping))[::-1],
        "majority": filtering.settings["majority"],
        "sure": 0 if null is None else int((null.q_values[~chosen.keep] <= SMALL).sum()),
        "traits": traits,
        # An axis for log odds, as wide as the values and most of their intervals need.
        "scale": Forest((), -reach, reach),
        "removed": tuple(_examples(filtering)),
        "settings": tuple(flat(filtering.settings)),
        "sources": [CITATIONS[name] for name in ("SAKAGUCHI_FIRST", "SAKAGUCHI", "GURURANGAN")],
    }


def _tiles(filtering: "Debiased") -> Iterator[tuple[str, str, str]]:
    """Kept, probe and divergence before and after, and removals beyond chance: label, value, and what is small."""
    chosen, n = filtering.chosen, len(filtering.dataset)
    kept = int(chosen.keep.sum())
    yield ("Kept", f"{kept:,}", f"of {n:,}, {percent(kept / n)}")
    for label, metric in (("Linear probe", "probe_accuracy"), ("Divergence (KL)", "kl_histogram")):
        before, after = filtering.find("all", metric), filtering.find(filtering.method, metric)
        if before is not None and after is not None:
            yield (label, say(after), f"before {say(before)}, chance {say_chance(after)}")
    removed = filtering.find(filtering.method, "n_removed")
    if removed is not None:
        yield ("Removed", say(removed), f"by chance {say_chance(removed)}")


def _traits(filtering: "Debiased") -> Iterator[tuple[str, str, Sequence[Overuse]]]:
    """The tables of over-use, each with a sentence that says how to read it.

    Of words those that are found, at least the first few.
    """
    words, over = filtering.overused.words, filtering.overused
    more = [word for word in words if word.q <= SMALL and word.log_odds > 0][:MOST_WORDS]
    less = [word for word in words[::-1] if word.q <= SMALL and word.log_odds < 0][: MOST_WORDS // 2][::-1]
    shown = [*(more if len(more) >= FEWEST_WORDS else words[:FEWEST_WORDS]), *less]
    tables = (
        ("Words", f"The surest of {len(words):,} words that stand in ten problems or more.", shown),
        ("Lengths in words", "In about equally frequent bins.", over.lengths),
        ("Polarity", "Texts with a negation: not, never, no, without and the like.", over.polarity),
    )
    yield from (each for each in tables if each[-1])


def _examples(filtering: "Debiased") -> Iterator[RemovedExample]:
    """The problems that went first."""
    arm, dataset = filtering.chosen, filtering.dataset
    members = grouped((problem.group, row) for row, problem in enumerate(dataset) if problem.group is not None)
    for row in arm.removal_order[:8].tolist():
        problem = dataset[row]
        others = [other for other in members.get(problem.group or "", []) if other != row]
        twin = "none" if not others else "kept" if arm.keep[others].any() else "removed"
        score = None if arm.scores is None or not np.isfinite(arm.scores[row]) else float(arm.scores[row])
        yield RemovedExample(problem, None if arm.phase is None else int(arm.phase[row]), score, twin)
