"""`winokit hunt`: an index of any text, evidence for a problem from it, and association."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winokit.cli.common import DATA_HELP, As, Json, Labels, Lenient, print_json, progress_bar, tell
from winokit.cli.guards import refuse_overwriting, refuse_unused

if TYPE_CHECKING:
    from winokit.problem import Problem

app = typer.Typer(help="Hunt for knowledge in a corpus of text.", no_args_is_help=True, rich_markup_mode=None)
Index = Annotated[
    str,
    typer.Argument(help="An index, or the address of an OpenSearch index.", metavar="INDEX", show_default=False),
]


@app.command()
def index(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            help="Files of text or .jsonl, also .gz, .xz, .bz2 or .zst, or folders of them.",
            metavar="CORPUS",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The index to make or to add to.", metavar="INDEX")],
    lines: Annotated[bool, typer.Option("--lines", help="Every line is a document, not a paragraph.")] = False,
    field: Annotated[str, typer.Option(help="Where .jsonl has the text.", metavar="NAME")] = "text",
    encoding: Annotated[str, typer.Option(help="Of the text.", metavar="NAME")] = "utf-8",
    workers: Annotated[
        int | None, typer.Option(help="Processes that split sentences. Default: one less than processors.", min=0)
    ] = None,
    json: Json = False,
) -> None:
    """Make an index of a corpus, or add to one.

    Files that are in it already are passed over, and a run that was stopped goes on where it was.
    """
    from dataclasses import asdict

    from winokit.methods.hunting.building import build_index
    from winokit.methods.hunting.corpus import CorpusLayout

    layout = CorpusLayout("lines" if lines else "paragraphs", field, encoding)
    with progress_bar("indexing") as progress:
        built = build_index(corpus, out, layout=layout, workers=workers, progress=progress)
    if json:
        print_json({"out": str(out), "bytes": out.stat().st_size} | asdict(built))
        return
    tell(built.notes)
    did = {"added": built.added, "read again": built.replaced, "known before": built.unchanged}
    files = ", ".join(f"{len(names):,} {what}" for what, names in did.items() if names)
    typer.echo(f"{built.sentences:,} sentences of {built.files:,} files in {out} ({out.stat().st_size / 1e6:,.1f} MB)")
    typer.echo(f"files: {files}")


@app.command()
def ask(
    context: typer.Context,
    index: Index,
    data: Annotated[str | None, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)] = None,
    row: Annotated[int, typer.Option(help="Which problem of DATA, counted from 1.", min=1)] = 1,
    text: Annotated[
        str | None, typer.Option("--text", help="A text of your own, with _ for the blank.", metavar="TEXT")
    ] = None,
    candidate: Annotated[
        list[str] | None, typer.Option("--candidate", help="A candidate for it; repeatable.", metavar="NAME")
    ] = None,
    pronoun: Annotated[str | None, typer.Option(help="What stood in the blank (his, it).", metavar="WORD")] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="whole, heads, synonyms or without; repeatable. Default: the first three.", metavar="NAME"
        ),
    ] = None,
    synonyms: Annotated[
        str | None, typer.Option(help="A file of synonyms, one set a line; 'off' for none.", metavar="FILE")
    ] = None,
    parser: Annotated[
        str,
        typer.Option(help="auto (spaCy where it is installed with an English model), rules or spacy.", metavar="NAME"),
    ] = "auto",
    examples: Annotated[int, typer.Option(help="How many sentences to show for either side.", min=0)] = 5,
    json: Json = False,
) -> None:
    """Show why the hunter decides as it does: its reading, queries, evidence and decision for one problem."""
    from winokit.methods.hunting.explaining import MARK, as_json, in_lines
    from winokit.methods.hunting.hunter import Hunter, hunt
    from winokit.methods.hunting.open_corpus import open_corpus
    from winokit.methods.hunting.queries import DEFAULT_SETS
    from winokit.methods.hunting.synonyms import load_synonyms

    if text is not None:
        refuse_unused(context, ["row"], "a row of DATA, and the problem asked about is that of --text")
    elif data is not None:
        refuse_unused(context, ["candidate", "pronoun"], "an option of --text; problems of DATA have their own")
    problem = _problem(data, row, text, candidate or [], pronoun)
    hunter = Hunter(
        open_corpus(index), sets=tuple(sets or DEFAULT_SETS), synonyms=load_synonyms(synonyms), parser=parser
    )
    found = hunt(problem, hunter.corpus, hunter.synonyms, sets=hunter.sets, parser=hunter.parser)
    if json:
        print_json(as_json(problem, found))
        return
    typer.echo(typer.style(problem.text, bold=True))
    mark = ("\x1b[32m", "\x1b[0m") if sys.stdout.isatty() else MARK
    for line in in_lines(problem, found, examples, mark):
        typer.echo(line)


def _problem(data: str | None, row: int, text: str | None, candidates: list[str], pronoun: str | None) -> Problem:
    """The problem asked about: one of a dataset, or the user's own."""
    from winokit.data.loading import load
    from winokit.errors import BadInput
    from winokit.problem import Problem

    if (data is None) == (text is None):
        raise BadInput("one problem expected: DATA and --row, or --text and --candidate twice")
    if text is not None:
        return Problem.from_text(text, candidates, pronoun=pronoun)
    dataset = load(str(data), groups=False)
    if row > len(dataset):
        raise BadInput(f"{data}: row {row} asked for, where there are {len(dataset):,}")
    return dataset[row - 1]


@app.command()
def associate(
    index: Index,
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write DATA with the estimates as labels, for `winokit audit`.")
    ] = None,
    as_: As = None,
    labels: Labels = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Estimate which problems are associative, from how often words meet in a corpus.

    Where people's labels are known they stay, and the estimate is compared with them.
    """
    from winokit.data.formats import write
    from winokit.data.loading import load
    from winokit.methods.hunting.association import compare_with_labels, with_associations
    from winokit.methods.hunting.open_corpus import open_corpus

    if out is not None:
        named = (index, data, data.partition(":")[2], *(labels or ()))
        refuse_overwriting(out, (Path(name) for name in named if name))
    dataset = load(data, as_=as_, labels=labels or (), lenient=lenient)
    tell(dataset.notes)
    corpus = open_corpus(index)
    with progress_bar("counting") as progress:
        labelled, found = with_associations(dataset, corpus, progress)
    known = compare_with_labels(dataset, found)
    if out is not None:
        write(labelled, out)
    summary = {
        "dataset": dataset.card.name,
        "corpus": corpus.name,
        "sentences": corpus.sentences,
        "problems": len(dataset),
        "with_words": sum(one.why is None for one in found),
        "associative": sum(one.associative for one in found),
        "out": None if out is None else str(out),
    } | known
    if json:
        rows = [
            {"id": p.id, "difference": a.difference, "associative": a.associative, "why": a.why}
            for p, a in zip(dataset, found, strict=True)
        ]
        print_json(summary | {"rows": rows})
        return
    typer.echo(
        f"{summary['associative']:,} of {summary['problems']:,} problems are associative by {corpus.name} "
        f"({corpus.sentences:,} sentences); {summary['with_words']:,} have words to go by"
    )
    if known:
        low, high = known["auc_interval"]
        typer.echo(f"against {known['labelled']:,} labels: AUC {known['auc']:.3f} [{low:.3f}, {high:.3f}]")
        if known["auc_with_words"] is not None:
            typer.echo(f"where there are words to go by: AUC {known['auc_with_words']:.3f}")
    if out is not None:
        typer.echo(f"written to {out}")
