"""A problem's words, as filters and tables count them."""

from __future__ import annotations

from winokit.problem import BLANK, Dataset
from winokit.text.words import ptb


def words_of(dataset: Dataset) -> list[list[str]]:
    """Lower-cased words of every text, without the blank: Penn-Treebank-like, so that "didn't" is "did" and "n't"."""
    return [[word.lower() for word in ptb(problem.sentence) if word != BLANK] for problem in dataset]
