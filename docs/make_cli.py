"""Write docs/cli.md from the commands' own --help, so that it cannot say anything else."""

import os
import subprocess
import sys
from pathlib import Path

VERBS = (
    *("audit", "compare", "gate", "suite", "report", "stats", "check", "convert", "datasets", "score", "embed"),
    *("debias aflite", "debias pmi", "debias random", "hunt index", "hunt ask", "hunt associate"),
    *("train", "search", "curve", "transfer", "release", "verify", "grade"),
    *("collect init", "collect serve", "collect invite", "collect status", "collect export", "collect withdraw"),
)
PAGE = Path(__file__).parent / "cli.md"


def cli_page() -> str:
    """The page as the installed winokit would have it."""
    parts = ["# The command line\n\nWritten by `make docs` from `--help`.\n"]
    for verb in ("", *VERBS):
        command = ["winokit", *verb.split(), "--help"]
        environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
        shown = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, check=True, env=environment
        ).stdout.replace("python -m winokit", "winokit")
        parts.append(f"## {' '.join(command[:-1])}\n\n```text\n{shown.strip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(cli_page(), "utf-8")
