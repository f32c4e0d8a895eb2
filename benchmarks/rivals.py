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
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from winokit.data.loading import load
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import YES, Rivals, rivals_of, without
from winokit.methods.transforms.views import siblings
from winokit.problem import Dataset, Problem

SPLITS = ("train", "val", "test")


def named_beside(dataset: Dataset) -> Rivals:
    """Return a source of rivals: the spans that other questions about the same pronoun name."""
    spans_beside: dict[str, list[str]] = {}
    for members in siblings(dataset):
        spans = [member.query or "" for member in members]
        spans_beside |= dict.fromkeys((member.id for member in members), spans)
    return lambda problem: without(problem.query or "", spans_beside[problem.id])


def line(dataset: Dataset, rivals: Rivals) -> str:
    """Write the counts of one split under one source of rivals, without accuracies if answers are hidden."""
    spans = {problem.id: rivals(problem) for problem in dataset}
    sizes = [len(spans[problem.id]) for problem in dataset]
    without_rival = sum(size == 0 for size in sizes)
    counts = f"{len(dataset):9,} {without_rival:8,} {fmean(sizes):6.2f}"
    if any(problem.answer is None for problem in dataset):
        return counts
    perfect = fmean(size > 0 for size in sizes)
    guessing = fmean(_guess_accuracy(problem, size) for problem, size in zip(dataset, sizes, strict=True))
    corrected = _find_corrected(dataset)
    found_count = sum(_has_span(right, spans[problem.id]) for problem, right in corrected)
    return f"{counts} {perfect:8.1%} {guessing:9.1%} {found_count:6,} of {len(corrected):,}"


def _guess_accuracy(problem: Problem, rivals: int) -> float:
    """Accuracy of guessing among the span and its rivals, or 0 without a rival, which is no answer."""
    if not rivals:
        return 0.0
    span_is_right = problem.answer == YES
    right_options = 1 if span_is_right else rivals
    return right_options / (1 + rivals)


def _find_corrected(dataset: Dataset) -> Sequence[tuple[Problem, str]]:
    """Find questions about a wrong span, each with the right one, if another question names it."""
    pairs = []
    for members in siblings(dataset):
        right = next((problem.query for problem in members if problem.answer == YES and problem.query), None)
        if right:
            pairs += [(problem, right) for problem in members if problem.answer != YES]
    return pairs


def _has_span(right: str, spans: Iterable[str]) -> bool:
    """Whether one of the spans is the right one, as `_is_same_span` compares them."""
    return any(_is_same_span(right, span) for span in spans)


def _is_same_span(right: str, span: str) -> bool:
    """Whether a span ends in the right one's words, articles aside: "His old coachman" for "old coachman"."""
    words = span.casefold().split()
    right_words = right.casefold().split()
    if right_words[0] in ("the", "a", "an"):
        right_words = right_words[1:]
    return words[-len(right_words) :] == right_words


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=usual)
    parser.add_argument("--parses", type=Path, help="a file of tools/mine_rivals.py")
    parser.add_argument("--quick", action="store_true", help="the questions of val alone")
    options = parser.parse_args()
    if not (options.data / "superglue-wsc").is_dir():
        print("rivals: skipped, superglue-wsc is not there; set WINOKIT_DATA or name the folder")
        return
    sources = {"phrases": "mc-sent"}
    if options.parses:
        sources["parses"] = f"mc-sent?rivals={options.parses}"
    sys.stdout.write("rivals    split  questions  without   mean  perfect  guessing  right span found\n")
    for split in SPLITS if not options.quick else ("val",):
        dataset = load(options.data / "superglue-wsc" / f"{split}.jsonl", groups=False)
        ways = {name: rivals_of(Formalization.parse(spec)) for name, spec in sources.items()}
        for name, rivals in {**ways, "questions": named_beside(dataset)}.items():
            sys.stdout.write(f"{name:9} {split:5} {line(dataset, rivals)}\n")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
