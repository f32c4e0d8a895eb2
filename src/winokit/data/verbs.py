"""What `winokit stats`, `check`, `convert` and `datasets` do: data in, an answer out, no page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from winokit.data.catalogue import CATALOGUE, CatalogueEntry
from winokit.data.checks import checkup
from winokit.data.checks.rules import RuleSet
from winokit.data.checks.statistics import Statistics, statistics
from winokit.data.formats import FORMATS, Format, WriteOptions, WrittenFile, write
from winokit.data.loading import As, Data, Datasets, Labels, Lenient, load_all, load_one
from winokit.methods.hunting.search import Corpus, open_corpus
from winokit.progress import Progress, tell
from winokit.settings import Help, verb
from winokit.text.words import Tokens

DEFAULT = "jsonl"
"""The format that is written where none is named."""


@verb
def stats(
    data: Datasets,
    *,
    tokens: Annotated[Tokens, Help("How to count words: ptb or whitespace.", noun="way to count tokens")] = "ptb",
    as_: As = None,
    labels: Labels = (),
    lenient: Lenient = False,
) -> list[Statistics]:
    """Count problems, groups, words and vocabulary."""
    return [statistics(dataset, tokens) for dataset in load_all(data, as_=as_, labels=labels, lenient=lenient)]


@verb
def check(
    data: Datasets,
    *,
    only: Annotated[
        Sequence[checkup.Check],
        Help(
            "groups, leaks, duplicates, rules, structure, corpus or facts; repeatable. Default: all.",
            noun="check",
            typed=list[str],
        ),
    ] = (),
    rules: Annotated[
        RuleSet | None,
        Help(
            "universal, or winogrande: its writers' rules (length, overlap, kind) too. Default: universal, but "
            "winogrande for what `winokit collect` exported.",
            metavar="NAME",
            noun="set of rules",
            shown=False,
        ),
    ] = None,
    corpus: Annotated[
        str | Corpus | None,
        Help("An index of text (`winokit hunt index`): which problems stand there?", metavar="INDEX", typed=str | None),
    ] = None,
    train: Annotated[
        Datasets,
        Help("What was trained on: what it says nearest to each problem; repeatable.", metavar="DATA", typed=list[str]),
    ] = (),
    examples: Annotated[int, Help("How many examples to show of each finding.", least=0)] = 2,
    as_: As = None,
    labels: Labels = (),
    lenient: Lenient = False,
    progress: Progress | None = None,
) -> checkup.Findings:
    """Find leaks, broken twins, duplicates and broken rules.

    Each file is checked by itself and against the others. Returns 1 if anything is found.
    """
    text = open_corpus(corpus) if isinstance(corpus, str) else corpus
    datasets = load_all(data, as_=as_, labels=labels, lenient=lenient, groups=False)
    trained = load_all(train, as_=as_, lenient=lenient, groups=False)
    wanted = only or checkup.CHECKS
    return checkup.Findings(
        checkup.check(datasets, wanted, rules, corpus=text, train=trained, progress=progress), examples
    )


@verb
def convert(
    data: Annotated[
        Data, Help("A bundled name (open), a file, FORMAT:file or hub:org/name.", metavar="DATA", typed=str)
    ],
    out: Annotated[str | Path, Help("The file to write; .gz and .xz are compressed.", typed=Path)],
    *,
    to: Annotated[str | None, Help("The format to write; jsonl if none is named.", metavar="FORMAT")] = None,
    as_: As = None,
    labels: Labels = (),
    source_ids: Annotated[bool, Help("Write the ids of the source, which may leak the answer.")] = False,
    labels_apart: Annotated[bool, Help("WinoGrande: answers in a label list beside the file.")] = False,
    lenient: Lenient = False,
) -> WrittenFile:
    """Write a dataset in another format.

    What the format cannot express is an error, or left out and counted with --lenient.
    """
    dataset, path = load_one(data, as_=as_, labels=labels, lenient=lenient), Path(out)
    written = write(dataset, path, to or DEFAULT, WriteOptions(source_ids, labels_apart), lenient=lenient)
    if to is None and path.suffix in {known.suffix for known in FORMATS.values()} - {FORMATS[DEFAULT].suffix}:
        tell([f"{out} holds {DEFAULT}, whatever its name says; --to names another format"])
    if written.skipped:
        tell([f"{len(written.skipped)} problems left out; the first: {written.skipped[0]}"])
    return written


@verb
def datasets(
    *, formats: Annotated[bool, Help("List the file formats instead.")] = False
) -> Sequence[CatalogueEntry] | Sequence[Format]:
    """List known datasets, their licences and where to get them."""
    return sorted(FORMATS.values(), key=lambda known: known.name) if formats else list(CATALOGUE.values())
