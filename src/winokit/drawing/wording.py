"""The wording of numbers: percentages, signed points, counts with commas.

The page shows the rounded form, with the exact value of `results.json` beside it.
"""

from math import isfinite

from winokit.results import Metric

SHARE = "share"
POINTS = "points"
SIZE = "size"
PROBABILITY = "probability"
COUNT = "count"
NUMBER = "number"
NATS = "nats"
PREFIXES = {"p_": PROBABILITY, "n_": COUNT, "kl_": NATS, "absolute_": SIZE}

SHARES = {
    *("consistency", "order_invariance", "stability", "one_right", "none_right", "same_option", "abstained"),
    *("told_apart", "right_way_round", "all_right", "any_right", "same_answer"),
    *("majority", "majority_class", "f1", "precision"),
}
DIFFERENCES = {"delta", "pro_minus_anti", "gap", "difference", "drop"}
NOTHING = "–"
COIN_OF_PROBLEMS = 0.5
COIN_OF_PAIRS = 0.25
"""Shares that a coin gets right if there are two candidates."""
PER_CENT = "\u00a0%"
"""The sign with a space that does not break."""


def kind(metric: str, chance: float | None = None, value: float = 0.0) -> str:
    """Kind of number that a metric is, such as a share.

    An unknown metric is a share if it has a chance level and its value is between 0 and 1.
    """
    name = metric.lower()
    for prefix, prefix_kind in PREFIXES.items():
        if name.startswith(prefix):
            return prefix_kind
    if name in DIFFERENCES or "_minus_" in name or name.endswith(("_delta", "_gap", "_drop", "_difference")):
        return POINTS
    if name in SHARES or name.endswith(("accuracy", "_share", "_rate", "consistency")) or name.startswith("share_"):
        return SHARE
    is_share = chance is not None and 0 <= value <= 1
    return SHARE if is_share else NUMBER


def kind_of(row: Metric) -> str:
    """Kind of number that a row's value is."""
    return kind(row.metric, row.chance, row.value)


def percent(value: float | None, places: int = 1) -> str:
    r"""Share as a percentage, or a dash for None and infinite numbers.

    >>> percent(0.7624309392265194)
    '76.2\xa0%'
    """
    if value is None or not isfinite(value):
        return NOTHING
    return f"{100 * value:.{places}f}{PER_CENT}"


def points(value: float | None) -> str:
    """Difference of two shares in percentage points, with its sign.

    >>> points(-0.175), points(0.0)
    ('−17.5', '0.0')
    """
    if value is None or not isfinite(value):
        return NOTHING
    rounded = f"{abs(100 * value):.1f}"
    if float(rounded) == 0:
        return rounded
    sign = "−" if value < 0 else "+"
    return sign + rounded


def size(value: float | None) -> str:
    """Difference of two shares in percentage points, without its sign."""
    absolute = None if value is None else abs(value)
    return points(absolute).removeprefix("+")


def probability(value: float | None) -> str:
    """Probability to three places, never as zero.

    >>> probability(0.0449), probability(3e-9)
    ('0.045', '< 0.001')
    """
    if value is None or not isfinite(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def often(value: float) -> str:
    r"""Probability as a percentage, never as none or all.

    >>> often(0.558), often(0.0449), often(3e-9), often(0.99999)
    ('56\xa0%', '4.5\xa0%', 'less than 0.1\xa0%', 'more than 99\xa0%')
    """
    if value < 0.001:
        return f"less than {percent(0.001)}"
    if value > 0.995:
        return f"more than {percent(0.99, 0)}"
    places = 0 if value >= 0.095 else 1
    return percent(value, places)


def count(value: float | None) -> str:
    """Number rounded to a whole one, with commas."""
    if value is None:
        return NOTHING
    return f"{round(value):,}" if isfinite(value) else "no number"


def number(value: float | None) -> str:
    """Number to three significant digits."""
    if value is None or not isfinite(value):
        return NOTHING
    return f"{value:.3g}"


def nats(value: float | None) -> str:
    """Divergence in nats, to three places.

    >>> nats(0.02481), nats(-0.0002)
    ('0.025', '0.000')
    """
    if value is None or not isfinite(value):
        return NOTHING
    rounded = f"{abs(value):.3f}"
    return f"−{rounded}" if value < 0 and float(rounded) else rounded


SAY = {
    **{SHARE: percent, POINTS: points, SIZE: size, PROBABILITY: probability},
    **{COUNT: count, NATS: nats, NUMBER: number},
}


def _say_as(row: Metric, value: float) -> str:
    """Write a value as the kind of number that a row holds."""
    say_value = SAY[kind_of(row)]
    return say_value(value)


def say(row: Metric) -> str:
    """Value of a row, written as its kind of number."""
    return _say_as(row, row.value)


def say_chance(row: Metric) -> str:
    """Chance level of a row, written as its kind of number.

    It is the null if the row has one, else the score of a coin.
    """
    return NOTHING if row.level is None else _say_as(row, row.level)


def say_coin(row: Metric) -> str:
    """Score of a coin, written as a row's kind of number."""
    return NOTHING if row.chance is None else _say_as(row, row.chance)


def name_coin(row: Metric | None) -> str:
    """Name for a row's chance level: "a coin", or "guessing".

    It is a coin for half of the problems or a quarter of the pairs. A quarter of the problems is guessing among four.
    """
    if row is None:
        return "guessing"
    coin = COIN_OF_PAIRS if row.metric == "group_accuracy" else COIN_OF_PROBLEMS
    return "a coin" if row.chance == coin else "guessing"


def say_interval(row: Metric) -> str:
    """Interval of a row in brackets, without per cent signs.

    It is empty if the row has no interval.
    """
    if row.low is None or row.high is None:
        return ""
    low = _say_as(row, row.low).removesuffix(PER_CENT)
    high = _say_as(row, row.high).removesuffix(PER_CENT)
    return f"[{low}, {high}]"


def join(parts: list[str], last: str = "and") -> str:
    """Join words with commas, and with `last` before the last one.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def plural(n: int, one: str, many: str | None = None) -> str:
    """Count with its noun, in the singular or the plural.

    The plural adds an s unless it is given.

    >>> plural(1, "group"), plural(1267, "problem")
    ('1 group', '1,267 problems')
    """
    noun = one if n == 1 else many or f"{one}s"
    return f"{n:,} {noun}"


def as_sentence(clause: str) -> str:
    """Write a clause with a capital and a full stop.

    >>> as_sentence("it answers none of 428 problems")
    'It answers none of 428 problems.'
    """
    return f"{clause[:1].upper()}{clause[1:]}."
