import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pytest
from support.waiting import HANGS
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.data.formats import read, write
from winokit.data.synthetic import synthetic
from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite.methods import METHODS, DebiasArm, DebiasMethod, Seed, Size
from winokit.methods.scoring.features import write_features
from winokit.project import SECTIONS
from winokit.settings import Help

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["debias", *map(str, arguments)])


@pytest.fixture
def planted(tmp_path):
    """A file of twins and one of features that give a part of the answers away."""
    data = synthetic(200, bias=0.5, seed=1)
    write(data, tmp_path / "twins.jsonl")
    y, biased = (np.array([f(p) for p in data]) for f in (lambda p: p.answer, lambda p: p.labels["planted"]))
    x = 0.4 * np.random.default_rng(0).normal(size=(400, 12))
    x[:, 0] += 1.5 * (2 * y - 1) * biased
    write_features(x.astype(np.float32), data, tmp_path / "X.npy", {"model": "planted", "features": "difference"})
    return tmp_path


def test_aflite_writes_what_it_kept_what_it_removed_and_a_page(planted):
    out = planted / "out"
    result = run(
        "aflite", planted / "twins.jsonl", "--features", planted / "X.npy", "--out", out, "--set", "null_runs=2"
    )
    assert result.exit_code == 0, result.output
    kept = read(out / "kept.jsonl")
    removed = read(out / "removed.jsonl")
    assert len(kept) + len(removed) == 400
    assert f"{len(kept):,} of 400 problems kept, {len(removed):,} removed in " in result.output
    assert "train size 160, cutoff 5, threshold 0.75, ensemble 64" in result.output
    assert {path.name for path in out.iterdir()} == {
        "kept.jsonl",
        "removed.jsonl",
        "debias.json",
        "results.json",
        "report",
    }
    assert (out / "report" / "index.html").is_file()


def test_several_seeds_share_a_folder_and_a_majority_can_decide(planted):
    arguments = (
        "aflite",
        planted / "twins.jsonl",
        "--features",
        planted / "X.npy",
        "--set",
        "null_runs=0",
        "--set",
        "assess=off",
    )
    kept = {}
    for name, more in (
        ("first", ()),
        (
            "majority",
            (
                "--set",
                "majority=on",
            ),
        ),
        ("alone", ("--set", "seeds=1")),
    ):
        result = run(
            *arguments, "--ensemble-size", 8, "--cutoff", 40, "--compare", "none", "--out", planted / name, *more
        )
        assert result.exit_code == 0, result.output
        kept[name] = read(planted / name / "kept.jsonl")
    shares = {p.id: p.labels["kept_share"] for n in ("kept", "removed") for p in read(planted / "first" / f"{n}.jsonl")}
    assert set(shares.values()) <= {0.0, 0.333333, 0.666667, 1.0}
    assert {p.id for p in kept["majority"]} == {name for name, share in shares.items() if share > 0.5}
    assert [p.id for p in kept["first"]] == [p.id for p in kept["alone"]]
    assert "kept_share" not in kept["alone"][0].labels


def test_json_has_settings_rows_and_places(planted):
    arguments = ("pmi", planted / "twins.jsonl", "--size", 200, "--features", planted / "X.npy", "--out", planted / "o")
    result = json.loads(run(*arguments, "--set", "variant=absolute", "--json").stdout)
    rest = {"smoothing": 100.0, "count": "tokens", "alone": "own", "seed": 0}
    assert result["run"]["methods"]["pmi"] == {"size": 200, "variant": "absolute", **rest}
    kept = {row["subset"]: row["value"] for row in result["metrics"] if row["metric"] == "n_kept"}
    assert kept == {"all": 400, "random": 200, "pmi": 200}
    assert result["report"] == str(planted / "o" / "report" / "index.html")


def test_the_options_reach_the_filter(planted):
    wanted = {
        **{"ensemble_size": 8, "train_size": 100, "cutoff": 7, "threshold": 0.8, "twins": "together", "ties": "order"},
        **{"regularisation": 0.5, "min_predictions": 2, "seed": 3, "backend": "numpy", "stop_below": 0.45},
    }
    options = []
    for name, value in wanted.items():
        is_setting = name in SECTIONS["aflite"]
        options += ["--set", f"{name}={value}"] if is_setting else [f"--{name.replace('_', '-')}", value]
    files = ("aflite", planted / "twins.jsonl", "--features", planted / "X.npy", "--out", planted / "o", "--json")
    result = run(*files, *options, "--set", "null_runs=0", "--compare", "none", "--set", "assess=off")
    chosen = json.loads(result.stdout)
    settings = chosen["run"]["methods"]["aflite"]
    assert {name: settings[name] for name in wanted} == wanted
    assert {row["subset"] for row in chosen["metrics"]} == {"all", "aflite", "aflite.seed4", "aflite.seed5"}


def test_random_needs_no_model_when_nothing_is_assessed(planted):
    result = run(
        "random",
        planted / "twins.jsonl",
        "--size",
        100,
        "--set",
        "assess=off",
        "--out",
        planted / "o",
        "--twins",
        "together",
    )
    assert "100 of 400 problems kept" in result.output
    assert len(read(planted / "o" / "kept.jsonl").groups) == 50


def test_the_built_in_model_embeds_by_default(tmp_path):
    result = run("pmi", "open", "--limit", 24, "--size", 16, "--out", tmp_path / "o", "--set", "cache=off", "--json")
    features = json.loads(result.stdout)["run"]["features"]
    assert (features["model"], features["features"], features["pooling"]) == ("builtin", "concat", "first")
    assert (features["rows"], features["columns"]) == (24, 768)


def test_a_killed_run_goes_on_to_the_same_result(planted):
    """Killed without warning in the middle, then run again: the same problems are kept as by a run left alone."""
    common = [
        "aflite",
        planted / "twins.jsonl",
        "--features",
        planted / "X.npy",
        "--set",
        "null_runs=0",
        "--set",
        "assess=off",
    ]
    common += ["--compare", "none", "--set", "seeds=2"]
    run(*common, "--out", planted / "alone")
    program = (
        "import os, signal, sys; from winokit.methods.aflite import checkpoint; from winokit.cli.main import app\n"
        "kept = checkpoint.save\n"
        "def save(*given):\n"
        "    kept(*given)\n"
        "    if len(given[1].history) == 7: os.kill(os.getpid(), signal.SIGKILL)\n"
        "checkpoint.save = save\n"
        "app()"
    )
    command = [sys.executable, "-c", program, "debias", *map(str, common), "--out", str(planted / "killed")]
    killed = subprocess.run(command, check=False, timeout=HANGS)
    assert killed.returncode == -signal.SIGKILL
    assert (planted / "killed" / "checkpoint.npz").is_file()
    run(*common, "--out", planted / "killed")
    assert (planted / "killed" / "kept.jsonl").read_text() == (planted / "alone" / "kept.jsonl").read_text()
    assert not (planted / "killed" / "checkpoint.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["pmi", "open", "--size", 500, "--set", "assess=off"], BadInput, "a size from 1 to 428"),
        (["pmi", "open", "--size", 5, "--set", "variant=differnce"], UnknownName, "Did you mean 'difference'"),
        (["aflite", "open", "--features", "nowhere.npy"], BadInput, "no such file"),
        (["aflite", "open", "--features", "X.npy", "--model", "builtin"], BadInput, "not from both"),
        (["aflite", "open", "--threshold", 0.4], BadInput, "threshold"),
        (["aflite", "open", "--engine", "abacus", "--model", "random"], UnknownName, "abacus"),
        (["random", "opne", "--size", 5], UnknownName, "Did you mean 'open'"),
        (["random", "open", "--size", 5, "--compare", "magic"], UnknownName, "No method of debiasing named 'magic'"),
        (
            ["random", "open", "--size", 1, "--set", "assess=off"],
            BadInput,
            "pmi keeps no problem: groups are kept whole",
        ),
        (
            ["random", "open", "--size", 9, "--set", "assess=off", "--set", "folds=3"],
            BadInput,
            "--set folds: a setting of the assess",
        ),
        (
            ["pmi", "open", "--size", 9, "--set", "assess=off", "--model", "random"],
            BadInput,
            "--model: pmi uses features only",
        ),
        (
            ["pmi", "open", "--size", 9, "--features", "X.npy", "--set", "kind=single"],
            BadInput,
            "--set kind: says how to embed",
        ),
        (["pmi", "open", "--size", 9, "--model", "random", "--set", "bins=999"], BadInput, "no more bins than the 428"),
        (
            ["pmi", "open", "--size", 9, "--model", "random", "--set", "folds=999"],
            BadInput,
            "no more folds than the 214",
        ),
        (
            ["aflite", "open", "--model", "random", "--set", "workers=2"],
            BadInput,
            "--set workers: a setting of --engine ray",
        ),
        (
            ["aflite", "open", "--model", "random", "--set", "seeds=1", "--set", "majority=on"],
            BadInput,
            "expected 2 seeds or more",
        ),
    ],
)
def test_bad_input_is_one_clear_line(arguments, error, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert isinstance(result.exception, error)
    assert says in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_features_of_other_problems_are_refused(planted):
    result = run("aflite", "open", "--features", planted / "X.npy", "--out", planted / "o")
    assert "features of other problems" in str(result.exception)


def test_a_size_must_be_given_and_a_seed_that_can_be_drawn_from():
    without_size = run("pmi", "open")
    negative_seed = run("pmi", "open", "--size", 5, "--seed", -1)
    assert without_size.exit_code == 2
    assert "--size" in without_size.output
    assert isinstance(negative_seed.exception, BadInput)
    assert str(negative_seed.exception) == "seed: expected 0 or more, found -1"


@dataclass
class LongestFirst(DebiasMethod):
    """Keep the problems with the most words."""

    name = "longest"
    title = "Longest first"
    size: Size
    margin: Annotated[int, Help("Words that do not count.")] = 0
    seed: Seed = 0

    def arm(self, rows, size=None, progress=None):
        order = np.argsort([self.margin - len(text) for text in rows.texts], kind="stable")
        return DebiasArm(self.name, np.isin(np.arange(len(rows)), order[: self.size]), self.given())


def test_a_method_of_another_package_is_a_command_too(planted, monkeypatch):
    ours = SimpleNamespace(name="longest", load=lambda: LongestFirst)
    monkeypatch.setattr("winokit.registry.entry_points", lambda group: [ours] if group == "winokit.debias" else [])
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    assert "Keep the problems with the most words." in run("--help").output
    assert "Words that do not count." in run("longest", "--help").output
    common = (planted / "twins.jsonl", "--size", 100)
    result = run("longest", *common, "--margin", 2, "--features", planted / "X.npy", "--out", planted / "o")
    assert result.exit_code == 0, result.exception
    assert "Longest first keeps 100 of 400 problems" in (planted / "o" / "report" / "index.html").read_text("utf-8")
    assert json.loads((planted / "o" / "debias.json").read_text())["methods"]["longest"]["margin"] == 2
    beside = run("pmi", *common, "--set", "assess=off", "--compare", "longest", "--out", planted / "p")
    assert "longest" in beside.output


def test_aflite_beside_a_baseline_has_its_features_without_an_assessment(planted):
    arguments = ("random", planted / "twins.jsonl", "--size", 200, "--set", "assess=off", "--compare", "aflite")
    result = run(*arguments, "--features", planted / "X.npy", "--out", planted / "o")
    assert result.exit_code == 0, result.exception
    assert "aflite" in result.output


def test_a_folder_of_anything_else_is_left_alone(tmp_path):
    (tmp_path / "results.json").write_text("{}")
    result = run("random", "open", "--size", 5, "--set", "assess=off", "--out", tmp_path)
    assert "results.json: is not part of a run of winokit debias" in str(result.exception)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"results.json": "{}"}
    result = run("random", "open", "--size", 5, "--set", "assess=off", "--out", tmp_path / "results.json")
    assert "a file, but a folder is needed" in str(result.exception)


def test_an_earlier_run_gives_way(tmp_path):
    for size in (8, 10):
        assert run("random", "open", "--size", size, "--set", "assess=off", "--out", tmp_path / "o").exit_code == 0
    assert len(read(tmp_path / "o" / "kept.jsonl")) == 10
