import json
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
from winokit.problem import Card, Dataset
from winokit.stages.audit.run import audit
from winokit.stages.report import report

QUICK = ("--steps", 4, "--batch-size", 8, "--learning-rate", "1e-3")


def run(*arguments):
    """What the command printed; what the library refuses is raised."""
    found = CliRunner().invoke(app, ["train", *(str(argument) for argument in arguments)])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


@pytest.fixture
def parts(tmp_path) -> dict[str, Path]:
    """The bundled twins in three files that have nothing in common."""
    data = load("open")
    places = {"train": data[:40], "dev": data[40:60], "test": data[60:80]}
    for name, part in places.items():
        write(Dataset(part, Card(name)), tmp_path / f"{name}.jsonl", "jsonl")
    return {name: tmp_path / f"{name}.jsonl" for name in places}


def test_training_prints_what_came_of_it_and_leaves_a_model_to_audit(bert, parts, tmp_path):
    out = tmp_path / "out"
    shown = run(parts["train"], "--model", bert, "--dev", parts["dev"], "--test", parts["test"], "--out", out, *QUICK)
    assert shown.output.startswith("mc-mlm on train: 4 steps, 0.8 epochs of 40 examples in ")
    assert "group accuracy" in shown.output
    assert f"audit it: winokit audit DATA --model hf:{out}" in shown.output
    found = audit(load("open")[80:100], model=f"hf:{out}")
    assert {row.protocol for row in found.metrics} >= {"accuracy", "groups", "switching", "artifacts", "special-word"}
    assert {row.scoring for row in found.metrics} == {"own"}


def test_the_page_of_a_run_has_its_curve_and_is_written_anew_from_the_folder(bert, parts, tmp_path):
    out = tmp_path / "out"
    run(parts["train"], "--model", bert, "--dev", parts["dev"], "--test", parts["test"], "--out", out, *QUICK)
    page = out / "report" / "index.html"
    first = page.read_text("utf-8")
    assert first.count('<div class="chart">') == 3
    assert ['<th scope="row">dev: dev</th>' in first, '<th scope="row">test</th>' in first] == [True, True]
    page.unlink()
    report(out)
    assert page.read_text("utf-8") == first
    (out / "curve.json").write_text("{}")
    with pytest.raises(WinokitError, match="not the folder of a finished training run"):
        report(out)


def test_json_has_the_run_the_rows_and_the_warnings(bert, parts, tmp_path):
    told = run(
        parts["train"], "--model", bert, "--holdout", 8, "--out", tmp_path / "out", "--json", "--seed", 3, *QUICK
    )
    found = json.loads(told.stdout)
    assert found["run"]["seed"] == 3
    assert found["run"]["formalization"] == "mc-mlm"
    assert [row["n"] for row in found["metrics"] if row["metric"] == "accuracy"] == [8]


def test_variants_and_formalizations_are_options_of_the_same_verb(bert, parts, tmp_path):
    shown = run(
        *(parts["train"], "--model", bert, "--test", parts["test"], "--out", tmp_path / "out"),
        *("--formalization", "mc-sent?style=paper", "--variant", "no-cands", "--train-on", "original", *QUICK),
    )
    assert shown.output.startswith("mc-sent?separator=after&")
    assert "no-cands" in shown.output


def test_what_was_skipped_in_a_dev_or_test_set_is_told_too(parts):
    for name in ("dev", "test"):
        parts[name].write_text(parts[name].read_text() + "{}\n")
    sets = Sets(dev=parts["dev"], test=[parts["test"]], loading=Loading(lenient=True))
    told = sets.loaded(parts["train"]).notes
    assert [f"{parts[name]}: skipped 1 malformed record" in str(told) for name in ("dev", "test")] == [True, True]


def test_the_default_folder_is_named_after_data_and_formalization(bert, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(parts["train"], "--model", bert, *QUICK)
    assert (tmp_path / "trained" / "train-mc-mlm" / "winokit.json").exists()


def test_a_run_goes_on_and_says_so(bert, parts, tmp_path, monkeypatch):
    from winokit.methods.training.learner import Learner

    def stop(self):
        if self.state.step == 3:
            raise KeyboardInterrupt
        return step(self)

    step = Learner._take_step
    asked = (parts["train"], "--model", bert, "--out", tmp_path / "out", "--set", "checkpoint_every=1", *QUICK)
    monkeypatch.setattr(Learner, "_take_step", stop)
    CliRunner().invoke(app, ["train", *(str(argument) for argument in asked)])
    monkeypatch.setattr(Learner, "_take_step", step)
    assert "went on from step 3" in run(*asked).output


@pytest.mark.parametrize(
    ("arguments", "said"),
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
def test_bad_input_is_one_clear_line(bert, parts, tmp_path, arguments, said):
    named = [str(parts.get(argument, argument)) for argument in arguments]
    model = [] if "--model" in named else ["--model", bert]
    with pytest.raises(WinokitError, match=said) as refused:
        run(parts["train"], *model, "--out", tmp_path / "out", *QUICK, *named)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_hidden_answers_and_empty_files_are_refused(bert, parts, tmp_path):
    hidden = tmp_path / "hidden.jsonl"
    data = load("open")[:4]
    write(Dataset([problem.replace(answer=None) for problem in data], Card("hidden")), hidden, "jsonl")
    with pytest.raises(WinokitError, match="hidden: 4 of 4 problems have no answer to train on"):
        run(hidden, "--model", bert, "--out", tmp_path / "out")
    with pytest.raises(WinokitError, match="no problem to train on once those of train are left out"):
        run(parts["train"], "--model", bert, "--test", parts["train"], "--drop-overlap", "--out", tmp_path / "out")


@pytest.mark.parametrize("verb", ["train", "search", "curve"])
def test_every_verb_refuses_a_twin_in_training_in_one_line_with_counts(bert, tmp_path, capsys, monkeypatch, verb):
    data = load("open")
    pairs = [[p.replace(group=None) for p in pair] for pair in data.groups.values()][:6]
    sides = {"train": [a for a, _ in pairs], "test": [b for _, b in pairs], "dev": list(data[100:108])}
    for name, problems in sides.items():
        write(Dataset(problems, Card(name)), tmp_path / f"{name}.jsonl", "jsonl")
    train, test, dev, out = (str(tmp_path / name) for name in ("train.jsonl", "test.jsonl", "dev.jsonl", "out"))
    given = ["winokit", verb, train, "--test", test, "--dev", dev, "--model", bert, "--out", out]
    monkeypatch.setattr("sys.argv", given)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("winokit: train, to train on, overlaps test: 0 same, 0 near, 6 twin of its 6 problems")
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_was_dropped_is_counted_in_results_and_json(bert, tmp_path):
    data = load("open")
    twin = data[40].replace(group=None)
    write(Dataset([*data[:8], twin], Card("train")), tmp_path / "train.jsonl", "jsonl")
    write(Dataset([data[41]], Card("test")), tmp_path / "test.jsonl", "jsonl")
    given = [tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl", "--drop-overlap", "--json", *QUICK]
    result = run(*given, "--model", bert, "--out", tmp_path / "out")
    dropped = {"train for test": {"same": 0, "near": 0, "twin": 1}}
    assert "train: left out for test: 0 same, 0 near, 1 twin" in result.output
    for told in (json.loads(result.stdout), json.loads((tmp_path / "out" / "results.json").read_text())):
        assert told["run"]["dropped"] == dropped


def test_without_torch_the_extra_is_named(parts, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[train\]'"):
        run(parts["train"])
