"""What may be said of two scorers: a word from a decision table over both tests, then each test in a sentence."""

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
    """What may be said of each two scorers, from every test between them; at last for how many tests p is corrected."""
    for own in _by_scorers(pairs):
        sentences = _words(own)
        if not own[0].verdict.both_refuse:
            sentences += [*map(_test_sentence, own), *_refusal_sentences(own)]
        yield " ".join(sentences)
    if len(pairs) > 1:
        yield f"p-values are corrected for {plural(len(pairs), 'test')}."


def comparison_words(pairs: Sequence[ScorerPair]) -> list[str]:
    """Who is ahead of whom, without the numbers."""
    return [" ".join(_words(own)) for own in _by_scorers(pairs)]


def _by_scorers(pairs: Sequence[ScorerPair]) -> list[list[ScorerPair]]:
    """The tests of each two scorers."""
    return list(grouped(((pair.first, pair.second), pair) for pair in pairs).values())


def state_of(tests: Mapping[str, ScorerPair]) -> dict[str, str]:
    """Where the first scorer stands against the second, by each measure that the table knows."""
    return {measure: _place(tests.get(measure)) for measure in COMPARED.facts}


def _place(pair: ScorerPair | None) -> str:
    """Where the first scorer stands by one test."""
    if pair is None:
        return UNKNOWN
    if pair.verdict.lead:
        return ABOVE if pair.verdict.lead > 0 else BELOW
    return WITHIN if pair.word == EQUAL else AT


def _words(pairs: Sequence[ScorerPair]) -> list[str]:
    """Who is ahead of whom: a sentence on the measures of the table together, and one on each other measure."""
    one = pairs[0]
    if one.verdict.both_refuse:
        return [f"{one.first} and {one.second} answer nothing, so there is nothing to compare."]
    tests = {pair.measure: pair for pair in pairs}
    words = []
    if not tests.keys().isdisjoint(COMPARED.facts):
        words.append(_table_word(one, tests))
    words += [_measure_word(pair) for pair in pairs if pair.measure not in COMPARED.facts]
    return [f"{word}." for word in words]


def _table_word(one: ScorerPair, tests: Mapping[str, ScorerPair]) -> str:
    """What the table says of two scorers, from its measures together."""
    margin = f"{margin_points(one.verdict)} points"
    case = COMPARED.decide(state_of(tests))
    return case.word.format(first=one.first, second=one.second, margin=margin, by=_by_how_much(tests))


def _measure_word(pair: ScorerPair) -> str:
    """Who is ahead by one measure that the table does not know."""
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


def _by_how_much(tests: Mapping[str, ScorerPair]) -> str:
    """Said of the first measure by which somebody is ahead, if that is by little."""
    leads = [tests[measure] for measure in COMPARED.facts if measure in tests and tests[measure].verdict.lead]
    return ", by little" if leads and leads[0].word == LITTLE else ""


def _test_sentence(pair: ScorerPair) -> str:
    """One test: who has how much more, and what that shows."""
    found = pair.found
    sign = -1 if found.difference < 0 else 1  # said of the one that has more
    leader = pair.second if sign < 0 else pair.first
    ends = sorted((sign * found.interval.low, sign * found.interval.high))
    interval = f"[{points(ends[0])}, {points(ends[1])}]"
    said = f"{leader} has {points(sign * found.difference)} points of {pair.measure_title} {interval}"
    if not found.difference:
        said = f"Both have the same {pair.measure_title} {interval}"
    return f"{said}, {_p(pair.p_corrected)}{_meaning(pair.verdict, COUNTED.get(pair.measure))}."


def _meaning(verdict: PairVerdict, counted: str | None) -> str:
    """What a test shows, as the end of its sentence."""
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
        shown = "not shown after correction" if is_lost_to_correction else "nothing is shown"
        return f": {shown}; {could_have_seen(verdict, counted)}"
    return ""


def could_have_seen(verdict: PairVerdict, counted: str | None = None) -> str:
    """What a test that shows nothing could have seen: the gap it would have missed, the equality it cannot show."""
    found = verdict.comparison
    gap = verdict.gap_to_find
    seen = "no gap would have been found"
    if gap is not None:
        seen = f"a gap under {_rounded(gap)} points would usually have been missed"
    if verdict.margin is None or verdict.can_show_equality:
        return seen
    rows = plural(found.n, counted or "problem")
    if found.unit_count < found.n and counted is None:
        rows += f" in {plural(found.unit_count, 'unit')}"
    return f"{seen}, and equality within {margin_points(verdict)} points cannot be shown with {rows}"


def margin_points(verdict: PairVerdict) -> str:
    """The margin in points, without needless digits; 0 if there is none."""
    return f"{round(100 * (verdict.margin or 0.0), 6):g}"


def _rounded(gap: float) -> str:
    """A gap in points: whole ones, unless it is small."""
    return f"{100 * gap:.0f}" if gap >= 0.1 else f"{100 * gap:.1f}"


def _refusal_sentences(pairs: Sequence[ScorerPair]) -> list[str]:
    """Who of the two answers nothing at all."""
    names = pairs[0].refusers
    if not names:
        return []
    verb = "answer" if len(names) > 1 else "answers"
    return [f"{join(names)} {verb} nothing, and {'are' if len(names) > 1 else 'is'} never ahead."]


def _p(value: float) -> str:
    """A p-value with its sign."""
    said = probability(value).replace(" ", "\u00a0")
    return f"p\u00a0{said}" if said.startswith("<") else f"p\u00a0=\u00a0{said}"
