"""Trichelair et al. (2018), Table 1 and "predictable structure": how many of WSC273 are associative, how it is built.

With `--corpus INDEX` (`winokit hunt index`) associations are also counted in a corpus and compared with the labels.
"""

from __future__ import annotations

import argparse
from collections import Counter

from common import Options, Outcome, row, run, table
from papers import TRICHELAIR_ASSOCIATIVE

from winokit.data.checks.statistics import Structure
from winokit.problem import Dataset


def experiment(options: Options) -> Outcome:
    """Shares of associative and switchable problems, of final special words, and of connectives."""
    wsc = options.wsc273()
    counts = Counter({name: sum(p.labels[name] for p in wsc) for name in ("associative", "switchable")})
    built = Structure(wsc)
    associative, others = TRICHELAIR_ASSOCIATIVE
    lines = [
        ("associative", associative, share(counts["associative"], len(wsc))),
        ("not associative", others, share(len(wsc) - counts["associative"], len(wsc))),
        ("switchable", "131, 47", share(counts["switchable"], len(wsc))),
        ("the special word is the last word", "many", share(built.special_last, built.groups, "groups")),
    ]
    first = [f"{name or 'none'} {n}" for name, n in built.connective.most_common(5)]
    lines.append(("the clause of the blank begins with", "often because", ", ".join(first)))
    rows = [row(wsc.card.name, "labels", "statistics", "all", name, n, len(wsc)) for name, n in counts.items()]
    rows.append(row(wsc.card.name, "none", "structure", "complete", "special_last", built.special_last, built.groups))
    tables = [table(["of WSC273", "paper, %", "here"], lines)]
    if options.more.corpus:
        text, more = estimated(options, wsc)
        tables, rows = [*tables, text], [*rows, *more]
    return Outcome(tables, rows)


def share(count: int, n: int, of: str = "problems") -> str:
    """A count and its share."""
    return f"{count} of {n} {of}, {100 * count / n:.1f} %"


def estimated(options: Options, wsc: Dataset) -> tuple[str, list[dict[str, object]]]:
    """How well association counted in a corpus tells the labelled problems from the rest."""
    from winokit.methods.hunting.association import auc, auc_interval, with_associations
    from winokit.methods.hunting.search import open_corpus

    _, found = with_associations(wsc, open_corpus(options.more.corpus))
    ahead, labels = [one.difference for one in found], [problem.labels["associative"] for problem in wsc]
    both = [at for at, one in enumerate(found) if one.why is None]
    groups = [problem.group or problem.id for problem in wsc]
    whole, interval = auc(ahead, labels), auc_interval(ahead, labels, groups)
    some = auc([ahead[at] for at in both], [labels[at] for at in both])
    lines = [
        ("all", len(labels), f"{whole:.3f} [{interval.low:.3f}, {interval.high:.3f}]"),
        ("both candidates have words of their own", len(both), f"{some:.3f}"),
    ]
    rows = [
        row(wsc.card.name, "corpus", "association", "all", "auc", whole, len(labels)),
        row(wsc.card.name, "corpus", "association", "both_have_words", "auc", some, len(both)),
    ]
    return table(["association counted in the corpus, against the labels", "problems", "AUC"], lines), rows


def arguments(parser: argparse.ArgumentParser) -> None:
    """A corpus to count in."""
    parser.add_argument("--corpus", metavar="INDEX", help="count associations in this corpus too")


if __name__ == "__main__":
    run(experiment, __doc__, models=(), arguments=arguments)
