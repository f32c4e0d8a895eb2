"""`winokit train` from the outside: its table, page and JSON, runs that go on, and what it refuses."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("transformers")
from winokit.cli.main import app, main
from winokit.data.formats import write
from winokit.data.loading import Loading, load
from winokit.data.sets import Sets
from winokit.errors import MissingExtra, WinokitError
from winokit.problem import Card, Dataset, Problem
from winokit.stages.audit.run import audit
from winokit.stages.report import report

QUICK = ("--steps", 4, "--batch-size", 8, "--learning-rate", "1e-3")


def invoke_train(*arguments):
    return CliRunner().invoke(app, ["train", *map(str, arguments)])


def run(*arguments):
    """The command's result.

    Raises what the library raised.
    """
    result = invoke_train(*arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def parts(tmp_path) -> dict[str, Path]:
    """The bundled twins in three files that have nothing in common."""
    data = load("open")
    problems = {"train": data[:40], "dev": data[40:60], "test": data[60:80]}
    return write_parts(tmp_path, problems)


def write_parts(folder: Path, problems: dict[str, Iterable[Problem]]) -> dict[str, Path]:
    """Write each list of problems to a file of its name, and return the files."""
    paths = {name: folder / f"{name}.jsonl" for name in problems}
    for name, path in paths.items():
        write(Dataset(problems[name], Card(name)), path, "jsonl")
    return paths


def test_training_prints_what_came_of_it_and_leaves_a_model_to_audit(bert, parts, tmp_path):
    out = tmp_path / "out"
    result = run(parts["train"], "--model", bert, "--dev", parts["dev"], "--test", parts["test"], "--out", out, *QUICK)
    assert result.output.startswith("mc-mlm on train: 4 steps, 0.8 epochs of 40 examples in ")
    assert "group accuracy" in result.output
    assert f"audit it: winokit audit DATA --model hf:{out}" in result.output
    metrics = audit(load("open")[80:100], model=f"hf:{out}").metrics
    protocols = {row.protocol for row in metrics}
    assert protocols >= {"accuracy", "groups", "switching", "artifacts", "special-word"}
    assert {row.scoring for row in metrics} == {"own"}


def test_the_page_of_a_run_has_its_curve_and_is_written_anew_from_the_folder(bert, parts, tmp_path):
    out = tmp_path / "out"
    run(parts["train"], "--model", bert, "--dev", parts["dev"], "--test", parts["test"], "--out", out, *QUICK)
    page = out / "report" / "index.html"
    html = page.read_text("utf-8")
    assert html.count('<div class="chart">') == 3
    assert '<th scope="row">dev: dev</th>' in html
    assert '<th scope="row">test</th>' in html
    page.unlink()
    report(out)
    assert page.read_text("utf-8") == html
    (out / "curve.json").write_text("{}")
    with pytest.raises(WinokitError, match="not the folder of a finished training run"):
        report(out)


def test_json_has_the_run_the_rows_and_the_warnings(bert, parts, tmp_path):
    options = ("--holdout", 8, "--json", "--seed", 3, *QUICK)
    result = run(parts["train"], "--model", bert, "--out", tmp_path / "out", *options)
    output = json.loads(result.stdout)
    problem_counts = [row["n"] for row in output["metrics"] if row["metric"] == "accuracy"]
    assert output["run"]["seed"] == 3
    assert output["run"]["formalization"] == "mc-mlm"
    assert problem_counts == [8]


def test_variants_and_formalizations_are_options_of_the_same_verb(bert, parts, tmp_path):
    sets = (parts["train"], "--model", bert, "--test", parts["test"], "--out", tmp_path / "out")
    options = ("--formalization", "mc-sent?style=paper", "--variant", "no-cands", "--train-on", "original", *QUICK)
    result = run(*sets, *options)
    assert result.output.startswith("mc-sent?separator=after&")
    assert "no-cands" in result.output


def test_what_was_skipped_in_a_dev_or_test_set_is_told_too(parts):
    dev = parts["dev"]
    test = parts["test"]
    for path in (dev, test):
        path.write_text(path.read_text() + "{}\n")
    sets = Sets(dev=dev, test=[test], loading=Loading(lenient=True))
    notes = str(sets.loaded(parts["train"]).notes)
    assert f"{dev}: skipped 1 malformed record" in notes
    assert f"{test}: skipped 1 malformed record" in notes


def test_the_default_folder_is_named_after_data_and_formalization(bert, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(parts["train"], "--model", bert, *QUICK)
    assert (tmp_path / "trained" / "train-mc-mlm" / "winokit.json").exists()


def test_a_run_goes_on_and_says_so(bert, parts, tmp_path, monkeypatch):
    from winokit.methods.training.learner import Learner

    take_step = Learner._take_step

    def stop_at_third_step(self):
        if self.state.step == 3:
            raise KeyboardInterrupt
        return take_step(self)

    arguments = (parts["train"], "--model", bert, "--out", tmp_path / "out", "--set", "checkpoint_every=1", *QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "_take_step", stop_at_third_step)
        invoke_train(*arguments)
    assert "went on from step 3" in run(*arguments).output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ("--dev", "dev", "--test", "dev"),
            "dev, to choose on, overlaps dev: 20 same, 0 near, 0 twin of its 20 problems",
        ),
        (("--dev", "train"), "train, to train on, overlaps train: 40 same, 0 near, 0 twin"),
        (("--dev", "dev", "--holdout", "5"), "one dev set is enough"),
        (("--holdout", "40"), "40 problems, of which 40 cannot be held out"),
        (("--formalization", "mc-mln"), "Did you mean 'mc-mlm'"),
        (("--train-on", "original"), "which variant is tested"),
        (("--model", "random"), "only builtin and hf: models can be trained"),
        (("--model", "hf:no/such/folder/at/all"), "no such model folder"),
        (("--device", "cuda:7"), "not on this machine"),
    ],
)
def test_bad_input_is_one_clear_line(bert, parts, tmp_path, arguments, reason):
    bad_arguments = [parts.get(argument, argument) for argument in arguments]
    if "--model" not in arguments:
        bad_arguments += ["--model", bert]
    with pytest.raises(WinokitError, match=reason) as refusal:
        run(parts["train"], "--out", tmp_path / "out", *QUICK, *bad_arguments)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "out").exists()


def test_hidden_answers_are_refused(bert, tmp_path):
    without_answers = [problem.replace(answer=None) for problem in load("open")[:4]]
    paths = write_parts(tmp_path, {"hidden": without_answers})
    with pytest.raises(WinokitError, match="hidden: 4 of 4 problems have no answer to train on"):
        run(paths["hidden"], "--model", bert, "--out", tmp_path / "out")


def test_training_on_nothing_is_refused(bert, parts, tmp_path):
    train = parts["train"]
    with pytest.raises(WinokitError, match="no problem to train on once those of train are left out"):
        run(train, "--model", bert, "--test", train, "--drop-overlap", "--out", tmp_path / "out")


@pytest.mark.parametrize("verb", ["train", "search", "curve"])
def test_every_verb_refuses_a_twin_in_training_in_one_line_with_counts(bert, tmp_path, capsys, monkeypatch, verb):
    data = load("open")
    problems = [p.replace(group=None) for p in data[:12]]
    paths = write_parts(tmp_path, {"train": problems[::2], "test": problems[1::2], "dev": data[100:108]})
    sets = [str(paths["train"]), "--test", str(paths["test"]), "--dev", str(paths["dev"])]
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", ["winokit", verb, *sets, "--model", bert, "--out", str(out)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("winokit: train, to train on, overlaps test: 0 same, 0 near, 6 twin of its 6 problems")
    assert error.count("\n") == 1
    assert not out.exists()


def test_what_was_dropped_is_counted_in_results_and_json(bert, tmp_path):
    data = load("open")
    twin = data[40].replace(group=None)
    paths = write_parts(tmp_path, {"train": [*data[:8], twin], "test": [data[41]]})
    options = ("--drop-overlap", "--json", *QUICK)
    result = run(paths["train"], "--test", paths["test"], "--model", bert, "--out", tmp_path / "out", *options)
    dropped_counts = {"train for test": {"same": 0, "near": 0, "twin": 1}}
    output = json.loads(result.stdout)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert "train: left out for test: 0 same, 0 near, 1 twin" in result.output
    assert output["run"]["dropped"] == dropped_counts
    assert results["run"]["dropped"] == dropped_counts


def test_without_torch_the_extra_is_named(parts, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[train\]'"):
        run(parts["train"])
