"""WinoGrande (Sakaguchi et al., 2019), Table 2: problems, mean length and vocabulary of nine datasets.

Tokens are Penn-Treebank-like and lower-cased for the vocabulary; the paper does not say how it counted. No model is
asked. A problem of COPA is counted as its premise with either alternative, since these are most of its text. The
paper's own two rows are of its first version, which was not released: here, version 1.1.
"""

from __future__ import annotations

from common import Options, Outcome, row, run, table
from papers import WINOGRANDE_TABLE_2

import winokit
from winokit.problem import Dataset

# (the paper's row, files, format, view)
DATASETS = (
    ("WSC", ("wsc/WSCollection.xml",), "wsc273", None),
    ("DPR", ("dpr/train.c.txt", "dpr/test.c.txt"), None, None),
    ("PDP", ("pdp/PDPChallenge2016.xml",), None, "binary"),
    ("COPA", ("copa/copa-dev.xml", "copa/copa-test.xml"), None, None),
    ("Winogender", ("winogender/all_sentences.tsv",), None, None),
    (
        "WinoBias",
        tuple(
            f"winobias/{side}_stereotyped_type{kind}.txt.{part}"
            for side in ("pro", "anti")
            for kind in (1, 2)
            for part in ("dev", "test")
        ),
        None,
        None,
    ),
    ("SuperGLUE-WSC", tuple(f"superglue-wsc/{part}.jsonl" for part in ("train", "val", "test")), None, None),
    ("WinoGrande, debiased", tuple(f"winogrande/{n}.jsonl" for n in ("train_debiased", "dev", "test")), None, None),
    ("WinoGrande, all", tuple(f"winogrande/{n}.jsonl" for n in ("train_xl", "dev", "test")), None, None),
)


def experiment(options: Options) -> Outcome:
    """Count every dataset."""
    lines, rows = [], []
    for name, files, written, view in DATASETS:
        parts = [options.load(file, written, as_=view, groups=False) for file in files]
        problems = [problem for part in parts for problem in part]
        texts = [p.replace(pronoun=c) for p in problems for c in p.candidates] if name == "COPA" else problems
        found = winokit.statistics(Dataset(texts))
        ours = (len(problems), found.mean_words, found.vocabulary)
        lines.append(
            (name, *(cell for pair in zip(WINOGRANDE_TABLE_2[name], ours, strict=True) for cell in told(pair)))
        )
        for metric, value in zip(("problems", "mean_words", "vocabulary"), ours, strict=True):
            rows.append(row(name, "none", "statistics", "all", metric, value, len(problems)))
    header = ["dataset", "problems: paper", "ours", "mean length: paper", "ours", "vocabulary: paper", "ours"]
    return Outcome([table(header, lines)], rows)


def told(pair: tuple[float, float]) -> tuple[str, str]:
    """Both numbers as the paper prints them."""
    first, second = (f"{value:,}" if isinstance(value, int) else f"{value:.1f}" for value in pair)
    return first, second


if __name__ == "__main__":
    run(experiment, __doc__, models=())
