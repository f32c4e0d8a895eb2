"""The verdict on a filtering: one decision table over probes, ranks and seeds.

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
    """Return an arm's name as a title, or as a phrase within a sentence.

    >>> title_of("random"), title_of("random", within=True), title_of("aflite", within=True)
    ('Random reduction', 'random reduction', 'AFLite')
    """
    title = arm
    if arm == ALL:
        title = "All problems"
    elif arm in METHODS:
        title = METHODS[arm].title
    is_abbreviation = title[1:2].isupper()
    if within and not is_abbreviation:
        return title[0].lower() + title[1:]
    return title


def verdict_of(filtering: Debiased) -> Verdict:
    """A word, a sentence and the findings behind them."""
    state = state_of(filtering)
    case = TABLE.decide(state)
    kept_count = int(filtering.chosen.keep.sum())
    kept_problems = f"{kept_count:,} of {plural(len(filtering.dataset), 'problem')}"
    keeper = title_of(filtering.method)
    if filtering.settings["majority"]:
        keeper = f"The majority of {len(filtering.seeds)} seeds of AFLite"
    second_sentence = _describe_seeds(filtering) if state["seeds"] == DIFFER else _describe_probes(filtering)
    text = f"{keeper} keeps {kept_problems}. {second_sentence}".strip()
    return Verdict(case.word, case.tone, text, tuple(_make_points(filtering, state)))


def state_of(filtering: Debiased) -> State:
    """The facts of a filtering, and whether its seeds have the same verdict."""
    words = {word_of(filtering, arm) for arm in (filtering.chosen, *filtering.seeds)}
    seeds = ONE
    if len(filtering.seeds) > 1:
        seeds = AGREE if len(words) == 1 else DIFFER
    return {**_find_facts(filtering, filtering.chosen), "seeds": seeds}


def word_of(filtering: Debiased, arm: DebiasArm) -> str:
    """The verdict on one seed, as if there were no other."""
    return TABLE.decide({**_find_facts(filtering, arm), "seeds": ONE}).word


def before_of(filtering: Debiased, arm: DebiasArm) -> Metric | None:
    """The probe of all problems in the folds that an arm's probe has: those of its seed."""
    is_first_seed = arm.name == filtering.method
    subset = ALL if is_first_seed else of_seed(ALL, arm.settings["seed"])
    return filtering.find(subset, "probe_accuracy")


def _find_facts(filtering: Debiased, arm: DebiasArm) -> dict[str, str]:
    before = before_of(filtering, arm)
    after = filtering.find(arm.name, "probe_accuracy")
    return {
        "removed": NONE if arm.keep.all() else SOME,
        "before": standing(before),
        "after": standing(after),
        "relabelled": _rank_outcome(filtering.find(arm.name, "p_null")),
        "random": _rank_outcome(filtering.find(arm.name, "p_random_removal")),
    }


def _rank_outcome(row: Metric | None) -> str:
    return SequentialRank(row.value, row.n).outcome if row else NOT_RUN


def _describe_probes(filtering: Debiased) -> str:
    """Sentence on the probe of what is kept, beside as many problems at random.

    Empty if there is no probe. If nothing was removed, it is the probe of all problems.
    """
    after = filtering.find(filtering.method, "probe_accuracy")
    random_probe = filtering.find(filtering.method, "random_probe_accuracy")
    if after is None:
        return ""
    judged_problems = "them" if filtering.chosen.keep.all() else "what is kept"
    text = f"From the features alone, a linear classifier gets {percent(after.value)} of {judged_problems} right"
    if random_probe:
        text += f", and {percent(random_probe.value)} of as many drawn at random"
    return f"{text} (chance: {percent(after.level)})."


def _describe_seeds(filtering: Debiased) -> str:
    """Sentence on which seeds have which verdict."""
    words = grouped((word_of(filtering, arm), str(arm.settings.get("seed"))) for arm in filtering.seeds)
    verdicts = "; ".join(f"with seed {join(seeds)}, “{word}”" for word, seeds in words.items())
    return f"{verdicts[0].upper()}{verdicts[1:]}."


def _make_points(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    yield from _compare_with_chance(filtering, state)
    yield from _compare_probes(filtering, state)
    yield from _compare_seeds(filtering, state)
    yield from _describe_divergence(filtering)
    split = filtering.rows[filtering.method, "n_groups_split"]
    if split.value:
        yield VerdictPoint(f"{plural(int(split.value), 'group')} of {split.n:,} lost some members and kept others.")
    if state["after"] == BELOW and state["removed"] == SOME:
        text = "harder than chance for a linear classifier: problems were removed because chance got them right."
        yield VerdictPoint(f"What is kept is {text}", BAD, {"after": BELOW, "removed": SOME})
    yield from _describe_overused(filtering)


def _compare_with_chance(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Point that compares the removals with those under shuffled labels."""
    row = filtering.find(filtering.method, "p_null")
    by_chance = filtering.find(filtering.method, "n_removed_by_chance")
    if row is None or by_chance is None:
        return
    outcome, tone = TABLE.words["relabelled"][state["relabelled"]]
    if state["removed"] != SOME:
        tone = PLAIN
    if filtering.settings["majority"]:
        removed_counts = [_removed_count(arm) for arm in filtering.seeds]
        removed = f"Each seed removes {min(removed_counts):,} to {max(removed_counts):,}"
        least = " for the least sure seed"
    else:
        removed = f"{plural(_removed_count(filtering.chosen), 'problem')} removed"
        least = ""
    yield VerdictPoint(
        f"{removed}; with shuffled labels {by_chance.low:,.0f} to {by_chance.high:,.0f} ({plural(row.n, 'run')}), "
        f"p = {probability(row.value)}{least}. {outcome}.",
        tone,
        {"relabelled": state["relabelled"]},
    )


def _removed_count(arm: DebiasArm) -> int:
    """Number of problems that an arm removes."""
    return int((~arm.keep).sum())


def _compare_probes(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Point that compares the probe of what is kept with random removals."""
    method = filtering.method
    claims = {name: state[name] for name in ("before", "random")}
    before = filtering.find(ALL, "probe_accuracy")
    rank_row = filtering.find(method, "p_random_removal")
    random_probe = filtering.find(method, "random_probe_accuracy")
    if before is None:
        return
    accuracy = f"{percent(before.value)} {say_interval(before)}"
    standing_words = TABLE.words["before"][state["before"]]
    text = f"Of all problems a linear classifier gets {accuracy}, {standing_words}."
    if rank_row is not None and random_probe is not None:
        ends = dict.fromkeys((percent(random_probe.low), percent(random_probe.high)))
        outcome = TABLE.words["random"][state["random"]]
        text += (
            f" Of as many as are kept, drawn at random, it gets {' to '.join(ends)}. {outcome} "
            f"({plural(rank_row.n, 'draw')}, p = {probability(rank_row.value)})."
        )
    yield VerdictPoint(text, PLAIN, claims)


def _compare_seeds(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Point on how much of what is kept and removed depends on the seed."""
    kept_overlap = filtering.find(filtering.method, "kept_overlap")
    removed_overlap = filtering.find(filtering.method, "removed_overlap")
    if kept_overlap is None or removed_overlap is None:
        return
    if kept_overlap.value == 1:
        shared = f"All {len(filtering.seeds)} seeds keep the same problems."
    else:
        kept_share = f"{percent(kept_overlap.value)} of what either keeps (by chance {percent(kept_overlap.chance)})"
        removed_share = (
            f"{percent(removed_overlap.value)} of what either removes (by chance {percent(removed_overlap.chance)})"
        )
        shared = f"Two of {len(filtering.seeds)} seeds share {kept_share} and {removed_share}."
    tone = PLAIN if state["seeds"] == AGREE else BAD
    yield VerdictPoint(f"{shared} {TABLE.words['seeds'][state['seeds']]}", tone, {"seeds": state["seeds"]})


def _describe_divergence(filtering: Debiased) -> Iterator[VerdictPoint]:
    """Point on the divergence of every arm along the first component."""
    found = [filtering.find(arm.name, "kl_histogram") for arm in filtering.arms]
    rows = [row for row in found if row is not None]
    if not rows:
        return
    values = join([f"{say(row)} ({title_of(row.subset, within=True)})" for row in rows])
    text = f"KL divergence of the two answers along the first component: {values}."
    if all(stands(row) in (AT, BELOW) for row in rows):
        text += " None of it is more than the estimator finds where there is no difference."
    yield VerdictPoint(text)


def _describe_overused(filtering: Debiased) -> Iterator[VerdictPoint]:
    words = [word for word in filtering.overused.words if word.q <= SMALL and word.log_odds > 0]
    if words:
        first = join([f"“{word.trait}”" for word in words[:5]])
        verb = "is" if len(words) == 1 else "are"
        others = " and others" if len(words) > 5 else ""
        yield VerdictPoint(f"{plural(len(words), 'word')} {verb} over-used by the removed problems: {first}{others}.")
    for negation in filtering.overused.polarity:
        if negation.q <= SMALL:
            direction = "more" if negation.log_odds > 0 else "less"
            times = float(np.exp(abs(negation.log_odds)))
            yield VerdictPoint(f"A negation is {direction} likely among the removed (odds {times:.2f} times).")


def warnings_of(filtering: Debiased) -> Iterator[str]:
    """Yield the warnings that a reader must not overlook."""
    method = filtering.method
    yield from _warn_of_chance(filtering)
    before = filtering.find(ALL, "probe_accuracy")
    after = filtering.find(method, "probe_accuracy")
    if standing(after) == BELOW != standing(before) and after is not None:
        yield (
            f"over-filtered: a linear probe gets {100 * after.value:.1f} % of what is kept, below chance; "
            "problems were removed because chance got them right"
        )
    kept_overlap = filtering.find(method, "kept_overlap")
    removed_overlap = filtering.find(method, "removed_overlap")
    if kept_overlap and removed_overlap and kept_overlap.value < 1:
        yield (
            f"the kept set depends on the seed: two of {len(filtering.seeds)} seeds share "
            f"{percent(kept_overlap.value, 0)} of what either keeps and "
            f"{percent(removed_overlap.value, 0)} of what either removes"
        )


def _warn_of_chance(filtering: Debiased) -> Iterator[str]:
    """Warn if no more was removed than by chance, or if too few relabelled runs leave that open."""
    rank_row = filtering.find(filtering.method, "p_null")
    by_chance = filtering.find(filtering.method, "n_removed_by_chance")
    outcome = _rank_outcome(rank_row)
    if by_chance and outcome == WITHIN:
        is_majority = filtering.settings["majority"]
        arms = filtering.seeds if is_majority else (filtering.chosen,)
        fewest = min(_removed_count(arm) for arm in arms)
        by_seed = " by one seed" if is_majority else ""
        yield (
            f"no more than chance: {fewest:,} problems removed{by_seed}; "
            f"with shuffled labels {by_chance.low:,.0f} to {by_chance.high:,.0f}"
        )
    if rank_row and outcome == UNDECIDED:
        yield (
            f"undecided: {rank_row.n} relabelled runs are too few to distinguish this from chance; "
            "19 are enough (--set null_runs)"
        )
