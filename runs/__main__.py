"""The command line: `python -m runs`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import runs
from runs.protocol import protocols
from runs.protocol_jobs import jobs_of_table
from runs.tables import RESULTS, Bench, Table, all_tables, default_data, named_model, tables_of
from winokit.errors import BadInput, WinokitError
from winokit.files import read_text, write_whole

TOOLS = ("corpus", "denominators", "trigrams", "language-head", "rounded", "figures", "page")
"""Names that are no tables. `page` is in this file, each of the others is a module with a `main`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the table or tool that the arguments name, those of the process if None, and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if not words:
            say(listing())
            return 0
        name, *tool_arguments = words
        if name == "page":
            return write_page(tool_arguments)
        if name in TOOLS:
            return run_tool(name, tool_arguments)
        return run_named(words)
    except (WinokitError, OSError) as error:
        sys.stderr.write(f"runs: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def run_tool(name: str, arguments: Sequence[str]) -> int:
    """Call the `main` of a tool's module, and return its exit code."""
    module = import_module(f"runs.{name.replace('-', '_')}")
    exit_code: int | None = module.main(arguments)
    return exit_code or 0


def say(text: str) -> None:
    """Print a text."""
    sys.stdout.write(f"{text}\n")


def listing() -> str:
    """List the papers, their tables, and the datasets and models that each needs."""
    lines = [str(runs.__doc__).split("How the pieces fit")[0].strip()]
    paper = ""
    for table in all_tables().values():
        if table.paper != paper:
            paper = table.paper
            lines.append(f"\n{paper}")
        needs = "a GPU" if jobs_of_table(table.name) else table.needs
        lines.append(f"  {table.name:<27} {table.title} ({needs})")
    return "\n".join(lines)


def options_parser() -> argparse.ArgumentParser:
    """Declare the options of running a table."""
    parser = argparse.ArgumentParser("python -m runs", description=runs.__doc__.split("\n")[0] if runs.__doc__ else "")
    parser.add_argument("table", metavar="TABLE", help="a table or a paper, as `python -m runs` lists them")
    parser.add_argument(
        "--model",
        action="append",
        metavar="[NAME=]SPEC",
        help="with the name it has in tables; default: builtin; repeatable where nothing is trained",
    )
    parser.add_argument("--data", type=Path, default=default_data(), metavar="DIR", help="the folder of the datasets")
    parser.add_argument("--out", type=Path, default=Path("runs", "out"), metavar="DIR", help="default: runs/out")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N problems of each file: a try")
    parser.add_argument("--cache", metavar="FILE", help="where models' answers are kept; off: nowhere")
    parser.add_argument("--features", type=Path, metavar="X.npy", help="winogrande-figure-1: of `winokit embed`")
    training = parser.add_argument_group("what is trained")
    training.add_argument("--minutes", type=float, metavar="N", help="stop after N minutes; the same command goes on")
    training.add_argument("--only", action="append", default=[], metavar="PREFIX", help="jobs whose names begin so")
    training.add_argument("--at-a-time", type=int, default=1, metavar="N", help="jobs at a time; default: 1")
    training.add_argument("--steps", type=int, metavar="N", help="at most N steps each: a try")
    training.add_argument("--device", help="cpu, cuda, cuda:1 or mps; default: a GPU, or else only the cost is told")
    training.add_argument("--sets", type=Path, metavar="FILE", help="prepared datasets; default: OUT/sets.pkl.xz")
    return parser


def run_named(arguments: Sequence[str]) -> int:
    """Run a table, or every table of a paper that needs no training, and print the results.

    Raises BadInput if the name stands for stored runs only.
    """
    options = options_parser().parse_args(arguments)
    check_numbers(options)
    if options.limit is not None and options.out.resolve() == RESULTS:
        raise BadInput("--limit is for trying; runs/results holds whole datasets: choose another --out")
    if jobs_of_table(options.table):
        return train_table(options)
    tables = tables_of(options.table)
    runnable = [table for table in tables if table.run is not None]
    if not runnable:
        first = tables[0]
        trained = [table.name for table in tables_of(first.paper) if jobs_of_table(table.name)]
        raise BadInput(f"{first.name}: {first.needs}; what {first.paper} trains: {', '.join(trained)}")
    for table in runnable:
        run_table(table, options)
    return 0


def check_numbers(options: argparse.Namespace) -> None:
    """Check that numbers are above zero. Raises BadInput."""
    for name in ("limit", "minutes", "at_a_time", "steps"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            raise BadInput(f"--{name.replace('_', '-')}: expected a number above 0, found {value}")


def train_table(options: argparse.Namespace) -> int:
    """Print the protocol beside our settings, run the table's training jobs, and return the exit code."""
    from runs import training

    specs = options.model or ["builtin"]
    if len(specs) > 1:
        raise BadInput("--model: one model at a time is trained")
    name, spec = named_model(specs[0])
    order = training.Order(
        name=name,
        spec=spec,
        data=options.data,
        out=options.out,
        sets=options.sets or options.out / "sets.pkl.xz",
        device=options.device,
        minutes=options.minutes,
        at_a_time=options.at_a_time,
        only=tuple(options.only),
        limit=options.limit,
        steps=options.steps,
    )
    protocol = protocols()[options.table]
    settings = protocol.settings_table({**protocol.here, "encoder": name})
    say(f"{settings}\n")
    return training.run_table(options.table, order)


def run_table(table: Table, options: argparse.Namespace) -> None:
    """Run one table, and print it below its protocol.

    Writes the pages if the results go to runs/results, otherwise the table beside its results.
    """
    models = dict(named_model(text) for text in options.model or ["builtin"])
    store = table.store(options.out)
    assert table.run is not None
    table.run(Bench(models, options.data, store, options.limit, options.cache, options))
    parts = [write(store) for write in table.parts.values()]
    blocks = list(parts)
    protocol = protocols().get(table.name)
    if protocol is not None:
        blocks.insert(0, protocol.settings_table())
    blocks_text = "\n\n".join(blocks)
    say(f"{table.name}: {table.title}\n\n{blocks_text}\n\n{store.path}\n")
    if options.out.resolve() == RESULTS:
        write_page([])
    else:
        parts_text = "\n\n".join(parts)
        write_whole(store.path.with_suffix(".md"), f"{parts_text}\n".encode())


def write_page(arguments: Sequence[str]) -> int:
    """Write the tables of the pages anew; with --check, say whether that would change them, and check their prose."""
    from runs.page import PAGES, rewritten, unsupported

    parser = argparse.ArgumentParser("python -m runs page", description=write_page.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a page is not right")
    check = parser.parse_args(arguments).check
    problems = []
    for path in PAGES:
        page = read_text(path)
        new_page = rewritten(page)
        if not check:
            write_whole(path, new_page.encode())
            continue
        name = os.path.relpath(path)
        if new_page != page:
            problems.append(f"{name}: tables differ from runs/results; `python -m runs page` writes them")
        problems += [f"{name}: {problem}" for problem in unsupported(page)]
    if check:
        say("\n".join(problems) if problems else "every page is as the results have it")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
