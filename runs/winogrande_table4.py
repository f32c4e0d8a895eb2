"""WinoGrande (Sakaguchi et al., 2019), Table 4: the rows that need no training, on the public dev set.

A coin, the public test labels being hidden; then every `--model` as it comes: knowledge hunting (`hunter:INDEX`), an
ensemble of language models (`ensemble:SPEC+SPEC`), a causal model in GPT's place, a masked one in BERT's. The local
context alone (two words before the blank, and what follows) is scored too. Abstentions count as coins.
"""

from __future__ import annotations

from common import Options, Outcome, answered, judged, named, percent, rows_of, run, short, table
from papers import WINOGRANDE_TABLE_4

from winokit.methods.transforms.local_context import local_context


def experiment(options: Options) -> Outcome:
    """Accuracy on whole problems and on local contexts, and pairs."""
    dev = options.load("winogrande/dev.jsonl")
    clauses = named(dev, "local context", (local_context(problem, style="paper") for problem in dev))
    lines, rows = [], []
    for spec in options.models:
        whole, cut = judged(dev, spec, options), judged(clauses, spec, options)
        cells = [percent(found.find("accuracy", "all", "expected_accuracy"), interval=True) for found in (whole, cut)]
        pairs = percent(whole.find("groups", "complete", "group_accuracy"), interval=True)
        lines.append((short(spec), answered(whole), cells[0], pairs, cells[1]))
        rows += rows_of(whole) + rows_of(cut)
    header = ["model", "answered, %", "dev, %", "pairs, %", "local context, %"]
    paper = [(name, dev, test) for name, (dev, test) in WINOGRANDE_TABLE_4.items()]
    return Outcome([table(["paper", "dev, %", "test, %"], paper), table(header, lines)], rows)


if __name__ == "__main__":
    run(experiment, __doc__, models=("random", "builtin"))
