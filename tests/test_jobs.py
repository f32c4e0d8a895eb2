"""runs/jobs.py: a queue of training runs that goes on where it stopped; what is kept from job to job leaks nothing."""

import argparse
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[1]))

from support.training import bert, easy, one_thread, planted, tiny, unseen  # noqa: F401

from runs import authors, job_queue, jobs, sets, trainer
from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.network import load_network
from winokit.methods.training.settings import TrainSettings
from winokit.methods.training.stepper import Stepper

SETTINGS = TrainSettings("mc-sent", learning_rate=3e-3, epochs=2, batch_size=8, checkpoint_every=0)


@pytest.fixture
def shop(bert, planted, unseen, tmp_path):  # noqa: F811
    data = {"train:planted": planted, "unseen": unseen, "train:whole": planted, "train:xl": planted}
    rows = np.arange(len(planted), dtype=np.int32)
    parts = [(rows[:40], rows[40:56], rows[56:])]
    removed, confidence = rows % 3 > 0, np.linspace(0.1, 1, len(rows), dtype=np.float32)
    made = sets.Sets(data, parts=parts, removed=removed, confidence=confidence)
    return trainer.Workshop(made, tmp_path, {"mpnet": bert}, "cpu")


def job(name="one", **changes):
    return jobs.Job(name, 1, "mpnet", "train:planted", SETTINGS, ("unseen",), **changes)


def state(network):
    return {name: weight.clone() for name, weight in network.state_dict().items()}


def same(one, other):
    return all((one[name] == other[name]).all() for name in one)


@pytest.mark.parametrize("formalization", ["mc-sent", "p-span", "mc-mlm?head=fresh"])
def test_weights_are_put_back_as_a_new_network_of_that_seed_would_have_them(shop, bert, formalization):  # noqa: F811
    kept = shop.network("mpnet", formalization)
    for seed in (3, 4):
        expected = load_network(bert, Formalization.parse(formalization), seed=seed, device="cpu")
        assert same(state(kept.begin(seed)), state(expected))


def test_a_job_learns_the_same_after_another_as_alone(shop):
    first = trainer.trained(job(), shop)
    alone = state(shop.network("mpnet", "mc-sent").network)
    trainer.trained(replace(job("other"), settings=replace(SETTINGS, seed=5, learning_rate=1e-3)), shop)
    again = trainer.trained(job(), shop)
    assert again["tests"] == first["tests"]
    assert again["losses"] == first["losses"]
    assert same(state(shop.network("mpnet", "mc-sent").network), alone)


def test_a_job_does_not_fill_batches_up_to_the_shapes_of_the_job_before_it(shop):
    bench = shop.network("mpnet", "mc-sent")
    first, second = (Stepper(bench.network, TrainSettings("mc-sent")) for _ in range(2))
    bench.stepper(first).shapes.choose((2,), (8, 20, 0, 0))
    assert bench.stepper(second) is first  # with its recordings
    assert first.shapes.recorded == {}


def test_the_step_that_is_kept_is_the_first_of_the_best_where_it_is_chosen(shop):
    every = trainer.trained(job(), shop)["tests"]["unseen"]
    chosen = trainer.trained(job(chosen_on="unseen"), shop)["tests"]["unseen"]
    right = {step: next(row[3] for row in mark["rows"] if row[2] == "accuracy") for step, mark in every.items()}
    best = next(step for step in sorted(right, key=int) if right[step] == max(right.values()))
    assert chosen == {best: every[best]}


def test_sets_that_nothing_is_chosen_on_are_tested_only_where_a_step_is_the_best_so_far(shop, monkeypatch):
    shop.sets.data["late"] = shop.sets.data["unseen"]
    asked = []
    usual = trainer.Evaluation.predictions

    def predictions(self, network, model=""):
        asked.append(self.variant)
        return usual(self, network, model)

    monkeypatch.setattr(trainer.Evaluation, "predictions", predictions)
    rights = iter([0.5, 0.7, 0.6, 0.7])
    monkeypatch.setattr(trainer, "share_right", lambda data, sheet: next(rights))
    both = replace(job(chosen_on="unseen"), tests=("unseen", "late"), settings=replace(SETTINGS, epochs=4))
    record = trainer.trained(both, shop)
    assert asked == ["unseen", "late", "unseen", "late", "unseen", "unseen"]
    assert [list(sheets) for sheets in record["tests"].values()] == [[str(record["steps"] // 2)]] * 2


def test_marked_steps_are_examined_and_some_sets_at_the_end_only(shop):
    shop.sets.data["late"] = shop.sets.data["unseen"]
    marked = replace(job(marks=(3, 7), at_the_end=("late",)), tests=("unseen", "late"))
    tests = trainer.trained(replace(marked, settings=replace(SETTINGS, steps=7)), shop)["tests"]
    assert list(tests["unseen"]) == ["3", "7"]
    assert list(tests["late"]) == ["7"]


def test_a_run_says_which_head_it_began_with(shop, tiny, tmp_path):  # noqa: F811
    encoder = tiny.tiny("mpnet", tmp_path / "encoder", head=False)
    (tmp_path / "text.txt").write_text("Jim lent the book to Bill because he was glad.\n\n" * 400, "utf-8")
    shop.models = {"mpnet": f"hf:{encoder}", "mpnet-head": f"hf:{tmp_path / 'headed'}"}
    how = {"epochs": 1, "batch_size": 64, "learning_rate": 1e-3, "corpus": str(tmp_path / "text.txt")}
    made = trainer.headed(job("head/mpnet", kind="head", makes="mpnet-head", more=how), shop)
    head = made["more"]["head"]
    assert head.startswith("head/mpnet ")
    record = trainer.trained(replace(job("liu/0"), model="mpnet-head"), shop)
    assert record["more"] == {"head": head}
    again = trainer.headed(
        job("head/mpnet", kind="head", makes="other", more={**how, "learning_rate": 2e-3}), shop_with(shop)
    )
    assert again["more"]["head"] != head  # made anew it is another
    assert "more" not in trainer.trained(job("one"), shop)


def shop_with(shop):
    """The same shop, with a place for another model."""
    return replace(shop, models={**shop.models, "other": f"hf:{shop.out / 'other'}"}, kept={})


def test_a_job_begins_with_the_weights_of_another(shop):
    trainer.trained(job(saves=True), shop)
    learned = state(shop.network("mpnet", "mc-sent").network)
    trainer.trained(replace(job("two"), settings=replace(SETTINGS, seed=9)), shop)
    record = trainer.trained(replace(job("three", after="one"), train=None), shop)
    assert same(state(shop.network("mpnet", "mc-sent").network), learned)
    assert record["after"] == "one"


def test_aflite_is_compared_with_its_authors_and_what_it_keeps_can_be_trained_on(shop, monkeypatch):
    monkeypatch.setattr(authors, "RELABELLED", 2)
    aflite = replace(job("aflite/0", kind="aflite"), settings=replace(SETTINGS, keep="best"))
    record = authors.filtered(aflite, shop)
    assert len(record["relabelled"]) == 2
    assert record["authors"]["base"] == pytest.approx(26 / 40, abs=0.03)
    assert {row[1] for row in record["figure"]} == {"all", "random", "pmi", "aflite"}
    kept = shop.dataset("train:kept:0:0")
    assert len(kept) == len(shop.dataset("train:random:0:0")) == record["filtered"] - record["authors"]["removed"]
    assert len(shop.dataset("train:kept:5:1")) == 5


def test_what_the_authors_removed_is_told_by_problems_and_by_pairs():
    scores = np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.3])
    theirs, units = np.array([True, True, True, False, False, False]), np.array([0, 0, 2, 2, 4, 4])
    found = authors.compared(scores, scores > 0.6, theirs, units)
    assert (found["auc"], found["pairs_auc"], found["of_ours"], found["base"]) == (1, 1, 1, 0.5)
    assert (found["removed"], found["pairs_removed"]) == (3, 1)


def test_a_trial_has_the_same_draw_whatever_the_formalization_and_however_many_there_are():
    few, many = (jobs.all_jobs("", {"dpr": count}) for count in (2, 5))
    drawn = {one.name: replace(one.settings, formalization="mc-sent") for one in many if one.name.startswith("liu/dpr")}
    assert all(drawn[name] == drawn[f"liu/dpr/mpnet-head/mc-sent/{name[-2:]}"] for name in drawn)
    assert all(one.settings == next(each.settings for each in many if each.name == one.name) for one in few[:60])
    assert len(drawn) == 5 * (7 + 2)


def test_every_job_has_a_name_of_its_own_and_needs_only_what_others_leave():
    every = jobs.all_jobs("")
    names = [one.name for one in every]
    assert len(set(names)) == len(names)
    saved = {one.name for one in every if one.saves}
    assert {one.after for one in every} - {None} <= saved
    assert {one.needs for one in every} - {None} <= set(names)
    assert all(one.marks[-1] == one.settings.steps for one in every if one.marks)


def queue_of(tmp_path, *some):
    (tmp_path / "bert").mkdir(exist_ok=True)
    models = {"mpnet": f"hf:{tmp_path / 'bert'}", "mpnet-head": f"hf:{tmp_path / 'headed'}"}
    given = argparse.Namespace(out=tmp_path, models=models, workers=1, minutes=1, room=math.inf, steps=None)
    return job_queue.Queue(some, given)


def test_what_has_a_record_is_not_done_again_unless_another_job_needs_what_is_gone(tmp_path):
    first, second = job("a", saves=True), job("b", after="a")
    queue = queue_of(tmp_path, first, second)
    assert not queue.done(first)
    (tmp_path / "records").mkdir()
    queue.place(first).write_text(json.dumps({}))
    assert not queue.done(first)  # its weights are gone, and b begins with them
    assert not queue.ready(second)
    trainer.weights_file(tmp_path, "a").parent.mkdir()
    trainer.weights_file(tmp_path, "a").touch()
    assert queue.done(first)
    assert queue.ready(second)
    trainer.weights_file(tmp_path, "a").unlink()
    queue.place(second).write_text(json.dumps({}))
    assert queue.done(first)


def test_a_job_without_room_on_the_device_comes_again_with_fewer_beside_it(tmp_path):
    queue = queue_of(tmp_path, job("big"))
    queue.workers = 2
    process = SimpleNamespace(terminate=lambda: None, join=lambda seconds: None)
    pipe = SimpleNamespace(recv=lambda: (None, "winokit.errors.BadInput: out of memory: halve the batch size"))
    queue._hear(job_queue.Worker(process, pipe, queue.jobs[0]))
    assert (queue.crowded, queue.workers, queue.failed) == ([queue.jobs[0]], 1, set())
    queue._hear(job_queue.Worker(process, pipe, queue.jobs[0]))  # alone it has no room either
    assert (queue.workers, queue.failed) == (1, {"big"})


def hired(context):
    return job_queue.Worker(None, SimpleNamespace(send=lambda job: None))


def handed_out(tmp_path, *some, workers=3, room=math.inf):
    """The names of jobs that go to workers who have nothing to do."""
    queue = queue_of(tmp_path, *some)
    queue.workers, queue.given.room, queue._hired = workers, room, hired
    found = []
    queue._hand_out(found, list(queue.jobs), None)
    return [worker.job.name for worker in found]


def test_jobs_are_handed_out_by_rank_the_largest_of_a_rank_first(tmp_path):
    large = replace(job("large"), settings=replace(SETTINGS, batch_size=64))
    some = (replace(large, name="late", rank=2), job("small"), large)
    assert handed_out(tmp_path, *some) == ["large", "small", "late"]
    assert handed_out(tmp_path, *some, workers=2) == ["large", "small"]


def test_a_job_larger_than_all_room_is_done_alone(tmp_path):
    assert handed_out(tmp_path, job("one"), job("other"), room=1) == ["one"]


def test_a_large_job_is_not_kept_out_by_small_ones(tmp_path):
    small, large = job("small"), replace(job("large"), settings=replace(SETTINGS, batch_size=640))
    queue = queue_of(tmp_path, *(replace(small, name=f"small/{at}") for at in range(3)), large)
    queue.workers, queue.given.room = 3, large.room + small.room
    queue._hired = hired
    workers, left = [], list(queue.jobs)
    queue._hand_out(workers, left, None)
    assert [worker.job.name for worker in workers] == ["large", "small/0"]  # a third would find no room
    workers[0].job = None
    workers[1].job = replace(small, settings=replace(SETTINGS, batch_size=320))
    left.append(replace(large, name="large/again"))
    queue._hand_out(workers, left, None)
    assert workers[0].job is None
    assert len(left) == 3


def test_jobs_come_in_the_order_they_are_asked_for():
    every = [replace(job(name), rank=rank) for rank, name in enumerate(("a/0", "a/1", "b/0", "c/0"))]
    assert [(one.name, one.rank) for one in jobs.chosen_jobs(every, ["c", "a/1,b"])] == [
        ("c/0", 3),
        ("a/1", jobs.LAST + 1),
        ("b/0", jobs.LAST + 2),
    ]


def test_a_job_waits_for_the_model_that_another_makes(tmp_path):
    head = job("head", kind="head", makes="mpnet-head", more={"corpus": str(tmp_path / "text")})
    headed = replace(job("uses"), model="mpnet-head")
    queue = queue_of(tmp_path, head, headed)
    assert not queue.ready(headed)
    assert not queue.ready(head)  # no corpus
    (tmp_path / "text").touch()
    assert queue.ready(head)
    (tmp_path / "headed").mkdir()
    assert queue.ready(headed)


def test_a_job_that_cannot_begin_says_what_it_waits_for_and_counts(tmp_path, capsys):
    queue = queue_of(tmp_path, job("begins", after="never"))
    assert queue.run() == 1
    assert "begins: not begun: waits for the weights of never" in capsys.readouterr().out


def test_a_name_that_no_job_has_is_refused():
    with pytest.raises(BadInput, match="--only b: no job's name begins so"):
        jobs.chosen_jobs([job("a/0")], ["a,b"])


def test_a_model_that_is_not_there_is_refused_before_anything_runs(tmp_path, shop):
    queue = queue_of(tmp_path, job("one"))
    queue.check(shop.sets)
    queue.given.models["mpnet"] = "hf:nowhere/at-all"
    with pytest.raises(BadInput, match="hf:nowhere/at-all: no such folder"):
        queue.check(shop.sets)
    del queue.given.models["mpnet"]
    with pytest.raises(BadInput, match="no model named 'mpnet' was given"):
        queue.check(shop.sets)


def test_a_record_of_other_settings_weights_or_data_is_not_taken_for_this_job(tmp_path, shop):
    queue = queue_of(tmp_path, job("one"))
    queue.given.models = shop.models
    record = trainer.trained(job("one"), shop)
    queue.place(job("one")).parent.mkdir()

    def stored(**changes):
        queue.place(job("one")).write_text(json.dumps({**record, **changes}))

    stored()
    queue.check(shop.sets)
    for changes, name in (
        ({"settings": {**record["settings"], "steps": 3}}, "steps"),
        ({"weights": "another"}, "weights"),
        ({"data": {**record["data"], "unseen": "another"}}, "unseen"),
    ):
        stored(**changes)
        with pytest.raises(BadInput, match=f"a record of one with another {name} "):
            queue.check(shop.sets)


def test_a_random_subset_has_as_many_pairs_and_lone_problems_as_the_set_it_is_beside(planted):  # noqa: F811
    pairs = sets.twin_pairs(planted)
    model = planted.with_problems([*pairs[0], *pairs[1], pairs[2][0], pairs[3][1], pairs[4][0]])
    drawn = [sets.drawn_like(planted, model, seed) for seed in (0, 1)]
    assert [(len(data), len(sets.twin_pairs(data))) for data in drawn] == [(7, 2), (7, 2)]
    assert {problem.id for problem in drawn[0]} != {problem.id for problem in drawn[1]}
    with pytest.raises(BadInput, match="too few for a subset"):
        sets.drawn_like(model, planted, 0)
