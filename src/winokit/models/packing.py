"""Choose which texts go into one batch, and which into one row.

A batch has texts of similar length, so that little is padded, and no more than memory holds (`packed`). A row may
hold many texts as a prefix tree (`forest`), so that a common beginning is read once: the two options of a problem
begin alike, and so do a problem and its twin. Each text is a path from the root of the tree. Every token attends
only to its ancestors and itself, so that a causal model reads the tree as it would read each path alone (as in tree
attention of speculative decoding: Miao et al., 2023, https://arxiv.org/abs/2305.09781).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile
from operator import eq

import numpy as np
import numpy.typing as npt

ENOUGH = 1024
"""Number of tokens from which on a batch takes only texts of similar length."""


def packed(lengths: Sequence[int], budget: int, alike: float = 0.0) -> list[list[int]]:
    """Pack texts into batches of indices, given their lengths.

    A batch's padded size (rows times longest) stays within `budget`. The longest come first, so that a batch too large
    for the memory fails at once. A text longer than the budget gets a batch of its own. A batch of at least ENOUGH
    tokens takes no text shorter than `alike` times its longest, so that little of it is padding.

    >>> packed([3, 9, 4, 8], budget=18)
    [[1, 3], [2, 0]]
    >>> packed([600, 590, 300], budget=9000), packed([600, 590, 300], budget=9000, alike=0.9)
    ([[0, 1, 2]], [[0, 1], [2]])
    """
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        length = lengths[index]
        rows = len(batches[-1]) if batches else 0
        is_full = rows * longest >= ENOUGH and length < alike * longest
        if rows and not is_full and (rows + 1) * longest <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
            longest = length
    return batches


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A text's token ids, of which those from index `first` on are scored.

    `first` is at least 1, since the first token follows nothing.
    """

    tokens: tuple[int, ...]
    first: int

    @property
    def read(self) -> tuple[int, ...]:
        """The tokens that the model must read: all but the last."""
        return self.tokens[:-1]


@dataclass(slots=True)
class Tree:
    """Prefix tree of texts, with a token at each node.

    Parents come before children.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  # -1 for a root
    depths: list[int] = field(default_factory=list)
    guesses: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # of each text: nodes, and their tokens
    path: list[int] = field(default_factory=list)  # nodes of the text planted last

    def __len__(self) -> int:
        return len(self.tokens)

    def shared(self, text: ScoredText) -> int:
        """Number of leading tokens shared with the text added last."""
        return sum(takewhile(bool, map(eq, map(self.tokens.__getitem__, self.path), text.read)))

    def plant(self, index: int, text: ScoredText) -> None:
        """Add a text under its number.

        Texts must be added in the order of their tokens.
        """
        del self.path[self.shared(text) :]
        for depth in range(len(self.path), len(text.read)):
            self.parents.append(self.path[-1] if self.path else -1)
            self.depths.append(depth)
            self.path.append(len(self.tokens))
            self.tokens.append(text.tokens[depth])
        nodes = self.path[text.first - 1 :]
        scored_tokens = text.tokens[text.first :]
        self.guesses[index] = list(zip(nodes, scored_tokens, strict=True))

    def all_guesses(self) -> list[tuple[int, int]]:
        """Pairs of node and token to predict after it, text after text."""
        return list(chain.from_iterable(self.guesses.values()))

    def visible(self) -> npt.NDArray[np.bool_]:
        """Attention mask of the tree: each token sees its ancestors and itself.

        Entry (row, column) says whether the row's token sees the column's.
        """
        sees = np.zeros((len(self), len(self)), dtype=np.bool_)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                sees[node] = sees[parent]
            sees[node, node] = True
        return sees


def forest(texts: Sequence[ScoredText], attention: float, most: int) -> list[Tree]:
    """Put texts into prefix trees such that reading them costs least.

    Reading a token costs 1, plus `attention` for every token in its row. A text joins the previous tree if that costs
    less than a tree of its own, and if the tree has at most `most` tokens then. The guesses of a tree are by the text's
    index in `texts`.
    """
    trees: list[Tree] = []
    for index in sorted(range(len(texts)), key=lambda index: texts[index].tokens):
        text = texts[index]
        if not trees or not _should_join(trees[-1], text, attention, most):
            trees.append(Tree())
        trees[-1].plant(index, text)
    return trees


def _should_join(tree: Tree, text: ScoredText, attention: float, most: int) -> bool:
    """Whether a text should be added to a tree.

    It should if it costs less there than alone, and if the tree has at most `most` tokens then.
    """
    saved = tree.shared(text)
    alone = len(text.read)
    together = len(tree) + alone - saved
    more_attention = attention * (together**2 - len(tree) ** 2 - alone**2)
    return together <= max(most, len(tree)) and saved > more_attention


def singles(texts: Sequence[ScoredText]) -> list[Tree]:
    """Put each text into a tree of its own.

    For models that cannot read trees. Texts that are read alike share one.
    """
    trees: dict[tuple[int, ...], Tree] = {}
    for index, text in enumerate(texts):
        trees.setdefault(text.read, Tree()).plant(index, text)
    return list(trees.values())
