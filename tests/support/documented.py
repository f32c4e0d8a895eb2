"""The commands that the pages show, and the folder in which each page's commands can run.

`tests/documented/commands.toml` says what stands for the names that a reader fills in, which files and folders a page
takes for granted, and which commands are not run, with the reason.
"""

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests" / "documented" / "commands.toml"
DERIVED = {"cli.md"}
"""Pages that are written from the program itself."""
FENCED = re.compile(r"^```(?:console|bash|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (?!    ).*$", re.MULTILINE)
COMMAND = re.compile(r"^ *(?:\$ )?((?:winokit|python -m runs) [^\n]*|winokit)$", re.MULTILINE)
REAL_FOLDERS = (
    *("winogrande", "dpr", "wsc", "pdp", "copa", "knowref", "winogender"),
    *("superglue-wsc", "xwinograd", "predictions", "trichelair"),
)
FINDING = ("winokit check", "winokit verify", "winokit gate")
"""Commands that end with 1 if they found something."""
ROWS = 60
"""The problems of WinoGrande's dev set that made-up tables are about."""
RIGHT = 0.4
"""The share of problems whose right answer a made-up model knows; it guesses the others."""


@dataclass
class Page:
    """What the list says of one page.

    Attributes
    ----------
    files : dict of str to str
        Names in the page's folder, and the files below the real data that they are copies of. `path#60` copies the
        first 60 lines.
    tables : dict of str to dict of str to str
        Tables of predictions to make: their columns, and what is in each (see `Row`).
    texts : dict of str to str
        Files to write, and their content.
    first : list of str
        Shell lines that run before the page's commands.
    before : dict of str to str
        Beginnings of commands, and the shell line that runs just before such a command.
    exits : dict of str to int
        Beginnings of commands that do not end with 0, and their exit codes.
    not_run : dict of str to str
        Beginnings of commands that are not run, and why.
    """

    files: dict[str, str] = field(default_factory=dict)
    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    before: dict[str, str] = field(default_factory=dict)
    exits: dict[str, int] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)


@dataclass
class Documented:
    """The list: pages by name, and pairs of a pattern and what stands for it in every command."""

    pages: dict[str, Page]
    stand_ins: list[tuple[str, str]]

    @classmethod
    def read(cls, path: Path = LIST) -> "Documented":
        """The list in a file."""
        content = tomllib.loads(path.read_text("utf-8"))
        pages = {name: Page(**facts) for name, facts in content["pages"].items()}
        return cls(pages, [(pattern, stand_in) for pattern, stand_in in content["stand_ins"]])

    def runnable(self, command: str, places: Mapping[str, str]) -> str:
        """The command with stand-ins for what a reader fills in."""
        for pattern, stand_in in self.stand_ins:
            command = re.sub(pattern, stand_in, command)
        for name, place in places.items():
            command = command.replace(f"{{{name}}}", place)
        return command


def page_files() -> list[Path]:
    """The README and all pages that are written by hand."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in pages if path.name not in DERIVED]


def page_name(path: Path) -> str:
    """How the list calls a page: its path below docs, or README.md."""
    return path.relative_to(ROOT / "docs").as_posix() if path.is_relative_to(ROOT / "docs") else path.name


def commands_of(text: str) -> list[str]:
    """The commands in a page's blocks, in their order, without comments."""
    joined = text.replace("\\\n", " ")
    blocks = [(match.start(), match[1]) for match in FENCED.finditer(joined)]
    unfenced = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), joined, flags=re.MULTILINE | re.DOTALL)
    position = 0
    for number, line in enumerate(unfenced.splitlines()):
        if INDENTED.fullmatch(line):
            blocks.append((_place_of_line(joined, number), line))
        position += len(line) + 1
    commands = []
    for _, block in sorted(blocks):
        commands += [match[1].partition("  #")[0].strip() for match in COMMAND.finditer(block)]
    return [re.sub(r"\s+", " ", command) for command in commands]


def _place_of_line(text: str, number: int) -> int:
    """Where the line of that number begins in a text."""
    return sum(len(line) + 1 for line in text.split("\n")[:number])


def reason_not_to_run(command: str, page: Page) -> str | None:
    """Why the list says that a command is not run, or None if it is run."""
    return next((reason for start, reason in page.not_run.items() if command.startswith(start)), None)


def expected_exits(command: str, page: Page) -> set[int]:
    """The exit codes that a command may end with."""
    for start, code in page.exits.items():
        if command.startswith(start):
            return {code}
    return {0, 1} if command.startswith(FINDING) else {0}


def line_before(command: str, page: Page) -> str | None:
    """The shell line that runs just before a command, or None."""
    return next((line for start, line in page.before.items() if command.startswith(start)), None)


def unused_entries(page: Page, commands: Sequence[str]) -> Iterator[str]:
    """Beginnings in the list that no command of the page has."""
    for start in (*page.not_run, *page.exits, *page.before):
        if not any(command.startswith(start) for command in commands):
            yield start


def make_folder(page: Page, folder: Path, data: Path) -> None:
    """Write what a page takes for granted into its folder."""
    for name in REAL_FOLDERS:
        (folder / name).symlink_to(data / name)
    for name, source in page.files.items():
        _copy_lines(data, source, folder / name)
    for name, columns in page.tables.items():
        _write_table(folder / name, columns, data)
    for name, text in page.texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def _copy_lines(data: Path, source: str, target: Path) -> None:
    name, _, most = source.partition("#")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not most:
        shutil.copy(data / name, target)
        return
    lines = (data / name).read_text("utf-8").splitlines(keepends=True)
    target.write_text("".join(lines[: int(most)]), "utf-8")


def _write_table(path: Path, columns: Mapping[str, str], data: Path) -> None:
    """Write a table with a row for each of the first problems of WinoGrande's dev set."""
    lines = (data / "winogrande" / "dev.jsonl").read_text("utf-8").splitlines()[:ROWS]
    chance = random.Random(7)
    delimiter = ";" if "score1" in columns.values() else ","
    if path.suffix == ".tsv":
        delimiter = "\t"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        for line in lines:
            row = _facts_of(json.loads(line), chance)
            writer.writerow([row[what] for what in columns.values()])


def _facts_of(problem: Mapping[str, str], chance: random.Random) -> dict[str, str]:
    """What a made-up table can say of a problem; predictions are drawn."""
    label, *other_labels = (problem["answer"] if chance.random() < RIGHT else chance.choice("12") for _ in range(4))
    scores = sorted(round(chance.uniform(-5, 0), 3) for _ in range(2))
    if label == "1":
        scores.reverse()
    return {
        "id": problem["qID"],
        "text": problem["sentence"],
        "option1": problem["option1"],
        "option2": problem["option2"],
        "answer": problem["answer"],
        "label": label,
        "reply": f"The answer is {problem[f'option{label}']}.",
        "score1": str(scores[0]),
        "score2": str(scores[1]),
        "group": problem["qID"].rpartition("-")[0],
        **{f"label{number}": other for number, other in enumerate(other_labels, 2)},
    }


def environment(folder: Path, data: Path) -> dict[str, str]:
    """The variables of a user who has the datasets and keys, and whose answers are kept in the folder."""
    own_path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    sources = [str(ROOT), str(ROOT / "src"), str(ROOT / "collect" / "src"), str(folder)]
    return {
        **os.environ,
        "PATH": own_path,
        "PYTHONPATH": os.pathsep.join(sources),
        "WINOKIT_DATA": str(data),
        "WINOKIT_CACHE": str(folder / "answers.sqlite"),
        "WINOKIT_STATE": str(folder / "state"),
        "HF_HUB_OFFLINE": "1",
        "OPENAI_API_KEY": "key",
        "OPENROUTER_API_KEY": "key",
    }


def run_shell(line: str, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell in a folder, with its output and errors as one text."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=dict(variables), stdin=subprocess.DEVNULL, text=True, check=False, **both
    )
