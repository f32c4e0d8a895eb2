"""Causal models and encoder-decoders learn under MC-LM, and load again as they were trained."""

from dataclasses import replace

import pytest
import torch
from support import tiny_causal, tiny_seq2seq

from winokit.methods.training.data import TrainingData
from winokit.methods.training.finetune import finetune
from winokit.methods.training.settings import TrainSettings
from winokit.models.registry import load_model

SETTINGS = TrainSettings("mc-lm", learning_rate=3e-3, epochs=6, batch_size=8, seed=1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    llama = tmp_path_factory.mktemp("llama")
    bart = tmp_path_factory.mktemp("bart")
    tiny_causal.tiny_llama(llama, initializer_range=0.1)
    tiny_seq2seq.tiny("bart", bart, init_std=0.1)
    return {"llama": llama, "bart": bart}


@pytest.mark.parametrize(
    ("kind", "spec", "rate"), [("llama", "mc-lm", 3e-3), ("llama", "mc-lm?lora=4", 3e-2), ("bart", "mc-lm", 3e-3)]
)
def test_what_can_be_learned_is_learned(folders, planted, unseen, tmp_path, kind, spec, rate):
    settings = replace(SETTINGS, formalization=spec, learning_rate=rate)
    outcome = finetune(TrainingData(planted, unseen), tmp_path, f"hf:{folders[kind]}", settings)
    losses = [row["loss"] for row in outcome.curve["train"]]
    assert losses[-1] < 0.6 * losses[0]
    assert outcome.value("accuracy") >= 0.8
    assert load_model(f"hf:{tmp_path}").formalization == spec.replace("lora=4", "lora=4.0")


class Killed(Exception):
    pass


def kill_at_step_five(done, total):
    if done == 5:
        raise Killed


@pytest.mark.parametrize("spec", ["mc-lm", "mc-lm?lora=4"])
def test_an_interrupted_run_ends_with_the_same_weights(folders, planted, tmp_path, spec):
    settings = replace(SETTINGS, formalization=spec, epochs=1, checkpoint_every=2)
    data = TrainingData(planted)
    model = f"hf:{folders['llama']}"
    finetune(data, tmp_path / "whole", model, settings)
    with pytest.raises(Killed):
        finetune(data, tmp_path / "parts", model, settings, progress=kill_at_step_five)
    resumed = finetune(data, tmp_path / "parts", model, settings)
    assert resumed.resumed == 4
    first, second = (load_model(f"hf:{tmp_path / name}?kind=causal").network for name in ("whole", "parts"))
    weights = second.state_dict()
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, weights[name]), name
