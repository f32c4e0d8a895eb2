"""Back to Square One (Elazar et al., 2021), Table 3: the right candidate is given; which twin's special word fits?

Zero-shot, on WSC, WSC-na and WinoGrande's dev set. A masked model fills in the word; a causal one compares whole texts.
"""

from __future__ import annotations

from common import Options, Outcome, judged, loaded, rows_of, run, short, single_and_group, table
from papers import SQUARE_ONE_SIZES, SQUARE_ONE_ZERO_SHOT_NA, published_cells
from square_one import in_pairs, special_words, unfolded, word_scoring

BOTH = [("all", "accuracy"), ("all", "group_accuracy")]
PAPER = {
    "WSC": published_cells("wsc273", "special-word", BOTH),
    "WSC-na": SQUARE_ONE_ZERO_SHOT_NA,
    "WinoGrande": published_cells("winogrande/dev", "special-word", BOTH),
}


def experiment(options: Options) -> Outcome:
    """Single and group scores, the paper's rows first."""
    data = {name: unfolded(f"{name} special word", special_words(some)) for name, some in in_pairs(options).items()}
    lines = [(f"{system}, paper", *(cell for name in data for cell in PAPER[name][system])) for system in PAPER["WSC"]]
    rows = []
    for spec in options.models:
        cells = []
        for problems in data.values():
            found = judged(problems, spec, options, scoring=word_scoring(loaded(spec).kind))
            cells += single_and_group(found)
            rows += rows_of(found)
        lines.append((short(spec), *cells))
    sizes = [(name, *SQUARE_ONE_SIZES[name], len(problems)) for name, problems in data.items()]
    header = ["model", *(f"{name}: {kind}" for name in data for kind in ("single", "group"))]
    counts = table(["problems", "paper, its text", "paper, its table", "here"], sizes)
    return Outcome([table(header, lines), counts], rows)


if __name__ == "__main__":
    run(experiment, __doc__)
