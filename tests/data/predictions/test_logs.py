"""What a harness's output folder holds: logs of several models, tasks and days, and the problems themselves."""

import gzip
import json

import pytest
from support.harness import partial, sample, winogrande_doc, wsc273_row

from winokit import load
from winokit.data.predictions.logs import logged_data, prediction_files
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.problem import Dataset
from winokit.progress import telling
from winokit.stages.audit.run import audit

DATE = "2026-01-02T03-04-05.678901"
STORY = {"doc_id": 0, "doc": {"ctx": "A man", "endings": ["sits", "runs"]}, "filtered_resps": [["-1", "False"]] * 2}


@pytest.fixture
def log(tmp_path):
    def write(task, *rows, model="org__small", date=DATE):
        path = tmp_path / "out" / model / f"samples_{task}_{date}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row | {"doc_id": number}) + "\n" for number, row in enumerate(rows)))
        return path

    return write


def winogrande(problems, scores=(-1, -2)) -> list[dict]:
    return [partial(problem.replace(pronoun=None, group=None), scores) for problem in problems]


def test_the_real_log_alone_is_an_audit_of_the_dev_set_with_its_twins(real_file):
    log = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    dev = load(real_file("winogrande/dev.jsonl"))
    alone = audit(predictions=[log])
    beside = audit(dev, predictions=[log])
    assert alone.dataset.card.name == "winogrande/dev"
    assert alone.dataset.content_hash == dev.content_hash
    assert alone.metrics == beside.metrics


def test_the_problems_of_a_log_are_its_dataset_and_twins_are_found(twins, log):
    path = log("mine", *winogrande(twins))
    run = audit(predictions=[path])
    assert (run.dataset.card.name, len(run.dataset), len(run.dataset.groups)) == ("mine", 6, 3)
    assert run.find("accuracy", "all", "accuracy").value == 0.5


def test_a_folder_has_several_models_and_the_last_log_of_each_task(twins, log, tmp_path):
    log("winogrande", *winogrande(twins, (-2, -1)), date="2025-12-31T00-00-00.0")
    log("winogrande", *winogrande(twins, (-1, -2)))
    log("winogrande", *winogrande(twins[:2], (-2, -1)), model="org__large")
    (tmp_path / "out" / "org__small" / f"results_{DATE}.json").write_text('{"results": {}, "configs": {}}')
    run = audit(predictions=[tmp_path / "out"], protocol="accuracy")
    answers = {(row.model, row.prediction) for row in run.predictions}
    assert answers == {("org/small", 0), ("org/large", 1)}
    assert {row.model: row.n for row in run.metrics} == {"org/small": 6, "org/large": 2}


def test_what_is_no_such_problem_is_passed_over_in_a_folder_and_refused_as_a_file(twins, log, tmp_path):
    strange = log("stories", STORY)
    log("mine", *winogrande(twins))
    for data in (None, twins):
        told = []
        with telling(told.append):
            run = audit(data, predictions=[tmp_path / "out"], protocol="accuracy")
        assert run.find("accuracy", "all", "accuracy").n == 6
        (said,) = {note for note in [*told, *run.notes] if "skipped: " in note}
        assert said.startswith(f"skipped: {strange}: nothing in it matches")
    with pytest.raises(BadInput, match=r"no problems to audit in it \(.*ctx, endings\); name the dataset before"):
        audit(predictions=[strange])


def test_a_log_that_breaks_off_is_named_with_its_line_and_not_called_a_log_of_other_things(twins, log):
    path = log("winogrande", *winogrande(twins))
    path.write_text(path.read_text()[:-20])
    with pytest.raises(BadInput, match=r"\A\S+\.jsonl:6: expected a JSON object \((?!.* at at )[^;]*\Z"):
        audit(predictions=[path])


def test_logs_of_two_datasets_are_refused_with_their_names(twins, log, tmp_path):
    log("mine", *winogrande(twins[:4]))
    log("other", *winogrande(twins[4:]))
    with pytest.raises(BadInput, match=r"logs of 2 datasets: mine \(samples_mine_.*\); other \(.*: name one file, or"):
        audit(predictions=[tmp_path / "out"])
    assert audit(twins[4:], predictions=[tmp_path / "out"], protocol="accuracy").find("accuracy", "all", "accuracy").n


def test_a_log_that_a_shell_puts_in_the_datasets_place_is_refused(twins, log):
    one = log("mine", *winogrande(twins))
    other = log("mine", *winogrande(twins), model="org__large")
    with pytest.raises(BadInput, match="a log, not a dataset; put --predictions before each"):
        audit(other, predictions=[one])
    assert len(audit(one, predictions=[one], protocol="accuracy").dataset) == 6


def test_a_folder_without_logs_says_how_to_get_them(tmp_path):
    (tmp_path / "results_x.json").write_text('{"results": {}, "configs": {}}')
    with pytest.raises(BadInput, match="no log of predictions in it; lm_eval writes them with --log_samples"):
        audit(predictions=[tmp_path])


def test_wsc273_as_the_harness_logs_it_is_known_by_its_content(real_file, log):
    wsc = load(real_file("wsc/WSCollection.xml"))
    path = log("wsc273", *(wsc273_row(problem, turned=place % 2 == 1) for place, problem in enumerate(wsc[:273])))
    dataset, versions = logged_data(prediction_files([path]))
    assert (dataset.card.name, len(dataset), versions) == ("wsc273", 273, [])
    assert not any(name.endswith("'s") for problem in dataset for name in problem.candidates)


def test_a_variant_that_nobody_names_is_known_by_its_text(twins, log):
    switched = [
        problem.replace(
            before=problem.before.replace("Nora thanked Ines", "Ines thanked Nora"), answer=1 - problem.answer
        )
        for problem in twins[2:4]
    ]
    log("mine", *winogrande(twins))
    path = log("mine_switched", *winogrande(switched))
    run = audit(twins, predictions=[path.parent])
    assert {row.scoring for row in run.metrics} == {"lmeval:mine"}
    assert run.find("switching", "switchable", "consistency").n == 2


def test_the_array_of_the_first_versions_and_compressed_logs_are_read(twins, tmp_path):
    rows = [row | {"doc_id": number} for number, row in enumerate(winogrande(twins))]
    old = tmp_path / "gpt2_winogrande.jsonl"
    packed = tmp_path / f"samples_mine_{DATE}.jsonl.gz"
    old.write_text(json.dumps(rows, indent=2))
    packed.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    for path, named in ((old, ("gpt2_winogrande", "lmeval")), (packed, (tmp_path.name, "lmeval:mine"))):
        (read,) = read_predictions(path, twins)
        assert (read.model, read.scoring, len(read.predictions)) == (*named, 6)
        assert len(audit(predictions=[path], protocol="accuracy").dataset) == 6


def generated(problem, *answers, prompt="{text}\nA) {0}\nB) {1}\nAnswer:", **more) -> dict:
    """A row of a task that lets the model write its answer."""
    asked = prompt.format(*problem.candidates, text=problem.text)
    row = sample(winogrande_doc(problem), [(asked, "")], [0], **more)
    row["arguments"]["gen_args_0"]["arg_1"] = {"until": ["\n"], "max_gen_toks": 8}
    return row | {"resps": [list(answers)], "filtered_resps": [answers[0] if len(answers) == 1 else list(answers)]}


@pytest.mark.parametrize(
    ("answers", "more", "expected"),
    [
        (["B"], {}, 1),
        ([" the jug."], {}, 0),
        (["ANSWER: B"], {}, 1),
        (["2"], {}, 1),  # as WinoGrande numbers its options
        (["[invalid]"], {"exact_match": 0.0}, None),
        (["it must be the cup"], {"exact_match": 0.0}, 1),
        (["as you say"], {"exact_match": 1.0}, 0),
    ],
)
def test_generated_answers_are_read_or_left_open(twins, log, answers, more, expected):
    (read,) = read_predictions(log("mine", generated(twins[0], *answers, **more)), twins)
    (made,) = read.predictions
    assert (made.prediction, made.why) == (expected, None if expected is not None else "no answer could be read")


@pytest.mark.parametrize("answers", ["ABB", "BB"])
def test_repeats_of_a_question_are_samples(twins, log, answers):
    (read,) = read_predictions(log("mine", generated(twins[0], *answers)), twins)
    assert [(made.sample, "AB"[made.prediction]) for made in read.predictions] == list(enumerate(answers))


def test_repeats_of_which_the_harness_kept_the_first_are_samples_too(twins, log):
    row = generated(twins[0], "A", "B") | {"filtered_resps": ["A"], "filter": "none", "exact_match": 0.0}
    (read,) = read_predictions(log("mine", row), twins)
    assert [(made.sample, made.prediction) for made in read.predictions] == [(0, 0), (1, 1)]


def test_what_a_filter_chose_of_repeats_is_one_answer(twins, log):
    row = generated(twins[0], "A", "B", "B") | {"filtered_resps": ["B"], "filter": "maj@3"}
    (read,) = read_predictions(log("mine", row), twins)
    assert [(made.sample, made.prediction) for made in read.predictions] == [(None, 1)]


def test_filters_of_one_task_are_scorings_of_the_same_problems(twins, log):
    rows = [generated(twins[0], "A", filter="strict"), generated(twins[0], "B", filter="loose")]
    path = log("mine", *rows)
    path.write_text("".join(json.dumps(row | {"doc_id": 0}) + "\n" for row in rows))
    run = audit(predictions=[path], protocol="accuracy")
    assert len(run.dataset) == 1
    assert {row.scoring: row.prediction for row in run.predictions} == {
        "lmeval:mine?filter=strict": 0,
        "lmeval:mine?filter=loose": 1,
    }


def test_an_inspect_log_holds_its_problems_where_its_inputs_have_a_blank(twins, tmp_path):
    samples = [
        {"id": number, "input": f"Sentence: {problem.text}", "choices": list(problem.candidates)}
        | {"target": "AB"[problem.answer], "scores": {"choice": {"value": "C", "answer": "AB"[problem.answer]}}}
        for number, problem in enumerate(twins)
    ]
    path = tmp_path / "2026-01-02T03-04-05-00-00_winogrande_abc123.json"
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": samples}))
    run = audit(predictions=[path])
    assert (run.dataset.card.name, len(run.dataset.groups)) == ("winogrande", 3)
    assert run.find("groups", "complete", "group_accuracy").value == 1
    for one in samples:
        one["input"] = "Who?"
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": samples}))
    with pytest.raises(BadInput, match="its problems are not in it; name the dataset before --predictions"):
        audit(predictions=[path])


def test_repeated_problems_of_a_log_stay_repeated(twins, log):
    path = log("mine", *winogrande(Dataset([twins[0], twins[0], twins[1]])))
    assert len(audit(predictions=[path], protocol="accuracy").dataset) == 3
