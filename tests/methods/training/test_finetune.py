import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.waiting import until

torch = pytest.importorskip("torch")
from support.scoring import score

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization, formalizations_of
from winokit.methods.formalizations.network import load_network
from winokit.methods.training.data import TrainingData, VariantArm
from winokit.methods.training.evaluation import Diverged, Evaluation
from winokit.methods.training.finetune import (
    _chance_entries,
    finetune,
    training_examples,
)
from winokit.methods.training.learner import Learner
from winokit.methods.training.settings import TrainSettings
from winokit.models.base import TooLong
from winokit.models.registry import load_model
from winokit.problem import Card, Dataset, Problem

# With this seed the untrained model is right about one problem in four, so that it has something to learn.
QUICK = TrainSettings("mc-sent", learning_rate=3e-3, epochs=2, batch_size=8, seed=1)
LONG = replace(QUICK, epochs=10)


def weights(folder):
    from safetensors.torch import load_file

    return {
        f"{path.stem} {name}": value
        for path in sorted(folder.glob("*.safetensors"))
        for name, value in load_file(path).items()
    }


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class Killed(Exception):
    pass


def killer(step):
    def progress(done, total):
        if done == step:
            raise Killed

    return progress


@pytest.mark.parametrize("name", formalizations_of("masked"))
def test_what_can_be_learned_is_learned_under_every_formalization(bert, planted, unseen, tmp_path, name):
    settings = replace(LONG, formalization=name)
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, settings)
    losses = [row["loss"] for row in outcome.curve["train"]]
    assert losses[-1] < 0.6 * losses[0]
    assert outcome.value("accuracy") >= 0.8
    assert not outcome.warnings


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(bert, planted, tmp_path):
    folders = [tmp_path / name for name in ("one", "again", "other")]
    for number, (folder, seed) in enumerate(zip(folders, (1, 1, 2), strict=True)):
        torch.manual_seed(number)  # whatever the caller's random numbers are
        finetune(TrainingData(planted), folder, bert, replace(QUICK, seed=seed))
    one, again, other = map(weights, folders)
    assert same(one, again)
    assert not same(one, other)


def test_the_seed_reaches_head_dropout_and_order(bert, planted):
    runs = []
    for seed in (0, 1):
        network = load_network(bert, Formalization.parse("mc-sent"), seed=seed)
        examples, _ = training_examples(planted, network)
        learner = Learner(network, examples, None, replace(QUICK, seed=seed))
        batch = network.collated(examples[:4])
        torch.manual_seed(seed)
        runs.append((network.head.layers.weight.tolist(), learner.steps, network.train()(batch).tolist()))
    for one, other in zip(*runs, strict=True):
        assert one != other


def test_training_leaves_the_callers_random_numbers_alone(bert, planted, tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    finetune(TrainingData(planted), tmp_path, bert, replace(QUICK, steps=3))
    assert torch.rand(2).tolist() == expected


@pytest.mark.parametrize("stop", [1, 4, 7, 13])
def test_an_interrupted_run_ends_with_the_same_weights_and_curve(bert, planted, unseen, tmp_path, stop):
    # 40 steps, so that losses are written down every second one and a checkpoint falls in between.
    data = TrainingData(planted, unseen)
    settings = replace(QUICK, epochs=5, evaluate_every=6, patience=50)
    whole = finetune(data, tmp_path / "whole", bert, settings)
    broken = tmp_path / "broken"
    often = replace(settings, checkpoint_every=3)
    with pytest.raises(Killed):
        finetune(data, broken, bert, often, progress=killer(stop))
    resumed = finetune(data, broken, bert, often)
    assert resumed.resumed == (stop // 3 * 3 or None)
    assert same(weights(tmp_path / "whole"), weights(broken))
    for part in ("train", "dev", "kept_step"):
        assert resumed.curve[part] == whole.curve[part]
    assert not list(broken.glob("*checkpoint*"))


VICTIM = """
import sys, time
from pathlib import Path
import torch
from winokit.data.loading import load
from winokit.methods.training.data import TrainingData
from winokit.methods.training.finetune import finetune
from winokit.methods.training.settings import TrainSettings
torch.set_num_threads(1)
settings = TrainSettings(**eval(sys.argv[3]))
killed_here = lambda done, total: time.sleep(600 if done == 5 else 0)
finetune(TrainingData(load("open")[:64]), Path(sys.argv[2]), sys.argv[1], settings, progress=killed_here)
"""


def test_a_run_killed_in_the_middle_of_an_epoch_goes_on_to_the_same_weights(bert, tmp_path):
    whole = tmp_path / "whole"
    broken = tmp_path / "broken"
    settings = TrainSettings("mc-mlm", learning_rate=1e-3, epochs=3, batch_size=8, checkpoint_every=3)
    told = repr({**settings.identity(), "checkpoint_every": 3})
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, bert, str(broken), told])
    data = TrainingData(load("open")[:64])
    finetune(data, whole, bert, settings)
    until(lambda: (broken / "checkpoint.pt").exists() or victim.poll() is not None)
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert not (broken / "winokit.json").exists()
    resumed = finetune(data, broken, bert, settings).resumed
    assert resumed % 8 != 0, "in the middle of an epoch, which has eight steps"
    assert same(weights(whole), weights(broken))


def test_a_run_that_is_done_is_not_done_again(bert, planted, unseen, tmp_path):
    data = TrainingData(planted, unseen)
    first = finetune(data, tmp_path, bert, QUICK)
    again = finetune(data, tmp_path, bert, QUICK, progress=killer(0))
    assert again.metrics == first.metrics
    assert again.warnings == first.warnings


@pytest.mark.parametrize("dtype", ["auto", "bfloat16"])
def test_a_run_goes_on_where_its_model_would_be_read_in_another_precision(bert, planted, tmp_path, dtype):
    """Training has one precision, whatever the SPEC says and whether there is a GPU."""
    short = replace(QUICK, steps=3)
    first = finetune(TrainingData(planted), tmp_path, bert, short)
    again = finetune(TrainingData(planted), tmp_path, f"{bert}?dtype={dtype}", short, progress=killer(0))
    assert again.run == first.run
    assert " dtype=float32" in first.run["model_content"]


def test_a_run_whose_model_has_auto_for_its_precision_is_not_done_again(bert, planted, tmp_path):
    """So it was written where there was a GPU."""
    short = replace(QUICK, steps=3)
    first = finetune(TrainingData(planted), tmp_path, bert, short)
    for name in ("results.json", "winokit.json"):
        written = (tmp_path / name).read_text()
        assert " dtype=float32" in written
        (tmp_path / name).write_text(written.replace(" dtype=float32", " dtype=auto"))
    assert finetune(TrainingData(planted), tmp_path, bert, short, progress=killer(0)).metrics == first.metrics


def test_a_trained_model_is_the_same_one_however_its_precision_is_asked_for(bert, planted, tmp_path):
    finetune(TrainingData(planted), tmp_path, bert, replace(QUICK, steps=3))
    found, asked_for = (load_model(f"hf:{tmp_path}?dtype={dtype}") for dtype in ("auto", "float32"))
    assert found.fingerprint == asked_for.fingerprint


def test_another_test_set_needs_no_new_training(bert, planted, unseen, twins, tmp_path):
    finetune(TrainingData(planted, unseen), tmp_path, bert, QUICK)
    tested = Dataset(twins, Card("twins"))
    more = finetune(TrainingData(planted, unseen, (tested,)), tmp_path, bert, QUICK, progress=killer(0))
    assert more.value("accuracy", "twins") is not None


def test_test_sets_whose_names_a_file_would_confuse_are_all_tested(bert, planted, unseen, twins, tmp_path):
    names = ["one two", "one/two", "one-two-2", "dev"]
    tests = tuple(Dataset(part.problems, Card(name)) for name, part in zip(names, [twins, unseen] * 2, strict=True))
    outcome = finetune(TrainingData(planted, tests=tests), tmp_path, bert, replace(QUICK, epochs=1), save=False)
    assert [row.dataset for row in outcome.metrics if row.metric == "accuracy"] == names
    files = ["dev-4.jsonl", "one-two-1.jsonl", "one-two-2-3.jsonl", "one-two-2.jsonl"]
    assert sorted(path.name for path in (tmp_path / "predictions").iterdir()) == files


def test_a_test_that_the_model_cannot_read_is_refused_before_training(bert, planted, unseen, tmp_path):
    long = Dataset([unseen[0].replace(before="Jim " * 200 + unseen[0].before), *unseen[1:]], Card("long"))
    with pytest.raises(TooLong, match="the model reads at most 128"):
        finetune(TrainingData(planted, None, (long,)), tmp_path / "out", bert, QUICK)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_run_is_not_written_over(bert, planted, tmp_path):
    finetune(TrainingData(planted), tmp_path, bert, replace(QUICK, steps=2))
    with pytest.raises(BadInput, match=r"holds a run with another learning_rate \(0.003, here 0.1\)"):
        finetune(TrainingData(planted), tmp_path, bert, replace(QUICK, steps=2, learning_rate=0.1))
    with pytest.raises(Killed):
        finetune(TrainingData(planted), tmp_path / "b", bert, replace(QUICK, checkpoint_every=1), progress=killer(2))
    with pytest.raises(BadInput, match="holds a run with another seed"):
        finetune(TrainingData(planted), tmp_path / "b", bert, replace(QUICK, seed=5))


def test_a_checkpoint_that_cannot_be_read_says_what_to_do(bert, planted, tmp_path):
    (tmp_path / "checkpoint.pt").write_bytes(b"half of a file")
    with pytest.raises(BadInput, match=r"checkpoint.pt: cannot be read as a checkpoint .*; remove it to start again"):
        finetune(TrainingData(planted), tmp_path, bert, QUICK)


def test_a_checkpoint_of_a_version_that_kept_no_shapes_is_gone_on_with(bert, planted, tmp_path):
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(Killed):
        finetune(TrainingData(planted), tmp_path, bert, replace(QUICK, checkpoint_every=1), progress=killer(2))
    content = torch.load(path, weights_only=True)
    del content["shapes"], content["notes"]
    torch.save(content, path)
    assert finetune(TrainingData(planted), tmp_path, bert, QUICK).resumed > 0


def gradients(bert, planted, settings):
    """The weights after one step of plain descent on the first batch, without dropout."""
    network = load_network(bert, Formalization.parse(settings.formalization), seed=1)
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    network.encoder.config.attention_probs_dropout_prob = 0.0
    for layer in network.encoder.encoder.layer:
        layer.attention.self.dropout.p = 0.0
    examples, _ = training_examples(planted, network)
    learner = Learner(network, examples, None, settings)
    learner.stepper.optimiser = torch.optim.SGD(network.parameters(), lr=1.0)
    learner.state.step = len(learner.steps) // 2
    learner._take_step()
    return {name: value.clone() for name, value in network.state_dict().items()}


@pytest.mark.parametrize("name", ["mc-sent", "mc-sent-no-softmax"])
def test_accumulated_batches_are_one_step_of_their_examples(bert, planted, name):
    # 16 problems as one batch, or as four of four: the same examples, since both are cut from the same order.
    at_once, in_parts = (
        gradients(
            bert, planted, TrainSettings(name, learning_rate=1e-2, epochs=1, batch_size=size, accumulate=parts, clip=0)
        )
        for size, parts in ((16, 1), (4, 4))
    )
    for key in at_once:
        assert torch.allclose(at_once[key], in_parts[key], atol=1e-6), key


def test_gradients_are_clipped(bert, planted):
    free, clipped = (
        gradients(bert, planted, TrainSettings("mc-sent", learning_rate=1.0, epochs=1, clip=clip))
        for clip in (0.0, 1e-9)
    )
    start = load_network(bert, Formalization.parse("mc-sent"), seed=1).state_dict()
    moved = [max((one[key] - start[key]).abs().max().item() for key in start) for one in (free, clipped)]
    assert moved[0] > 1e-4
    assert moved[1] < 1e-6


def test_patience_ends_a_run_and_the_best_weights_are_kept(bert, planted, unseen, tmp_path):
    settings = replace(LONG, epochs=30, patience=2)
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, settings)
    marks = outcome.curve["dev"]
    best = max(marks, key=lambda mark: mark["accuracy"])
    assert outcome.curve["stopped_early"]
    assert len(marks) < 30
    assert outcome.curve["kept_step"] == best["step"]
    assert [mark["step"] for mark in marks].index(best["step"]) == len(marks) - 3
    assert outcome.value("accuracy") == best["accuracy"]


def test_the_best_weights_are_kept_and_not_the_last(bert, planted, unseen, tmp_path):
    # Where every answer is turned round, learning makes it worse.
    data = TrainingData(
        planted, Dataset([problem.replace(answer=1 - problem.answer) for problem in unseen], Card("turned"))
    )
    outcome = finetune(data, tmp_path, bert, replace(QUICK, evaluate_every=1))
    best = max(mark["accuracy"] for mark in outcome.curve["dev"])
    assert best > outcome.curve["dev"][-1]["accuracy"], "else nothing is proved"
    assert outcome.value("accuracy") == best


def test_the_last_weights_are_kept_where_asked(bert, planted, unseen, tmp_path):
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, replace(QUICK, keep="last"))
    assert outcome.curve["kept_step"] == outcome.curve["steps"]
    assert outcome.value("accuracy") == outcome.curve["dev"][-1]["accuracy"]


def test_the_result_loads_as_a_model_that_predicts_the_same(bert, planted, unseen, tmp_path):
    finetune(TrainingData(planted, unseen), tmp_path, bert, QUICK)
    written = [json.loads(line) for line in (tmp_path / "predictions" / "dev.jsonl").read_text().splitlines()]
    for prediction, row in zip(score(unseen, load_model(f"hf:{tmp_path}")), written, strict=True):
        assert prediction.prediction == row["prediction"]
        assert prediction.scores == pytest.approx(row["scores"], abs=1e-5)
    assert written[0]["scoring"] == "mc-sent"


def test_a_folder_has_results_in_flat_rows_and_a_curve(bert, planted, unseen, tmp_path):
    finetune(TrainingData(planted, unseen), tmp_path, bert, QUICK)
    results = json.loads((tmp_path / "results.json").read_text())
    row = results["metrics"][0]
    assert {"dataset", "model", "scoring", "formalization", "protocol", "subset", "metric", "value"} <= set(row)
    assert row["metric"] == "accuracy"
    assert row["n"] == 40
    assert row["chance"] == 0.5
    assert row["subset"] == "dev"
    assert row["low"] <= row["value"] <= row["high"]
    assert results["run"]["learning_rate"] == QUICK.learning_rate
    curve = json.loads((tmp_path / "curve.json").read_text())
    assert next(iter(curve)) == "schema"
    assert [mark["epoch"] for mark in curve["dev"]] == [1.0, 2.0]
    assert curve["guessing_loss"] == pytest.approx(math.log(2))


def test_training_goes_on_from_another_run(bert, planted, unseen, tmp_path):
    first = tmp_path / "first"
    second = tmp_path / "second"
    finetune(TrainingData(planted), first, bert, LONG)
    outcome = finetune(TrainingData(unseen), second, f"hf:{first}", replace(LONG, steps=4))
    fresh = finetune(TrainingData(unseen), tmp_path / "fresh", bert, replace(LONG, steps=4))
    assert outcome.curve["train"][0]["loss"] < 0.7 * fresh.curve["train"][0]["loss"]


def test_weights_need_not_be_saved(bert, planted, unseen, tmp_path):
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, QUICK, save=False)
    assert outcome.value("accuracy") is not None
    assert not list(tmp_path.glob("*.safetensors"))
    assert finetune(TrainingData(planted, unseen), tmp_path, bert, QUICK, save=False, progress=killer(0)).metrics


def test_both_arms_run_and_say_what_they_were_tested_on(bert, planted, tmp_path):
    data = load("open")
    for arm in ("original", "variant"):
        some = TrainingData(data[:40], data[40:60], (data[60:90],), VariantArm.of("part-sent", arm))
        outcome = finetune(some, tmp_path / arm[:3], bert, replace(QUICK, steps=3))
        variants = [row.details["variant"] for row in outcome.metrics if row.metric == "accuracy"]
        assert variants == [arm.replace("variant", "part-sent"), "part-sent"]


def test_a_run_that_learns_nothing_is_told(bert, planted, unseen, tmp_path):
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, replace(QUICK, learning_rate=1e-9))
    assert any("the training loss ended at 0." in warning for warning in outcome.warnings)


def test_one_answer_for_everything_is_told(bert, planted, tmp_path):
    # Judgements of which nine in ten are wrong: a few steps are enough to say no to everything.
    judged = [
        problem.replace(candidates=("no", "yes"), query=problem.candidates[0], answer=int(index % 10 == 0), group=None)
        for index, problem in enumerate(planted)
    ]
    data = TrainingData(Dataset(judged[:40], Card("train")), Dataset(judged[40:], Card("dev")))
    outcome = finetune(data, tmp_path, bert, replace(QUICK, formalization="p-sent", learning_rate=1e-2))
    assert "every prediction on the dev set is 'no': a degenerate run" in outcome.warnings


def test_a_loss_that_is_no_number_stops_the_run_in_one_line(bert, planted, tmp_path):
    with pytest.raises(Diverged, match=r"diverged: the loss is not a number at step \d+; lower the learning rate"):
        finetune(TrainingData(planted), tmp_path, bert, replace(QUICK, learning_rate=1e30, clip=0, warmup=0.0))


@pytest.mark.parametrize("steps", [1, 40])
def test_weights_that_give_no_numbers_stop_the_run_before_anything_is_scored_or_saved(
    bert, planted, unseen, tmp_path, steps
):
    # One step: the loss is from before the weights moved. Forty: evaluations come more often than losses are read.
    wild = replace(QUICK, learning_rate=1e30, clip=0, warmup=0.0, epochs=5, steps=steps, evaluate_every=1)
    often = replace(wild, checkpoint_every=1)
    for name, dev in (("dev", unseen), ("none", None)):
        with pytest.raises(Diverged, match=r"training diverged: .*; lower the learning rate"):
            finetune(TrainingData(planted, dev), tmp_path / name, bert, often)
        # What would lead there again is gone, so that a lower rate may begin.
        assert not list((tmp_path / name).iterdir())


def model_folder(bert):
    return Path(bert.removeprefix("hf:"))


def test_a_folder_that_cannot_be_written_is_refused_before_training(bert, planted, tmp_path):
    def progress(done, total):
        raise AssertionError("training began")

    (tmp_path / "file").write_text("x")
    file = tmp_path / "file"
    for place, why in ((file, "a file, but a folder is needed"), (file / "below", "cannot be written")):
        with pytest.raises(BadInput, match=f"{place}: {why}"):
            finetune(TrainingData(planted), place, bert, QUICK, progress=progress)


def test_what_others_left_in_the_folder_is_not_written_over(bert, planted, tmp_path):
    with pytest.raises(BadInput, match="is the model to be trained; choose another --out"):
        finetune(TrainingData(planted), model_folder(bert), bert, QUICK)
    shutil.copytree(model_folder(bert), tmp_path / "model")
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "results.json").write_text('{"run": {}, "metrics": []}')
    for name, file in (("model", "config.json"), ("audit", "results.json")):
        with pytest.raises(BadInput, match=f"{file}: is not part of a training run, and would be overwritten"):
            finetune(TrainingData(planted), tmp_path / name, bert, QUICK)


def test_a_finished_run_without_weights_is_not_written_over_and_gets_them_when_asked(bert, planted, unseen, tmp_path):
    short = replace(QUICK, steps=3)
    first = finetune(TrainingData(planted, None, (unseen,)), tmp_path, bert, short, save=False)
    with pytest.raises(BadInput, match=r"holds a run with another learning_rate \(0.003, here 1e-05\)"):
        finetune(TrainingData(planted, None, (unseen,)), tmp_path, bert, replace(short, learning_rate=1e-5), save=False)
    with pytest.raises(BadInput, match="holds a run with other content under train;"):
        finetune(
            TrainingData(Dataset(planted.problems[:20], planted.card), None, (unseen,)),
            tmp_path,
            bert,
            short,
            save=False,
        )
    assert not (tmp_path / "winokit.json").exists()
    again = finetune(TrainingData(planted, None, (unseen,)), tmp_path, bert, short)
    assert again.metrics == first.metrics
    assert load_model(f"hf:{tmp_path}").formalization == "mc-sent"


def test_problems_that_a_formalization_cannot_read_are_counted_and_an_empty_rest_refused(bert, planted, tmp_path):
    some = [
        problem.replace(before=problem.before.replace(problem.candidates[0], "Somebody")) for problem in planted[:10]
    ]
    data = TrainingData(Dataset([*some, *planted.problems[20:]], Card("partly")))
    outcome = finetune(data, tmp_path / "a", bert, replace(QUICK, formalization="p-span", steps=2))
    assert any(note.startswith("partly: problems not trained on: 10 (the first: ") for note in outcome.notes)
    with pytest.raises(BadInput, match="partly: no problem to train p-span on"):
        finetune(
            TrainingData(Dataset(some, Card("partly"))), tmp_path / "b", bert, replace(QUICK, formalization="p-span")
        )


def test_lower_precision_trains_too(bert, planted, unseen, tmp_path):
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, replace(QUICK, precision="bfloat16"))
    assert all(value.dtype == torch.float32 for value in weights(tmp_path).values())
    assert outcome.curve["train"][-1]["loss"] < 0.8


def test_an_evaluation_is_the_same_however_often_it_is_made(bert, unseen):
    network = load_network(bert, Formalization.parse("mc-mlm"))
    evaluation = Evaluation(unseen, network, "original")
    network.train()
    assert evaluation.predictions(network) == evaluation.predictions(network)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"learning_rate": 0.0}, "learning_rate: expected a number above 0"),
        ({"epochs": 0}, "epochs: expected 1 or more"),
        ({"warmup": 1.0}, "warmup: expected 0 or more and a number below 1, found 1.0"),
        ({"precision": "int8"}, "No precision named"),
        ({"keep": "first"}, "No choice of weights named"),
        ({"patience": 0}, "patience: expected 1 or more"),
        ({"learning_rate": math.inf}, "learning_rate: expected a number above 0, found inf"),
        ({"clip": math.nan}, "clip: expected 0 or more, found nan"),
        ({"weight_decay": math.inf}, "weight_decay: expected 0 or more, found inf"),
        ({"seed": 2**63}, "seed: expected 0 or more and a number below 9223372036854775808"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, said):
    with pytest.raises((BadInput, LookupError), match=said):
        TrainSettings(**changes)


def test_guessing_gets_a_share_of_whole_groups():
    ball = Problem("Emma threw Janie the ball because ", " was tired.", ("Emma", "Janie"), 0, "she", group="a")
    dev = Dataset([ball, ball.replace(after=" was open.", answer=1)])
    assert _chance_entries(dev, "mc-sent") == {"chance": 0.5, "group_chance": 0.25}
