"""A search trains each trial once, on whichever worker, and goes on where it was killed."""

import csv
import json
import os
import pickle
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from support.waiting import until

pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")
from winokit.errors import BadInput, MissingExtra, WinokitError
from winokit.methods.training.data import TrainingData
from winokit.methods.training.evaluation import Diverged
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Card, Dataset
from winokit.results import rows_to_json
from winokit.stages.search import trials, workers
from winokit.stages.search.run import search as verb
from winokit.stages.search.space import SearchSpace
from winokit.stages.search.trials import FAILED, EndedTrial, SearchJob, SearchTask
from winokit.stages.search.workers import TrialCrew, side_by_side

SPACE = SearchSpace(learning_rate="1e-5,3e-3", batch_size="8,16", epochs="1,2")
NAMES = ("mc-sent", "p-sent")


def search(data, out, model, formalizations=NAMES, trials=None, space=SPACE, **settings):
    """Call the verb with the sets of `data`."""
    return verb(
        data.train,
        dev=data.dev,
        test=data.tests,
        out=out,
        model=model,
        space=space,
        formalization=formalizations,
        trials=trials,
        **settings,
    )


@pytest.fixture(scope="module")
def data(planted, unseen):
    test = Dataset(unseen[20:], Card("tested"))
    return TrainingData(planted, unseen[:20], (test,))


@pytest.fixture(scope="module")
def findings(bert, data, tmp_path_factory):
    """A search of three trials of each formalization."""
    out = tmp_path_factory.mktemp("search") / "out"
    return search(data, out, bert, NAMES, 3, threads=1)


def read_table(out: Path) -> list[dict[str, str]]:
    """Rows of the table of trials, without seconds, which differ from run to run."""
    with (out / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["seconds"]
    return rows


def read_json(path: Path) -> dict:
    return json.loads(path.read_text())


def write_first_choices(path: Path, dataset: Dataset) -> None:
    """Write predictions that choose the first candidate of each problem."""
    scorer = {"variant": "original", "model": "m", "scoring": "s", "scores": None}
    lines = []
    for problem in dataset:
        row = {"id": problem.id, **scorer, "prediction": 0, "answer": problem.answer}
        lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines))


def replace_training(monkeypatch, end_trial) -> list[tuple[str, int]]:
    """Let `end_trial` end each task without training, and return the list of those begun, which grows."""
    begun = []

    def attempt(job, task, device=None, progress=None):
        begun.append((task.formalization, task.number))
        ended = end_trial(task)
        if ended.state == "done":
            folder = job.out / task.folder / "predictions"
            folder.mkdir(parents=True, exist_ok=True)
            write_first_choices(folder / "dev.jsonl", job.data.dev)
            write_first_choices(folder / "tested.jsonl", job.data.tests[0])
        return ended

    monkeypatch.setattr(workers, "attempt", attempt)
    return begun


def end_well(accuracy=0.5, **details):
    """Return the end of a trial that was completed."""
    return EndedTrial("done", accuracy, 0.0, 4, 4, False, 0.1, **details)


def test_every_trial_has_a_row_in_one_table(findings):
    rows = read_table(findings.folder)
    trials = [(row["formalization"], row["trial"]) for row in rows]
    assert trials == list(product(NAMES, ("0", "1", "2")))


def test_trials_have_their_settings_and_scores_in_one_table(findings):
    for row in read_table(findings.folder):
        settings = SPACE.draw(0, int(row["trial"]))
        settings_in_table = {name: float(row[name]) for name in settings}
        trial_folder = findings.folder / "trials" / row["formalization"] / f"000{row['trial']}"
        results = read_json(trial_folder / "results.json")
        is_degenerate = row["degenerate"] == "True"
        assert settings_in_table == pytest.approx(settings)
        assert 0 <= float(row["accuracy"]) <= 1
        assert results["run"]["seed"] == settings["seed"], "the seed reaches the run"
        assert results["run"]["patience"] == 20
        assert bool(row["warnings"]) == is_degenerate
        assert bool(results["warnings"]) == is_degenerate


def test_a_search_keeps_no_weights(findings):
    assert not list(findings.folder.rglob("*.safetensors"))


def test_results_are_flat_rows_of_spread_luck_chosen_and_ensemble(findings):
    results = read_json(findings.folder / "results.json")
    rows = results["metrics"]
    names = {(row["protocol"], row["subset"], row["metric"]) for row in rows}
    assert rows == rows_to_json(findings.metrics)
    assert results["run"]["learning_rate"] == "1e-05,0.003"
    assert names >= {
        ("search", "dev", "median_accuracy"),
        ("search", "dev", "std"),
        ("search", "dev", "n_degenerate"),
        ("search", "dev", "majority_class"),
        ("luck", "dev", "corrected_accuracy"),
        ("luck", "dev", "best_of_guessers_accuracy"),
        ("luck", "dev", "best_of_3_accuracy"),
        ("chosen", "tested", "accuracy"),
        ("chosen", "tested", "group_accuracy"),
        ("ensemble", "tested", "group_accuracy"),
    }
    formalizations = {row["formalization"] for row in rows}
    assert formalizations == {*NAMES, "any"}


def test_the_test_score_is_that_of_the_trial_chosen_on_dev(findings):
    for finding in findings.found:
        chosen = finding.chosen
        results = read_json(findings.folder / chosen.folder / "results.json")
        test_rows = [row for row in results["metrics"] if row["subset"] == "tested"]
        test_values = {row["metric"]: row["value"] for row in test_rows}
        expected_value = test_values.get("expected_accuracy", test_values["accuracy"])
        assert chosen.ended.accuracy == max(finding.scores)
        assert finding.score("chosen", "tested").value == expected_value


def test_the_table_of_trials_has_no_test_scores(findings):
    columns = read_table(findings.folder)[0]
    assert not any("test" in column for column in columns)


def test_the_ensembles_predictions_are_written(findings):
    lines = (findings.folder / "ensembles/mc-sent/tested.jsonl").read_text().splitlines()
    first_row = json.loads(lines[0])
    assert len(lines) == 20
    assert first_row["model"] == "ensemble of 3 of 3 trials"


def test_two_workers_find_what_one_finds(bert, data, findings, tmp_path):
    steps = []

    def note_progress(done, total):
        steps.append((done, total))

    by_two = search(data, tmp_path, bert, NAMES, 3, workers=2, threads=1, progress=note_progress)
    assert read_table(tmp_path) == read_table(findings.folder)
    assert by_two.metrics == findings.metrics
    assert steps[0] == (0, 6)
    assert steps[-1] == (6, 6)


WORKER = """
import runpy, time
from winokit.methods.training.learner import Learner
save = Learner._save_checkpoint
Learner._save_checkpoint = lambda *given: (save(*given), time.sleep(600))
runpy.run_module("winokit.stages.search.workers", run_name="__main__")
"""
VICTIM = """
import pickle, sys
from pathlib import Path
from winokit.stages.search import workers
from winokit.stages.search.run import search
workers.WORKER = ("-c", sys.argv[2])
data, out, model, space, names, settings = pickle.loads(Path(sys.argv[1]).read_bytes())
more = {"space": space, "settings": settings, "formalization": names}
search(data.train, dev=data.dev, test=data.tests, out=out, model=model, trials=2, workers=2, threads=1, **more)
"""


def children_of(pid: int) -> list[int]:
    """Process ids of the children of a process."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def is_running(pid: int) -> bool:
    """Whether a process is running.

    False for one that has ended and was not waited for.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    state = stat.rpartition(")")[2].split()[0]
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes where Linux has them")
def test_a_killed_search_takes_its_workers_along_and_goes_on_to_the_same_table(bert, data, tmp_path):
    # 64 steps, of which those are done that come before the first checkpoint.
    space = SearchSpace(learning_rate="1e-5,3e-3", batch_size="8", epochs="8")
    settings = TrainSettings(checkpoint_every=5, evaluate_every=100)
    broken = tmp_path / "broken"
    whole_out = tmp_path / "whole"
    request_path = tmp_path / "asked"
    request = (data, broken, bert, space, NAMES[:1], settings)
    request_path.write_bytes(pickle.dumps(request))

    def find_checkpoints():
        return list(broken.glob("trials/*/*/checkpoint.pt"))

    victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(request_path), WORKER])
    until(lambda: find_checkpoints() or victim.poll() is not None)
    worker_pids = children_of(victim.pid)
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert worker_pids
    until(lambda: not any(map(is_running, worker_pids)))  # else they would go on without it
    checkpoints = find_checkpoints()
    assert checkpoints, "it was killed in the middle of a trial"

    search(data, broken, bert, NAMES[:1], 2, space, settings=settings, threads=1)
    search(data, whole_out, bert, NAMES[:1], 2, space, settings=settings, threads=1)
    assert read_table(broken) == read_table(whole_out)
    study = optuna.load_study(study_name="mc-sent", storage=f"sqlite:///{broken / 'study.db'}")
    attempts = [(row.user_attrs["number"], row.state.name) for row in study.trials]
    interrupted_number = int(checkpoints[0].parent.name)
    assert (interrupted_number, "FAIL") in attempts
    assert (interrupted_number, "COMPLETE") in attempts


def test_what_is_done_is_not_done_again_and_more_can_be_asked_for(data, bert, tmp_path, monkeypatch):
    begun = replace_training(monkeypatch, lambda task: end_well(0.5 + task.number / 100))
    first = search(data, tmp_path, bert, NAMES, 2)
    assert begun == [("mc-sent", 0), ("p-sent", 0), ("mc-sent", 1), ("p-sent", 1)]
    begun.clear()
    second = search(data, tmp_path, bert, NAMES, 2)
    assert second.metrics == first.metrics
    assert not begun
    search(data, tmp_path, bert, [*NAMES, "mc-mlm"], 3)
    assert sorted(begun) == [("mc-mlm", 0), ("mc-mlm", 1), ("mc-mlm", 2), ("mc-sent", 2), ("p-sent", 2)]
    fewer = search(data, tmp_path, bert, NAMES, 1)
    assert len(fewer.trials) == 2


def test_a_trial_that_failed_is_told_and_tried_again_and_one_that_diverged_is_not(data, bert, tmp_path, monkeypatch):
    ends = {
        0: end_well(),
        1: EndedTrial(FAILED, why="memory ran out"),
        2: EndedTrial("diverged", why="not a number"),
    }
    begun = replace_training(monkeypatch, lambda task: ends[task.number])
    findings = search(data, tmp_path, bert, ["mc-sent"], 3)
    (finding,) = findings.found
    assert findings.notes == (
        "1 trials failed; the same command tries them again (the first, mc-sent 1: memory ran out)",
    )
    assert (finding.spread.n, finding.degenerate) == (1, 1)
    assert (finding.count("diverged"), finding.count(FAILED)) == (1, 1)
    ends[1] = end_well(0.7)
    begun.clear()
    findings = search(data, tmp_path, bert, ["mc-sent"], 3)
    assert begun == [("mc-sent", 1)]
    assert findings.notes == ()
    assert findings.found[0].scores == [0.5, 0.7]


def test_a_degenerate_trial_is_counted_and_its_warning_kept(data, bert, tmp_path, monkeypatch):
    warnings = {0: (), 1: ("one answer for everything",), 2: ()}
    replace_training(monkeypatch, lambda task: end_well(warnings=warnings[task.number]))
    (finding,) = search(data, tmp_path, bert, ["mc-sent"], 3).found
    warnings_in_table = [row["warnings"] for row in read_table(tmp_path)]
    assert finding.degenerate == 1
    assert finding.row("search", "dev", "n_degenerate").value == 1
    assert warnings_in_table == ["", "one answer for everything", ""]


@pytest.fixture
def attempt_with_error(monkeypatch, bert, data, tmp_path):
    """Function that attempts a trial whose training raises an error, and returns the end of the trial."""

    def attempt(error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr(trials, "finetune", fail)
        job = SearchJob(data, tmp_path, bert, TrainSettings())
        task = SearchTask("mc-sent", 0, SPACE.draw(0, 0))
        return trials.attempt(job, task)

    return attempt


def test_a_loss_that_diverges_ends_its_trial(attempt_with_error):
    ended = attempt_with_error(Diverged("the loss is not a number at step 7", 1.0))
    assert (ended.state, ended.accuracy) == ("diverged", None)


def test_memory_that_runs_out_ends_its_trial(attempt_with_error):
    error = BadInput("out of memory: halve the batch size")
    error.__cause__ = RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
    assert attempt_with_error(error).state == FAILED


def test_an_error_that_was_never_seen_ends_its_trial_and_is_written_down(attempt_with_error, tmp_path):
    ended = attempt_with_error(ZeroDivisionError("never seen\nbefore"))
    error_text = (tmp_path / "trials/mc-sent/0000/error.txt").read_text()
    assert ended.state == FAILED
    assert ended.why.startswith("ZeroDivisionError: never seen (")
    assert "Traceback" in error_text


def test_what_concerns_all_trials_is_raised(attempt_with_error):
    with pytest.raises(BadInput, match="no head"):
        attempt_with_error(BadInput("no head"))


def queue_tasks(count):
    """Function that returns the next of `count` tasks, and None when there is none left."""
    tasks = [SearchTask("mc-sent", number, {}) for number in range(count)]
    waiting = iter(tasks)
    return lambda: next(waiting, None)


def run_side_by_side(job, count):
    """Pairs of task and end that two workers give for `count` tasks."""
    ended = side_by_side(job, queue_tasks(count), TrialCrew(2), lambda *_: None)
    return list(ended)


def test_a_worker_that_dies_fails_its_trial_and_is_replaced(monkeypatch, data, tmp_path):
    monkeypatch.setattr(workers, "WORKER", ("-c", "raise SystemExit(3)"))
    job = SearchJob(data, tmp_path, "builtin", TrainSettings())
    tasks, ends = zip(*run_side_by_side(job, 3), strict=True)
    numbers = sorted(task.number for task in tasks)
    states = {ended.state for ended in ends}
    assert numbers == [0, 1, 2]
    assert states == {FAILED}
    assert "ended with code 3" in ends[0].why


def test_what_a_worker_refuses_is_raised_here(monkeypatch, data, tmp_path):
    say = "pickle.dump(('refused', 'no head'), sys.stdout.buffer); sys.stdout.flush(); time.sleep(9)"
    monkeypatch.setattr(workers, "WORKER", ("-c", f"import pickle, sys, time; {say}"))
    job = SearchJob(data, tmp_path, "builtin", TrainSettings())
    with pytest.raises(WinokitError, match="no head"):
        run_side_by_side(job, 2)


def test_devices_are_given_in_turn():
    crew = TrialCrew(4, ("cuda:0", "cuda:1"))
    devices = [crew.device(worker) for worker in range(4)]
    assert devices == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert TrialCrew(2).device(1) is None


def test_a_folder_of_another_search_is_not_written_over(data, bert, tmp_path, monkeypatch):
    replace_training(monkeypatch, lambda task: end_well())
    settings = {"data": data, "out": tmp_path, "model": bert, "formalizations": NAMES[:1], "trials": 1}
    search(**settings)
    cases = (
        ({"space": SearchSpace(learning_rate="1e-4")}, "another learning_rate"),
        ({"seed": 5}, r"another seed \(0, here 5\)"),
        ({"settings": TrainSettings(steps=3, patience=20)}, "another steps"),
        ({"data": TrainingData(data.train, data.dev)}, "another tests"),
    )
    for change, message in cases:
        with pytest.raises(BadInput, match=f"holds a run with {message}"):
            search(**{**settings, **change})


def test_two_searches_do_not_share_a_folder(data, bert, tmp_path, monkeypatch):
    def search_again(task):
        with pytest.raises(BadInput, match="another search is running there"):
            search(data, tmp_path, bert, NAMES, 1)
        return end_well()

    replace_training(monkeypatch, search_again)
    search(data, tmp_path, bert, NAMES[:1], 1)


def test_an_interrupted_search_lets_go_of_its_folder(data, bert, tmp_path, monkeypatch):
    def interrupt(task):
        raise KeyboardInterrupt

    replace_training(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        search(data, tmp_path, bert, NAMES[:1], 1)
    begun = replace_training(monkeypatch, lambda task: end_well())
    search(data, tmp_path, bert, NAMES[:1], 1)
    assert begun == [("mc-sent", 0)]


def test_nothing_but_failures_is_an_error(data, bert, tmp_path, monkeypatch):
    replace_training(monkeypatch, lambda task: EndedTrial(FAILED, why="memory ran out"))
    with pytest.raises(BadInput, match=r"no trial finished \(the first: memory ran out\)"):
        search(data, tmp_path, bert, NAMES, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"formalizations": ["mc-mln"]}, "Did you mean 'mc-mlm'"),
        ({"trials": -1}, "trials: expected 1 or more, found -1"),
        ({"workers": 0}, "workers: expected 1 or more, found 0"),
        ({"engine": "slurm"}, "No engine named 'slurm'. Known: local, ray."),
        ({"model": "hf:no/such/folder/at/all"}, "no such model folder"),
        ({"human": 0.94}, "human: expected 100 or less and a number above 1, found 0.94"),
        ({"address": "head:6379"}, "address head:6379: a Ray cluster needs the engine 'ray'"),
    ],
)
def test_bad_input_is_one_clear_line(data, bert, tmp_path, change, message):
    out = tmp_path / "out"
    settings = {"data": data, "out": out, "model": bert}
    with pytest.raises(WinokitError, match=message) as refusal:
        search(**{**settings, **change})
    assert "\n" not in str(refusal.value)
    assert not out.exists()


def test_a_search_needs_a_dev_set_and_never_chooses_on_a_test_set(data, bert, tmp_path):
    without_dev = TrainingData(data.train)
    tested_on_dev = TrainingData(data.train, data.dev, (data.dev,))
    with pytest.raises(BadInput, match="a search needs a dev set"):
        search(without_dev, tmp_path, bert)
    with pytest.raises(BadInput, match=r"to choose on, overlaps .* same, 0 near, 0 twin"):
        search(tested_on_dev, tmp_path, bert)


def test_a_file_that_is_no_study_is_refused(data, bert, tmp_path):
    (tmp_path / "study.db").write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(BadInput, match=r"study.db: cannot be opened as a study"):
        search(data, tmp_path, bert, NAMES, 1)


def test_a_device_that_is_not_there_is_refused_before_anything_is_written(data, bert, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(BadInput, match="device 'cuda:99': not on this machine"):
        search(data, out, bert, NAMES, 1, devices="cuda:99")
    assert not out.exists()


def test_a_folder_in_which_nothing_can_be_written_is_refused(data, bert, tmp_path):
    (tmp_path / "study.lock").mkdir()
    with pytest.raises(BadInput, match=r"study.lock: cannot be written \(unable to open database file\)"):
        search(data, tmp_path, bert, NAMES, 1)


def test_without_optuna_the_extra_is_named(data, bert, tmp_path, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: name != "optuna")
    with pytest.raises(MissingExtra, match=r"winokit search needs the 'train' extra: pip install 'winokit\[train\]'"):
        search(data, tmp_path, bert)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray leaves sockets and processes for the interpreter's end
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_ray_finds_what_one_process_finds(bert, data, findings, tmp_path):
    ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        by_ray = search(data, tmp_path, bert, NAMES, 3, workers=2, threads=1, engine="ray")
    finally:
        ray.shutdown()
    assert read_table(tmp_path) == read_table(findings.folder)
    assert by_ray.metrics == findings.metrics
