"""What a filtering is worth, in sentences made from its rows: nothing is said that a row does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from winokit.filtering.filtering import Filtering
from winokit.report.debias_plots import ARMS, SAID, metrics_of, nats
from winokit.report.decision import BAD, GOOD, PLAIN, Point, Verdict
from winokit.report.wording import join, percent, plural
from winokit.results import AT, BELOW, UNKNOWN, Metric, stands

SURE = 0.05
Rows = Mapping[tuple[str, str], Metric]


def verdict_of(filtering: Filtering) -> Verdict:
    """A word, a sentence and the findings behind them."""
    rows = metrics_of(filtering)
    before, after = rows.get(("all", "probe_accuracy")), rows.get((filtering.method, "probe_accuracy"))
    word, tone = _word(filtering, before, after)
    return Verdict(word, tone, _headline(filtering, before, after), tuple(_points(filtering, rows)))


def _word(filtering: Filtering, before: Metric | None, after: Metric | None) -> tuple[str, str]:
    if filtering.chosen.keep.all():
        return "Nothing was removed", PLAIN
    if before is None or after is None:
        return "Reduced, and not assessed", PLAIN
    was, now = stands(before), stands(after)
    if now == BELOW and was != BELOW:
        return "Over-filtered: what is left is below chance", BAD
    if was in (AT, UNKNOWN, BELOW):
        return "There was no linear bias to remove", PLAIN
    if now == AT:
        return "The linear bias is gone", GOOD
    if after.high is not None and before.low is not None and after.high < before.low:
        return "Less linear bias, and not gone", PLAIN
    return "The linear bias is still there", BAD


def _headline(filtering: Filtering, before: Metric | None, after: Metric | None) -> str:
    kept, n = int(filtering.chosen.keep.sum()), len(filtering.dataset)
    start = f"{ARMS[filtering.method]} keeps {kept:,} of {plural(n, 'problem')}."
    if before is None or after is None:
        return start
    return (
        f"{start} From the features alone, a linear classifier gets {percent(before.value)} of unseen problems right "
        f"before and {percent(after.value)} after (chance: 50)."
    )


def _points(filtering: Filtering, rows: Rows) -> Iterator[Point]:
    yield from _chance(filtering)
    yield from _divergence(filtering, rows)
    split, after = rows[filtering.method, "n_groups_split"], rows.get((filtering.method, "probe_accuracy"))
    if split.value:
        yield Point(f"{plural(int(split.value), 'group')} of {split.n:,} lost some members and kept others.")
    if after is not None and stands(after) == BELOW and not filtering.chosen.keep.all():
        yield Point(
            "What is kept is harder than chance for a linear classifier: problems went because chance got them right.",
            BAD,
        )
    yield from _words(filtering)


def _chance(filtering: Filtering) -> Iterator[Point]:
    """Whether more went than goes from relabelled problems."""
    null = filtering.null
    if null is None:
        return
    low, high = null.interval
    beyond = null.removed > high
    yield Point(
        f"{plural(null.removed, 'problem')} went; from relabelled problems, where there is nothing to find, "
        f"{low:,.0f} to {high:,.0f} go. That is {'more' if beyond else 'no more'} than chance.",
        GOOD if beyond else BAD,
    )


def _divergence(filtering: Filtering, rows: Rows) -> Iterator[Point]:
    """Along the first component, every arm; and whether any of it is more than the estimator's own."""
    found = [(arm.name, rows.get((arm.name, "kl_histogram"))) for arm in filtering.arms]
    known = [(name, row) for name, row in found if row is not None]
    if not known:
        return
    said = join([f"{nats(row.value)} ({SAID[name]})" for name, row in known])
    flat = all(stands(row) in (AT, BELOW) for _, row in known)
    rest = " None of it is more than the estimator finds where there is no difference." if flat else ""
    yield Point(f"KL divergence of the two answers along the first component: {said}.{rest}")


def _words(filtering: Filtering) -> Iterator[Point]:
    words = [one for one in filtering.overused.words if one.q <= SURE and one.log_odds > 0]
    if words:
        first = join([f"“{one.trait}”" for one in words[:5]])
        many = f"{plural(len(words), 'word')} {'is' if len(words) == 1 else 'are'} over-used"
        yield Point(f"{many} by the removed problems: {first}{' and others' if len(words) > 5 else ''}.")
    for one in filtering.overused.polarity:
        if one.q <= SURE:
            more = "more" if one.log_odds > 0 else "less"
            times = float(np.exp(abs(one.log_odds)))
            yield Point(f"A negation is {more} likely among the removed (odds {times:.2f} times).")
