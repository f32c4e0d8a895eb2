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


def embed(*given):
    return CliRunner().invoke(app, ["embed", *(str(one) for one in given)], catch_exceptions=False)


@pytest.fixture(scope="module")
def parts(planted):
    return SentenceParts.of(planted, 36, seed=3)


def test_five_in_six_train_one_chooses_and_the_rest_is_embedded_with_twins_together(planted):
    parts = SentenceParts.of(load("open"), 120)
    assert [len(part) for part in (parts.train, parts.dev, parts.rest)] == [100, 20, 308]
    names = [set(part.groups) for part in (parts.train, parts.dev, parts.rest)]
    assert not (names[0] & names[1] | names[1] & names[2] | names[0] & names[2])
    assert set(parts.held_out).isdisjoint(problem.id for problem in parts.rest)
    with pytest.raises(BadInput, match="64 problems, of which 6,000 cannot be held out"):
        SentenceParts.of(planted, 6000)
    with pytest.raises(BadInput, match="expected 6 or more"):
        SentenceParts.of(planted, 2)


def test_the_features_are_what_the_fine_tuned_head_decides_by(bert, parts, tmp_path):
    rows, outcome = finetuned_features(parts, tmp_path, bert, QUICK)
    assert rows.shape == (28, 32)
    assert rows.dtype == np.float32
    assert outcome.value("accuracy") > 0.8
    head = load_file(tmp_path / "winokit_head.safetensors")["layers.weight"].numpy()[0]
    first = rows[:, :16] @ head
    second = rows[:, 16:] @ head
    answers = np.array([problem.answer for problem in parts.rest])
    assert ((second > first) == answers).mean() > 0.8
    plain = embedded(parts.rest, load_network(bert, Formalization.parse("mc-sent"), seed=1))
    assert not np.allclose(plain, rows, atol=0.1)


def test_rows_are_the_first_states_of_what_training_read(bert, planted):
    network = load_network(bert, Formalization.parse("mc-sent"), seed=0)
    rows = embedded(planted[:3], network, "concat")
    tokenizer = network.reader.tokenizer
    problem = planted[0]
    for side, option in enumerate(problem.candidates):
        start = problem.before.rstrip()
        end = f"{option}{problem.after}"
        with torch.inference_mode():
            read = network.encoder(**tokenizer(start, end, return_tensors="pt")).last_hidden_state[0, 0]
        assert rows[0, 16 * side : 16 * side + 16] == pytest.approx(read.numpy(), abs=1e-5)
    difference = embedded(planted[:3], network, "difference")
    assert difference == pytest.approx(rows[:, :16] - rows[:, 16:], abs=1e-6)
    assert embedded(planted[:3], network, "single", "mean").shape == (3, 16)


def test_order_and_batches_change_nothing(bert, unseen):
    network = load_network(bert, Formalization.parse("mc-sent"), seed=0)
    whole = embedded(unseen, network, pooling="mean")
    back = embedded(Dataset(unseen.problems[::-1]), network, pooling="mean")
    assert whole == pytest.approx(back[::-1], abs=1e-5)
    told = []
    examples = embedded_examples(unseen, network)
    states(network, examples, "first", lambda done, total: told.append((done, total)))
    assert told[-1] == (40, 40)


def embedded_examples(dataset, network):
    from winokit.methods.formalizations.cases import cases
    from winokit.methods.formalizations.inputs import encode

    return encode(cases(dataset, network.formalization), network.formalization, network.reader)


def test_what_cannot_be_embedded_is_refused_before_training(bert, planted, tmp_path):
    three = Dataset([p.replace(candidates=(*p.candidates, "Ann")) for p in planted], Card("three"))
    with pytest.raises(BadInput, match="concat features need two candidates"):
        finetuned_features(SentenceParts.of(three, 12), tmp_path / "x", bert, QUICK)
    yes_or_no = [p.replace(candidates=("no", "yes"), query=p.candidates[0], answer=0, group=None) for p in planted]
    with pytest.raises(BadInput, match=r"need two candidates, and problem \w+ has not: --as choice"):
        finetuned_features(SentenceParts.of(Dataset(yes_or_no, Card("judged")), 12), tmp_path / "x", bert, QUICK)
    with pytest.raises(BadInput, match="p-span reads the same text whichever option"):
        finetuned_features(SentenceParts.of(planted, 12), tmp_path / "x", bert, TrainSettings("p-span"))
    assert not (tmp_path / "x").exists()
    with pytest.raises(LookupError, match="No pooling of a fine-tuned model named 'span'"):
        finetuned_features(SentenceParts.of(planted, 12), tmp_path / "x", bert, QUICK, pooling="span")
    network = load_network(bert, Formalization.parse("mc-mlm"))
    with pytest.raises(BadInput, match="mc-mlm reads the same text whichever option"):
        embedded(planted, network)


@pytest.mark.parametrize("setting", ["device=cuda", "learning_rate=1e-4", "formalization=mc-sent"])
def test_an_option_of_training_is_refused_where_nothing_is_trained(bert, tmp_path, setting):
    name = setting.partition("=")[0]
    with pytest.raises(BadInput, match=f"--set {name}: a setting of --finetune N"):
        embed("synthetic-4", "--model", bert, "--set", setting, "--out", tmp_path / "X.npy")
    assert not (tmp_path / "X.npy").exists()


def test_embed_then_debias_go_one_after_the_other_on_the_same_data(bert, tmp_path):
    data = tmp_path / "data.jsonl"
    write(load("synthetic-120"), data, "jsonl")
    out = tmp_path / "X.npy"
    asked = (data, "--model", bert, "--finetune", 60, "--set", "learning_rate=1e-3&epochs=1", "--out", out)
    said = embed(*asked)
    assert "fine-tuned on 50 problems, chosen on 10" in said.stdout
    command = f"winokit debias aflite {data} --features {out} --set allow_uninformed=on"
    assert f"debias refuses these features; to use them all the same: {command}" in said.stdout
    assert "these features know nothing: 50.0\u00a0% of 10 dev problems right" in said.stderr
    about = json.loads(out.with_suffix(".json").read_text())
    assert about["finetuned"]["informed"] is False
    assert len(about["held_out"]) == 60
    assert len(about["ids"]) == len(np.load(out)) == 180
    whole = load(data)
    rest = without_held_out(out, whole)
    assert [problem.id for problem in rest] == about["ids"]
    assert rest.notes[-1].endswith("60 problems left out, because the features' model was fine-tuned on them")
    assert read_features(out, rest).settings["finetuned"]["trained_on"] == 50
    with pytest.raises(BadInput, match="features of other problems"):
        read_features(out, whole)
    options = ["--compare", "none", "--set", "assess=off", "--out", str(tmp_path / "deb")]
    command = ["debias", "aflite", str(data), "--features", str(out), *options]
    with pytest.raises(BadInput, match=r"these features know nothing: .* --set allow_uninformed=on"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    told = CliRunner().invoke(app, [*command, "--set", "allow_uninformed=on"], catch_exceptions=False)
    assert "of 180 problems kept" in told.stdout
    assert "60 problems left out" in told.stderr
    kept = {problem.id for problem in load(tmp_path / "deb" / "kept.jsonl")}
    assert kept.isdisjoint(about["held_out"])
    again = embed(*asked, "--json")
    assert json.loads(again.stdout)["rows"] == 180
