"""Documents agree with the program: options, links, examples, outputs and numbers."""

import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import winokit
from tools.make_help import write_help
from winokit.cli.help import STORED
from winokit.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
]
RAISES_NOTHING = {"find_groups", "find_leaks"}


def commands_shown():
    """Commands that the documents show, each with the page that has it."""
    pages_and_commands = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.name == "cli.md":
            continue
        text = path.read_text("utf-8").replace("\\\n", " ")
        commands = re.findall(r"(?:^ *(?:\$ )?|`)winokit ([a-z]+ [^`\n]+)", text, re.MULTILINE)
        pages_and_commands += [(path.name, command.partition("  #")[0]) for command in commands]
    return pages_and_commands


def options_of(words):
    """Options of the command that these words begin with, or None if there is no such command."""
    group = typer.main.get_command(app)
    context = group.make_context("winokit", ["audit"], resilient_parsing=True)
    command = group
    for word in words:
        if not hasattr(command, "list_commands"):
            break
        command = command.get_command(context, word) if word in command.list_commands(context) else None
        if command is None:
            return None
    options = {"--help", "--help-all"}
    for param in command.params:
        options |= {*param.opts, *param.secondary_opts}
    return options


def test_options_of_commands_in_the_documents_exist():
    pages_and_commands = commands_shown()
    assert len(pages_and_commands) > 100
    wrong = []
    for page, command in pages_and_commands:
        valid_options = options_of(command.split())
        options = re.findall(r"(?<![\w-])--[a-z-]+", command)
        if valid_options is not None:
            wrong += [(page, command, option) for option in options if option not in valid_options]
    assert wrong == []


def maker(name):
    """Import the module in docs/ that writes a page."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_on_languages_has_what_the_packs_know():
    module = maker("make_languages")
    assert module.abilities_table() in module.PAGE.read_text("utf-8"), "run `make docs`"


def test_the_stored_help_is_what_the_verbs_say():
    assert STORED.read_text("utf-8") == write_help(), "run `make docs`"


def test_the_cli_page_is_what_help_says():
    module = maker("make_cli")
    assert module.PAGE.read_text("utf-8") == module.cli_page(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES)
def test_links_between_the_documents_lead_somewhere(page):
    text = (ROOT / page).read_text("utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert ((ROOT / page).parent / link).exists(), link


@pytest.mark.parametrize("page", ["README.md", "docs/notebook.md", "docs/debias-anything.md"])
def test_python_in_the_documents_runs(page, capsys):
    run_blocks(page, re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL))


@pytest.mark.slow  # the built-in model reads all of open
@pytest.mark.parametrize("page", ["docs/quickstart.md", "docs/audit-a-model.md"])
def test_a_terminal_in_the_documents_shows_what_the_commands_print(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands_and_outputs = terminal_steps((ROOT / page).read_text("utf-8"))
    assert commands_and_outputs
    for command, output in commands_and_outputs:
        printed = CliRunner().invoke(app, command.split()).stdout.replace("\u00a0", " ")
        lines = [line.rstrip() for line in printed.splitlines()]
        # Whoever types it for the first time has nothing in the cache; tests before this one have.
        assert [line for line in lines if "replayed from the cache" not in line] == output.splitlines(), command


def terminal_steps(text):
    """Commands of winokit in the terminals of a page, each with its output, if it shows one."""
    commands_and_outputs = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for step in re.split(r"^\$ winokit ", block, flags=re.MULTILINE):
            command, _, output = step.partition("\n")
            if output:
                commands_and_outputs.append((command, output))
    return commands_and_outputs


def api_blocks():
    """Examples of the reference, in two lists: those that train nothing, and those that train."""
    blocks = re.findall(r"```python\n(>>> .*?)```", (ROOT / "docs/api.md").read_text("utf-8"), re.DOTALL)
    training = [block for block in blocks if re.search(r"winokit\.(train|search)\(", block)]
    return [block for block in blocks if block not in training], training


def test_python_in_the_reference_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/api.md", api_blocks()[0])


@pytest.mark.slow
def test_training_in_the_reference_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/api.md", [">>> data = winokit.load('open')\n", *api_blocks()[1]])


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs/api.md").read_text("utf-8")
    modules_and_names = re.findall(r"^::: ([\w.]+)\.(\w+)$", page, re.MULTILINE)
    assert sorted(name for _, name in modules_and_names) == sorted(winokit.__all__)
    for module, name in modules_and_names:
        assert getattr(winokit, name).__module__ == module


@pytest.mark.parametrize("name", winokit.__all__)
def test_a_public_name_is_documented(name):
    """Calls say what they take, return and raise; what shows no example in the reference has one of its own."""
    public_object = getattr(winokit, name)
    text = inspect.getdoc(public_object)
    page = (ROOT / "docs/api.md").read_text("utf-8")
    if inspect.isfunction(public_object):
        assert "Returns\n" in text
        assert "Raises\n" in text or name in RAISES_NOTHING
        assert "Parameters\n" in text or len(inspect.signature(public_object).parameters) < 4
    assert ">>> " in text or f"winokit.{name}(" in page or name == "Run"


def run_blocks(page, blocks):
    """Run the examples of a page in their order, with the names of those before."""
    assert blocks
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names = {"winokit": winokit}
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"{page} {number}", page, 0)
        runner.run(test, clear_globs=False)
        names = test.globs  # a page is read from its beginning
    assert runner.summarize().failed == 0


def test_the_page_for_a_colleague_has_the_numbers_of_the_data(real_file):
    page = (ROOT / "docs" / "what-is-a-score-worth.md").read_text("utf-8")
    assert len(page.split()) < 1500
    files = [real_file("predictions/roberta_winogrande_dev.csv"), real_file("lmeval/samples_winogrande_smollm2.jsonl")]
    run = winokit.audit(real_file("winogrande/dev.jsonl"), predictions=files)
    meanings = [("accuracy", "all", "accuracy"), ("groups", "grouped", "accuracy"), ("groups", "single", "accuracy")]
    meanings += [("groups", "complete", name) for name in ("group_accuracy", "one_right", "none_right")]
    rows = [run.find(*meaning, "roberta_winogrande_dev") for meaning in meanings]
    for metric in ("accuracy", "group_accuracy"):
        rows.append(next(row for row in run.metrics if row.metric == metric and row.model == "winogrande_smollm2"))
    for row in rows:
        assert f"{row.value:.1%}".replace("%", " %") in page, row
    pairs = run.find("groups", "complete", "group_accuracy", "roberta_winogrande_dev")
    assert f"[{pairs.low * 100:.1f}, {pairs.high * 100:.1f}] of {pairs.n} pairs" in page
