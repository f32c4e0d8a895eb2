"""One side of a comparison: a snapshot of the source, and the commands run with it, each in a folder of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from .commands import Command, FrozenError, needed_directly
from .inputs import make_inputs
from .outputs import Texts, normalised, text_of

ROOT = Path(__file__).parents[2]
STEADY = Path(__file__).parent / "steady"
SOURCES = ("src", "collect/src")
"""Folders with packages, of which a commit may have one or both."""
MOST_SECONDS = 900
"""Far more than any command takes on a busy machine: one that is stopped differs."""
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "WINOKIT_DEVICE": "cpu",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "SOURCE_DATE_EPOCH": "1704164645",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "COLUMNS": "120",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "OPENAI_API_KEY": "none",
}
"""What every command finds, beside what says where its own folders are."""


@dataclass
class Side:
    """The source of one side, and what its commands wrote.

    Every side lies in a folder whose path is equally long, so that lines break at the same place. Everything a command
    keeps for later (answers, settings, a registry) lies in its home, so that no command depends on another one unless
    it says so.
    """

    name: str
    folder: Path
    data: Path | None
    is_reference: bool = False
    """Whether commands are spelled as the reference commit has them."""
    texts: dict[str, Texts] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        """The snapshot of the source."""
        return self.folder / ".source"

    def home_of(self, command_name: str) -> Path:
        """Where a command keeps what it wants to find again."""
        return self.folder / ".homes" / command_name

    def prepare(self, commit: str | None, commands: Sequence[Command]) -> None:
        """Copy the source of a commit, or of the working tree if it is None, and make the inputs."""
        if commit is None:
            copy_working_tree(self.source)
        else:
            copy_commit(commit, self.source)
        if self.data is not None:
            (self.folder / "data").symlink_to(self.data)
        make_inputs(self.folder / "inputs", commands)

    def environment_of(self, command: Command) -> dict[str, str]:
        """The environment of a command: nothing of the caller's that could matter."""
        home = self.home_of(command.name)
        sources = [str(self.source / name) for name in SOURCES if (self.source / name).is_dir()]
        environment = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        environment |= ENVIRONMENT
        environment |= {
            "PYTHONPATH": os.pathsep.join([str(STEADY), *sources]),
            "FROZEN_NAME": command.name,
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "WINOKIT_CACHE": str(home / "answers" / "answers.sqlite"),
            "WINOKIT_STATE": str(home / "state"),
            "MPLCONFIGDIR": str(self.folder / ".matplotlib"),
        }
        if self.data is not None:
            environment["WINOKIT_DATA"] = str(self.folder / "data")
        return environment

    def run(self, command: Command) -> None:
        """Run a command and keep the text of all that it wrote."""
        started = time.monotonic()
        folder = self.folder / command.name
        environment = self.environment_of(command)
        self._make_folders(command, folder)
        failure = _run_first_line(command, folder, environment)
        digests_before = _file_digests(folder)
        with _serving(command) as port:
            if port is not None:
                environment["FROZEN_PORT"] = str(port)
            arguments = command.base_arguments if self.is_reference else command.arguments
            texts = failure or _run_process(arguments, folder, environment)
        for path in _files_in(folder):
            name = path.relative_to(folder).as_posix()
            if digests_before.pop(name, None) != _digest_of(path):
                texts[name] = text_of(path.read_bytes(), name)
        if digests_before:
            texts["removed"] = "".join(f"{name}\n" for name in sorted(digests_before))
        self.seconds[command.name] = time.monotonic() - started
        self.texts[command.name] = {name: normalised(text, self._places()) for name, text in texts.items()}

    def _make_folders(self, command: Command, folder: Path) -> None:
        home = self.home_of(command.name)
        if command.begins_in is None:
            folder.mkdir()
            home.mkdir(parents=True)
        else:
            shutil.copytree(self.folder / command.begins_in, folder, symlinks=True)
            shutil.copytree(self.home_of(command.begins_in), home, symlinks=True)

    def _places(self) -> Mapping[str, str]:
        """Paths that differ from run to run, and what stands for them."""
        places = {str(self.folder): "<side>", str(self.folder.resolve()): "<side>"}
        if self.data is not None:
            places |= {str(self.data): "<data>", str(self.data.resolve()): "<data>"}
        return places | {sys.prefix: "<python>"}


def _run_first_line(command: Command, folder: Path, environment: Mapping[str, str]) -> Texts:
    """Run the line for the shell; nothing if it succeeds, else what stands for the command's own outputs."""
    if command.first is None:
        return {}
    done = subprocess.run(
        command.first,
        shell=True,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        return {}
    return {"exit": f"not run: its first line failed ({done.returncode})\n", "stderr": text_of(done.stderr, "stderr")}


def _run_process(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Texts:
    """What the command printed, and its exit code."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "winokit", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"exit": f"stopped after {MOST_SECONDS} seconds\n"}
    return {
        "exit": f"{done.returncode}\n",
        "stdout": text_of(done.stdout, "stdout"),
        "stderr": text_of(done.stderr, "stderr"),
    }


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _file_digests(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): _digest_of(path) for path in _files_in(folder)}


@contextmanager
def _serving(command: Command) -> Iterator[int | None]:
    """The port of the command's model server; None if it needs none."""
    if command.server is None:
        yield None
        return
    from .servers import model_server

    with model_server(command.server) as server:
        yield server.port


def copy_working_tree(target: Path) -> None:
    """Copy the sources as they lie here now, so that edits meanwhile do not matter."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))


def full_commit(commit: str) -> str:
    """The full hash of a commit. Raises FrozenError if there is none of that name."""
    done = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise FrozenError(f"{commit}: no commit of this repository")
    return done.stdout.strip()


def copy_commit(commit: str, target: Path) -> None:
    """Copy the sources of a commit. The repository itself is only read, so that other worktrees never notice."""
    listed = subprocess.run(
        ["git", "ls-tree", "--name-only", commit, *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    archive = subprocess.run(
        ["git", "archive", commit, *listed.stdout.split()], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(target, filter="data")


def run_commands(side: Side, commands: Sequence[Command], jobs: int) -> None:
    """Run commands, several at a time; each starts when those it needs are done."""
    names = {command.name for command in commands}
    waiting = list(commands)
    running: set[Future[None]] = set()
    with ThreadPoolExecutor(jobs) as pool:
        while waiting or running:
            for command in [each for each in waiting if _is_ready(each, names, side)]:
                waiting.remove(command)
                running.add(pool.submit(side.run, command))
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                running.remove(future)
                future.result()


def _is_ready(command: Command, names: set[str], side: Side) -> bool:
    return all(name in side.texts for name in needed_directly(command, names))
