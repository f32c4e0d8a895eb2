"""Fine-tuning learns, is repeatable, goes on where it was interrupted, and refuses what it cannot do."""

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
    """Weights in a folder, by file and name."""
    from safetensors.torch import load_file

    weights_by_name = {}
    for path in sorted(folder.glob("*.safetensors")):
        for name, weight in load_file(path).items():
            weights_by_name[f"{path.stem} {name}"] = weight
    return weights_by_name


def are_same(weights_by_name, other_weights):
    """Whether two models have the same weights, bit by bit."""
    if weights_by_name.keys() != other_weights.keys():
        return False
    return all(torch.equal(weight, other_weights[name]) for name, weight in weights_by_name.items())


class Killed(Exception):
    pass


def killer(step):
    """Make a progress function that raises Killed once `step` steps are done."""

    def progress(done, total):
        if done == step:
            raise Killed

    return progress


def turned(dataset, name):
    """The dataset with every answer turned round."""
    problems = [problem.replace(answer=1 - problem.answer) for problem in dataset]
    return Dataset(problems, Card(name))


@pytest.mark.parametrize("name", formalizations_of("masked"))
def test_what_can_be_learned_is_learned_under_every_formalization(bert, planted, unseen, tmp_path, name):
    settings = replace(LONG, formalization=name)
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, settings)
    losses = [row["loss"] for row in outcome.curve["train"]]
    assert losses[-1] < 0.6 * losses[0]
    assert outcome.value("accuracy") >= 0.8
    assert not outcome.warnings


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(bert, planted, tmp_path):
    folders = {"first": 1, "again": 1, "other": 2}
    for number, (name, seed) in enumerate(folders.items()):
        torch.manual_seed(number)  # whatever the caller's random numbers are
        settings = replace(QUICK, seed=seed)
        finetune(TrainingData(planted), tmp_path / name, bert, settings)
    first = weights(tmp_path / "first")
    again = weights(tmp_path / "again")
    other = weights(tmp_path / "other")
    assert are_same(first, again)
    assert not are_same(first, other)


def test_the_seed_reaches_head_dropout_and_order(bert, planted):
    parts_of_runs = []
    for seed in (0, 1):
        network = load_network(bert, Formalization.parse("mc-sent"), seed=seed)
        examples, _ = training_examples(planted, network)
        learner = Learner(network, examples, None, replace(QUICK, seed=seed))
        batch = network.collated(examples[:4])
        torch.manual_seed(seed)
        head = network.head.layers.weight.tolist()
        scores_with_dropout = network.train()(batch).tolist()
        parts_of_runs.append((head, learner.steps, scores_with_dropout))
    for part_of_first, part_of_second in zip(*parts_of_runs, strict=True):
        assert part_of_first != part_of_second


def test_training_leaves_the_callers_random_numbers_alone(bert, planted, tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    settings = replace(QUICK, steps=3)
    finetune(TrainingData(planted), tmp_path, bert, settings)
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
    last_checkpoint = stop // 3 * 3
    assert resumed.resumed == (last_checkpoint or None)
    assert are_same(weights(tmp_path / "whole"), weights(broken))
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
    settings_of_victim = repr({**settings.identity(), "checkpoint_every": 3})
    arguments = [bert, str(broken), settings_of_victim]
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, *arguments])
    data = TrainingData(load("open")[:64])
    finetune(data, whole, bert, settings)
    checkpoint = broken / "checkpoint.pt"
    until(lambda: checkpoint.exists() or victim.poll() is not None)
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert not (broken / "winokit.json").exists()
    resumed = finetune(data, broken, bert, settings).resumed
    assert resumed % 8 != 0, "in the middle of an epoch, which has eight steps"
    assert are_same(weights(whole), weights(broken))


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
    """A folder has this precision if it was written where there was a GPU."""
    short = replace(QUICK, steps=3)
    first = finetune(TrainingData(planted), tmp_path, bert, short)
    for name in ("results.json", "winokit.json"):
        path = tmp_path / name
        text = path.read_text()
        assert " dtype=float32" in text
        path.write_text(text.replace(" dtype=float32", " dtype=auto"))
    again = finetune(TrainingData(planted), tmp_path, bert, short, progress=killer(0))
    assert again.metrics == first.metrics


def test_a_trained_model_is_the_same_one_however_its_precision_is_asked_for(bert, planted, tmp_path):
    settings = replace(QUICK, steps=3)
    finetune(TrainingData(planted), tmp_path, bert, settings)
    by_default = load_model(f"hf:{tmp_path}?dtype=auto")
    by_name = load_model(f"hf:{tmp_path}?dtype=float32")
    assert by_default.fingerprint == by_name.fingerprint


def test_another_test_set_needs_no_new_training(bert, planted, unseen, twins, tmp_path):
    data = TrainingData(planted, unseen)
    data_with_test = TrainingData(planted, unseen, (Dataset(twins, Card("twins")),))
    finetune(data, tmp_path, bert, QUICK)
    outcome = finetune(data_with_test, tmp_path, bert, QUICK, progress=killer(0))
    assert outcome.value("accuracy", "twins") is not None


def test_test_sets_whose_names_a_file_would_confuse_are_all_tested(bert, planted, unseen, twins, tmp_path):
    names = ["one two", "one/two", "one-two-2", "dev"]
    datasets = [twins, unseen, twins, unseen]
    tests = [Dataset(dataset.problems, Card(name)) for name, dataset in zip(names, datasets, strict=True)]
    data = TrainingData(planted, tests=tuple(tests))
    outcome = finetune(data, tmp_path, bert, replace(QUICK, epochs=1), save=False)
    names_in_results = [row.dataset for row in outcome.metrics if row.metric == "accuracy"]
    files = sorted(path.name for path in (tmp_path / "predictions").iterdir())
    assert names_in_results == names
    assert files == ["dev-4.jsonl", "one-two-1.jsonl", "one-two-2-3.jsonl", "one-two-2.jsonl"]


def test_a_test_that_the_model_cannot_read_is_refused_before_training(bert, planted, unseen, tmp_path):
    first, *others = unseen
    too_long = first.replace(before="Jim " * 200 + first.before)
    test = Dataset([too_long, *others], Card("long"))
    out = tmp_path / "out"
    with pytest.raises(TooLong, match="the model reads at most 128"):
        finetune(TrainingData(planted, None, (test,)), out, bert, QUICK)
    assert not out.exists()


def test_a_folder_of_another_run_is_not_written_over(bert, planted, tmp_path):
    data = TrainingData(planted)
    finetune(data, tmp_path, bert, replace(QUICK, steps=2))
    with pytest.raises(BadInput, match=r"holds a run with another learning_rate \(0.003, here 0.1\)"):
        finetune(data, tmp_path, bert, replace(QUICK, steps=2, learning_rate=0.1))


def test_a_folder_of_an_interrupted_run_with_other_settings_is_not_written_over(bert, planted, tmp_path):
    data = TrainingData(planted)
    with pytest.raises(Killed):
        finetune(data, tmp_path, bert, replace(QUICK, checkpoint_every=1), progress=killer(2))
    with pytest.raises(BadInput, match="holds a run with another seed"):
        finetune(data, tmp_path, bert, replace(QUICK, seed=5))


def test_a_checkpoint_that_cannot_be_read_says_what_to_do(bert, planted, tmp_path):
    (tmp_path / "checkpoint.pt").write_bytes(b"half of a file")
    with pytest.raises(BadInput, match=r"checkpoint.pt: cannot be read as a checkpoint .*; remove it to start again"):
        finetune(TrainingData(planted), tmp_path, bert, QUICK)


def test_a_checkpoint_of_a_version_that_kept_no_shapes_is_gone_on_with(bert, planted, tmp_path):
    path = tmp_path / "checkpoint.pt"
    often = replace(QUICK, checkpoint_every=1)
    with pytest.raises(Killed):
        finetune(TrainingData(planted), tmp_path, bert, often, progress=killer(2))
    content = torch.load(path, weights_only=True)
    del content["shapes"]
    del content["notes"]
    torch.save(content, path)
    outcome = finetune(TrainingData(planted), tmp_path, bert, QUICK)
    assert outcome.resumed > 0


def weights_after_step(bert, planted, **changes):
    """Weights after one step of plain descent on the first batch, without dropout."""
    settings = TrainSettings(**{"formalization": "mc-sent", "epochs": 1} | changes)
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
    common = {"formalization": name, "learning_rate": 1e-2, "clip": 0}
    at_once = weights_after_step(bert, planted, **common, batch_size=16, accumulate=1)
    in_parts = weights_after_step(bert, planted, **common, batch_size=4, accumulate=4)
    for key in at_once:
        assert torch.allclose(at_once[key], in_parts[key], atol=1e-6), key


def largest_change(start, end):
    """Largest difference of a weight before and after."""
    changes = [(end[key] - start[key]).abs().max() for key in start]
    return max(changes).item()


def test_gradients_are_clipped(bert, planted):
    free = weights_after_step(bert, planted, learning_rate=1.0, clip=0.0)
    clipped = weights_after_step(bert, planted, learning_rate=1.0, clip=1e-9)
    start = load_network(bert, Formalization.parse("mc-sent"), seed=1).state_dict()
    assert largest_change(start, free) > 1e-4
    assert largest_change(start, clipped) < 1e-6


def test_patience_ends_a_run_and_the_best_weights_are_kept(bert, planted, unseen, tmp_path):
    settings = replace(LONG, epochs=30, patience=2)
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, settings)
    marks = outcome.curve["dev"]
    best = max(marks, key=lambda mark: mark["accuracy"])
    assert outcome.curve["stopped_early"]
    assert len(marks) < 30
    assert outcome.curve["kept_step"] == best["step"]
    steps = [mark["step"] for mark in marks]
    assert steps.index(best["step"]) == len(marks) - 3
    assert outcome.value("accuracy") == best["accuracy"]


def test_the_best_weights_are_kept_and_not_the_last(bert, planted, unseen, tmp_path):
    # Where every answer is turned round, learning makes it worse.
    data = TrainingData(planted, turned(unseen, "turned"))
    outcome = finetune(data, tmp_path, bert, replace(QUICK, evaluate_every=1))
    accuracies = [mark["accuracy"] for mark in outcome.curve["dev"]]
    best = max(accuracies)
    assert best > accuracies[-1], "else nothing is proved"
    assert outcome.value("accuracy") == best


def test_the_last_weights_are_kept_where_asked(bert, planted, unseen, tmp_path):
    settings = replace(QUICK, keep="last")
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, settings)
    last_mark = outcome.curve["dev"][-1]
    assert outcome.curve["kept_step"] == outcome.curve["steps"]
    assert outcome.value("accuracy") == last_mark["accuracy"]


def test_the_result_loads_as_a_model_that_predicts_the_same(bert, planted, unseen, tmp_path):
    finetune(TrainingData(planted, unseen), tmp_path, bert, QUICK)
    lines = (tmp_path / "predictions" / "dev.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    predictions = score(unseen, load_model(f"hf:{tmp_path}"))
    for prediction, row in zip(predictions, rows, strict=True):
        assert prediction.prediction == row["prediction"]
        assert prediction.scores == pytest.approx(row["scores"], abs=1e-5)
    assert rows[0]["scoring"] == "mc-sent"


def test_a_folder_has_results_in_flat_rows_and_a_curve(bert, planted, unseen, tmp_path):
    finetune(TrainingData(planted, unseen), tmp_path, bert, QUICK)
    results = json.loads((tmp_path / "results.json").read_text())
    row = results["metrics"][0]
    expected_keys = {"dataset", "model", "scoring", "formalization", "protocol", "subset", "metric", "value"}
    assert expected_keys <= set(row)
    assert row["metric"] == "accuracy"
    assert row["n"] == 40
    assert row["chance"] == 0.5
    assert row["subset"] == "dev"
    assert row["low"] <= row["value"] <= row["high"]
    assert results["run"]["learning_rate"] == QUICK.learning_rate
    curve = json.loads((tmp_path / "curve.json").read_text())
    assert next(iter(curve)) == "schema"
    epochs = [mark["epoch"] for mark in curve["dev"]]
    assert epochs == [1.0, 2.0]
    assert curve["guessing_loss"] == pytest.approx(math.log(2))


def test_training_goes_on_from_another_run(bert, planted, unseen, tmp_path):
    first = tmp_path / "first"
    second = tmp_path / "second"
    finetune(TrainingData(planted), first, bert, LONG)
    short = replace(LONG, steps=4)
    outcome = finetune(TrainingData(unseen), second, f"hf:{first}", short)
    fresh = finetune(TrainingData(unseen), tmp_path / "fresh", bert, short)
    first_loss = outcome.curve["train"][0]["loss"]
    first_loss_of_fresh = fresh.curve["train"][0]["loss"]
    assert first_loss < 0.7 * first_loss_of_fresh


def test_weights_need_not_be_saved(bert, planted, unseen, tmp_path):
    data = TrainingData(planted, unseen)
    outcome = finetune(data, tmp_path, bert, QUICK, save=False)
    assert outcome.value("accuracy") is not None
    assert not list(tmp_path.glob("*.safetensors"))
    again = finetune(data, tmp_path, bert, QUICK, save=False, progress=killer(0))
    assert again.metrics


@pytest.mark.parametrize(
    ("arm", "tested_on"), [("original", ["original", "part-sent"]), ("variant", ["part-sent", "part-sent"])]
)
def test_both_arms_run_and_say_what_they_were_tested_on(bert, tmp_path, arm, tested_on):
    problems = load("open")
    data = TrainingData(problems[:40], problems[40:60], (problems[60:90],), VariantArm.of("part-sent", arm))
    outcome = finetune(data, tmp_path, bert, replace(QUICK, steps=3))
    variants = [row.details["variant"] for row in outcome.metrics if row.metric == "accuracy"]
    assert variants == tested_on


def test_a_run_that_learns_nothing_is_told(bert, planted, unseen, tmp_path):
    settings = replace(QUICK, learning_rate=1e-9)
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, settings)
    assert any("the training loss ended at 0." in warning for warning in outcome.warnings)


def test_one_answer_for_everything_is_told(bert, planted, tmp_path):
    # Judgements of which nine in ten are wrong: a few steps are enough to say no to everything.
    judged = []
    for index, problem in enumerate(planted):
        answer = int(index % 10 == 0)
        query = problem.candidates[0]
        judged.append(problem.replace(candidates=("no", "yes"), query=query, answer=answer, group=None))
    train = Dataset(judged[:40], Card("train"))
    dev = Dataset(judged[40:], Card("dev"))
    settings = replace(QUICK, formalization="p-sent", learning_rate=1e-2)
    outcome = finetune(TrainingData(train, dev), tmp_path, bert, settings)
    assert "every prediction on the dev set is 'no': a degenerate run" in outcome.warnings


WILD = {"learning_rate": 1e30, "clip": 0, "warmup": 0.0}


def test_a_loss_that_is_no_number_stops_the_run_in_one_line(bert, planted, tmp_path):
    wild = replace(QUICK, **WILD)
    with pytest.raises(Diverged, match=r"diverged: the loss is not a number at step \d+; lower the learning rate"):
        finetune(TrainingData(planted), tmp_path, bert, wild)


@pytest.mark.parametrize("steps", [1, 40])
def test_weights_that_give_no_numbers_stop_the_run_before_anything_is_scored_or_saved(
    bert, planted, unseen, tmp_path, steps
):
    # One step: the loss is from before the weights moved. Forty: evaluations come more often than losses are read.
    wild = replace(QUICK, **WILD, epochs=5, steps=steps, evaluate_every=1, checkpoint_every=1)
    for name, dev in (("dev", unseen), ("none", None)):
        out = tmp_path / name
        with pytest.raises(Diverged, match=r"training diverged: .*; lower the learning rate"):
            finetune(TrainingData(planted, dev), out, bert, wild)
        # What would lead there again is gone, so that a lower rate may begin.
        assert not list(out.iterdir())


def model_folder(bert):
    return Path(bert.removeprefix("hf:"))


def test_a_folder_that_cannot_be_written_is_refused_before_training(bert, planted, tmp_path):
    def progress(done, total):
        raise AssertionError("training began")

    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(BadInput, match=f"{file}: a file, but a folder is needed"):
        finetune(TrainingData(planted), file, bert, QUICK, progress=progress)
    below = file / "below"
    with pytest.raises(BadInput, match=f"{below}: cannot be written"):
        finetune(TrainingData(planted), below, bert, QUICK, progress=progress)


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
    data = TrainingData(planted, None, (unseen,))
    fewer_problems = Dataset(planted.problems[:20], planted.card)
    other_data = TrainingData(fewer_problems, None, (unseen,))
    first = finetune(data, tmp_path, bert, short, save=False)
    with pytest.raises(BadInput, match=r"holds a run with another learning_rate \(0.003, here 1e-05\)"):
        finetune(data, tmp_path, bert, replace(short, learning_rate=1e-5), save=False)
    with pytest.raises(BadInput, match="holds a run with other content under train;"):
        finetune(other_data, tmp_path, bert, short, save=False)
    assert not (tmp_path / "winokit.json").exists()
    again = finetune(data, tmp_path, bert, short)
    assert again.metrics == first.metrics
    assert load_model(f"hf:{tmp_path}").formalization == "mc-sent"


def test_problems_that_a_formalization_cannot_read_are_counted_and_an_empty_rest_refused(bert, planted, tmp_path):
    unreadable = []
    for problem in planted[:10]:
        before = problem.before.replace(problem.candidates[0], "Somebody")
        unreadable.append(problem.replace(before=before))
    partly_readable = Dataset([*unreadable, *planted.problems[20:]], Card("partly"))
    settings = replace(QUICK, formalization="p-span")
    outcome = finetune(TrainingData(partly_readable), tmp_path / "a", bert, replace(settings, steps=2))
    assert any(note.startswith("partly: problems not trained on: 10 (the first: ") for note in outcome.notes)
    nothing_readable = TrainingData(Dataset(unreadable, Card("partly")))
    with pytest.raises(BadInput, match="partly: no problem to train p-span on"):
        finetune(nothing_readable, tmp_path / "b", bert, settings)


def test_lower_precision_trains_too(bert, planted, unseen, tmp_path):
    settings = replace(QUICK, precision="bfloat16")
    outcome = finetune(TrainingData(planted, unseen), tmp_path, bert, settings)
    dtypes = {weight.dtype for weight in weights(tmp_path).values()}
    last_row = outcome.curve["train"][-1]
    assert dtypes == {torch.float32}
    assert last_row["loss"] < 0.8


def test_an_evaluation_is_the_same_however_often_it_is_made(bert, unseen):
    network = load_network(bert, Formalization.parse("mc-mlm"))
    evaluation = Evaluation(unseen, network, "original")
    network.train()
    assert evaluation.predictions(network) == evaluation.predictions(network)


@pytest.mark.parametrize(
    ("changes", "message"),
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
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises((BadInput, LookupError), match=message):
        TrainSettings(**changes)


def test_guessing_gets_a_share_of_whole_groups():
    ball = Problem("Emma threw Janie the ball because ", " was tired.", ("Emma", "Janie"), 0, "she", group="a")
    twin = ball.replace(after=" was open.", answer=1)
    chances = _chance_entries(Dataset([ball, twin]), "mc-sent")
    assert chances == {"chance": 0.5, "group_chance": 0.25}
