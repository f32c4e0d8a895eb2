"""A trigram language model of a corpus, as an ARPA file: the second member of an ensemble where no other LM is at hand.

    python -m runs trigrams CORPUS/*.txt --out trigrams.arpa

Words are those of `ngram:` models. Counts are discounted by 0.75 and interpolated with the shorter context; trigrams
seen once are left out, words seen once are unknown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winokit.files import write_whole
from winokit.models.ngram import word_spans

DISCOUNT = 0.75
FEWEST = 2
"""Occurrences that a word, or a trigram, needs to be in the model."""
UNKNOWN = "<unk>"
START = "<s>"
START_ID = 1
END = "</s>"
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def main(arguments: Sequence[str]) -> None:
    """Read text files and write their trigram model."""
    parser = argparse.ArgumentParser(
        "python -m runs trigrams", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, nargs="+", help="text files; an empty line ends a document")
    parser.add_argument("--out", type=Path, default=Path("runs") / "trigrams.arpa")
    options = parser.parse_args(arguments)
    vocabulary, ids = numbered(marked(text) for text in paragraphs(options.text))
    write_whole(options.out, arpa(vocabulary, ids).encode())
    sys.stdout.write(f"{len(ids):,} words, {len(vocabulary):,} different, in {options.out}\n")


def paragraphs(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the paragraphs of text files, which empty lines separate."""
    for path in paths:
        for text in path.read_text("utf-8").split("\n\n"):
            if text.strip():
                yield text


def marked(text: str) -> list[str]:
    """Split a text into words, between the marks of a beginning and an end."""
    words = [text[start:end] for start, end in word_spans(text)]
    return [START, *words, END]


def numbered(texts: Iterable[list[str]]) -> tuple[list[str], Ints]:
    """Return the vocabulary, which begins with the marks, and all texts in one array of word ids.

    Words that occur less than `FEWEST` times become `UNKNOWN`.
    """
    first_ids: dict[str, int] = {UNKNOWN: 0, START: START_ID, END: 2}
    corpus: list[int] = []
    for text in texts:
        corpus += [first_ids.setdefault(word, len(first_ids)) for word in text]
    ids = np.array(corpus, np.int64)
    is_kept = np.bincount(ids, minlength=len(first_ids)) >= FEWEST
    is_kept[:3] = True
    final_ids = np.where(is_kept, np.cumsum(is_kept) - 1, 0)
    return list(compress(first_ids, is_kept)), final_ids[ids]


def arpa(vocabulary: list[str], ids: Ints) -> str:
    """Write the trigram model of a corpus of word ids as the text of an ARPA file."""
    size = len(vocabulary)
    unigram = unigram_probabilities(ids, size)
    pairs, pair_counts = counted(ids, 2, size, 1)
    word_totals = np.bincount(ids[:-1], minlength=size)
    bigram, word_rest = interpolated(pairs // size, pairs % size, pair_counts, word_totals, unigram)

    triples, triple_counts = counted(ids, 3, size, FEWEST)
    context_index = np.searchsorted(pairs, triples // size)
    shorter = bigram[np.searchsorted(pairs, triples % size**2)]
    followed_pairs, followed_counts = counted(ids[:-1], 2, size, 1)
    pair_totals = np.zeros(len(pairs))
    pair_totals[np.searchsorted(pairs, followed_pairs)] = followed_counts
    own_index = np.arange(len(triples))
    trigram, pair_rest = interpolated(context_index, own_index, triple_counts, pair_totals, shorter)

    names = np.array(vocabulary, object)
    pair_words = [names[pairs // size], names[pairs % size]]
    triple_words = [names[triples // size**2], names[triples // size % size], names[triples % size]]
    return arpa_text(
        [
            lines(unigram, [names], word_rest),
            lines(bigram, pair_words, pair_rest),
            lines(trigram, triple_words, None),
        ]
    )


def unigram_probabilities(ids: Ints, size: int) -> Floats:
    """Probability of every word of the vocabulary, one added to each count. A beginning is never guessed."""
    counts = np.bincount(ids[ids != START_ID], minlength=size).astype(float)
    probabilities: Floats = (counts + 1) / (counts.sum() + size - 1)
    probabilities[START_ID] = 1e-9
    return probabilities


def arpa_text(entries_by_order: list[list[str]]) -> str:
    """Join the entries of unigrams, bigrams and trigrams to the text of an ARPA file."""
    text = "\\data\\\n"
    for order, entries in enumerate(entries_by_order, 1):
        text += f"ngram {order}={len(entries)}\n"
    for order, entries in enumerate(entries_by_order, 1):
        text += f"\n\\{order}-grams:\n{''.join(entries)}"
    return f"{text}\n\\end\\\n"


def counted(ids: Ints, n: int, size: int, fewest: int) -> tuple[Ints, Floats]:
    """Count n-grams that occur at least `fewest` times and do not go over a beginning.

    Returns them ascending, each as one number in base `size`, and their counts.
    """
    grams = np.zeros(len(ids) - n + 1, np.int64)
    is_within_text = np.ones(len(grams), np.bool_)
    for offset in range(n):
        words = ids[offset : len(ids) - n + 1 + offset]
        grams = grams * size + words
        if offset:
            is_within_text &= words != START_ID
    distinct, counts = np.unique(grams[is_within_text], return_counts=True)
    is_frequent = counts >= fewest
    return distinct[is_frequent], counts[is_frequent].astype(float)


def interpolated(
    context: Ints, word: Ints, counts: Floats, totals: Ints | Floats, shorter: Floats
) -> tuple[Floats, Floats]:
    """Return probabilities of n-grams, and the share that each context leaves to the shorter one.

    `context` and `word` are indices per n-gram: into `totals`, how often each context occurs, and into `shorter`, the
    probabilities without the first word.
    """
    discounted = (counts - DISCOUNT) / totals[context]
    rest: Floats = 1.0 - np.bincount(context, discounted, minlength=len(totals)).astype(np.float64)
    return discounted + rest[context] * shorter[word], rest


def lines(probabilities: Floats, words: list[NDArray[np.object_]], rest: Floats | None) -> list[str]:
    """Write entries of an ARPA file, with logarithms to the base of ten.

    `words` has one array per position in the n-gram. `rest` is the share left to shorter contexts, None for the longest
    n-grams.
    """
    logs = np.log10(probabilities)
    if rest is None:
        return [f"{log:.5f}\t{' '.join(gram)}\n" for log, *gram in zip(logs, *words, strict=True)]
    backoffs = np.log10(np.maximum(rest, 1e-9))
    entries = zip(logs, backoffs, *words, strict=True)
    return [f"{log:.5f}\t{' '.join(gram)}\t{backoff:.5f}\n" for log, backoff, *gram in entries]
