"""Features are the states of a fine-tuned model, of problems that it was not trained on."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import load_file
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.data.formats import write
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.network import load_network
from winokit.methods.training.embedding import SentenceParts, embedded, finetuned_features, states
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Card, Dataset
from winokit.stages.debias.features import read_features, without_held_out

QUICK = TrainSettings("mc-sent", learning_rate=3e-3, epochs=10, batch_size=8, seed=1)


def run_embed(*arguments):
    """Result of `winokit embed` with these arguments."""
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, ["embed", *texts], catch_exceptions=False)


@pytest.fixture(scope="module")
def parts(planted):
    return SentenceParts.of(planted, 36, seed=3)


def test_five_in_six_train_one_chooses_and_the_rest_is_embedded_with_twins_together(planted):
    parts = SentenceParts.of(load("open"), 120)
    sizes = [len(part) for part in (parts.train, parts.dev, parts.rest)]
    train_groups = set(parts.train.groups)
    dev_groups = set(parts.dev.groups)
    rest_groups = set(parts.rest.groups)
    rest_ids = {problem.id for problem in parts.rest}
    assert sizes == [100, 20, 308]
    assert train_groups.isdisjoint(dev_groups)
    assert dev_groups.isdisjoint(rest_groups)
    assert train_groups.isdisjoint(rest_groups)
    assert rest_ids.isdisjoint(parts.held_out)


def test_too_many_or_too_few_problems_cannot_be_held_out(planted):
    with pytest.raises(BadInput, match="64 problems, of which 6,000 cannot be held out"):
        SentenceParts.of(planted, 6000)
    with pytest.raises(BadInput, match="expected 6 or more"):
        SentenceParts.of(planted, 2)


def test_the_features_are_what_the_fine_tuned_head_decides_by(bert, parts, tmp_path):
    rows, outcome = finetuned_features(parts, tmp_path, bert, QUICK)
    assert rows.shape == (28, 32)
    assert rows.dtype == np.float32
    assert outcome.value("accuracy") > 0.8
    weights = load_file(tmp_path / "winokit_head.safetensors")["layers.weight"]
    head = weights.numpy()[0]
    first = rows[:, :16] @ head
    second = rows[:, 16:] @ head
    answers = np.array([problem.answer for problem in parts.rest])
    is_right = (second > first) == answers
    assert is_right.mean() > 0.8
    untrained = load_network(bert, Formalization.parse("mc-sent"), seed=1)
    assert not np.allclose(embedded(parts.rest, untrained), rows, atol=0.1)


def test_rows_are_the_first_states_of_what_training_read(bert, planted):
    network = load_network(bert, Formalization.parse("mc-sent"), seed=0)
    first_three = planted[:3]
    rows = embedded(first_three, network, "concat")
    tokenizer = network.reader.tokenizer
    problem = planted[0]
    for side, option in enumerate(problem.candidates):
        start = problem.before.rstrip()
        end = f"{option}{problem.after}"
        texts = tokenizer(start, end, return_tensors="pt")
        with torch.inference_mode():
            first_state = network.encoder(**texts).last_hidden_state[0, 0]
        columns = slice(16 * side, 16 * side + 16)
        assert rows[0, columns] == pytest.approx(first_state.numpy(), abs=1e-5)
    difference = embedded(first_three, network, "difference")
    single = embedded(first_three, network, "single", "mean")
    assert difference == pytest.approx(rows[:, :16] - rows[:, 16:], abs=1e-6)
    assert single.shape == (3, 16)


def test_order_and_batches_change_nothing(bert, unseen):
    network = load_network(bert, Formalization.parse("mc-sent"), seed=0)
    whole = embedded(unseen, network, pooling="mean")
    reversed_problems = Dataset(unseen.problems[::-1])
    back = embedded(reversed_problems, network, pooling="mean")
    assert whole == pytest.approx(back[::-1], abs=1e-5)


def test_progress_ends_with_all_examples(bert, unseen):
    network = load_network(bert, Formalization.parse("mc-sent"), seed=0)
    steps = []
    examples = embedded_examples(unseen, network)
    states(network, examples, "first", lambda done, total: steps.append((done, total)))
    assert steps[-1] == (40, 40)


def embedded_examples(dataset, network):
    from winokit.methods.formalizations.cases import cases
    from winokit.methods.formalizations.inputs import encode

    return encode(cases(dataset, network.formalization), network.formalization, network.reader)


def test_what_cannot_be_embedded_is_refused_before_training(bert, planted, tmp_path):
    out = tmp_path / "x"
    three_candidates = [problem.replace(candidates=(*problem.candidates, "Ann")) for problem in planted]
    yes_or_no = []
    for problem in planted:
        query = problem.candidates[0]
        yes_or_no.append(problem.replace(candidates=("no", "yes"), query=query, answer=0, group=None))
    parts = SentenceParts.of(planted, 12)
    parts_of_three = SentenceParts.of(Dataset(three_candidates, Card("three")), 12)
    parts_of_judged = SentenceParts.of(Dataset(yes_or_no, Card("judged")), 12)
    with pytest.raises(BadInput, match="concat features need two candidates"):
        finetuned_features(parts_of_three, out, bert, QUICK)
    with pytest.raises(BadInput, match=r"need two candidates, and problem \w+ has not: --as choice"):
        finetuned_features(parts_of_judged, out, bert, QUICK)
    with pytest.raises(BadInput, match="p-span reads the same text whichever option"):
        finetuned_features(parts, out, bert, TrainSettings("p-span"))
    assert not out.exists()
    with pytest.raises(LookupError, match="No pooling of a fine-tuned model named 'span'"):
        finetuned_features(parts, out, bert, QUICK, pooling="span")
    network = load_network(bert, Formalization.parse("mc-mlm"))
    with pytest.raises(BadInput, match="mc-mlm reads the same text whichever option"):
        embedded(planted, network)


@pytest.mark.parametrize("setting", ["device=cuda", "learning_rate=1e-4", "formalization=mc-sent"])
def test_an_option_of_training_is_refused_where_nothing_is_trained(bert, tmp_path, setting):
    name = setting.partition("=")[0]
    with pytest.raises(BadInput, match=f"--set {name}: a setting of --finetune N"):
        run_embed("synthetic-4", "--model", bert, "--set", setting, "--out", tmp_path / "X.npy")
    assert not (tmp_path / "X.npy").exists()


def test_embed_then_debias_go_one_after_the_other_on_the_same_data(bert, tmp_path):
    data = tmp_path / "data.jsonl"
    write(load("synthetic-120"), data, "jsonl")
    out = tmp_path / "X.npy"
    settings = "learning_rate=1e-3&epochs=1"
    arguments = (data, "--model", bert, "--finetune", 60, "--set", settings, "--out", out)
    embedding = run_embed(*arguments)
    assert "fine-tuned on 50 problems, chosen on 10" in embedding.stdout
    command = f"winokit debias aflite {data} --features {out} --set allow_uninformed=on"
    assert f"debias refuses these features; to use them all the same: {command}" in embedding.stdout
    assert "these features know nothing: 50.0\u00a0% of 10 dev problems right" in embedding.stderr
    about = json.loads(out.with_suffix(".json").read_text())
    assert about["finetuned"]["informed"] is False
    assert len(about["held_out"]) == 60
    assert len(about["ids"]) == 180
    assert len(np.load(out)) == 180
    whole = load(data)
    rest = without_held_out(out, whole)
    assert [problem.id for problem in rest] == about["ids"]
    assert rest.notes[-1].endswith("60 problems left out, because the features' model was fine-tuned on them")
    assert read_features(out, rest).settings["finetuned"]["trained_on"] == 50
    with pytest.raises(BadInput, match="features of other problems"):
        read_features(out, whole)
    debiased = tmp_path / "deb"
    options = ["--compare", "none", "--set", "assess=off", "--out", str(debiased)]
    command = ["debias", "aflite", str(data), "--features", str(out), *options]
    with pytest.raises(BadInput, match=r"these features know nothing: .* --set allow_uninformed=on"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    allowed = [*command, "--set", "allow_uninformed=on"]
    debiasing = CliRunner().invoke(app, allowed, catch_exceptions=False)
    assert "of 180 problems kept" in debiasing.stdout
    assert "60 problems left out" in debiasing.stderr
    kept_ids = {problem.id for problem in load(debiased / "kept.jsonl")}
    assert kept_ids.isdisjoint(about["held_out"])
    again = run_embed(*arguments, "--json")
    assert json.loads(again.stdout)["rows"] == 180
