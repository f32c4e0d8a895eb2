"""Indexing and asking: speed against plain FTS5 inserts, size, and latency, on synthetic sentences.

python benchmarks/hunt.py [--sentences 100000 --sentences 1000000] [--tries 3] [--quick]

The sentences are random words, drawn as words are drawn in a language (Zipf), the commonest of them those of the
bundled twins, so that hunting for these finds something. The baseline inserts sentences that are split already into an
FTS5 table with its default settings, in one transaction; ours reads a file, splits it, and commits as it goes.
"""

import argparse
import itertools
import random
import re
import sqlite3
import statistics
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

MADE_UP = 60_000


def vocabulary() -> list[str]:
    """The words of the bundled twins by frequency, then made-up ones."""
    import winokit  # here and below: the processes that split sentences import this file, and need none of it

    counts = Counter(re.findall(r"[a-z']+", " ".join(problem.text for problem in winokit.load("open")).lower()))
    return [word for word, _ in counts.most_common()] + [f"w{number}" for number in range(MADE_UP)]


def write_sentences(path: Path, count: int) -> list[str]:
    """Write a file of paragraphs of five sentences, and return the sentences."""
    rng, words = random.Random(0), vocabulary()
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    drawn = iter(rng.choices(words, cum_weights=weights, k=18 * count))
    sentences = []
    for _ in range(count):
        sentences.append(" ".join(itertools.islice(drawn, rng.randint(8, 18))).capitalize() + ".")
    paragraphs = (" ".join(sentences[i : i + 5]) for i in range(0, count, 5))
    path.write_text("\n\n".join(paragraphs), "utf-8")
    return sentences


def insert_plainly(path: Path, sentences: list[str]) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE sentences USING fts5 (text, tokenize = 'unicode61 remove_diacritics 0')")
        with db:
            db.executemany("INSERT INTO sentences VALUES (?)", ((sentence,) for sentence in sentences))


def timed(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def milliseconds(actions) -> tuple[float, float]:
    """Median and 95th percentile."""
    taken = [1000 * timed(action) for action in actions]
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1]


def queries(words: list[str]) -> dict[str, list]:
    from winokit.methods.hunting.search import AllOf, Near, any_of

    rng = random.Random(1)
    pick = lambda low, high: words[rng.randint(low, high)]  # noqa: E731
    common = [(pick(20, 400), pick(20, 400)) for _ in range(100)]
    return {
        "phrase of two common words": [f"{one} {other}" for one, other in common],
        "two common words in a sentence": [AllOf((any_of([one]), any_of([other]))) for one, other in common],
        "two common words near each other": [Near(any_of([one]), any_of([other]), 5) for one, other in common],
        "two rarer words in a sentence": [
            AllOf((any_of([pick(1500, 9000)]), any_of([pick(1500, 9000)]))) for _ in range(100)
        ],
    }


def measure(count: int, tries: int) -> None:
    from winokit.methods.hunting.building import build_index

    with tempfile.TemporaryDirectory() as folder:
        text, plain, ours = (Path(folder) / name for name in ("text.txt", "plain.db", "ours.db"))
        sentences = write_sentences(text, count)
        megabytes = text.stat().st_size / 1e6
        seconds: dict[str, list[float]] = {"plain": [], "ours": []}
        for _ in range(tries):  # side by side, so that a busy moment hits both
            plain.unlink(missing_ok=True)
            ours.unlink(missing_ok=True)
            seconds["plain"].append(timed(lambda: insert_plainly(plain, sentences)))
            seconds["ours"].append(timed(lambda: build_index([text], ours)))
        best = {name: min(taken) for name, taken in seconds.items()}
        print(f"{count:,} sentences, {megabytes:.1f} MB of text, best of {tries}")
        print(f"  plain FTS5 inserts  {best['plain']:7.2f} s  {megabytes / best['plain']:6.1f} MB/s")
        print(f"  winokit hunt index  {best['ours']:7.2f} s  {megabytes / best['ours']:6.1f} MB/s")
        print(f"  speed against plain {best['plain'] / best['ours']:7.2f} x")
        sizes = [path.stat().st_size / text.stat().st_size for path in (ours, plain)]
        print(f"  size of the index   {sizes[0]:7.2f} x the text (plain {sizes[1]:.2f} x)")
        print(f"  indexing it again   {timed(lambda: build_index([text], ours)):7.2f} s")
        ask(ours, count)


def ask(path: Path, count: int) -> None:
    import winokit
    from winokit.methods.hunting.hunter import Hunter
    from winokit.methods.hunting.search import SentenceIndex

    with SentenceIndex(path) as index:
        assert index.sentences == count
        for name, asked in queries(vocabulary()).items():
            median, high = milliseconds([lambda query=query: index.search(query, 200) for query in asked])
            print(f"  {name:34} median {median:7.2f} ms, 95th percentile {high:7.2f} ms")
        problems, hunter = list(winokit.load("open"))[:100], Hunter(index, parser="rules")
        median, high = milliseconds([lambda p=problem: hunter.hunt(p) for problem in problems])
        print(f"  {'hunting for one problem':34} median {median:7.2f} ms, 95th percentile {high:7.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, action="append", help="default: 100,000 and 1,000,000")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="10,000 sentences, once")
    options = parser.parse_args()
    for count in (10_000,) if options.quick else options.sentences or (100_000, 1_000_000):
        measure(count, 1 if options.quick else options.tries)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
