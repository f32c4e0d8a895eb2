"""Rivals of SuperGLUE-WSC's questions: how many have none, and what a comparer gets at best and by luck.

python benchmarks/rivals.py [--data DIR] [--parses FILE] [--quick]

Printed for each split and source of rivals (the phrases we find; with `--parses`, those of a file that
tools/mine_rivals.py wrote; other questions about the same pronoun, which is what `--as choice` merges): questions
without a rival, the mean number of rivals, what a perfect comparer gets where a question without a rival counts as
wrong, what guessing among the options gets, and of how many wrong spans the right one, where another question names
it, is among the rivals.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from winokit.data.loading import load
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import YES, Rivals, rivals_of, without
from winokit.methods.transforms.views import siblings
from winokit.problem import Dataset, Problem

SPLITS = ("train", "val", "test")


def named_beside(dataset: Dataset) -> Rivals:
    """The spans that other questions about the same pronoun name."""
    beside = {problem.id: [p.query or "" for p in members] for members in siblings(dataset) for problem in members}
    return lambda problem: without(problem.query or "", beside[problem.id])


def line(dataset: Dataset, rivals: Rivals) -> str:
    """The counts of one split under one source of rivals."""
    spans = {problem.id: rivals(problem) for problem in dataset}
    sizes = [len(spans[problem.id]) for problem in dataset]
    counts = f"{len(dataset):9,} {sum(not size for size in sizes):8,} {fmean(sizes):6.2f}"
    if any(problem.answer is None for problem in dataset):
        return counts
    perfect = fmean(size > 0 for size in sizes)
    luck = fmean(_luck(problem, size) for problem, size in zip(dataset, sizes, strict=True))
    hits = [any(_same(right, span) for span in spans[problem.id]) for problem, right in _corrected(dataset)]
    return f"{counts} {perfect:8.1%} {luck:9.1%} {sum(hits):6,} of {len(hits):,}"


def _luck(problem: Problem, rivals: int) -> float:
    """Accuracy of guessing among the options, or 0 without a rival, which is no answer."""
    return 0.0 if not rivals else 1 / (1 + rivals) if problem.answer == YES else rivals / (1 + rivals)


def _corrected(dataset: Dataset) -> Sequence[tuple[Problem, str]]:
    """Questions about a wrong span, and the right one where another question names it."""
    pairs = []
    for members in siblings(dataset):
        right = next((problem.query for problem in members if problem.answer == YES and problem.query), None)
        pairs += [(problem, right) for problem in members if problem.answer != YES and right]
    return pairs


def _same(right: str, span: str) -> bool:
    """Whether a span ends in the right one's words, articles aside: "His old coachman" for "old coachman"."""
    words, wanted = span.casefold().split(), right.casefold().split()
    wanted = wanted[1:] if wanted[0] in ("the", "a", "an") else wanted
    return words[-len(wanted) :] == wanted


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=usual)
    parser.add_argument("--parses", type=Path, help="a file of tools/mine_rivals.py")
    parser.add_argument("--quick", action="store_true", help="the questions of val alone")
    given = parser.parse_args()
    if not (given.data / "superglue-wsc").is_dir():
        print("rivals: skipped, superglue-wsc is not there; set WINOKIT_DATA or name the folder")
        return
    sources = {"phrases": "mc-sent"} | ({"parses": f"mc-sent?rivals={given.parses}"} if given.parses else {})
    sys.stdout.write("rivals    split  questions  without   mean  perfect  guessing  right span found\n")
    for split in SPLITS if not given.quick else ("val",):
        dataset = load(given.data / "superglue-wsc" / f"{split}.jsonl", groups=False)
        ways = {name: rivals_of(Formalization.parse(spec)) for name, spec in sources.items()}
        for name, rivals in {**ways, "questions": named_beside(dataset)}.items():
            sys.stdout.write(f"{name:9} {split:5} {line(dataset, rivals)}\n")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
