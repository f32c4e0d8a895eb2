"""What a command imports: languages when a text is in them, formats and readers when a file is of them."""

import json
import subprocess
import sys

import pytest

PROBE = """
import json, sys
from winokit.cli.main import main
sys.argv = ["winokit", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("MODULES " + json.dumps(sorted(sys.modules)))
"""
LANGUAGES = ("chinese", "french", "german", "japanese", "portuguese", "russian")
MOST_FOR_SCORE, MOST_FOR_AUDIT = 60, 109
"""Modules of winokit that these commands import today; fewer is better, and then the number here falls too."""


def modules_of(*arguments: str) -> set[str]:
    """Return every module that is imported when a command has run, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = next(line for line in done.stdout.splitlines() if line.startswith("MODULES "))
    return set(json.loads(listed.removeprefix("MODULES ")))


def own(modules: set[str]) -> set[str]:
    """Return those of winokit."""
    return {name for name in modules if name.partition(".")[0] == "winokit"}


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A file of predictions, and the modules of the command that wrote it."""
    path = tmp_path_factory.mktemp("scored") / "predictions.jsonl"
    modules = modules_of(
        "score", "open", "--model", "random", "--limit", "20", "--set", "cache=off", "--out", str(path)
    )
    return path, modules


@pytest.fixture(scope="module")
def audited(scored):
    """The modules of an audit of stored predictions."""
    path, _ = scored
    return modules_of("audit", "open", "--predictions", str(path), "--limit", "20", "--out", str(path.parent / "run"))


def test_scoring_imports_no_more_modules_than_it_did(scored):
    assert len(own(scored[1])) <= MOST_FOR_SCORE


def test_an_audit_of_stored_predictions_imports_no_more_modules_than_it_did(audited):
    assert len(own(audited)) <= MOST_FOR_AUDIT


def test_an_english_audit_imports_no_other_language(audited):
    assert "winokit.text.english" in audited
    assert not {f"winokit.text.{language}" for language in LANGUAGES} & audited


def test_an_audit_of_stored_predictions_runs_no_model_draws_no_plot_and_asks_no_server(audited):
    heavy = {"onnxruntime", "matplotlib", "aiohttp", "winokit.models.builtin", "winokit.methods.scoring.shelf"}
    assert not heavy & audited


def test_a_german_file_imports_german_alone(tmp_path):
    path = tmp_path / "daten.jsonl"
    text = "Der Koffer passt nicht in den Schrank, weil _ zu groß ist und die Tür nicht mehr zugeht."
    row = {"text": text, "candidates": ["der Koffer", "der Schrank"], "answer": 0}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")
    modules = modules_of("stats", str(path))
    assert "winokit.text.german" in modules
    assert not {f"winokit.text.{language}" for language in LANGUAGES if language != "german"} & modules


HEAVY = ("numpy", "scipy", "pydantic", "rapidfuzz", "onnxruntime", "matplotlib", "jinja2", "rich.table")
MOST_FOR_HELP = 12
"""Modules of winokit that the help of a verb imports: those of the command line, and no verb."""


@pytest.mark.parametrize("verb", [["audit"], ["release"], ["debias", "aflite"]], ids=" ".join)
def test_the_help_of_a_verb_imports_what_the_list_of_verbs_imports(verb):
    listing, shown = modules_of("--help"), modules_of(*verb, "--help")
    assert not {name for name in shown if name in HEAVY} - listing
    assert len(own(shown)) <= MOST_FOR_HELP
    assert len(shown) <= 1.5 * len(listing)
