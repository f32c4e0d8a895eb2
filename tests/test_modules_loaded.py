"""Imports of a call: languages only for texts in them, formats, readers, transforms and pages only when used."""

import json
import subprocess
import sys

import pytest

from winokit.cli.help import stored_help
from winokit.cli.main import VERBS

PROBE = """
import json, sys
{code}
print("MODULES " + json.dumps(sorted(sys.modules)))
"""
COMMAND = """
from winokit.cli.main import main
sys.argv = ["winokit", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
SCORE = "import winokit; winokit.score('open', model='random', cache='off')"
AUDIT = "import winokit; winokit.audit('open', predictions=[1] * len(winokit.load('open')))"
LANGUAGES = ("chinese", "french", "german", "japanese", "portuguese", "russian")
MOST = {"score": 45, "audit": 80, "the command score": 55, "the command audit": 103}
"""Modules of winokit that are imported today, packages among them; fewer is better, and then a number here falls too.

The command adds options and what it prints, that of the audit also the page. docs/evidence/performance.md says what
they are.
"""


def modules_of(*arguments: str, code: str = COMMAND) -> set[str]:
    """Return every module that is imported when a command, or some code, has run in a process of its own."""
    call = [sys.executable, "-c", PROBE.format(code=code), *arguments]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    module_line = next(line for line in done.stdout.splitlines() if line.startswith("MODULES "))
    return set(json.loads(module_line.removeprefix("MODULES ")))


def winokits(modules: set[str]) -> set[str]:
    """Return the modules that are winokit's own."""
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
    """The modules of the command that audits stored predictions."""
    path, _ = scored
    return modules_of("audit", "open", "--predictions", str(path), "--limit", "20", "--out", str(path.parent / "run"))


@pytest.fixture(scope="module")
def audited_in_memory():
    """The modules of an audit of predictions in memory."""
    return modules_of(code=AUDIT)


def test_a_score_imports_no_more_modules_than_it_did():
    assert len(winokits(modules_of(code=SCORE))) <= MOST["score"]


def test_an_audit_of_predictions_in_memory_imports_no_more_modules_than_it_did(audited_in_memory):
    assert len(winokits(audited_in_memory)) <= MOST["audit"]


def test_the_command_score_imports_no_more_modules_than_it_did(scored):
    assert len(winokits(scored[1])) <= MOST["the command score"]


def test_the_command_audit_imports_no_more_modules_than_it_did(audited):
    assert len(winokits(audited)) <= MOST["the command audit"]


def test_an_audit_of_predictions_in_memory_needs_no_runtime_of_models_and_nothing_that_draws(audited_in_memory):
    assert "scipy" in audited_in_memory
    assert not {"onnxruntime", "matplotlib", "aiohttp", "jinja2", "rich", "typer"} & audited_in_memory


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


@pytest.fixture(scope="module")
def listing():
    """The modules of the list of verbs."""
    return modules_of("--help")


@pytest.mark.parametrize("verb", stored_help())
def test_the_help_of_a_verb_or_a_group_imports_what_the_list_of_verbs_imports(verb, listing):
    modules = modules_of(*verb.split(), "--help")
    assert not modules & set(HEAVY) - listing
    assert len(winokits(modules)) <= MOST_FOR_HELP
    assert len(modules) <= 1.5 * len(listing)


def test_the_help_of_collect_reads_no_data(listing):
    modules = modules_of("collect", "--help")
    assert not {"numpy", "scipy", "rapidfuzz", "winokit.data"} & modules - listing


def test_help_is_stored_for_every_verb_and_group():
    verbs_of_winokit = {name for name, verb in VERBS.items() if not verb.install}
    assert {name.partition(" ")[0] for name in stored_help()} == verbs_of_winokit
    assert {"debias", "debias pmi", "hunt", "hunt index"} <= set(stored_help())
