"""Back to Square One (Elazar et al., 2021), section 6.1: the original task against special words, on the same pairs.

The paper trains RoBERTa-large on either form: 66.1 and 55.9 % against 70.1 and 65.0 %, single and group. Here models
are asked as they come; a fine-tuned one (`hf:DIR`) is asked as it was trained, in both forms.
"""

from __future__ import annotations

from common import Options, Outcome, judged, loaded, rows_of, run, short, single_and_group, table
from papers import SQUARE_ONE_MATCHED
from square_one import in_pairs, originals, special_words, unfolded, word_scoring


def experiment(options: Options) -> Outcome:
    """Single and group scores of both forms."""
    lines = [("WinoGrande", "RoBERTa-large, trained, paper", *sum(SQUARE_ONE_MATCHED.values(), ()))]
    rows = []
    for name, data in in_pairs(options).items():
        pairs = special_words(data)
        forms = {None: originals(data, pairs), "word": unfolded(f"{name} special word", pairs)}
        for spec in options.models:
            cells = []
            for form, problems in forms.items():
                scoring = word_scoring(loaded(spec).kind) if form else None
                found = judged(problems, spec, options, scoring=scoring)
                cells += single_and_group(found)
                rows += rows_of(found)
            lines.append((f"{name} ({2 * len(pairs)})", short(spec), *cells))
    header = ["dataset", "model", "original: single", "group", "special word: single", "group"]
    return Outcome([table(header, lines)], rows)


if __name__ == "__main__":
    run(experiment, __doc__)
