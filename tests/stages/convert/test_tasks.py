"""Every variant of an audit as tasks of a harness, and what comes back from its logs."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest
from support.harness import harness_python, labelled_twins, later, module_at, read_yaml, run_lm_eval, run_tasks

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.scoring.base import SCORINGS, Setting
from winokit.methods.transforms.variants import make_variants
from winokit.models.random_model import RandomModel
from winokit.problem import Card, Dataset, Problem
from winokit.stages.audit.protocols import PROTOCOLS
from winokit.stages.audit.run import audit
from winokit.stages.convert.run import convert

NAME = "winokit_labelled_twins"
OF_SAMPLES = {"samples"}
"""Protocols that need several answers to each problem."""
RECORDED = Path(__file__).parent / "lm_eval-0.4.13.tar.gz"
"""Logs of the real harness: `WINOKIT_HARNESS_PYTHON=… pytest -k real_harness` shows how they were made."""


class Causal(RandomModel):
    """Guesses that have a surprisal."""

    kind = "causal"


@pytest.fixture
def data() -> Dataset:
    return labelled_twins()


@pytest.fixture
def written(data, tmp_path):
    return convert(data, tmp_path / "tasks", to="lmeval", perturbed=[later(data)])


@pytest.fixture
def logs(written, tmp_path) -> Path:
    return run_tasks(written.folder, NAME, tmp_path / "logs", Causal())


def rows(run) -> dict:
    return {
        (row.protocol, row.subset, row.metric): (row.value, row.n, row.low, row.high, row.chance, row.note)
        for row in run.metrics
    }


def test_every_variant_asks_what_partial_scoring_asks(data, written):
    variants = {"original": data} | {name: made.problems for name, made in make_variants(data).items()}
    utils = module_at(written.folder / "utils.py")
    for variant, problems in variants.items():
        docs = utils.rows(f"{NAME}_{variant.replace('-', '_')}.jsonl")
        assert len(docs) == written.tasks[f"{NAME}_{variant.replace('-', '_')}"] == len(problems)
        for problem, doc in zip(problems, docs, strict=True):
            asked = [(request.context, request.text) for request in SCORINGS["partial"].ask(problem, Setting())]
            assert asked == [(context, utils.continuation(doc)) for context in utils.contexts(doc)]
            assert utils.right_place(doc) == problem.answer


def test_one_name_runs_all_tasks_and_each_finds_its_file(written):
    assert read_yaml(written.folder / f"{NAME}.yaml")["task"] == list(written.tasks)
    assert {name.removeprefix(f"{NAME}_") for name in written.tasks} == {
        *("original", "no_cands", "part_sent", "local_context", "special_word", "reversed", "switched"),
        *("perturbed_later", "solved"),
    }
    for name in written.tasks:
        task = read_yaml(written.folder / f"{name}.yaml")
        assert (task["task"], task["num_fewshot"]) == (name, 0)
        assert (written.folder / task["dataset_kwargs"]["validation"]).exists()


def test_a_log_gives_all_fifteen_protocols_the_rows_of_a_direct_run(data, logs):
    direct = audit(data, Causal(), scoring="partial", perturbed=[later(data)])
    back = audit(data, predictions=[logs], perturbed=[later(data)])
    assert {row.protocol for row in back.metrics} == set(PROTOCOLS) - OF_SAMPLES
    assert len(PROTOCOLS) - len(OF_SAMPLES) == 15
    assert rows(back) == rows(direct)
    assert back.left_out == direct.left_out
    named = {(row.id, row.variant): (row.scores, row.prediction) for row in back.predictions}
    assert named == {(row.id, row.variant): (row.scores, row.prediction) for row in direct.predictions}
    assert {(row.model, row.scoring) for row in back.metrics} == {("org/small", f"lmeval:{NAME}")}


def test_a_log_needs_no_data_and_keeps_labels_groups_and_perturbed_versions(data, logs):
    alone = audit(predictions=[logs])
    beside = audit(data, predictions=[logs], perturbed=[later(data)])
    assert (alone.dataset, alone.dataset.content_hash) == (data, data.content_hash)
    assert alone.dataset.card.name == "labelled twins"
    assert rows(alone) == rows(beside)


def test_a_variant_that_was_made_of_other_data_is_not_used(data, logs):
    other = data.with_problems(problem.replace(labels={"switchable": False}) for problem in data)
    run = audit(other, predictions=[logs], protocol=["accuracy", "switching"])
    assert {row.protocol for row in run.metrics} == {"accuracy"}
    assert [note for note in run.notes if "switched_2026" in note and "it is not the switched problem of" in note]
    assert [note for note in run.notes if "'perturbed.later': name its file with --perturbed" in note]


def test_problems_that_end_in_their_blank_are_abstentions_where_the_log_is_whole(tmp_path, data):
    ends = Problem("The jug was heavier, so Nora carried ", "", ("the jug", "the cup"), 0, "it")
    more = Dataset([*data, ends], data.card)
    written = convert(more, tmp_path / "tasks", to="lmeval")
    logs = run_tasks(written.folder, NAME, tmp_path / "logs", Causal())
    back = audit(more, predictions=[logs])
    direct = audit(more, Causal(), scoring="partial")
    assert rows(back) == rows(direct)
    assert back.find("accuracy", "all", "abstained").value == 1 / 17
    log = next(logs.rglob("samples_*_original_*"))
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:10]))  # as --limit 10 leaves it
    assert audit(more, predictions=[logs], protocol="accuracy").find("accuracy", "all", "accuracy").n == 10


def test_a_log_made_with_the_harnesses_cache_of_logits_is_refused(written, tmp_path):
    logs = run_tasks(written.folder, NAME, tmp_path / "logs", Causal(), model_args="")
    with pytest.raises(BadInput, match=r"run them again with --model_args …,logits_cache=False"):
        audit(predictions=[logs])


def test_two_datasets_share_a_folder_and_nothing_of_others_is_lost(data, tmp_path):
    convert(data, to="lmeval", out=tmp_path)
    convert(load("open")[:4], to="lmeval", out=tmp_path)
    convert(data, to="lmeval", out=tmp_path)
    (tmp_path / "utils.py").write_text("mine = 1\n")
    convert(load("open")[:6], to="inspect", out=tmp_path)
    with pytest.raises(BadInput, match=r"utils\.py: is not part of these tasks, and would be overwritten"):
        convert(load("synthetic-3"), to="lmeval", out=tmp_path)
    assert (tmp_path / "utils.py").read_text() == "mine = 1\n"


def test_what_cannot_be_judged_or_scored_is_refused_in_one_line(data, tmp_path):
    hidden = data.with_problems(problem.replace(answer=None) for problem in data)
    with pytest.raises(BadInput, match="labelled twins: no problem has an answer"):
        convert(hidden, to="inspect", out=tmp_path)
    asked = data.with_problems(problem.replace(query="Nora", candidates=("no", "yes")) for problem in data)
    with pytest.raises(BadInput, match="yes/no judgements have no candidates for the blank; try --as choice"):
        convert(asked, to="inspect", out=tmp_path)


def test_where_nothing_follows_any_blank_the_harness_scores_whole_texts(data, tmp_path):
    ends = data.with_problems(problem.replace(after="") for problem in data)
    written = convert(ends, tmp_path / "tasks", to="lmeval")
    assert read_yaml(written.folder / f"{NAME}_original.yaml")["metadata"]["scoring"] == "full"
    logs = run_tasks(written.folder, NAME, tmp_path / "logs", Causal())
    direct, back = (audit(ends, **how, protocol="accuracy") for how in ({"model": Causal()}, {"predictions": [logs]}))
    assert rows(back) == rows(direct)
    assert direct.metrics[0].scoring == "full"


def test_surprisal_in_a_language_without_spaces_is_per_character_as_in_a_direct_run(tmp_path):
    texts = [("猫は犬を追った。", f"が{end}。") for end in ("速かったからだ", "遅かった")]
    twins = [Problem(*text, ("猫", "犬"), at, "それ", group="a", language="ja") for at, text in enumerate(texts)]
    written = convert(Dataset(twins, Card("cats", language="ja")), to="lmeval", out=tmp_path / "tasks")
    logs = run_tasks(written.folder, "winokit_cats", tmp_path / "logs", Causal())
    direct, back = (audit(Dataset(twins), **how) for how in ({"model": Causal()}, {"predictions": [logs]}))
    place = ("naturalness", "all", "surprisal_per_word")
    assert back.find(*place).value == pytest.approx(direct.find(*place).value)
    utils = module_at(written.folder / "utils.py")
    doc = utils.rows("winokit_cats_solved.jsonl")[0]
    assert utils.surprise(doc, [(-1.0 * doc["words"], True)]) == {"surprisal_per_word": 1.0}
    assert doc["words"] > len(doc["solved"].split()) == 1


def test_what_the_real_harness_logged_is_read_as_ever(data, tmp_path):
    with tarfile.open(RECORDED) as archive:
        archive.extractall(tmp_path, filter="data")
    run = audit(predictions=[tmp_path])
    assert {row.protocol for row in run.metrics} == set(PROTOCOLS) - OF_SAMPLES
    assert (run.dataset, run.dataset.card.name) == (data, "labelled twins")
    totals = json.loads(next(tmp_path.rglob("results_*.json")).read_text())["results"]
    assert run.find("accuracy", "all", "accuracy").value == totals[f"{NAME}_original"]["acc,none"]
    for protocol, subset, metric, task in (
        ("groups", "complete", "group_accuracy", "original"),
        ("artifacts", "no-cands", "group_accuracy", "no_cands"),
        ("special-word", "all", "group_accuracy", "special_word"),
    ):
        assert run.find(protocol, subset, metric).value == totals[f"{NAME}_{task}"]["group_acc,none"]
    surprisal = totals[f"{NAME}_solved"]["surprisal_per_word,none"]
    assert run.find("naturalness", "all", "surprisal_per_word").value == pytest.approx(surprisal)


@pytest.mark.slow
def test_the_real_harness_predicts_as_hf_does_on_every_variant(data, written, tmp_path):
    python = harness_python("WINOKIT_HARNESS_PYTHON", "lm_eval")
    model = tmp_path / "tiny"
    logs = tmp_path / "logs"
    run_lm_eval(python, written.folder, NAME, model, logs, ",logits_cache=False")
    back = audit(predictions=[logs])
    direct = audit(data, f"hf:{model}", scoring="partial", perturbed=[later(data)])
    assert {row.protocol for row in back.metrics} == set(PROTOCOLS) - OF_SAMPLES
    choices = {(row.id, row.variant): row for row in direct.predictions}
    assert len(choices) == len(back.predictions)
    for row in back.predictions:
        assert row.scores == pytest.approx(choices[row.id, row.variant].scores, abs=1e-3)
        assert row.prediction == choices[row.id, row.variant].prediction
    theirs = rows(back)
    ours = rows(direct)
    assert theirs.keys() == ours.keys()
    for name, row in ours.items():
        assert theirs[name][:2] == pytest.approx(row[:2], abs=1e-5)


RUN_INSPECT = """
import importlib.util, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
spec = importlib.util.spec_from_file_location("task_file", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for name in dir(module):
    if name.startswith("winokit_"):
        outputs = []
        for sample in module.samples(name + ".jsonl"):
            output = ModelOutput.from_content("mockllm/model", f"ANSWER: {sample.target}")
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or it downloads a tokenizer
            outputs.append(output)
        model = get_model("mockllm/model", custom_outputs=outputs)
        task, one = getattr(module, name)(), {"max_samples": 1, "max_connections": 1}
        eval(task, model=model, log_dir=sys.argv[2], display="none", **one)
"""


@pytest.mark.slow
def test_inspect_gives_every_protocol_but_naturalness(data, tmp_path):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "inspect_ai")
    written = convert(data, tmp_path / "tasks", to="inspect", perturbed=[later(data)])
    command = [python, "-c", RUN_INSPECT, str(written.folder / f"{NAME}.py"), str(tmp_path / "logs")]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-3000:]
    run = audit(predictions=[tmp_path / "logs"])
    assert run.dataset == data
    assert {row.protocol for row in run.metrics} == set(PROTOCOLS) - OF_SAMPLES - {"naturalness"}
    assert run.find("strict", "complete", "group_accuracy").value == 1
    assert run.find("position", "all", "order_invariance").value == 1
