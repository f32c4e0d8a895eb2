"""Every example of docs/extending.md is a whole file that does what is said of it."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.errors import BadInput
from winokit.registry import Registry

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"^## An? ([a-z ]+)\n.*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
REGISTRIES = re.findall(r"^\| ([a-z ]+) \| `([\w.]+)\.([A-Z_]+)` \| `([\w.]+)` \|$", PAGE, re.MULTILINE)


@pytest.fixture
def add(monkeypatch):
    """Runs the file of an example; what it registers is forgotten afterwards."""

    def run(*kinds: str) -> None:
        for kind, module, name, _ in REGISTRIES:
            if kind in kinds:
                registry = getattr(import_module(module), name)
                for home in registry.homes.values():
                    if ":" not in home:  # A module that registers once, when it is imported: it must not be forgotten.
                        import_module(home)
                monkeypatch.setattr(registry, "_things", dict(registry._things))
        for kind in kinds:
            # A module of its own, since dataclasses look theirs up.
            name = f"example_{kind.replace(' ', '_')}"
            module = type(sys)(name)
            monkeypatch.setitem(sys.modules, name, module)
            exec(compile(EXAMPLES[kind], f"{name}.py", "exec"), module.__dict__)

    return run


def typed(*arguments: str) -> str:
    """Run a command that succeeds, and return its output."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_there_is_an_example_of_each_of_nine():
    assert set(EXAMPLES) == {kind for kind, *_ in REGISTRIES}
    assert len(EXAMPLES) == 9
    assert all(code.count("\n") < 40 for code in EXAMPLES.values())


@pytest.mark.parametrize(("kind", "module", "name", "group"), REGISTRIES, ids=[kind for kind, *_ in REGISTRIES])
def test_registries_are_where_the_table_says(kind, module, name, group):
    if kind == "formalization":
        pytest.importorskip("torch")
    if kind == "platform":
        pytest.importorskip("winokit_collect")
    registry = getattr(import_module(module), name)
    assert isinstance(registry, Registry)
    assert registry.group == group


def test_a_format(add, tmp_path):
    add("format")
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"cloze": "A cup hit a jug and _ broke.", "a": "a cup", "b": "a jug", "right": "a jug"}))
    assert winokit.load(path)[0].right == "a jug"
    path.write_text(json.dumps({"cloze": "no blank", "a": "a cup", "b": "a jug", "right": "a jug"}))
    with pytest.raises(BadInput, match=r"mine.jsonl:1: field 'cloze': expected exactly one blank"):
        winokit.load(path)


def test_a_transform_and_a_protocol_that_looks_at_it(add):
    add("transform", "protocol")
    run = winokit.audit("open", model="random", protocol="shouting", limit=8, cache="off")
    assert [(row.subset, row.n) for row in run.metrics] == [("all", 8), ("as_it_was", 8)]
    assert {prediction.variant for prediction in run.predictions} == {"original", "shouted"}


def test_a_scoring(add, tmp_path, monkeypatch):
    add("scoring")
    monkeypatch.chdir(tmp_path)
    scored = winokit.score("open", model="random", scoring="end", limit=6, cache="off")
    assert {prediction.scoring for prediction in scored} == {"end"}
    assert all(prediction.prediction is not None for prediction in scored)


def test_a_model(add, tmp_path, monkeypatch):
    add("model")
    monkeypatch.chdir(tmp_path)
    problem = winokit.Problem("A bee met ", " there.", ("the wasp", "the bee"), 1)
    data = winokit.Dataset([problem], winokit.Card("bees"))
    (scored,) = winokit.score(data, model="letters?wanted=b", cache="off")
    assert scored.scores == (0.0, 1.0)


def test_a_formalization(add, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from support import tiny

    add("formalization")
    spec = f"hf:{tiny.tiny('bert', tmp_path / 'bert')}"
    outcome = winokit.train("open", model=spec, formalization="mc-sent-hinge", steps=2, limit=8, out=tmp_path / "out")
    assert outcome.run["formalization"] == "mc-sent-hinge"


def test_a_debias_method(add, tmp_path):
    add("debias method")
    arguments = ("--size", "100", "--set", "assess=off", "--compare", "none", "--out", str(tmp_path))
    output = typed("debias", "shortest", "open", *arguments)
    assert "100 of 428 problems kept" in output
    kept_lengths = [len(problem.sentence.split()) for problem in winokit.load(tmp_path / "kept.jsonl")]
    lengths = sorted(len(problem.sentence.split()) for problem in winokit.load("open"))
    assert max(kept_lengths) <= lengths[120]


def test_a_platform(add, tmp_path):
    pytest.importorskip("winokit_collect")
    from collect_support.studies import Clock, studies_in

    from winokit_collect.platforms.base import arrive, leave

    add("platform")
    with studies_in(tmp_path, Clock()) as make:
        study = make(platform={"name": "club"})
        worker = arrive(study, {"member": "7"})
        assert leave(study, worker.id).code == "THANKS"


def test_a_language(add, tmp_path):
    from winokit.data.checks.rules import candidates_present
    from winokit.methods.transforms.variants import make_variants
    from winokit.text.language import language_of

    add("language")
    language_of.cache_clear()
    try:
        path = tmp_path / "fiets.jsonl"
        text = "De fietsen staan niet bij de auto, omdat _ te {} zijn en dat op het plein aan de weg niet mag."
        columns = {"candidates": ["de fiets", "de auto"], "pronoun": "zij"}
        rows = [
            {"text": text.format("groot"), "answer": 0, **columns},
            {"text": text.format("klein"), "answer": 1, **columns},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        bikes = winokit.load(path)
        assert bikes.languages == ("nl",)
        assert len(bikes.groups) == 1
        assert candidates_present(bikes[0].text, bikes[0].candidates, language="nl") is None
        variants = make_variants(bikes)
        assert variants["no-cands"].problems[0].text.startswith("staan niet bij, omdat _ te groot")
        assert "switched" not in variants
    finally:
        language_of.cache_clear()


def test_another_package_adds_by_entry_point(tmp_path, monkeypatch):
    package = tmp_path / "my_package-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    points = "[winokit.scorings]\nend = my_scoring:END\nbroken = my_nothing:END\n"
    (package / "entry_points.txt").write_text(points)
    (tmp_path / "my_scoring.py").write_text(EXAMPLES["scoring"])
    monkeypatch.syspath_prepend(tmp_path)
    from winokit.methods.scoring.base import SCORINGS

    monkeypatch.setattr(SCORINGS, "_things", dict(SCORINGS._things))
    assert SCORINGS["end"].about == "the last word given the rest"
    assert winokit.score("open", model="random", limit=2, cache="off", out=tmp_path / "p.jsonl")
    with pytest.raises(BadInput, match="scoring 'broken': my_nothing:END cannot be loaded"):
        SCORINGS["broken"]
    assert "late" not in SCORINGS
    package.rename(tmp_path / "my_package-1.1.dist-info").joinpath("entry_points.txt").write_text(
        "[winokit.scorings]\nlate = my_scoring:END\n"
    )
    assert "late" in SCORINGS
