"""Tasks of a harness ask every variant of an audit, and its logs give the rows of a direct run."""

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
NEEDS_SAMPLES = {"samples"}
"""Protocols that need several answers to each problem."""
SINGLE_ANSWER = set(PROTOCOLS) - NEEDS_SAMPLES
RECORDED = Path(__file__).parent / "lm_eval-0.4.13.tar.gz"
"""Logs of the real harness: `WINOKIT_HARNESS_PYTHON=… pytest -k real_harness` shows how they were made."""


class Causal(RandomModel):
    """A random model that passes for a causal one, so that its guesses have a surprisal."""

    kind = "causal"


@pytest.fixture
def data() -> Dataset:
    return labelled_twins()


@pytest.fixture
def conversion(data, tmp_path):
    return convert(data, tmp_path / "tasks", to="lmeval", perturbed=[later(data)])


@pytest.fixture
def logs(conversion, tmp_path) -> Path:
    return run_tasks(conversion.folder, NAME, tmp_path / "logs", Causal())


def tabulate_metrics(run) -> dict:
    """Value, size, interval, chance and note of each row, by protocol, subset and metric."""
    table = {}
    for row in run.metrics:
        key = (row.protocol, row.subset, row.metric)
        table[key] = (row.value, row.n, row.low, row.high, row.chance, row.note)
    return table


def tabulate_predictions(run) -> dict:
    """Scores and choice of each prediction, by problem and variant."""
    return {(row.id, row.variant): (row.scores, row.prediction) for row in run.predictions}


def protocols_of(run) -> set[str]:
    return {row.protocol for row in run.metrics}


def task_of(variant: str) -> str:
    return f"{NAME}_{variant.replace('-', '_')}"


def test_every_variant_asks_what_partial_scoring_asks(data, conversion):
    variants = {"original": data}
    for name, variant in make_variants(data).items():
        variants[name] = variant.problems
    utils = module_at(conversion.folder / "utils.py")
    partial = SCORINGS["partial"]
    for variant, problems in variants.items():
        task = task_of(variant)
        docs = utils.rows(f"{task}.jsonl")
        assert len(docs) == conversion.tasks[task] == len(problems)
        for problem, doc in zip(problems, docs, strict=True):
            requests = partial.ask(problem, Setting())
            continuation = utils.continuation(doc)
            requested_texts = [(request.context, request.text) for request in requests]
            assert requested_texts == [(context, continuation) for context in utils.contexts(doc)]
            assert utils.right_place(doc) == problem.answer


def test_one_name_runs_all_tasks_and_each_finds_its_file(conversion):
    suite = read_yaml(conversion.folder / f"{NAME}.yaml")
    variants = {name.removeprefix(f"{NAME}_") for name in conversion.tasks}
    assert suite["task"] == list(conversion.tasks)
    assert variants == {
        *("original", "no_cands", "part_sent", "local_context", "special_word", "reversed", "switched"),
        *("perturbed_later", "solved"),
    }
    for name in conversion.tasks:
        task = read_yaml(conversion.folder / f"{name}.yaml")
        data_file = conversion.folder / task["dataset_kwargs"]["validation"]
        assert (task["task"], task["num_fewshot"]) == (name, 0)
        assert data_file.exists()


def test_a_log_gives_all_fifteen_protocols_the_rows_of_a_direct_run(data, logs):
    direct = audit(data, Causal(), scoring="partial", perturbed=[later(data)])
    from_logs = audit(data, predictions=[logs], perturbed=[later(data)])
    scorers = {(row.model, row.scoring) for row in from_logs.metrics}
    assert len(SINGLE_ANSWER) == 15
    assert protocols_of(from_logs) == SINGLE_ANSWER
    assert tabulate_metrics(from_logs) == tabulate_metrics(direct)
    assert from_logs.left_out == direct.left_out
    assert tabulate_predictions(from_logs) == tabulate_predictions(direct)
    assert scorers == {("org/small", f"lmeval:{NAME}")}


def test_a_log_needs_no_data_and_keeps_labels_groups_and_perturbed_versions(data, logs):
    without_data = audit(predictions=[logs])
    with_data = audit(data, predictions=[logs], perturbed=[later(data)])
    dataset = without_data.dataset
    assert (dataset, dataset.content_hash) == (data, data.content_hash)
    assert dataset.card.name == "labelled twins"
    assert tabulate_metrics(without_data) == tabulate_metrics(with_data)


def test_a_variant_that_was_made_of_other_data_is_not_used(data, logs):
    problems = [problem.replace(labels={"switchable": False}) for problem in data]
    relabelled = data.with_problems(problems)
    run = audit(relabelled, predictions=[logs], protocol=["accuracy", "switching"])
    switched_notes = [note for note in run.notes if "switched_2026" in note]
    assert protocols_of(run) == {"accuracy"}
    assert any("it is not the switched problem of" in note for note in switched_notes)
    assert any("'perturbed.later': name its file with --perturbed" in note for note in run.notes)


@pytest.fixture
def with_open_end(data) -> Dataset:
    """The labelled twins and a problem that ends in its blank."""
    open_end = Problem("The jug was heavier, so Nora carried ", "", ("the jug", "the cup"), 0, "it")
    return Dataset([*data, open_end], data.card)


def test_problems_that_end_in_their_blank_are_abstentions_where_the_log_is_whole(tmp_path, with_open_end):
    conversion = convert(with_open_end, tmp_path / "tasks", to="lmeval")
    logs = run_tasks(conversion.folder, NAME, tmp_path / "logs", Causal())
    from_logs = audit(with_open_end, predictions=[logs])
    direct = audit(with_open_end, Causal(), scoring="partial")
    assert tabulate_metrics(from_logs) == tabulate_metrics(direct)
    assert from_logs.find("accuracy", "all", "abstained").value == 1 / 17

    log = next(logs.rglob("samples_*_original_*"))
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:10]))  # as --limit 10 leaves it
    limited = audit(with_open_end, predictions=[logs], protocol="accuracy")
    assert limited.find("accuracy", "all", "accuracy").n == 10


def test_a_log_made_with_the_harnesses_cache_of_logits_is_refused(conversion, tmp_path):
    logs = run_tasks(conversion.folder, NAME, tmp_path / "logs", Causal(), model_args="")
    with pytest.raises(BadInput, match=r"run them again with --model_args …,logits_cache=False"):
        audit(predictions=[logs])


def test_two_datasets_share_a_folder_and_nothing_of_others_is_lost(data, tmp_path):
    open_data = load("open")
    convert(data, to="lmeval", out=tmp_path)
    convert(open_data[:4], to="lmeval", out=tmp_path)
    convert(data, to="lmeval", out=tmp_path)
    utils_path = tmp_path / "utils.py"
    utils_path.write_text("mine = 1\n")
    convert(open_data[:6], to="inspect", out=tmp_path)
    with pytest.raises(BadInput, match=r"utils\.py: is not part of these tasks, and would be overwritten"):
        convert(load("synthetic-3"), to="lmeval", out=tmp_path)
    assert utils_path.read_text() == "mine = 1\n"


def test_data_without_answers_is_refused_in_one_line(data, tmp_path):
    hidden = data.with_problems(problem.replace(answer=None) for problem in data)
    with pytest.raises(BadInput, match="labelled twins: no problem has an answer"):
        convert(hidden, to="inspect", out=tmp_path)


def test_judgements_without_candidates_for_the_blank_are_refused_in_one_line(data, tmp_path):
    problems = [problem.replace(query="Nora", candidates=("no", "yes")) for problem in data]
    judgements = data.with_problems(problems)
    with pytest.raises(BadInput, match="yes/no judgements have no candidates for the blank; try --as choice"):
        convert(judgements, to="inspect", out=tmp_path)


def test_where_nothing_follows_any_blank_the_harness_scores_whole_texts(data, tmp_path):
    open_ends = data.with_problems(problem.replace(after="") for problem in data)
    conversion = convert(open_ends, tmp_path / "tasks", to="lmeval")
    task = read_yaml(conversion.folder / f"{NAME}_original.yaml")
    assert task["metadata"]["scoring"] == "full"
    logs = run_tasks(conversion.folder, NAME, tmp_path / "logs", Causal())
    direct = audit(open_ends, model=Causal(), protocol="accuracy")
    from_logs = audit(open_ends, predictions=[logs], protocol="accuracy")
    assert tabulate_metrics(from_logs) == tabulate_metrics(direct)
    assert direct.metrics[0].scoring == "full"


@pytest.fixture
def japanese() -> Dataset:
    """A pair of twins in a language without spaces."""
    twins = []
    for answer, ending in enumerate(("速かったからだ", "遅かった")):
        text = ("猫は犬を追った。", f"が{ending}。")
        twins.append(Problem(*text, ("猫", "犬"), answer, "それ", group="a", language="ja"))
    return Dataset(twins, Card("cats", language="ja"))


def test_surprisal_in_a_language_without_spaces_is_that_of_a_direct_run(japanese, tmp_path):
    conversion = convert(japanese, to="lmeval", out=tmp_path / "tasks")
    logs = run_tasks(conversion.folder, "winokit_cats", tmp_path / "logs", Causal())
    without_card = Dataset(japanese)
    direct = audit(without_card, model=Causal())
    from_logs = audit(without_card, predictions=[logs])
    surprisal = direct.find("naturalness", "all", "surprisal_per_word")
    logged_surprisal = from_logs.find("naturalness", "all", "surprisal_per_word")
    assert logged_surprisal.value == pytest.approx(surprisal.value)


def test_surprisal_in_a_language_without_spaces_is_per_character(japanese, tmp_path):
    conversion = convert(japanese, to="lmeval", out=tmp_path / "tasks")
    utils = module_at(conversion.folder / "utils.py")
    doc = utils.rows("winokit_cats_solved.jsonl")[0]
    word_count = doc["words"]
    logprob = -1.0 * word_count
    surprise = utils.surprise(doc, [(logprob, True)])
    assert surprise == {"surprisal_per_word": 1.0}
    assert word_count > len(doc["solved"].split()) == 1


def test_what_the_real_harness_logged_is_read_as_ever(data, tmp_path):
    with tarfile.open(RECORDED) as archive:
        archive.extractall(tmp_path, filter="data")
    run = audit(predictions=[tmp_path])
    assert protocols_of(run) == SINGLE_ANSWER
    assert run.dataset == data
    assert run.dataset.card.name == "labelled twins"

    results_path = next(tmp_path.rglob("results_*.json"))
    totals = json.loads(results_path.read_text())["results"]
    original_totals = totals[f"{NAME}_original"]
    solved_totals = totals[f"{NAME}_solved"]
    accuracy = run.find("accuracy", "all", "accuracy")
    surprisal = run.find("naturalness", "all", "surprisal_per_word")
    assert accuracy.value == original_totals["acc,none"]
    assert surprisal.value == pytest.approx(solved_totals["surprisal_per_word,none"])
    tasks = {
        ("groups", "complete"): "original",
        ("artifacts", "no-cands"): "no_cands",
        ("special-word", "all"): "special_word",
    }
    for (protocol, subset), task in tasks.items():
        group_accuracy = run.find(protocol, subset, "group_accuracy")
        assert group_accuracy.value == totals[f"{NAME}_{task}"]["group_acc,none"]


@pytest.mark.slow
def test_the_real_harness_predicts_as_hf_does_on_every_variant(data, conversion, tmp_path):
    python = harness_python("WINOKIT_HARNESS_PYTHON", "lm_eval")
    model = tmp_path / "tiny"
    logs = tmp_path / "logs"
    run_lm_eval(python, conversion.folder, NAME, model, logs, ",logits_cache=False")
    from_logs = audit(predictions=[logs])
    direct = audit(data, f"hf:{model}", scoring="partial", perturbed=[later(data)])
    assert protocols_of(from_logs) == SINGLE_ANSWER
    direct_predictions = tabulate_predictions(direct)
    assert len(direct_predictions) == len(from_logs.predictions)
    for row in from_logs.predictions:
        scores, choice = direct_predictions[row.id, row.variant]
        assert row.scores == pytest.approx(scores, abs=1e-3)
        assert row.prediction == choice
    logged_metrics = tabulate_metrics(from_logs)
    direct_metrics = tabulate_metrics(direct)
    assert logged_metrics.keys() == direct_metrics.keys()
    for key, direct_metric in direct_metrics.items():
        value_and_size = logged_metrics[key][:2]
        assert value_and_size == pytest.approx(direct_metric[:2], abs=1e-5)


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
        task = getattr(module, name)()
        eval(task, model=model, log_dir=sys.argv[2], display="none", max_samples=1, max_connections=1)
"""


@pytest.mark.slow
def test_inspect_gives_every_protocol_but_naturalness(data, tmp_path):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "inspect_ai")
    conversion = convert(data, tmp_path / "tasks", to="inspect", perturbed=[later(data)])
    task_path = conversion.folder / f"{NAME}.py"
    logs = tmp_path / "logs"
    command = [python, "-c", RUN_INSPECT, str(task_path), str(logs)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 0, process.stderr[-3000:]
    run = audit(predictions=[logs])
    assert run.dataset == data
    assert protocols_of(run) == SINGLE_ANSWER - {"naturalness"}
    assert run.find("strict", "complete", "group_accuracy").value == 1
    assert run.find("position", "all", "order_invariance").value == 1
