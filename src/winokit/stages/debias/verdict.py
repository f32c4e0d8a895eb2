"""The verdict on a filtering: one decision table over probes, ranks and seeds.

Removing any problems moves a probe, and AFLite removes some even if the features tell nothing. So a sentence says
"less" only if the probe of the kept problems is lower than that of equally many problems drawn at random, and never if
relabelled runs remove as much. If seeds have different verdicts, the sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from winokit.drawing.decision import BAD, PLAIN, SMALL, DecisionTable, State, Verdict, VerdictPoint, standing
from winokit.drawing.wording import join, percent, plural, probability, say, say_interval
from winokit.methods.aflite.methods import METHODS, DebiasArm
from winokit.methods.metrics.judge_ranks import BEYOND, UNDECIDED, WITHIN, SequentialRank
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
    """Return the verdict on a filtering: headline, text and findings."""
    state = state_of(filtering)
    case = TABLE.decide(state)
    kept_count = int(filtering.chosen.keep.sum())
    kept_problems = f"{kept_count:,} of {plural(len(filtering.dataset), 'problem')}"
    keeper = title_of(filtering.method)
    if filtering.settings["majority"]:
        keeper = f"The majority of {len(filtering.seeds)} seeds of AFLite"
    if state["seeds"] == DIFFER:
        second_sentence = _describe_seeds(filtering)
    else:
        second_sentence = _describe_probes(filtering)
    text = f"{keeper} keeps {kept_problems}. {second_sentence}".strip()
    points = tuple(_make_points(filtering, state))
    return Verdict(case.word, case.tone, text, points)


def state_of(filtering: Debiased) -> State:
    """Return the facts of the chosen arm, and whether the seeds agree.

    The values are among those of `FACTS`.
    """
    seeds = ONE
    if len(filtering.seeds) > 1:
        words = {word_of(filtering, arm) for arm in (filtering.chosen, *filtering.seeds)}
        seeds = AGREE if len(words) == 1 else DIFFER
    facts = _find_facts(filtering, filtering.chosen)
    return {**facts, "seeds": seeds}


def word_of(filtering: Debiased, arm: DebiasArm) -> str:
    """Return the headline for one arm, as if there were no other seed."""
    facts = _find_facts(filtering, arm)
    return TABLE.decide({**facts, "seeds": ONE}).word


def before_of(filtering: Debiased, arm: DebiasArm) -> Metric | None:
    """Return the probe of all problems, in the same folds as the arm's probe.

    The folds follow from the arm's seed. None if the features were not assessed.
    """
    is_first_seed = arm.name == filtering.method
    subset = ALL if is_first_seed else of_seed(ALL, arm.settings["seed"])
    return filtering.find(subset, "probe_accuracy")


def _find_facts(filtering: Debiased, arm: DebiasArm) -> dict[str, str]:
    """Return the facts of one arm, all except that on seeds."""
    before = before_of(filtering, arm)
    after = filtering.find(arm.name, "probe_accuracy")
    relabelled_rank = filtering.find(arm.name, "p_null")
    random_rank = filtering.find(arm.name, "p_random_removal")
    return {
        "removed": NONE if arm.keep.all() else SOME,
        "before": standing(before),
        "after": standing(after),
        "relabelled": _rank_outcome(relabelled_rank),
        "random": _rank_outcome(random_rank),
    }


def _rank_outcome(row: Metric | None) -> str:
    """Outcome of the test whose p-value a row has.

    NOT_RUN if there is no row.
    """
    return SequentialRank(row.value, row.n).outcome if row else NOT_RUN


def _describe_probes(filtering: Debiased) -> str:
    """Sentence on the probe of the kept problems, beside that of random problems.

    If nothing was removed, it is the probe of all problems. Empty if there is no probe.
    """
    after = filtering.find(filtering.method, "probe_accuracy")
    random_probe = filtering.find(filtering.method, "random_probe_accuracy")
    if after is None:
        return ""
    judged_problems = "them" if filtering.chosen.keep.all() else "what is kept"
    accuracy = percent(after.value)
    text = f"From the features alone, a linear classifier gets {accuracy} of {judged_problems} right"
    if random_probe:
        random_accuracy = percent(random_probe.value)
        text += f", and {random_accuracy} of as many drawn at random"
    chance = percent(after.level)
    return f"{text} (chance: {chance})."


def _describe_seeds(filtering: Debiased) -> str:
    """Sentence that lists the verdicts of different seeds."""
    seeds_by_word: dict[str, list[str]] = {}
    for arm in filtering.seeds:
        word = word_of(filtering, arm)
        seed = str(arm.settings.get("seed"))
        seeds_by_word.setdefault(word, []).append(seed)
    verdicts = "; ".join(f"with seed {join(seeds)}, “{word}”" for word, seeds in seeds_by_word.items())
    return f"{verdicts[0].upper()}{verdicts[1:]}."


def _make_points(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Yield the findings below the headline, in the order of the page."""
    yield from _compare_with_chance(filtering, state)
    yield from _compare_probes(filtering, state)
    yield from _compare_seeds(filtering, state)
    yield from _describe_divergence(filtering)
    split = filtering.rows[filtering.method, "n_groups_split"]
    if split.value:
        groups = plural(int(split.value), "group")
        yield VerdictPoint(f"{groups} of {split.n:,} lost some members and kept others.")
    is_overfiltered = state["after"] == BELOW and state["removed"] == SOME
    if is_overfiltered:
        text = "harder than chance for a linear classifier: problems were removed because chance got them right."
        yield VerdictPoint(f"What is kept is {text}", BAD, {"after": BELOW, "removed": SOME})
    yield from _describe_overused(filtering)


def _compare_with_chance(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Yield a point that compares the removals with those under shuffled labels.

    There is none without relabelled runs.
    """
    row = filtering.find(filtering.method, "p_null")
    by_chance = filtering.find(filtering.method, "n_removed_by_chance")
    if row is None or by_chance is None:
        return
    outcome, tone = TABLE.words["relabelled"][state["relabelled"]]
    if state["removed"] != SOME:
        tone = PLAIN
    if filtering.settings["majority"]:
        removed_counts = [_removed_count(arm) for arm in filtering.seeds]
        removals = f"Each seed removes {min(removed_counts):,} to {max(removed_counts):,}"
        least = " for the least sure seed"
    else:
        problems = plural(_removed_count(filtering.chosen), "problem")
        removals = f"{problems} removed"
        least = ""
    chance_range = f"{by_chance.low:,.0f} to {by_chance.high:,.0f}"
    runs = plural(row.n, "run")
    p_value = probability(row.value)
    text = f"{removals}; with shuffled labels {chance_range} ({runs}), p = {p_value}{least}. {outcome}."
    claims = {"relabelled": state["relabelled"]}
    yield VerdictPoint(text, tone, claims)


def _removed_count(arm: DebiasArm) -> int:
    """Number of problems that an arm removes."""
    return int((~arm.keep).sum())


def _compare_probes(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Yield a point that compares the kept problems' probe with random removals.

    There is none if the features were not assessed.
    """
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
        random_range = " to ".join(ends)
        outcome = TABLE.words["random"][state["random"]]
        draws = plural(rank_row.n, "draw")
        p_value = probability(rank_row.value)
        text += f" Of as many as are kept, drawn at random, it gets {random_range}. {outcome} ({draws}, p = {p_value})."
    yield VerdictPoint(text, PLAIN, claims)


def _compare_seeds(filtering: Debiased, state: State) -> Iterator[VerdictPoint]:
    """Yield a point on the overlap of two seeds.

    It is on what they keep and on what they remove. There is none with a single seed.
    """
    kept_overlap = filtering.find(filtering.method, "kept_overlap")
    removed_overlap = filtering.find(filtering.method, "removed_overlap")
    if kept_overlap is None or removed_overlap is None:
        return
    if kept_overlap.value == 1:
        shared = f"All {len(filtering.seeds)} seeds keep the same problems."
    else:
        kept_share = f"{percent(kept_overlap.value)} of what either keeps"
        kept_chance = percent(kept_overlap.chance)
        removed_share = f"{percent(removed_overlap.value)} of what either removes"
        removed_chance = percent(removed_overlap.chance)
        shared = (
            f"Two of {len(filtering.seeds)} seeds share {kept_share} (by chance {kept_chance}) "
            f"and {removed_share} (by chance {removed_chance})."
        )
    tone = PLAIN if state["seeds"] == AGREE else BAD
    outcome = TABLE.words["seeds"][state["seeds"]]
    yield VerdictPoint(f"{shared} {outcome}", tone, {"seeds": state["seeds"]})


def _describe_divergence(filtering: Debiased) -> Iterator[VerdictPoint]:
    """Yield a point on every arm's divergence along the first component.

    There is none if the features were not assessed.
    """
    rows = []
    for arm in filtering.arms:
        row = filtering.find(arm.name, "kl_histogram")
        if row is not None:
            rows.append(row)
    if not rows:
        return
    values = join([f"{say(row)} ({title_of(row.subset, within=True)})" for row in rows])
    text = f"KL divergence of the two answers along the first component: {values}."
    if all(stands(row) in (AT, BELOW) for row in rows):
        text += " None of it is more than the estimator finds where there is no difference."
    yield VerdictPoint(text)


def _describe_overused(filtering: Debiased) -> Iterator[VerdictPoint]:
    """Yield points on words and negations commoner among the removed problems.

    Only significant ones have a point. A negation has one too if it is rarer there.
    """
    words = [word for word in filtering.overused.words if word.q <= SMALL and word.log_odds > 0]
    if words:
        first = join([f"“{word.trait}”" for word in words[:5]])
        verb = "is" if len(words) == 1 else "are"
        others = " and others" if len(words) > 5 else ""
        noun = plural(len(words), "word")
        yield VerdictPoint(f"{noun} {verb} over-used by the removed problems: {first}{others}.")
    for negation in filtering.overused.polarity:
        if negation.q <= SMALL:
            direction = "more" if negation.log_odds > 0 else "less"
            times = float(np.exp(abs(negation.log_odds)))
            yield VerdictPoint(f"A negation is {direction} likely among the removed (odds {times:.2f} times).")


def warnings_of(filtering: Debiased) -> Iterator[str]:
    """Yield the warnings that a reader must not overlook.

    They are on removals that are not shown to be more than chance, on a probe that falls below chance, and on seeds
    that keep different problems.
    """
    method = filtering.method
    yield from _warn_of_chance(filtering)
    before = filtering.find(ALL, "probe_accuracy")
    after = filtering.find(method, "probe_accuracy")
    is_overfiltered = standing(after) == BELOW != standing(before)
    if after is not None and is_overfiltered:
        accuracy = 100 * after.value
        yield (
            f"over-filtered: a linear probe gets {accuracy:.1f} % of what is kept, below chance; "
            "problems were removed because chance got them right"
        )
    kept_overlap = filtering.find(method, "kept_overlap")
    removed_overlap = filtering.find(method, "removed_overlap")
    if kept_overlap and removed_overlap and kept_overlap.value < 1:
        kept_share = percent(kept_overlap.value, 0)
        removed_share = percent(removed_overlap.value, 0)
        yield (
            f"the kept set depends on the seed: two of {len(filtering.seeds)} seeds share "
            f"{kept_share} of what either keeps and {removed_share} of what either removes"
        )


def _warn_of_chance(filtering: Debiased) -> Iterator[str]:
    """Yield a warning unless more was removed than by chance.

    Too few relabelled runs to tell are a warning of their own. Without such runs there is none.
    """
    rank_row = filtering.find(filtering.method, "p_null")
    by_chance = filtering.find(filtering.method, "n_removed_by_chance")
    outcome = _rank_outcome(rank_row)
    if by_chance and outcome == WITHIN:
        is_majority = filtering.settings["majority"]
        arms = filtering.seeds if is_majority else (filtering.chosen,)
        fewest = min(_removed_count(arm) for arm in arms)
        by_seed = " by one seed" if is_majority else ""
        chance_range = f"{by_chance.low:,.0f} to {by_chance.high:,.0f}"
        yield f"no more than chance: {fewest:,} problems removed{by_seed}; with shuffled labels {chance_range}"
    if rank_row and outcome == UNDECIDED:
        yield (
            f"undecided: {rank_row.n} relabelled runs are too few to distinguish this from chance; "
            "19 are enough (--set null_runs)"
        )
