"""Back to Square One (Elazar et al., 2021), first line of Tables 4 and 5: special words before any training.

The test set of its learning curves: the pairs of WinoGrande's training set of which AFLite kept both twins, in their
special-word form.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import Options, Outcome, judged, loaded, rows_of, run, short, single_and_group, table
from papers import SQUARE_ONE_UNTRAINED
from square_one import special_words, unfolded, word_scoring

PAPER_PAIRS = 969


def experiment(options: Options) -> Outcome:
    """Single and group score."""
    pairs = special_words(options.load("winogrande/train_debiased.jsonl"))
    test = unfolded("square-one test", pairs)
    lines: list[Sequence[object]] = [
        (f"{name}, paper", PAPER_PAIRS, *cells) for name, cells in SQUARE_ONE_UNTRAINED.items()
    ]
    rows = []
    for spec in options.models:
        found = judged(test, spec, options, scoring=word_scoring(loaded(spec).kind))
        lines.append((short(spec), len(pairs), *single_and_group(found)))
        rows += rows_of(found)
    return Outcome([table(["model", "pairs", "single, %", "group, %"], lines)], rows)


if __name__ == "__main__":
    run(experiment, __doc__)
