"""A trigram language model of a corpus, as an ARPA file: the second member of an ensemble where no other LM is at hand.

    python -m runs trigrams CORPUS/*.txt --out trigrams.arpa

Words are those of `ngram:` models. Counts are discounted by 0.75 and interpolated with the shorter context; trigrams
seen once are left out, words seen once are unknown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winokit.files import write_whole
from winokit.models.ngram import word_spans

DISCOUNT, FEWEST = 0.75, 2
UNKNOWN, START, END = "<unk>", "<s>", "</s>"
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def main(arguments: Sequence[str]) -> None:
    """Count, discount, write."""
    parser = argparse.ArgumentParser(
        "python -m runs trigrams", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, nargs="+", help="text files; an empty line ends a document")
    parser.add_argument("--out", type=Path, default=Path("runs") / "trigrams.arpa")
    given = parser.parse_args(arguments)
    vocabulary, ids = numbered(marked(text) for text in paragraphs(given.text))
    write_whole(given.out, arpa(vocabulary, ids).encode())
    sys.stdout.write(f"{len(ids):,} words, {len(vocabulary):,} different, in {given.out}\n")


def paragraphs(paths: Iterable[Path]) -> Iterator[str]:
    """The paragraphs of text files."""
    for path in paths:
        yield from (text for text in path.read_text("utf-8").split("\n\n") if text.strip())


def marked(text: str) -> list[str]:
    """The words of a text between the marks of a beginning and an end."""
    return [START, *(text[start:end] for start, end in word_spans(text)), END]


def numbered(texts: Iterable[list[str]]) -> tuple[list[str], Ints]:
    """The vocabulary, the marks first, and the corpus as numbers."""
    words: dict[str, int] = {UNKNOWN: 0, START: 1, END: 2}
    raw = np.array([words.setdefault(word, len(words)) for text in texts for word in text], np.int64)
    often = np.bincount(raw, minlength=len(words)) >= FEWEST
    often[:3] = True
    place = np.where(often, np.cumsum(often) - 1, 0)
    return [word for word, stays in zip(words, often, strict=True) if stays], place[raw]


def arpa(vocabulary: list[str], ids: Ints) -> str:
    """The model as text."""
    size = len(vocabulary)
    seen = np.bincount(ids[ids != 1], minlength=size).astype(float)
    unigram = (seen + 1) / (seen.sum() + size - 1)
    unigram[1] = 1e-9  # a beginning is never guessed
    pairs, times = counted(ids, 2, size, 1)
    bigram, left_two = interpolated(pairs // size, pairs % size, times, np.bincount(ids[:-1], minlength=size), unigram)
    triples, times = counted(ids, 3, size, FEWEST)
    context = np.searchsorted(pairs, triples // size)
    shorter = bigram[np.searchsorted(pairs, triples % size**2)]
    whole = counted(ids[:-1], 2, size, 1)
    totals = np.zeros(len(pairs))
    totals[np.searchsorted(pairs, whole[0])] = whole[1]
    trigram, left_three = interpolated(context, np.arange(len(triples)), times, totals, shorter)
    names = np.array(vocabulary, object)
    grams = [
        lines(unigram, [names], left_two),
        lines(bigram, [names[pairs // size], names[pairs % size]], left_three),
        lines(trigram, [names[triples // size**2], names[triples // size % size], names[triples % size]], None),
    ]
    head = "\\data\\\n" + "".join(f"ngram {n}={len(entries)}\n" for n, entries in enumerate(grams, 1))
    return head + "".join(f"\n\\{n}-grams:\n" + "".join(entries) for n, entries in enumerate(grams, 1)) + "\n\\end\\\n"


def counted(ids: Ints, n: int, size: int, fewest: int) -> tuple[Ints, Floats]:
    """The n-grams as numbers, sorted, with their counts; none goes over a beginning."""
    keys = np.zeros(len(ids) - n + 1, np.int64)
    inside = np.ones(len(keys), np.bool_)
    for at in range(n):
        part = ids[at : len(ids) - n + 1 + at]
        keys = keys * size + part
        if at:
            inside &= part != 1
    grams, times = np.unique(keys[inside], return_counts=True)
    enough = times >= fewest
    return grams[enough], times[enough].astype(float)


def interpolated(
    context: Ints, word: Ints, times: Floats, totals: Ints | Floats, shorter: Floats
) -> tuple[Floats, Floats]:
    """Probabilities of n-grams, and what each context leaves to the shorter one."""
    own = (times - DISCOUNT) / totals[context]
    left: Floats = 1.0 - np.bincount(context, own, minlength=len(totals)).astype(np.float64)
    return own + left[context] * shorter[word], left


def lines(probability: Floats, words: list[NDArray[np.object_]], left: Floats | None) -> list[str]:
    """Entries of an ARPA file, in logarithms to the base of ten."""
    logs = np.log10(probability)
    if left is None:
        return [f"{log:.5f}\t{' '.join(gram)}\n" for log, *gram in zip(logs, *words, strict=True)]
    back = np.log10(np.maximum(left, 1e-9))
    return [f"{log:.5f}\t{' '.join(gram)}\t{b:.5f}\n" for log, b, *gram in zip(logs, back, *words, strict=True)]
