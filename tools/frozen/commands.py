"""The list of commands: read, checked, and put in order."""

from __future__ import annotations

import hashlib
import json
import shlex
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path

COMMANDS = Path(__file__).parent / "commands.toml"
SERVERS = ("chat", "babble", "completions")


class FrozenError(Exception):
    """The list, an option or a folder is wrong. The message is one line."""


@dataclass(frozen=True)
class Command:
    """One command line, and what it needs.

    Attributes
    ----------
    run
        What follows `winokit`. Paths are relative to the command's own folder, beside which lie `../inputs`,
        `../data` and the folders of the other commands: `../audit-open/run`.
    base
        What follows `winokit` at the reference commit, if the same request is spelled otherwise there.
    begins_in
        Another command, in a copy of whose folder this one begins: with its files, answer cache and home.
    first
        A line for the shell, run in the folder before the command.
    server
        The kind of model server that listens at 127.0.0.1:8000 while the command runs, of `SERVERS`.
    real
        Whether it needs the public datasets.
    slow
        Whether it runs only with --slow.
    """

    name: str
    run: str
    base: str | None = None
    begins_in: str | None = None
    first: str | None = None
    server: str | None = None
    real: bool = False
    slow: bool = False

    @property
    def arguments(self) -> list[str]:
        """Arguments after `winokit`, split as a shell would."""
        return shlex.split(self.run)

    @property
    def base_arguments(self) -> list[str]:
        """Arguments after `winokit` at the reference commit, split as a shell would."""
        return self.arguments if self.base is None else shlex.split(self.base)

    @property
    def verb(self) -> str:
        """The verb, the first of the arguments."""
        return self.arguments[0]


def read_commands(path: Path = COMMANDS) -> dict[str, Command]:
    """Commands by name, in the order of the file. Raises FrozenError if one is not as it must be."""
    valid_keys = {field.name for field in fields(Command)} - {"name"}
    commands: dict[str, Command] = {}
    for name, settings in tomllib.loads(path.read_text("utf-8")).items():
        unknown_keys = sorted(set(settings) - valid_keys)
        if unknown_keys:
            raise FrozenError(
                f"{path.name}: {name}: unknown key {unknown_keys[0]!r}; known: {', '.join(sorted(valid_keys))}"
            )
        if not settings.get("run"):
            raise FrozenError(f"{path.name}: {name}: has no `run`")
        commands[name] = Command(name, **settings)
    for command in commands.values():
        _check_command(command, commands, path.name)
    return commands


def _check_command(command: Command, commands: Mapping[str, Command], file_name: str) -> None:
    place = f"{file_name}: {command.name}"
    if command.server not in (None, *SERVERS):
        raise FrozenError(f"{place}: no server named {command.server!r}; known: {', '.join(SERVERS)}")
    if command.begins_in is not None and command.begins_in not in commands:
        raise FrozenError(f"{place}: begins in {command.begins_in!r}, which is no command")
    earlier_names = list(commands)[: list(commands).index(command.name)]
    for needed_name in needed_directly(command, commands):
        if needed_name not in earlier_names:
            raise FrozenError(f"{place}: needs {needed_name!r}, which must come before it")
        if commands[needed_name].real and not command.real:
            raise FrozenError(f"{place}: needs {needed_name!r} and so the public datasets; say real = true")


def needed_directly(command: Command, names: Collection[str]) -> list[str]:
    """Names of the commands whose folders this one reads or begins in."""
    needed_names = [] if command.begins_in is None else [command.begins_in]
    for word in [*command.arguments, *command.base_arguments, *(command.first or "").split()]:
        for place in word.split("../")[1:]:
            folder_name = place.split("/")[0]
            if folder_name in names and folder_name not in needed_names:
                needed_names.append(folder_name)
    return needed_names


def with_needed(selected_names: Sequence[str], commands: Mapping[str, Command]) -> list[Command]:
    """The selected commands and all they need, in the order of the list."""
    found_names: set[str] = set()
    open_names = list(selected_names)
    while open_names:
        name = open_names.pop()
        if name not in found_names:
            found_names.add(name)
            open_names += needed_directly(commands[name], commands)
    return [command for command in commands.values() if command.name in found_names]


def select_names(patterns: Sequence[str], commands: Mapping[str, Command], *, slow: bool, real: bool) -> list[str]:
    """Select the names that match a pattern, or all names if there are no patterns.

    Slow commands only with `slow`, those that need the public datasets only with `real`.

    A slow command whose whole name is given is selected without --slow.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in commands):
            raise FrozenError(f"--only {pattern}: no command of that name; see {COMMANDS.name}")
    selected_names = []
    for name, command in commands.items():
        is_asked_for = not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
        is_too_slow = command.slow and not slow and name not in patterns
        is_without_data = command.real and not real
        if is_asked_for and not is_too_slow and not is_without_data:
            selected_names.append(name)
    return selected_names


def definition_digest(command: Command, commands: Mapping[str, Command]) -> str:
    """A digest of the command's definition and of those it needs: outputs of another definition do not count."""
    definitions = [asdict(each) for each in with_needed([command.name], commands)]
    return hashlib.sha256(json.dumps(definitions, sort_keys=True).encode()).hexdigest()[:16]
