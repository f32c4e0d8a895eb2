"""Settings that are no options: `winokit.toml`, `--set`, and what is said to those who type the former option."""

import ast
import itertools
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import winokit
from winokit.cli.help import stored_help
from winokit.cli.main import VERBS, app
from winokit.cli.options import option_name
from winokit.cli.stored import is_stored
from winokit.errors import BadInput, UnknownName
from winokit.project import SECTIONS
from winokit.settings import help_of, members_of, signature_of

MOST_OPTIONS = {"winokit": 264, "collect": 71}
"""Options of all commands of the library, and of the web app's; fewer is better, and then a number here falls too."""
UNBOUNDED = {"seed"}
"""Numbers that may be anything."""
ROOT = Path(__file__).parents[2]
SCORE = ("score", "open", "--model", "random", "--limit", "4", "--json")


def typed(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def commands_of(command, context):
    """All commands that can be typed, those of groups too."""
    if not hasattr(command, "list_commands"):
        return [command]
    found = []
    for name in command.list_commands(context):
        found += commands_of(command.get_command(context, name), context)
    return found


def named_calls():
    """The calls behind all commands of ours, each with the command."""
    for name, verb in VERBS.items():
        if not verb.call:
            continue
        module, _, function = verb.call.partition(":")
        call = getattr(import_module(f"winokit.stages.{module}"), function)
        if verb.names:
            for method in ("aflite", "pmi", "random"):
                yield f"{name} {method}", call(method)
        else:
            yield name, call


def calls_of_verbs():
    """The calls behind all commands of ours."""
    return [call for _, call in named_calls()]


def options_by_product():
    """The options of all commands of the library and of `winokit collect`, each as often as commands have it."""
    group = typer.main.get_command(app)
    context = group.make_context("winokit", ["audit"], resilient_parsing=True)
    options = {"winokit": [], "collect": []}
    for name in group.list_commands(context):
        product = "collect" if name == "collect" else "winokit"
        for command in commands_of(group.get_command(context, name), context):
            options[product] += [param for param in command.params if param.param_type_name == "option"]
    return options


def options_of_commands():
    """The options of all commands, each as often as commands have it."""
    by_product = options_by_product()
    return by_product["winokit"] + by_product["collect"]


def former_options():
    """Options that no command has any more, since they are settings everywhere."""
    former = set()
    for call in calls_of_verbs():
        stored = [name for name, parameter in signature_of(call).parameters.items() if is_stored(parameter)]
        former |= {"--" + name.strip("_").replace("_", "-") for name in stored}
    for option in options_of_commands():
        former -= {*option.opts}
    return former


def texts_of(path):
    """All string literals of a module, without docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return "\n".join(node.value for node in texts if id(node) not in docstrings)


def test_all_commands_together_have_few_options():
    counts = {product: len(options) for product, options in options_by_product().items()}
    assert {product: count for product, count in counts.items() if count > MOST_OPTIONS[product]} == {}


def test_help_shows_every_bound_and_every_number_has_bounds():
    help_by_verb = stored_help()
    missing = []
    bound_count = 0
    for name, call in named_calls():
        rows = list(itertools.chain.from_iterable(help_by_verb[name].everything.values()))
        for parameter in signature_of(call).parameters.values():
            option_help = help_of(parameter.annotation)
            if option_help is None:
                continue
            spellings = {option_name(parameter.name), parameter.name}
            texts = [text for names, text in rows if spellings & set(re.split(r"[ ,]+", names))]
            all_text = "\n".join(texts)
            bounds = option_help.bounds
            bound_count += len(bounds)
            missing += [(name, bound) for bound in bounds if bound not in all_text]
            is_number = {int, float} & {*members_of(parameter.annotation)}
            if is_number and not bounds and parameter.name not in UNBOUNDED:
                missing.append((name, parameter.name))
    assert bound_count > 140
    assert missing == []


def test_no_message_and_no_document_names_a_setting_as_the_option_it_was():
    former = former_options()
    assert "--max-requests" in former
    texts = {path: texts_of(path) for path in (ROOT / "src").rglob("*.py")}
    texts |= {path: path.read_text("utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]}
    assert len(texts) > 100
    former_by_path = {}
    for path, text in texts.items():
        options = former & set(re.findall(r"--[a-z][a-z-]*", text))
        if options:
            former_by_path[path] = options
    assert former_by_path == {}


def test_the_sections_of_winokit_toml_have_the_settings_that_verbs_take():
    settings_by_section = {section: set() for section in SECTIONS}
    for call in calls_of_verbs():
        for name, parameter in signature_of(call).parameters.items():
            if is_stored(parameter):
                section = help_of(parameter.annotation).section
                settings_by_section[section].add(name)
    assert settings_by_section == {section: set(names) for section, names in SECTIONS.items()}


def test_a_setting_is_given_for_one_command_or_in_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert typed(*SCORE, "--set", "cache=one.db&max-requests=100", "--out", "p.jsonl").exit_code == 0
    assert (tmp_path / "one.db").exists()
    (tmp_path / "winokit.toml").write_text('[asking]\ncache = "two.db"\n')
    assert "note: as in winokit.toml: cache = two.db" in typed(*SCORE, "--out", "p.jsonl").stderr
    assert (tmp_path / "two.db").exists()
    result = typed(*SCORE, "--set", "cache=three.db", "--out", "p.jsonl")
    assert "two.db" not in result.stderr
    assert (tmp_path / "three.db").exists()


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (("--set", "cahce=off"), UnknownName, "Did you mean 'cache'"),
        (("--set", "limit=5"), BadInput, "--set limit=5: an option of this command and no setting: --limit 5"),
        (("--set", "cache"), BadInput, "expected name=value, found no equals sign"),
        (("--set", "max_requests=few"), BadInput, "--set max_requests: expected a whole number, found 'few'"),
        (("--set", "max_requests=0"), BadInput, "max_requests"),
        (("--set", "cache=a&cache=b"), BadInput, "given twice, as a and as b"),
        (("--set", "forget=perhaps"), BadInput, "--set forget: expected on or off"),
        (("--cache", "off"), BadInput, r"--cache is a setting now: --set cache=off, or cache in \[asking\]"),
        (("--forget",), BadInput, "--forget is a setting now: --set forget=on"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_a_line(words, error, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=said):
        raise typed(*SCORE, *words).exception


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[askng]\ncache = 1", "found askng"),
        ("[asking]\ncahce = 1", "Did you mean 'cache'"),
        ("asking = 3", "found asking"),
        ("[asking", "cannot be read"),
    ],
)
def test_a_file_that_nobody_understands_is_refused_in_a_line(text, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "winokit.toml").write_text(text)
    assert said in str(typed(*SCORE).exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "open", "--lenient"), "winokit convert DATA --lenient --out FILE"),
        (("embed", "open", "--as", "choice"), "winokit convert DATA --as VIEW --out FILE"),
        (("debias", "random", "open", "--language", "de"), "a winokit.toml beside DATA"),
        (("release", "open", "--columns", "text=a"), "winokit stats DATA --columns"),
    ],
)
def test_how_data_are_read_is_said_where_they_are_looked_at(words, said):
    assert said in str(typed(*words).exception)


def test_python_names_the_call_that_reads_data():
    with pytest.raises(TypeError, match=r"no parameter 'lenient': it is one of winokit\.load\(\) now"):
        winokit.train("open", lenient=True)


def test_other_verbs_read_data_as_a_file_beside_them_says(tmp_path):
    row = {"text": "The cup fell because _ was wet.", "candidates": ["the cup", "the shelf", "the wall"], "answer": 0}
    (tmp_path / "three.jsonl").write_text(json.dumps(row) + "\n")
    assert {len(problem.candidates) for problem in winokit.load(tmp_path / "three.jsonl")} == {3}
    (tmp_path / "winokit.toml").write_text('as = "binary"\n')
    assert {len(problem.candidates) for problem in winokit.load(tmp_path / "three.jsonl")} == {2}


FOR_A_CLUSTER = '[cluster]\naddress = "head:6379"\ngpus_each = 2\n[asking]\ncache = "off"\n'


def test_what_a_file_says_for_other_commands_is_left_out_with_a_note(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "winokit.toml").write_text(FOR_A_CLUSTER)
    result = typed(*SCORE)
    assert result.exit_code == 0, result.exception
    assert "note: as in winokit.toml: address = head:6379, gpus_each = 2, cache = off" in result.stderr
    assert "note: winokit.toml: address is left out here: a setting of --engine ray" in result.stderr
    assert "cache is left out" not in result.stderr


def test_predictions_are_audited_where_a_file_says_how_models_are_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "winokit.toml").write_text('[asking]\nsubstitution = "natural"\n')
    result = typed("audit", "open", "--predictions", "examples", "--limit", "20", "--json")
    assert result.exit_code == 0, result.exception
    assert "substitution is left out here: it applies to models" in result.stderr


def test_a_setting_that_does_nothing_is_refused_where_it_is_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "winokit.toml").write_text(FOR_A_CLUSTER)
    refused = typed(*SCORE, "--set", "address=other:1").exception
    assert isinstance(refused, BadInput)
    assert str(refused) == "--set address: a setting of --engine ray"


def test_a_limit_of_a_file_is_never_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "winokit.toml").write_text("[asking]\nmax_cost = 3\n")
    assert "max_cost needs prices" in str(typed(*SCORE).exception)
