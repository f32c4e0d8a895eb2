import csv
import json
import os
import pickle
import signal
import subprocess
import sys
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


def search(data, out, model, space=SPACE, formalizations=NAMES, trials=None, **more):
    """The verb on data that is at hand."""
    named = {"space": space, "formalization": formalizations, "trials": trials}
    return verb(data.train, dev=data.dev, test=data.tests, out=out, model=model, **named, **more)


@pytest.fixture(scope="module")
def data(planted, unseen):
    return TrainingData(planted, unseen[:20], (Dataset(unseen[20:], Card("tested")),))


@pytest.fixture(scope="module")
def found(bert, data, tmp_path_factory):
    return search(data, tmp_path_factory.mktemp("search") / "out", bert, SPACE, NAMES, 3, threads=1)


def table(out: Path) -> list[dict[str, str]]:
    """The trials without what differs from run to run."""
    with (out / "trials.csv").open() as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def stub(monkeypatch, ends):
    """Trials that end as `ends` says of their number, without any training."""
    begun = []

    def attempt(job, task, device=None, progress=None):
        begun.append((task.formalization, task.number))
        ended = ends(task)
        if ended.state == "done":
            folder = job.out / task.folder / "predictions"
            folder.mkdir(parents=True, exist_ok=True)
            for name, dataset in {"dev": job.data.dev, "tested": job.data.tests[0]}.items():
                rows = [
                    {"id": p.id, "variant": "original", "model": "m", "scoring": "s", "scores": None, "prediction": 0}
                    | {"answer": p.answer}
                    for p in dataset
                ]
                (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return ended

    monkeypatch.setattr(workers, "attempt", attempt)
    return begun


def done(accuracy=0.5, **more):
    return EndedTrial("done", accuracy, 0.0, 4, 4, False, 0.1, **more)


def test_trials_have_their_settings_and_scores_in_one_table(found):
    rows = table(found.folder)
    assert [(row["formalization"], row["trial"]) for row in rows] == [(n, str(t)) for n in NAMES for t in range(3)]
    for row in rows:
        drawn = SPACE.draw(0, int(row["trial"]))
        assert {name: float(row[name]) for name in drawn} == pytest.approx(drawn)
        assert 0 <= float(row["accuracy"]) <= 1
        told = json.loads((found.folder / f"trials/{row['formalization']}/000{row['trial']}/results.json").read_text())
        assert told["run"]["seed"] == drawn["seed"], "the seed reaches the run"
        assert told["run"]["patience"] == 20
        assert bool(row["warnings"]) == (row["degenerate"] == "True") == bool(told["warnings"])
    assert not list(found.folder.rglob("*.safetensors"))


def test_results_are_flat_rows_of_spread_luck_chosen_and_ensemble(found):
    results = json.loads((found.folder / "results.json").read_text())
    assert results["metrics"] == rows_to_json(found.metrics)
    assert results["run"]["learning_rate"] == "1e-05,0.003"
    names = {(row["protocol"], row["subset"], row["metric"]) for row in results["metrics"]}
    assert {
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
    } <= names
    assert {row["formalization"] for row in results["metrics"]} == {*NAMES, "any"}


def test_the_test_score_is_that_of_the_trial_chosen_on_dev(found):
    for one in found.found:
        best = max(one.scores)
        assert one.chosen.ended.accuracy == best
        told = json.loads((found.folder / one.chosen.folder / "results.json").read_text())
        rows = {row["metric"]: row["value"] for row in told["metrics"] if row["subset"] == "tested"}
        wanted = rows.get("expected_accuracy", rows["accuracy"])
        assert one.score("chosen", "tested").value == wanted
    with (found.folder / "trials.csv").open() as file:
        assert not [name for name in next(csv.reader(file)) if "test" in name]


def test_the_ensembles_predictions_are_written(found):
    lines = (found.folder / "ensembles/mc-sent/tested.jsonl").read_text().splitlines()
    assert len(lines) == 20
    assert json.loads(lines[0])["model"] == "ensemble of 3 of 3 trials"


def test_two_workers_find_what_one_finds(bert, data, found, tmp_path):
    moved = []
    again = search(
        *(data, tmp_path, bert, SPACE, NAMES, 3), workers=2, threads=1, progress=lambda *now: moved.append(now)
    )
    assert table(tmp_path) == table(found.folder)
    assert again.metrics == found.metrics
    assert moved[0] == (0, 6)
    assert moved[-1] == (6, 6)


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


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes where Linux has them")
def test_a_killed_search_takes_its_workers_along_and_goes_on_to_the_same_table(bert, data, tmp_path):
    # 64 steps, of which those are done that come before the first checkpoint.
    space = SearchSpace(learning_rate="1e-5,3e-3", batch_size="8", epochs="8")
    settings = TrainSettings(checkpoint_every=5, evaluate_every=100)
    broken = tmp_path / "broken"
    whole = tmp_path / "whole"
    asked = tmp_path / "asked"
    asked.write_bytes(pickle.dumps((data, broken, bert, space, NAMES[:1], settings)))
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(asked), WORKER])
    until(lambda: list(broken.glob("trials/*/*/checkpoint.pt")) or victim.poll() is not None)
    workers = children(victim.pid)
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert workers
    until(lambda: not any(map(alive, workers)))  # else they would go on without it
    interrupted = list(broken.glob("trials/*/*/checkpoint.pt"))
    assert interrupted, "it was killed in the middle of a trial"
    search(data, broken, bert, space, NAMES[:1], 2, settings=settings, threads=1)
    search(data, whole, bert, space, NAMES[:1], 2, settings=settings, threads=1)
    assert table(broken) == table(whole)
    study = optuna.load_study(study_name="mc-sent", storage=f"sqlite:///{broken / 'study.db'}")
    attempts = [(row.user_attrs["number"], row.state.name) for row in study.trials]
    number = int(interrupted[0].parent.name)
    assert (number, "FAIL") in attempts
    assert (number, "COMPLETE") in attempts


def test_what_is_done_is_not_done_again_and_more_can_be_asked_for(data, bert, tmp_path, monkeypatch):
    begun = stub(monkeypatch, lambda task: done(0.5 + task.number / 100))
    first = search(data, tmp_path, bert, SPACE, NAMES, 2)
    assert begun == [("mc-sent", 0), ("p-sent", 0), ("mc-sent", 1), ("p-sent", 1)]
    begun.clear()
    assert search(data, tmp_path, bert, SPACE, NAMES, 2).metrics == first.metrics
    assert not begun
    search(data, tmp_path, bert, SPACE, [*NAMES, "mc-mlm"], 3)
    assert sorted(begun) == [("mc-mlm", 0), ("mc-mlm", 1), ("mc-mlm", 2), ("mc-sent", 2), ("p-sent", 2)]
    fewer = search(data, tmp_path, bert, SPACE, NAMES, 1)
    assert len(fewer.trials) == 2


def test_a_trial_that_failed_is_told_and_tried_again_and_one_that_diverged_is_not(data, bert, tmp_path, monkeypatch):
    endings = {0: done(), 1: EndedTrial(FAILED, why="memory ran out"), 2: EndedTrial("diverged", why="not a number")}
    begun = stub(monkeypatch, lambda task: endings[task.number])
    found = search(data, tmp_path, bert, SPACE, ["mc-sent"], 3)
    assert found.notes == ("1 trials failed; the same command tries them again (the first, mc-sent 1: memory ran out)",)
    (one,) = found.found
    assert (one.spread.n, one.degenerate, one.count("diverged"), one.count(FAILED)) == (1, 1, 1, 1)
    endings[1] = done(0.7)
    begun.clear()
    again = search(data, tmp_path, bert, SPACE, ["mc-sent"], 3)
    assert begun == [("mc-sent", 1)]
    assert again.notes == ()
    assert again.found[0].scores == [0.5, 0.7]


def test_a_degenerate_trial_is_counted_and_its_warning_kept(data, bert, tmp_path, monkeypatch):
    stub(monkeypatch, lambda task: done(warnings=("one answer for everything",) if task.number == 1 else ()))
    (one,) = search(data, tmp_path, bert, SPACE, ["mc-sent"], 3).found
    assert one.degenerate == 1
    assert one.row("search", "dev", "n_degenerate").value == 1
    assert [row["warnings"] for row in table(tmp_path)] == ["", "one answer for everything", ""]


def attempted(monkeypatch, bert, data, tmp_path, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(trials, "finetune", fail)
    job = SearchJob(data, tmp_path, bert, TrainSettings())
    return trials.attempt(job, SearchTask("mc-sent", 0, SPACE.draw(0, 0)))


def test_what_concerns_one_trial_ends_that_trial(monkeypatch, bert, data, tmp_path):
    diverged = attempted(monkeypatch, bert, data, tmp_path, Diverged("the loss is not a number at step 7", 1.0))
    assert (diverged.state, diverged.accuracy) == ("diverged", None)
    full = BadInput("out of memory: halve the batch size")
    full.__cause__ = RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
    assert attempted(monkeypatch, bert, data, tmp_path, full).state == FAILED
    strange = attempted(monkeypatch, bert, data, tmp_path, ZeroDivisionError("never seen\nbefore"))
    assert strange.state == FAILED
    assert strange.why.startswith("ZeroDivisionError: never seen (")
    assert "Traceback" in (tmp_path / "trials/mc-sent/0000/error.txt").read_text()


def test_what_concerns_all_trials_is_raised(monkeypatch, bert, data, tmp_path):
    with pytest.raises(BadInput, match="no head"):
        attempted(monkeypatch, bert, data, tmp_path, BadInput("no head"))


def tasks(count):
    waiting = [SearchTask("mc-sent", number, {}) for number in range(count)]
    return lambda: waiting.pop(0) if waiting else None


def test_a_worker_that_dies_fails_its_trial_and_is_replaced(monkeypatch, data, tmp_path):
    monkeypatch.setattr(workers, "WORKER", ("-c", "raise SystemExit(3)"))
    job = SearchJob(data, tmp_path, "builtin", TrainSettings())
    ended = list(side_by_side(job, tasks(3), TrialCrew(2), lambda *_: None))
    assert sorted(task.number for task, _ in ended) == [0, 1, 2]
    assert {answer.state for _, answer in ended} == {FAILED}
    assert "ended with code 3" in ended[0][1].why


def test_what_a_worker_refuses_is_raised_here(monkeypatch, data, tmp_path):
    say = "pickle.dump(('refused', 'no head'), sys.stdout.buffer); sys.stdout.flush(); time.sleep(9)"
    monkeypatch.setattr(workers, "WORKER", ("-c", f"import pickle, sys, time; {say}"))
    job = SearchJob(data, tmp_path, "builtin", TrainSettings())
    with pytest.raises(WinokitError, match="no head"):
        list(side_by_side(job, tasks(2), TrialCrew(2), lambda *_: None))


def test_devices_are_given_in_turn():
    crew = TrialCrew(4, ("cuda:0", "cuda:1"))
    assert [crew.device(worker) for worker in range(4)] == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert TrialCrew(2).device(1) is None


def test_a_folder_of_another_search_is_not_written_over(data, bert, tmp_path, monkeypatch):
    stub(monkeypatch, lambda task: done())
    asked = {"data": data, "out": tmp_path, "model": bert, "space": SPACE, "formalizations": NAMES[:1], "trials": 1}
    search(**asked)
    for change, said in (
        ({"space": SearchSpace(learning_rate="1e-4")}, "another learning_rate"),
        ({"seed": 5}, r"another seed \(0, here 5\)"),
        ({"settings": TrainSettings(steps=3, patience=20)}, "another steps"),
        ({"data": TrainingData(data.train, data.dev)}, "another tests"),
    ):
        with pytest.raises(BadInput, match=f"holds a run with {said}"):
            search(**{**asked, **change})


def test_two_searches_do_not_share_a_folder(data, bert, tmp_path, monkeypatch):
    def ends(task):
        with pytest.raises(BadInput, match="another search is running there"):
            search(data, tmp_path, bert, SPACE, NAMES, 1)
        return done()

    stub(monkeypatch, ends)
    search(data, tmp_path, bert, SPACE, NAMES[:1], 1)


def test_an_interrupted_search_lets_go_of_its_folder(data, bert, tmp_path, monkeypatch):
    def interrupted(task):
        raise KeyboardInterrupt

    stub(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        search(data, tmp_path, bert, SPACE, NAMES[:1], 1)
    begun = stub(monkeypatch, lambda task: done())
    search(data, tmp_path, bert, SPACE, NAMES[:1], 1)
    assert begun == [("mc-sent", 0)]


def test_nothing_but_failures_is_an_error(data, bert, tmp_path, monkeypatch):
    stub(monkeypatch, lambda task: EndedTrial(FAILED, why="memory ran out"))
    with pytest.raises(BadInput, match=r"no trial finished \(the first: memory ran out\)"):
        search(data, tmp_path, bert, SPACE, NAMES, 1)


@pytest.mark.parametrize(
    ("change", "said"),
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
def test_bad_input_is_one_clear_line(data, bert, tmp_path, change, said):
    asked = {"data": data, "out": tmp_path / "out", "model": bert, "space": SPACE, "formalizations": NAMES}
    with pytest.raises(WinokitError, match=said) as refused:
        search(**{**asked, **change})
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_search_needs_a_dev_set_and_never_chooses_on_a_test_set(data, bert, tmp_path):
    with pytest.raises(BadInput, match="a search needs a dev set"):
        search(TrainingData(data.train), tmp_path, bert)
    with pytest.raises(BadInput, match=r"to choose on, overlaps .* same, 0 near, 0 twin"):
        search(TrainingData(data.train, data.dev, (data.dev,)), tmp_path, bert)


def test_a_file_that_is_no_study_is_refused(data, bert, tmp_path):
    (tmp_path / "study.db").write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(BadInput, match=r"study.db: cannot be opened as a study"):
        search(data, tmp_path, bert, SPACE, NAMES, 1)


def test_a_device_that_is_not_there_is_refused_before_anything_is_written(data, bert, tmp_path):
    with pytest.raises(BadInput, match="device 'cuda:99': not on this machine"):
        search(data, tmp_path / "out", bert, SPACE, NAMES, 1, devices="cuda:99")
    assert not (tmp_path / "out").exists()


def test_a_folder_in_which_nothing_can_be_written_is_refused(data, bert, tmp_path):
    (tmp_path / "study.lock").mkdir()
    with pytest.raises(BadInput, match=r"study.lock: cannot be written \(unable to open database file\)"):
        search(data, tmp_path, bert, SPACE, NAMES, 1)


def test_without_optuna_the_extra_is_named(data, bert, tmp_path, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: name != "optuna")
    with pytest.raises(MissingExtra, match=r"winokit search needs the 'train' extra: pip install 'winokit\[train\]'"):
        search(data, tmp_path, bert)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray leaves sockets and processes for the interpreter's end
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_ray_finds_what_one_process_finds(bert, data, found, tmp_path):
    ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        again = search(data, tmp_path, bert, SPACE, NAMES, 3, workers=2, threads=1, engine="ray")
    finally:
        ray.shutdown()
    assert table(tmp_path) == table(found.folder)
    assert again.metrics == found.metrics
