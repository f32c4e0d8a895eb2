"""WinoGrande (Sakaguchi et al., 2019), Table 3: what AFLite removed. Is it polarity, and is it more than words?

The authors' own run is looked at: the problems of train_xl that are not in their debiased training set were removed by
it. What do these have more of than the kept? `--removed FILE` looks at another run's removed.jsonl instead.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from common import Options, Outcome, row, run, table
from numpy.typing import NDArray

import winokit
from winokit.methods.aflite.overuse import Overuse, Sides, overused_polarity, overused_words
from winokit.problem import BLANK, Dataset, Problem
from winokit.text.words import ptb

SHOWN = 8


def experiment(options: Options) -> Outcome:
    """Groups parted or removed whole, negations, the surest words, and a few of the removed twins."""
    data = options.load("winogrande/train_xl.jsonl")
    gone = removed_flags(data, options)
    sides = Sides(gone, [problem.group for problem in data])
    texts = [[word.lower() for word in ptb(problem.sentence) if word != BLANK] for problem in data]
    polarity, words = overused_polarity(texts, sides), overused_words(texts, sides)
    lost = {problem.id for problem, flag in zip(data, gone, strict=True) if flag}
    fates = Counter(fate(members, lost) for members in data.groups.values())
    lines = [overuse_line(one) for one in (*polarity, *words[:SHOWN], *words[-SHOWN:])]
    tables = [
        table(["twins", "groups"], fates.most_common()),
        table(["trait", "of the removed, %", "of the kept, %", "log odds", "q"], lines),
    ]
    sure = sum(one.q < 0.05 for one in words)
    tables.append(f"{sure:,} of {len(words):,} words differ (false discovery rate 5 %).")
    rows = [row(data.card.name, "none", "overuse", "words", one.trait, one.log_odds, len(data)) for one in words]
    rows += [row(data.card.name, "none", "overuse", "polarity", one.trait, one.log_odds, len(data)) for one in polarity]
    rows += [row(data.card.name, "none", "twins", "all", name, n, len(data.groups)) for name, n in fates.items()]
    return Outcome(tables, rows)


def removed_flags(data: Dataset, options: Options) -> NDArray[np.bool_]:
    """Which problems are gone."""
    if options.more.removed:
        ids = {problem.id for problem in winokit.load(options.more.removed)}
        return np.array([problem.id in ids for problem in data])
    kept = {problem.id for problem in options.load("winogrande/train_debiased.jsonl")}
    return np.array([problem.id not in kept for problem in data])


def fate(members: tuple[Problem, ...], lost: set[str]) -> str:
    """What became of a group."""
    gone = sum(member.id in lost for member in members)
    return "kept" if not gone else "removed" if gone == len(members) else "parted"


def overuse_line(one: Overuse) -> tuple[object, ...]:
    """A line of the table."""
    shares = (100 * one.removed / one.of_removed, 100 * one.kept / one.of_kept)
    return (
        one.trait,
        *(f"{share:.1f}" for share in shares),
        f"{one.log_odds:+.2f} [{one.low:.2f}, {one.high:.2f}]",
        f"{one.q:.3f}",
    )


def arguments(parser: argparse.ArgumentParser) -> None:
    """Another run's removed problems."""
    parser.add_argument("--removed", type=Path, metavar="FILE", help="removed.jsonl of winokit debias")


if __name__ == "__main__":
    run(experiment, __doc__, models=(), arguments=arguments)
