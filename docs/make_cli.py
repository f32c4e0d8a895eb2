"""Write docs/cli.md from the commands' own --help, so that it cannot say anything else."""

from pathlib import Path

from typer.testing import CliRunner

from winokit.cli.main import app

VERBS = (
    *("audit", "compare", "gate", "suite", "report", "stats", "check", "convert", "datasets", "score", "embed"),
    *("debias aflite", "debias pmi", "debias random", "hunt index"),
    *("train", "search", "curve", "transfer", "release", "evolve", "verify", "grade"),
    *("collect init", "collect serve", "collect invite", "collect publish", "collect status", "collect export"),
    *("collect account", "collect withdraw", "collect reset-pilot"),
)
PLAIN = {"TERM": "dumb", "NO_COLOR": "1"}
WIDTH = 78
"""What the commands themselves keep to in a terminal of 80 columns or more."""
PAGE = Path(__file__).parent / "cli.md"


def cli_page() -> str:
    """The page as the installed winokit would have it."""
    parts = ["# The command line\n\nWritten by `make docs` from `--help-all`: `--help` shows the usual options.\n"]
    for verb in ("", *VERBS):
        how = {"prog_name": "winokit", "terminal_width": WIDTH, "env": PLAIN}
        is_ours = bool(verb) and verb.partition(" ")[0] not in ("collect", "hunt")
        asked = "--help-all" if is_ours else "--help"
        shown = CliRunner().invoke(app, [*verb.split(), asked], **how)
        if shown.exit_code != 0:
            raise SystemExit(f"winokit {verb} --help: {shown.output}")
        parts.append(f"## {f'winokit {verb}'.strip()}\n\n```text\n{shown.stdout.strip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(cli_page(), "utf-8")
