"""What a filtering is worth: one decision table over the probe before and after, both tests by rank, and the seeds.

Removing problems moves a probe whatever they are, and AFLite finds some to remove where there is nothing. So a sentence
says "less" only where the probe of what is kept is lower than that of as many problems drawn at random, and never where
relabelled runs remove as much; and where another seed would have it otherwise, that is the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from winokit.drawing.decision import BAD, PLAIN, SMALL, DecisionTable, State, Verdict, VerdictPoint, standing
from winokit.drawing.wording import join, percent, plural, probability, say, say_interval
from winokit.methods.aflite.methods import METHODS, DebiasArm
from winokit.methods.metrics.judge_ranks import BEYOND, UNDECIDED, WITHIN, SequentialRank
from winokit.problem import grouped
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric, stands
from winokit.stages.debias.assessment import ALL, of_seed

if TYPE_CHECKING:
    from winokit.stages.debias.filtering import Debiased

SOME = "some"
NONE = "none"
NOT_RUN = "not run"
ONE = "one"
AGREE = "agree"
DIFFER = "differ"
WHERE = (ABOVE, AT, BELOW, UNKNOWN)
TESTED = (BEYOND, WITHIN, UNDECIDED, NOT_RUN)
FACTS = {
    "removed": (SOME, NONE),
    "before": WHERE,  # the probe of all problems, against chance
    "after": WHERE,  # the probe of what is kept
    "relabelled": TESTED,  # are more removed than relabelled runs remove?
    "random": TESTED,  # is the probe of what is kept lower than that of as many at random?
    "seeds": (ONE, AGREE, DIFFER),  # is the verdict of every seed the same?
}
TABLE = DecisionTable.of_stage("debias", FACTS)


def title_of(arm: str, *, within: bool = False) -> str:
    """What an arm is called, as a title or within a sentence.

    >>> title_of("random"), title_of("random", within=True), title_of("aflite", within=True)
    ('Random reduction', 'random reduction', 'AFLite')
    """
    title = "All problems" if arm == ALL else METHODS[arm].title if arm in METHODS else arm
    return title[0].lower() + title[1:] if within and not title[1:2].isupper() else title


def verdict_of(filtering: Debiased) -> Verdict:
    """A word, a sentence and the findings behind them."""
    state = state_of(filtering)
    case = TABLE.decide(state)
    kept = f"{int(filtering.chosen.keep.sum()):,} of {plural(len(filtering.dataset), 'problem')}"
    majority = f"The majority of {len(filtering.seeds)} seeds of AFLite"
    keeper = majority if filtering.settings["majority"] else title_of(filtering.method)
    rest = _by_seed(filtering) if state["seeds"] == DIFFER else _probes(filtering)
    return Verdict(case.word, case.tone, f"{keeper} keeps {kept}. {rest}".strip(), tuple(_points(filtering, state)))


def state_of(filtering: Debiased) -> State:
    """The facts of a filtering, and whether its seeds have the same verdict."""
    words = {word_of(filtering, arm) for arm in (filtering.chosen, *filtering.seeds)}
    seeds = ONE if len(filtering.seeds) < 2 else AGREE if len(words) == 1 else DIFFER
    return {**_facts(filtering, filtering.chosen), "seeds": seeds}


def word_of(filtering: Debiased, arm: DebiasArm) -> str:
    """The verdict on one seed, as if there were no other."""
    return TABLE.decide({**_facts(filtering, arm), "seeds": ONE}).word


def before_of(filtering: Debiased, arm: DebiasArm) -> Metric | None:
    """The probe of all problems in the folds that an arm's probe has: those of its seed."""
    first = arm.name == filtering.method
    return filtering.find(ALL if first else of_seed(ALL, arm.settings["seed"]), "probe_accuracy")


def _facts(filtering: Debiased, arm: DebiasArm) -> dict[str, str]:
    before = before_of(filtering, arm)
    after = filtering.find(arm.name, "probe_accuracy")
    return {
        "removed": NONE if arm.keep.all() else SOME,
        "before": standing(before),
        "after": standing(after),
        "relabelled": _outcome(filtering.find(arm.name, "p_null")),
        "random": _outcome(filtering.find(arm.name, "p_random_removal")),
    }


def _outcome(row: Metric | None) -> str:
    return SequentialRank(row.value, row.n).outcome if row else NOT_RUN


def _probes(filtering: Debiased) -> str:
    """What the probe gets of what is kept, beside as many at random; or of all problems, where none is gone."""
    after, drawn = (filtering.find(filtering.method, name) for name in ("probe_accuracy", "random_probe_accuracy"))
    if after is None:
        return ""
    beside = f", and {percent(drawn.value)} of as many drawn at random" if drawn else ""
    what = "them" if filtering.chosen.keep.all() else "what is kept"
    gets = f"a linear classifier gets {percent(after.value)} of {what} right"
    return f"From the features alone, {gets}{beside} (chance: {percent(after.level)})."


def _by_seed(filtering: Debiased) -> str:
    """Which seeds have which verdict."""
    words = grouped((word_of(filtering, arm), str(arm.settings.get("seed"))) for arm in filtering.seeds)
    verdicts = "; ".join(f"with seed {join(seeds)}, “{word}”" for word, seeds in words.items())
    return f"{verdicts[0].upper()}{verdicts[1:]}."


def _points(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    yield from _chance(filtering, state)
    yield from _difference(filtering, state)
    yield from _seeds(filtering, state)
    yield from _divergence(filtering)
    split = filtering.rows[filtering.method, "n_groups_split"]
    if split.value:
        yield VerdictPoint(f"{plural(int(split.value), 'group')} of {split.n:,} lost some members and kept others.")
    if (state["after"], state["removed"]) == (BELOW, SOME):
        text = "harder than chance for a linear classifier: problems were removed because chance got them right."
        yield VerdictPoint(f"What is kept is {text}", BAD, {"after": BELOW, "removed": SOME})
    yield from _words(filtering)


def _chance(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Whether more was removed than with shuffled labels."""
    row, by_chance = (filtering.find(filtering.method, name) for name in ("p_null", "n_removed_by_chance"))
    if row is None or by_chance is None:
        return
    outcome, tone = TABLE.words["relabelled"][state["relabelled"]]
    tone = tone if state["removed"] == SOME else PLAIN
    removed = f"{plural(int((~filtering.chosen.keep).sum()), 'problem')} removed"
    least = ""
    if filtering.settings["majority"]:
        each = [int((~arm.keep).sum()) for arm in filtering.seeds]
        removed = f"Each seed removes {min(each):,} to {max(each):,}"
        least = " for the least sure seed"
    yield VerdictPoint(
        f"{removed}; with shuffled labels {by_chance.low:,.0f} to {by_chance.high:,.0f} ({plural(row.n, 'run')}), "
        f"p = {probability(row.value)}{least}. {outcome}.",
        tone,
        {"relabelled": state["relabelled"]},
    )


def _difference(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """The probe of what is kept among those of as many problems at random; and where it stood before."""
    method = filtering.method
    claims = {name: state[name] for name in ("before", "random")}
    before, row, drawn = (
        filtering.find(*name)
        for name in ((ALL, "probe_accuracy"), (method, "p_random_removal"), (method, "random_probe_accuracy"))
    )
    if before is None:
        return
    gets = f"{percent(before.value)} {say_interval(before)}"
    where = TABLE.words["before"][state["before"]]
    text = f"Of all problems a linear classifier gets {gets}, {where}."
    if row is not None and drawn is not None:
        ends = " to ".join(dict.fromkeys((percent(drawn.low), percent(drawn.high))))
        text += (
            f" Of as many as are kept, drawn at random, it gets {ends}. {TABLE.words['random'][state['random']]} "
            f"({plural(row.n, 'draw')}, p = {probability(row.value)})."
        )
    yield VerdictPoint(text, PLAIN, claims)


def _seeds(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """How much of what is kept and removed is the seed's."""
    kept, removed = (filtering.find(filtering.method, f"{name}_overlap") for name in ("kept", "removed"))
    if kept is None or removed is None:
        return
    shared = (
        f"Two of {len(filtering.seeds)} seeds share {percent(kept.value)} of what either keeps (by chance "
        f"{percent(kept.chance)}) and {percent(removed.value)} of what either removes (by chance "
        f"{percent(removed.chance)})."
    )
    if kept.value == 1:
        shared = f"All {len(filtering.seeds)} seeds keep the same problems."
    tone = PLAIN if state["seeds"] == AGREE else BAD
    yield VerdictPoint(f"{shared} {TABLE.words['seeds'][state['seeds']]}", tone, {"seeds": state["seeds"]})


def _divergence(filtering: Debiased) -> Iterator[VerdictPoint]:
    """Along the first component, every arm; and whether any of it is more than the estimator's own."""
    rows = [row for arm in filtering.arms if (row := filtering.find(arm.name, "kl_histogram"))]
    if rows:
        values = join([f"{say(row)} ({title_of(row.subset, within=True)})" for row in rows])
        flat = all(stands(row) in (AT, BELOW) for row in rows)
        rest = " None of it is more than the estimator finds where there is no difference." if flat else ""
        yield VerdictPoint(f"KL divergence of the two answers along the first component: {values}.{rest}")


def _words(filtering: Debiased) -> Iterator[VerdictPoint]:
    words = [word for word in filtering.overused.words if word.q <= SMALL and word.log_odds > 0]
    if words:
        first = join([f"“{word.trait}”" for word in words[:5]])
        many = f"{plural(len(words), 'word')} {'is' if len(words) == 1 else 'are'} over-used"
        yield VerdictPoint(f"{many} by the removed problems: {first}{' and others' if len(words) > 5 else ''}.")
    for negation in filtering.overused.polarity:
        if negation.q <= SMALL:
            more = "more" if negation.log_odds > 0 else "less"
            times = float(np.exp(abs(negation.log_odds)))
            yield VerdictPoint(f"A negation is {more} likely among the removed (odds {times:.2f} times).")


def warnings_of(filtering: Debiased) -> Iterator[str]:
    """What a reader must not overlook."""
    method = filtering.method
    majority = filtering.settings["majority"]
    rank, by_chance = (filtering.find(method, name) for name in ("p_null", "n_removed_by_chance"))
    outcome = _outcome(rank)
    if by_chance and outcome == WITHIN:
        went = min(int((~arm.keep).sum()) for arm in (filtering.seeds if majority else (filtering.chosen,)))
        yield (
            f"no more than chance: {went:,} problems removed{' by one seed' if majority else ''}; "
            f"with shuffled labels {by_chance.low:,.0f} to {by_chance.high:,.0f}"
        )
    if rank and outcome == UNDECIDED:
        yield (
            f"undecided: {rank.n} relabelled runs are too few to distinguish this from chance; "
            "19 are enough (--set null_runs)"
        )
    before, after = (filtering.find(name, "probe_accuracy") for name in (ALL, method))
    if standing(after) == BELOW != standing(before) and after is not None:
        yield (
            f"over-filtered: a linear probe gets {100 * after.value:.1f} % of what is kept, below chance; "
            "problems were removed because chance got them right"
        )
    kept, removed = (filtering.find(method, f"{name}_overlap") for name in ("kept", "removed"))
    if kept and removed and kept.value < 1:
        yield (
            f"the kept set depends on the seed: two of {len(filtering.seeds)} seeds share {percent(kept.value, 0)} of "
            f"what either keeps and {percent(removed.value, 0)} of what either removes"
        )
