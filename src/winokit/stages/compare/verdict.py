"""The verdict on two scorers: a word from a decision table, then each test."""

from collections.abc import Iterator, Mapping, Sequence

from winokit.drawing.decision import DecisionTable
from winokit.drawing.wording import join, plural, points, probability
from winokit.methods.metrics.judge_pairs import AHEAD, BEYOND, EQUAL, LITTLE, NOT_SHOWN, REFUSES, SMALL, PairVerdict
from winokit.problem import grouped
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.compare.pairs import ScorerPair

WITHIN = "equal"
"""Where the first stands against the second if they are shown to be equal within the margin."""
PLACES = (ABOVE, WITHIN, AT, BELOW, UNKNOWN)
"""All that a test may say of the first scorer, besides that it was not made."""
COMPARED = DecisionTable.of_stage("compare", {"accuracy": PLACES, "group_accuracy": PLACES})
COUNTED = {"group_accuracy": "group"}
"""What a measure counts, if not problems."""


def comparison_sentences(pairs: Sequence[ScorerPair]) -> Iterator[str]:
    """Sentences on each two scorers, from every test between them.

    The last one says for how many tests p is corrected.
    """
    for own in _group_by_scorers(pairs):
        sentences = _compare_in_words(own)
        if not own[0].verdict.both_refuse:
            sentences += [*map(_describe_test, own), *_describe_refusers(own)]
        yield " ".join(sentences)
    if len(pairs) > 1:
        yield f"p-values are corrected for {plural(len(pairs), 'test')}."


def comparison_words(pairs: Sequence[ScorerPair]) -> list[str]:
    """Return who is ahead of whom, without numbers."""
    return [" ".join(_compare_in_words(own)) for own in _group_by_scorers(pairs)]


def _group_by_scorers(pairs: Sequence[ScorerPair]) -> list[list[ScorerPair]]:
    """The tests of each two scorers."""
    return list(grouped(((pair.first, pair.second), pair) for pair in pairs).values())


def state_of(tests: Mapping[str, ScorerPair]) -> dict[str, str]:
    """Standing of the first scorer against the second, by each measure of the table."""
    return {measure: _find_standing(tests.get(measure)) for measure in COMPARED.facts}


def _find_standing(pair: ScorerPair | None) -> str:
    """Standing of the first scorer by one test."""
    if pair is None:
        return UNKNOWN
    if pair.verdict.lead:
        return ABOVE if pair.verdict.lead > 0 else BELOW
    return WITHIN if pair.word == EQUAL else AT


def _compare_in_words(pairs: Sequence[ScorerPair]) -> list[str]:
    """Sentences on who is ahead: by the table's measures together, then by each other."""
    first_pair = pairs[0]
    if first_pair.verdict.both_refuse:
        return [f"{first_pair.first} and {first_pair.second} answer nothing, so there is nothing to compare."]
    tests = {pair.measure: pair for pair in pairs}
    words = []
    if not tests.keys().isdisjoint(COMPARED.facts):
        words.append(_read_table(first_pair, tests))
    words += [_describe_measure(pair) for pair in pairs if pair.measure not in COMPARED.facts]
    return [f"{word}." for word in words]


def _read_table(one: ScorerPair, tests: Mapping[str, ScorerPair]) -> str:
    """Sentence of the table on two scorers."""
    margin = f"{margin_points(one.verdict)} points"
    case = COMPARED.decide(state_of(tests))
    return case.word.format(first=one.first, second=one.second, margin=margin, by=_describe_lead(tests))


def _describe_measure(pair: ScorerPair) -> str:
    """Sentence on who is ahead by a measure that is not in the table."""
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
    """Said of the first measure by which somebody is ahead, if that is by little."""
    leads = [tests[measure] for measure in COMPARED.facts if measure in tests and tests[measure].verdict.lead]
    return ", by little" if leads and leads[0].word == LITTLE else ""


def _describe_test(pair: ScorerPair) -> str:
    """One test: who has how much more, and what that shows."""
    comparison = pair.found
    sign = -1 if comparison.difference < 0 else 1  # said of the one that has more
    leader = pair.second if sign < 0 else pair.first
    ends = sorted((sign * comparison.interval.low, sign * comparison.interval.high))
    interval = f"[{points(ends[0])}, {points(ends[1])}]"
    sentence = f"{leader} has {points(sign * comparison.difference)} points of {pair.measure_title} {interval}"
    if not comparison.difference:
        sentence = f"Both have the same {pair.measure_title} {interval}"
    return f"{sentence}, {_format_p(pair.p_corrected)}{_explain_test(pair.verdict, COUNTED.get(pair.measure))}."


def _explain_test(verdict: PairVerdict, counted: str | None) -> str:
    """Meaning of a test, as the end of its sentence."""
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
        return f": {not_shown_words}; {could_have_seen(verdict, counted)}"
    return ""


def could_have_seen(verdict: PairVerdict, counted: str | None = None) -> str:
    """Phrase on what a test could have found: the gap, or the equality."""
    found = verdict.comparison
    gap = verdict.gap_to_find
    phrase = "no gap would have been found"
    if gap is not None:
        phrase = f"a gap under {_round_gap(gap)} points would usually have been missed"
    if verdict.margin is None or verdict.can_show_equality:
        return phrase
    rows = plural(found.n, counted or "problem")
    if found.unit_count < found.n and counted is None:
        rows += f" in {plural(found.unit_count, 'unit')}"
    return f"{phrase}, and equality within {margin_points(verdict)} points cannot be shown with {rows}"


def margin_points(verdict: PairVerdict) -> str:
    """Margin in points, without needless digits, or 0."""
    return f"{round(100 * (verdict.margin or 0.0), 6):g}"


def _round_gap(gap: float) -> str:
    """A gap in points: whole ones, unless it is small."""
    return f"{100 * gap:.0f}" if gap >= 0.1 else f"{100 * gap:.1f}"


def _describe_refusers(pairs: Sequence[ScorerPair]) -> list[str]:
    """Sentences on scorers that answer nothing."""
    names = pairs[0].refusers
    if not names:
        return []
    verb = "answer" if len(names) > 1 else "answers"
    return [f"{join(names)} {verb} nothing, and {'are' if len(names) > 1 else 'is'} never ahead."]


def _format_p(value: float) -> str:
    """A p-value with its sign."""
    text = probability(value).replace(" ", "\u00a0")
    return f"p\u00a0{text}" if text.startswith("<") else f"p\u00a0=\u00a0{text}"
