"""`winokit check`: leaks, broken twins, duplicates across splits, rule violations."""

from __future__ import annotations

from typing import Annotated

import typer

from winokit.cli.common import As, Data, Json, Labels, Lenient, console, load_all, print_json, progress_bar


def check(
    data: Data,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="groups, leaks, duplicates, rules, structure, corpus or facts; repeatable. Default: all."
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            help="universal, or winogrande: its writers' rules (length, overlap, kind) too. Default: universal, but "
            "winogrande for what `winokit collect` exported.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus", help="An index of text (`winokit hunt index`): which problems stand there?", metavar="INDEX"
        ),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            help="What was trained on: what it says nearest to each problem; repeatable.",
            metavar="DATA",
        ),
    ] = None,
    examples: Annotated[int, typer.Option(help="How many examples to show of each finding.", min=0)] = 2,
    as_: As = None,
    labels: Labels = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Find leaks, broken twins, duplicates and broken rules.

    Each file is checked by itself and against the others. Returns 1 if anything is found.
    """
    from winokit.data.checks import CHECKS
    from winokit.data.checks import check as run_checks
    from winokit.methods.hunting.open_corpus import open_corpus

    text = None if corpus is None else open_corpus(corpus)
    datasets = load_all(data, as_, labels, lenient, groups=False)
    trained = load_all(train, as_, None, lenient, groups=False) if train else []
    with progress_bar("checking") as progress:
        findings = run_checks(datasets, only or CHECKS, rules, corpus=text, train=trained, progress=progress)
    if json:
        print_json([finding.to_json() for finding in findings])
    else:
        from rich.markup import escape

        out = console()
        for name in dict.fromkeys(finding.dataset for finding in findings):
            out.print(f"[bold]{escape(name)}[/bold]")
            for finding in (finding for finding in findings if finding.dataset == name):
                mark = "[red]![/red]" if finding.warns else "[green]·[/green]"
                out.print(f"  {mark} {escape(finding.message)}", soft_wrap=True)
                for example in finding.examples[:examples]:
                    out.print(f"      [dim]{escape(example)}[/dim]", soft_wrap=True)
        warnings = sum(finding.warns for finding in findings)
        out.print(f"{warnings} {'finding' if warnings == 1 else 'findings'}" if warnings else "nothing found")
    if any(finding.warns for finding in findings):
        raise typer.Exit(1)
