"""The command line: `python -m tools.frozen`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .commands import Command, FrozenError, read_commands, select_names, with_needed
from .comparing import ALLOWED, DIFFERENT, Allowance, Comparison, compare_texts, read_allowances, report_lines
from .outputs import Texts
from .sides import ROOT, Side, full_commit, run_commands
from .store import store_texts, stored_texts

BASE = "8408b3d9"
"""The commit whose outputs are the reference."""
MOST_LINES = 30
SLOWEST_COUNT = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare both sides as the arguments say, those of the process if None, and return the exit code.

    0 if all is equal or allowed, 1 if there are differences, 2 if the request is wrong.
    """
    options = _make_parser().parse_args(arguments)
    try:
        return compare_sides(options)
    except FrozenError as error:
        sys.stderr.write(f"frozen: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def say(text: str) -> None:
    """Print a line without delay."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _make_parser() -> argparse.ArgumentParser:
    """Declare the options."""
    parser = argparse.ArgumentParser("python -m tools.frozen", description="Compare what commands print and write.")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only this command; * for any characters; repeatable",
    )
    parser.add_argument("--base", default=BASE, metavar="COMMIT", help=f"the reference (default: {BASE})")
    parser.add_argument("--head", metavar="COMMIT", help="what is compared with it (default: the working tree)")
    parser.add_argument("--side", choices=("base",), help="run the base only, and store its outputs in --stored")
    parser.add_argument("--stored", type=Path, metavar="DIR", help="a folder outside the tree with the base's outputs")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="a new folder outside the tree for all files of both sides"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="the public datasets (default: WINOKIT_DATA)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many commands run at a time (default: 2)")
    parser.add_argument("--slow", action="store_true", help="run slow commands, too")
    parser.add_argument("--full", action="store_true", help="show every line that differs")
    return parser


def compare_sides(options: argparse.Namespace) -> int:
    """Run the commands of both sides that are not stored, compare, print the report, and return the exit code."""
    commands = read_commands()
    allowances = read_allowances()
    data = _find_data_folder(options.data)
    _check_folders(options)
    names = select_names(options.only, commands, slow=options.slow, real=data is not None)
    if not names:
        raise FrozenError(
            "no command to run: those selected are slow (--slow) or need the public datasets (WINOKIT_DATA)"
        )
    if data is None:
        say("note: no public datasets (WINOKIT_DATA): commands that need them are left out")
    commit = full_commit(options.base)
    head_commit = None if options.head is None else full_commit(options.head)
    stored = {} if options.stored is None else stored_texts(options.stored, commit, commands)
    with tempfile.TemporaryDirectory(prefix="frozen-") as scratch:
        runner = SideRunner(Path(scratch), data, options.jobs)
        if options.side == "base":
            base = runner.run_side("base", commit, with_needed(names, commands))
            store_texts(options.stored, commit, commands, base)
            say(f"{options.stored}: outputs of {len(base)} commands at {commit[:8]}")
            return 0
        base = dict(stored)
        missing_names = [name for name in names if name not in base]
        if missing_names:
            base |= runner.run_side("base", commit, with_needed(missing_names, commands))
        head = runner.run_side("head", head_commit, with_needed(names, commands))
        if options.keep is not None:
            shutil.copytree(scratch, options.keep, symlinks=True)
    comparisons = [compare_texts(name, base[name], head[name], allowances) for name in names]
    is_everything = {name for name, command in commands.items() if not command.slow} <= set(names)
    return _print_report(comparisons, allowances if is_everything else [], None if options.full else MOST_LINES)


def _find_data_folder(data_option: Path | None) -> Path | None:
    """Return the folder of the public datasets from --data or WINOKIT_DATA, or None if neither is given.

    Raises FrozenError if it does not exist.
    """
    stated = data_option or os.environ.get("WINOKIT_DATA")
    if not stated:
        return None
    folder = Path(stated).absolute()
    if not folder.is_dir():
        raise FrozenError(f"{stated}: no folder; --data or WINOKIT_DATA must name one with the public datasets")
    return folder


def _check_folders(options: argparse.Namespace) -> None:
    """Refuse folders in the tree: outputs have sentences of datasets that must stay out of it."""
    if options.jobs < 1:
        raise FrozenError(f"--jobs {options.jobs}: at least 1 is needed")
    for option, folder in (("--stored", options.stored), ("--keep", options.keep)):
        if folder is not None and folder.resolve().is_relative_to(ROOT):
            raise FrozenError(
                f"{option} {folder}: lies in the repository; outputs must stay out of it, choose a folder elsewhere"
            )
    if options.side == "base" and options.stored is None:
        raise FrozenError("--side base: needs --stored DIR, a folder for the outputs")
    if options.keep is not None and options.keep.exists():
        raise FrozenError(f"--keep {options.keep}: exists; choose a new folder")


class SideRunner:
    """Runs sides in folders whose paths are equally long."""

    def __init__(self, scratch: Path, data: Path | None, jobs: int) -> None:
        self.scratch = scratch
        self.data = data
        self.jobs = jobs

    def run_side(self, name: str, commit: str | None, commands: Sequence[Command]) -> dict[str, Texts]:
        """The texts of commands with the source of a commit, or of the working tree if it is None."""
        started = time.monotonic()
        folder = self.scratch / name
        folder.mkdir()
        side = Side(name, folder, self.data, is_reference=(commit or "").startswith(BASE))
        say(f"{name}: {commit[:8] if commit else 'the working tree'}, {len(commands)} commands")
        side.prepare(commit, commands)
        run_commands(side, commands, self.jobs)
        slowest_names = sorted(side.seconds, key=lambda each: -side.seconds[each])[:SLOWEST_COUNT]
        slowest = ", ".join(f"{each} {side.seconds[each]:.0f} s" for each in slowest_names)
        say(f"{name}: done in {time.monotonic() - started:.0f} s; slowest: {slowest}")
        return side.texts


def _print_report(comparisons: Sequence[Comparison], allowances: Sequence[Allowance], most_lines: int | None) -> int:
    """Print the differences, stale allowances and counts, and return the exit code.

    `allowances` are those to check for being stale. `most_lines` limits the lines of one command, None shows all.
    """
    used: list[Allowance] = []
    for comparison in comparisons:
        for line in report_lines(comparison, most_lines):
            say(line)
        for difference in comparison.differences:
            used += difference.used
    for number, allowance in enumerate(allowances, 1):
        if allowance not in used:
            say(f"note: entry {number} of {ALLOWED.name} is stale, as it allows nothing ({allowance.reason})")
    states = Counter(comparison.state for comparison in comparisons)
    say(", ".join(f"{states[state]} {state}" for state in ("equal", "allowed", DIFFERENT)))
    return int(states[DIFFERENT] > 0)


if __name__ == "__main__":
    sys.exit(main())
