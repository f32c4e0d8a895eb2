"""The verdict on two scorers: a word from a decision table, then each test."""

from collections.abc import Iterator, Mapping, Sequence

from winokit.drawing.decision import DecisionTable
from winokit.drawing.wording import join, percent, plural, points, probability
from winokit.methods.metrics.judge_pairs import AHEAD, BEYOND, EQUAL, LITTLE, NOT_SHOWN, REFUSES, SMALL, PairVerdict
from winokit.problem import grouped
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.compare.pairs import ScorerPair

WITHIN = "equal"
"""Standing of the first scorer if both are shown to be equal within the margin."""
PLACES = (ABOVE, WITHIN, AT, BELOW, UNKNOWN)
"""Standings of the first scorer by a test. The last is for a test that was not made."""
COMPARED = DecisionTable.of_stage("compare", {"accuracy": PLACES, "group_accuracy": PLACES})
COUNTED = {"group_accuracy": "group"}
"""Word for the things that a measure counts, if they are not problems."""


def comparison_sentences(pairs: Sequence[ScorerPair]) -> Iterator[str]:
    """Yield a paragraph on each two scorers, from all tests of them.

    If there are several tests, the last sentence says for how many p-values are corrected.
    """
    for tests in _group_by_scorers(pairs):
        sentences = _compare_in_words(tests)
        if not tests[0].verdict.both_refuse:
            sentences += map(_describe_test, tests)
            sentences += _describe_abstentions(tests)
            sentences += _describe_refusers(tests)
        yield " ".join(sentences)
    if len(pairs) > 1:
        yield f"p-values are corrected for {plural(len(pairs), 'test')}."


def comparison_words(pairs: Sequence[ScorerPair]) -> list[str]:
    """Sentences on which of each two scorers is ahead.

    One text for each two scorers. It has no numbers, unless one of them abstains far more often.
    """
    texts = []
    for tests in _group_by_scorers(pairs):
        sentences = [*_compare_in_words(tests), *_describe_abstentions(tests)]
        texts.append(" ".join(sentences))
    return texts


def _group_by_scorers(pairs: Sequence[ScorerPair]) -> list[list[ScorerPair]]:
    """Lists of the tests of each two scorers."""
    by_scorers = grouped(((pair.first, pair.second), pair) for pair in pairs)
    return list(by_scorers.values())


def state_of(tests: Mapping[str, ScorerPair]) -> dict[str, str]:
    """Standings of the first scorer by the measures of the decision table.

    `tests` has their tests by measure.
    """
    return {measure: _find_standing(tests.get(measure)) for measure in COMPARED.facts}


def _find_standing(pair: ScorerPair | None) -> str:
    """Standing of the first scorer by one test.

    UNKNOWN without a test.
    """
    if pair is None:
        return UNKNOWN
    if pair.verdict.lead:
        return ABOVE if pair.verdict.lead > 0 else BELOW
    return WITHIN if pair.word == EQUAL else AT


def _compare_in_words(pairs: Sequence[ScorerPair]) -> list[str]:
    """Sentences on which scorer is ahead.

    The first is on the measures of the decision table, the others on one other measure each. `pairs` are tests of the
    same two scorers.
    """
    first_pair = pairs[0]
    if first_pair.verdict.both_refuse:
        return [f"{first_pair.first} and {first_pair.second} answer nothing, so there is nothing to compare."]
    tests = {pair.measure: pair for pair in pairs}
    words = []
    if not tests.keys().isdisjoint(COMPARED.facts):
        words.append(_read_table(first_pair, tests))
    words += [_describe_measure(pair) for pair in pairs if pair.measure not in COMPARED.facts]
    return [f"{word}." for word in words]


def _read_table(names: ScorerPair, tests: Mapping[str, ScorerPair]) -> str:
    """Sentence of the decision table on two scorers.

    `names` is any of their tests, which has their names.
    """
    margin = f"{margin_points(names.verdict)} points"
    case = COMPARED.decide(state_of(tests))
    return case.word.format(first=names.first, second=names.second, margin=margin, by=_describe_lead(tests))


def _describe_measure(pair: ScorerPair) -> str:
    """Sentence on which scorer is ahead by one measure.

    The measure is not in the decision table.
    """
    by_measure = f"By {pair.measure_title}"
    if pair.ahead is not None:
        behind = pair.second if pair.ahead == pair.first else pair.first
        by_how_much = ", by little" if pair.word == LITTLE else ""
        return f"{by_measure}, {pair.ahead} is ahead of {behind}{by_how_much}"
    if pair.word == EQUAL:
        return f"{by_measure}, {pair.first} and {pair.second} are equal within {margin_points(pair.verdict)} points"
    if pair.word == REFUSES:
        return f"{by_measure}, neither {pair.first} nor {pair.second} is ahead"
    return f"{by_measure}, no difference between {pair.first} and {pair.second} is shown"


def _describe_lead(tests: Mapping[str, ScorerPair]) -> str:
    """Phrase that the first lead is small, or empty.

    It is about the first measure of the table with a lead.
    """
    for measure in COMPARED.facts:
        test = tests.get(measure)
        if test is not None and test.verdict.lead:
            return ", by little" if test.word == LITTLE else ""
    return ""


def _describe_test(pair: ScorerPair) -> str:
    """Sentence on one test: difference, interval, p-value and meaning.

    The difference is stated for the scorer that has more.
    """
    comparison = pair.found
    is_second_higher = comparison.difference < 0
    sign = -1 if is_second_higher else 1
    leader = pair.second if is_second_higher else pair.first
    low, high = sorted((sign * comparison.interval.low, sign * comparison.interval.high))
    interval = f"[{points(low)}, {points(high)}]"
    sentence = f"{leader} has {points(sign * comparison.difference)} points of {pair.measure_title} {interval}"
    if not comparison.difference:
        sentence = f"Both have the same {pair.measure_title} {interval}"
    meaning = _explain_test(pair.verdict, COUNTED.get(pair.measure))
    return f"{sentence}, {_format_p(pair.p_corrected)}{meaning}."


def _explain_test(verdict: PairVerdict, count_word: str | None) -> str:
    """Meaning of a test, as the end of its sentence.

    `count_word` is the word for what the measure counts, None for problems.
    """
    if verdict.word == REFUSES:
        return ": what guessing would get for each abstention, and no lead"
    if verdict.word == BEYOND:
        return f": more than {margin_points(verdict)} points"
    if verdict.word == LITTLE:
        return f": less than {margin_points(verdict)} points"
    if verdict.word == AHEAD and verdict.margin is not None:
        return f": not shown to be more than {margin_points(verdict)} points"
    if verdict.word == EQUAL:
        return f": equal within {margin_points(verdict)} points"
    if verdict.word == NOT_SHOWN:
        is_lost_to_correction = verdict.comparison.p < SMALL <= verdict.p_corrected
        not_shown_words = "not shown after correction" if is_lost_to_correction else "nothing is shown"
        return f": {not_shown_words}; {could_have_seen(verdict, count_word)}"
    return ""


def could_have_seen(verdict: PairVerdict, count_word: str | None = None) -> str:
    """Phrase on the smallest difference that a test could have found.

    It includes the margin of equality. `count_word` is the word for what the measure counts, None for problems.
    """
    comparison = verdict.comparison
    gap = verdict.gap_to_find
    phrase = "no gap would have been found"
    if gap is not None:
        phrase = f"a gap under {_round_gap(gap)} points would usually have been missed"
    if verdict.margin is None or verdict.can_show_equality:
        return phrase
    rows = plural(comparison.n, count_word or "problem")
    if comparison.unit_count < comparison.n and count_word is None:
        rows += f" in {plural(comparison.unit_count, 'unit')}"
    return f"{phrase}, and equality within {margin_points(verdict)} points cannot be shown with {rows}"


def margin_points(verdict: PairVerdict) -> str:
    """Margin in points as text, without needless digits.

    It is 0 if there is no margin.
    """
    margin = 100 * (verdict.margin or 0.0)
    return f"{round(margin, 6):g}"


def _round_gap(gap: float) -> str:
    """Gap in points as text: whole from ten points on.

    Below that it has one decimal. `gap` is a share, from 0 to 1.
    """
    return f"{100 * gap:.0f}" if gap >= 0.1 else f"{100 * gap:.1f}"


def _describe_abstentions(pairs: Sequence[ScorerPair]) -> list[str]:
    """Sentence on abstentions, which count as wrong.

    No sentence unless they differ by a few points, neither scorer answers nothing, and a measure counts them as wrong.
    """
    pair = next((pair for pair in pairs if pair.measure in COMPARED.facts), None)
    if pair is None or pair.refusers:
        return []
    comparison = pair.found
    if comparison.first_expected is None or comparison.second_expected is None:
        return []
    scorers = [
        (comparison.first_abstained, pair.first, comparison.first_expected),
        (comparison.second_abstained, pair.second, comparison.second_expected),
    ]
    scorers.sort(reverse=True)
    (silent_share, silent, silent_expected), (other_share, other, other_expected) = scorers
    shares = f"{silent} leaves {percent(silent_share)} of problems undecided and {other} {percent(other_share)}"
    with_guesses = f"{silent} has {percent(silent_expected)} and {other} {percent(other_expected)}"
    return [f"{shares}, which count as wrong: with guesses for these, {with_guesses}."]


def _describe_refusers(pairs: Sequence[ScorerPair]) -> list[str]:
    """Sentence on the scorers that answer nothing.

    No sentence if there are none.
    """
    names = pairs[0].refusers
    if not names:
        return []
    if len(names) == 1:
        return [f"{names[0]} answers nothing, and is never ahead."]
    return [f"{join(names)} answer nothing, and are never ahead."]


def _format_p(value: float) -> str:
    """A p-value such as "p = 0.02" or "p < 0.001".

    Its spaces do not break.
    """
    text = probability(value).replace(" ", "\u00a0")
    return f"p\u00a0{text}" if text.startswith("<") else f"p\u00a0=\u00a0{text}"
