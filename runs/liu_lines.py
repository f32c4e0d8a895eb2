"""Liu et al. (2020), Figure 1's flat lines: the commonest answer and people, and what there is to compare.

No model is asked. Rivals: the spans that other questions about the same pronoun name; the paper mines noun phrases with
spaCy instead.
"""

from __future__ import annotations

from collections import defaultdict

from common import Options, Outcome, percent, row, run, table
from papers import AAAI_PEOPLE

from winokit.methods.metrics.accuracy import majority_class
from winokit.problem import Dataset

FILES = ("superglue-wsc/train.jsonl", "superglue-wsc/val.jsonl", "winogrande/train_m.jsonl", "winogrande/dev.jsonl")


def experiment(options: Options) -> Outcome:
    """Majority class and number of problems with something to compare."""
    lines, rows = [], []
    for file in FILES:
        data = options.load(file)
        major = majority_class([problem.answer or 0 for problem in data])
        people = AAAI_PEOPLE if file.startswith("winogrande") else None
        lines.append((data.card.name, len(data), percent(major), people, with_rivals(data)))
        rows.append(row(data.card.name, "majority class", "accuracy", "all", "accuracy", major, len(data)))
    header = ["dataset", "problems", "commonest answer, %", "people, %", "with a rival"]
    return Outcome([table(header, lines)], rows)


def with_rivals(data: Dataset) -> int:
    """Problems with two candidates, or judgements of a pronoun that another span is judged for too."""
    spans = defaultdict(set)
    for problem in data:
        spans[problem.before, problem.after].add(problem.query)
    return sum(problem.query is None or len(spans[problem.before, problem.after]) > 1 for problem in data)


if __name__ == "__main__":
    run(experiment, __doc__, models=())
