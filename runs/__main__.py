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
"""Other things to do; `page` is here, each of the others a module with a `main`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask for; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if not given:
            say(listing())
        elif given[0] == "page":
            return write_page(given[1:])
        elif given[0] in TOOLS:
            exit_code: int | None = import_module(f"runs.{given[0].replace('-', '_')}").main(given[1:])
            return exit_code or 0
        else:
            return run_named(given)
    except (WinokitError, OSError) as error:
        sys.stderr.write(f"runs: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def say(text: str) -> None:
    """Print a text."""
    sys.stdout.write(f"{text}\n")


def listing() -> str:
    """Papers, their tables, and what each needs."""
    lines = [str(runs.__doc__).split("How the pieces fit")[0].strip()]
    paper = ""
    for table in all_tables().values():
        if table.paper != paper:
            paper = table.paper
            lines.append(f"\n{paper}")
        needs = "a GPU" if jobs_of_table(table.name) else table.needs
        lines.append(f"  {table.name:<27} {table.title} ({needs})")
    return "\n".join(lines)


def run_named(arguments: Sequence[str]) -> int:
    """Run a table, or every table of a paper that needs no training, and print what comes of it."""
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
    given = parser.parse_args(arguments)
    check_numbers(given)
    if given.limit is not None and given.out.resolve() == RESULTS:
        raise BadInput("--limit is for trying; runs/results holds whole datasets: choose another --out")
    if jobs_of_table(given.table):
        return train_table(given)
    asked = tables_of(given.table)
    can = [table for table in asked if table.run is not None]
    if not can:
        own_paper = [table.name for table in tables_of(asked[0].paper) if jobs_of_table(table.name)]
        raise BadInput(f"{asked[0].name}: {asked[0].needs}; what {asked[0].paper} trains: {', '.join(own_paper)}")
    for table in can:
        run_table(table, given)
    return 0


def check_numbers(given: argparse.Namespace) -> None:
    """Refuse numbers that ask for nothing. Raises BadInput."""
    for name in ("limit", "minutes", "at_a_time", "steps"):
        value = getattr(given, name)
        if value is not None and value <= 0:
            raise BadInput(f"--{name.replace('_', '-')}: expected a number above 0, found {value}")


def train_table(given: argparse.Namespace) -> int:
    """Print the protocol beside what is run here, and run the table's jobs."""
    from runs import training

    specs = given.model or ["builtin"]
    if len(specs) > 1:
        raise BadInput("--model: one model at a time is trained")
    name, spec = named_model(specs[0])
    order = training.Order(
        name,
        spec,
        given.data,
        given.out,
        given.sets or given.out / "sets.pkl.xz",
        given.device,
        given.minutes,
        given.at_a_time,
        tuple(given.only),
        given.limit,
        given.steps,
    )
    protocol = protocols()[given.table]
    settings = protocol.settings_table({**protocol.here, "encoder": name})
    say(f"{settings}\n")
    return training.run_table(given.table, order)


def run_table(table: Table, given: argparse.Namespace) -> None:
    """Run one table, and print it under its protocol."""
    models = dict(named_model(text) for text in given.model or ["builtin"])
    store = table.store(given.out)
    assert table.run is not None
    table.run(Bench(models, given.data, store, given.limit, given.cache, given))
    parts = [write(store) for write in table.parts.values()]
    protocol = protocols().get(table.name)
    settings = [] if protocol is None else [protocol.settings_table()]
    say(f"{table.name}: {table.title}\n\n" + "\n\n".join([*settings, *parts]) + f"\n\n{store.path}\n")
    if given.out.resolve() == RESULTS:
        write_page([])
    else:
        write_whole(store.path.with_suffix(".md"), ("\n\n".join(parts) + "\n").encode())


def write_page(arguments: Sequence[str]) -> int:
    """Write the tables of the pages anew; with --check, say whether that would change them, and check their prose."""
    from runs.page import PAGES, rewritten, unsupported

    parser = argparse.ArgumentParser("python -m runs page", description=write_page.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a page is not right")
    check = parser.parse_args(arguments).check
    wrong = []
    for path in PAGES:
        page = read_text(path)
        made = rewritten(page)
        if not check:
            write_whole(path, made.encode())
            continue
        name = os.path.relpath(path)
        if made != page:
            wrong.append(f"{name}: tables differ from runs/results; `python -m runs page` writes them")
        wrong += [f"{name}: {problem}" for problem in unsupported(page)]
    if check:
        say("\n".join(wrong) if wrong else "every page is as the results have it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
