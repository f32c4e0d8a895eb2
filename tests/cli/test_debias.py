"""`winokit debias` from the outside: files, options, killed runs and methods of other packages."""

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


UNASSESSED = ("--set", "assess=off")
AFLITE_ALONE = ("--set", "null_runs=0", "--compare", "none", *UNASSESSED)


def run(*arguments):
    return runner.invoke(app, ["debias", *map(str, arguments)])


def ids_of(problems):
    return [problem.id for problem in problems]


@pytest.fixture
def planted(tmp_path):
    """A folder with a file of twins and one of features that give a part of the answers away."""
    data = synthetic(200, bias=0.5, seed=1)
    write(data, tmp_path / "twins.jsonl")
    answers = np.array([p.answer for p in data])
    is_biased = np.array([p.labels["planted"] for p in data])
    features = 0.4 * np.random.default_rng(0).normal(size=(400, 12))
    features[:, 0] += 1.5 * (2 * answers - 1) * is_biased
    settings = {"model": "planted", "features": "difference"}
    write_features(features.astype(np.float32), data, tmp_path / "X.npy", settings)
    return tmp_path


def inputs_in(folder):
    """Arguments for the twins and the features in a folder."""
    return (folder / "twins.jsonl", "--features", folder / "X.npy")


def test_aflite_writes_what_it_kept_what_it_removed_and_a_page(planted):
    out = planted / "out"
    result = run("aflite", *inputs_in(planted), "--out", out, "--set", "null_runs=2")
    assert result.exit_code == 0, result.output
    kept_count = len(read(out / "kept.jsonl"))
    removed_count = len(read(out / "removed.jsonl"))
    file_names = {path.name for path in out.iterdir()}
    assert kept_count + removed_count == 400
    assert f"{kept_count:,} of 400 problems kept, {removed_count:,} removed in " in result.output
    assert "train size 160, cutoff 5, threshold 0.75, ensemble 64" in result.output
    assert file_names == {"kept.jsonl", "removed.jsonl", "debias.json", "results.json", "report"}
    assert (out / "report" / "index.html").is_file()


def test_several_seeds_share_a_folder_and_a_majority_can_decide(planted):
    options = {"first": (), "majority": ("--set", "majority=on"), "alone": ("--set", "seeds=1")}
    kept_problems = {}
    for name, more_options in options.items():
        filtering = ("--ensemble-size", 8, "--cutoff", 40, *AFLITE_ALONE, *more_options)
        result = run("aflite", *inputs_in(planted), "--out", planted / name, *filtering)
        assert result.exit_code == 0, result.output
        kept_problems[name] = read(planted / name / "kept.jsonl")
    all_problems = [*kept_problems["first"], *read(planted / "first" / "removed.jsonl")]
    kept_shares = {p.id: p.labels["kept_share"] for p in all_problems}
    kept_by_most = {name for name, share in kept_shares.items() if share > 0.5}
    assert set(kept_shares.values()) <= {0.0, 0.333333, 0.666667, 1.0}
    assert set(ids_of(kept_problems["majority"])) == kept_by_most
    assert ids_of(kept_problems["first"]) == ids_of(kept_problems["alone"])
    assert "kept_share" not in kept_problems["alone"][0].labels


def test_json_has_settings_rows_and_places(planted):
    options = ("--size", 200, "--set", "variant=absolute", "--json")
    output = json.loads(run("pmi", *inputs_in(planted), "--out", planted / "o", *options).stdout)
    defaults = {"smoothing": 100.0, "count": "tokens", "alone": "own", "seed": 0}
    kept_counts = {row["subset"]: row["value"] for row in output["metrics"] if row["metric"] == "n_kept"}
    assert output["run"]["methods"]["pmi"] == {"size": 200, "variant": "absolute", **defaults}
    assert kept_counts == {"all": 400, "random": 200, "pmi": 200}
    assert output["report"] == str(planted / "o" / "report" / "index.html")


FILTER_SETTINGS = {
    "ensemble_size": 8,
    "train_size": 100,
    "cutoff": 7,
    "threshold": 0.8,
    "twins": "together",
    "ties": "order",
    "regularisation": 0.5,
    "min_predictions": 2,
    "seed": 3,
    "backend": "numpy",
    "stop_below": 0.45,
}


def test_the_options_reach_the_filter(planted):
    options = []
    for name, value in FILTER_SETTINGS.items():
        if name in SECTIONS["aflite"]:
            options += ["--set", f"{name}={value}"]
        else:
            options += [f"--{name.replace('_', '-')}", value]
    result = run("aflite", *inputs_in(planted), "--out", planted / "o", "--json", *options, *AFLITE_ALONE)
    output = json.loads(result.stdout)
    settings = output["run"]["methods"]["aflite"]
    subsets = {row["subset"] for row in output["metrics"]}
    assert {name: settings[name] for name in FILTER_SETTINGS} == FILTER_SETTINGS
    assert subsets == {"all", "aflite", "aflite.seed4", "aflite.seed5"}


def test_random_needs_no_model_when_nothing_is_assessed(planted):
    options = ("--size", 100, *UNASSESSED, "--out", planted / "o", "--twins", "together")
    result = run("random", planted / "twins.jsonl", *options)
    assert "100 of 400 problems kept" in result.output
    assert len(read(planted / "o" / "kept.jsonl").groups) == 50


def test_the_built_in_model_embeds_by_default(tmp_path):
    result = run("pmi", "open", "--limit", 24, "--size", 16, "--out", tmp_path / "o", "--set", "cache=off", "--json")
    features = json.loads(result.stdout)["run"]["features"]
    assert (features["model"], features["features"], features["pooling"]) == ("builtin", "concat", "first")
    assert (features["rows"], features["columns"]) == (24, 768)


KILLED_RUN = """
import os, signal
from winokit.cli.main import app
from winokit.methods.aflite import checkpoint

save_checkpoint = checkpoint.save

def save(*arguments):
    save_checkpoint(*arguments)
    if len(arguments[1].history) == 7:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.save = save
app()
"""


def test_a_killed_run_goes_on_to_the_same_result(planted):
    """Killed without warning in the middle, then run again: the same problems are kept as by a run left alone."""
    arguments = ["aflite", *inputs_in(planted), *AFLITE_ALONE, "--set", "seeds=2"]
    killed_folder = planted / "killed"
    checkpoint = killed_folder / "checkpoint.npz"
    run(*arguments, "--out", planted / "alone")
    command = [sys.executable, "-c", KILLED_RUN, "debias", *map(str, arguments), "--out", str(killed_folder)]
    process = subprocess.run(command, check=False, timeout=HANGS)
    assert process.returncode == -signal.SIGKILL
    assert checkpoint.is_file()
    run(*arguments, "--out", killed_folder)
    kept_by_killed_run = (killed_folder / "kept.jsonl").read_text()
    assert kept_by_killed_run == (planted / "alone" / "kept.jsonl").read_text()
    assert not checkpoint.exists()


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
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
def test_bad_input_is_one_clear_line(arguments, error, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert isinstance(result.exception, error)
    assert reason in str(result.exception)
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
        is_kept = np.isin(np.arange(len(rows)), order[: self.size])
        return DebiasArm(self.name, is_kept, self.given())


@pytest.fixture
def longest_first(monkeypatch):
    """Make LongestFirst an entry point of another package."""
    entry_points = {"winokit.debias": [SimpleNamespace(name="longest", load=lambda: LongestFirst)]}
    monkeypatch.setattr("winokit.registry.entry_points", lambda group: entry_points.get(group, []))
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))


def test_a_method_of_another_package_is_a_command_too(planted, longest_first):
    assert "Keep the problems with the most words." in run("--help").output
    assert "Words that do not count." in run("longest", "--help").output
    result = run("longest", *inputs_in(planted), "--size", 100, "--margin", 2, "--out", planted / "o")
    assert result.exit_code == 0, result.exception
    page = (planted / "o" / "report" / "index.html").read_text("utf-8")
    settings = json.loads((planted / "o" / "debias.json").read_text())
    assert "Longest first keeps 100 of 400 problems" in page
    assert settings["methods"]["longest"]["margin"] == 2


def test_a_method_of_another_package_is_compared_too(planted, longest_first):
    options = ("--size", 100, *UNASSESSED, "--compare", "longest")
    result = run("pmi", planted / "twins.jsonl", *options, "--out", planted / "p")
    assert "longest" in result.output


def test_aflite_beside_a_baseline_has_its_features_without_an_assessment(planted):
    options = ("--size", 200, *UNASSESSED, "--compare", "aflite", "--out", planted / "o")
    result = run("random", *inputs_in(planted), *options)
    assert result.exit_code == 0, result.exception
    assert "aflite" in result.output


def test_a_folder_of_anything_else_is_left_alone(tmp_path):
    (tmp_path / "results.json").write_text("{}")
    result = run("random", "open", "--size", 5, *UNASSESSED, "--out", tmp_path)
    files = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert "results.json: is not part of a run of winokit debias" in str(result.exception)
    assert files == {"results.json": "{}"}


def test_a_file_is_no_folder_for_a_run(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("{}")
    result = run("random", "open", "--size", 5, *UNASSESSED, "--out", path)
    assert "a file, but a folder is needed" in str(result.exception)


def test_an_earlier_run_gives_way(tmp_path):
    for size in (8, 10):
        result = run("random", "open", "--size", size, *UNASSESSED, "--out", tmp_path / "o")
        assert result.exit_code == 0
    assert len(read(tmp_path / "o" / "kept.jsonl")) == 10
