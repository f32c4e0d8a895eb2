"""An output folder of a harness has logs of several models, tasks and days, and the problems themselves."""

import gzip
import json

import pytest
from support.harness import partial, sample, winogrande_doc, wsc273_row
from support.json_rows import json_lines
from support.reading import choices_of, read_only_part

from winokit import load
from winokit.data.predictions.logs import logged_data, prediction_files
from winokit.errors import BadInput
from winokit.problem import Dataset
from winokit.progress import telling
from winokit.stages.audit.run import audit

DATE = "2026-01-02T03-04-05.678901"
STORY = {"doc_id": 0, "doc": {"ctx": "A man", "endings": ["sits", "runs"]}, "filtered_resps": [["-1", "False"]] * 2}


@pytest.fixture
def write_log(tmp_path):
    def write(task, *rows, model="org__small", date=DATE):
        path = tmp_path / "out" / model / f"samples_{task}_{date}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json_lines(number_rows(rows)))
        return path

    return write


def number_rows(rows) -> list[dict]:
    """Rows with the numbers that the harness gives documents."""
    return [row | {"doc_id": number} for number, row in enumerate(rows)]


def winogrande_rows(problems, scores=(-1, -2)) -> list[dict]:
    """Rows of the harness's WinoGrande, which knows neither pronouns nor groups."""
    return [partial(problem.replace(pronoun=None, group=None), scores) for problem in problems]


def test_the_real_log_alone_is_an_audit_of_the_dev_set_with_its_twins(real_file):
    path = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    dev = load(real_file("winogrande/dev.jsonl"))
    run_of_log = audit(predictions=[path])
    run_of_dev = audit(dev, predictions=[path])
    assert run_of_log.dataset.card.name == "winogrande/dev"
    assert run_of_log.dataset.content_hash == dev.content_hash
    assert run_of_log.metrics == run_of_dev.metrics


def test_the_problems_of_a_log_are_its_dataset_and_twins_are_found(twins, write_log):
    path = write_log("mine", *winogrande_rows(twins))
    run = audit(predictions=[path])
    assert run.dataset.card.name == "mine"
    assert len(run.dataset) == 6
    assert len(run.dataset.groups) == 3
    assert run.find("accuracy", "all", "accuracy").value == 0.5


def test_a_folder_has_several_models_and_the_last_log_of_each_task(twins, write_log, tmp_path):
    older_rows = winogrande_rows(twins, (-2, -1))
    write_log("winogrande", *older_rows, date="2025-12-31T00-00-00.0")
    write_log("winogrande", *winogrande_rows(twins, (-1, -2)))
    large_rows = winogrande_rows(twins[:2], (-2, -1))
    write_log("winogrande", *large_rows, model="org__large")
    folder = tmp_path / "out" / "org__small"
    (folder / f"results_{DATE}.json").write_text('{"results": {}, "configs": {}}')
    run = audit(predictions=[tmp_path / "out"], protocol="accuracy")
    answers = {(row.model, row.prediction) for row in run.predictions}
    assert answers == {("org/small", 0), ("org/large", 1)}
    row_counts = {row.model: row.n for row in run.metrics}
    assert row_counts == {"org/small": 6, "org/large": 2}


def test_what_is_no_such_problem_is_passed_over_in_a_folder_and_refused_as_a_file(twins, write_log, tmp_path):
    story_log = write_log("stories", STORY)
    write_log("mine", *winogrande_rows(twins))
    for data in (None, twins):
        messages = []
        with telling(messages.append):
            run = audit(data, predictions=[tmp_path / "out"], protocol="accuracy")
        assert run.find("accuracy", "all", "accuracy").n == 6
        notes = [*messages, *run.notes]
        (skip_note,) = {note for note in notes if "skipped: " in note}
        assert skip_note.startswith(f"skipped: {story_log}: nothing in it matches")
    with pytest.raises(BadInput, match=r"no problems to audit in it \(.*ctx, endings\); name the dataset before"):
        audit(predictions=[story_log])


def test_a_log_that_breaks_off_is_named_with_its_line_and_not_called_a_log_of_other_things(twins, write_log):
    path = write_log("winogrande", *winogrande_rows(twins))
    path.write_text(path.read_text()[:-20])
    with pytest.raises(BadInput, match=r"\A\S+\.jsonl:6: expected a JSON object \((?!.* at at )[^;]*\Z"):
        audit(predictions=[path])


def test_logs_of_two_datasets_are_refused_with_their_names(twins, write_log, tmp_path):
    write_log("mine", *winogrande_rows(twins[:4]))
    write_log("other", *winogrande_rows(twins[4:]))
    with pytest.raises(BadInput, match=r"logs of 2 datasets: mine \(samples_mine_.*\); other \(.*: name one file, or"):
        audit(predictions=[tmp_path / "out"])
    run = audit(twins[4:], predictions=[tmp_path / "out"], protocol="accuracy")
    assert run.find("accuracy", "all", "accuracy").n


def test_a_log_that_a_shell_puts_in_the_datasets_place_is_refused(twins, write_log):
    small_log = write_log("mine", *winogrande_rows(twins))
    large_log = write_log("mine", *winogrande_rows(twins), model="org__large")
    with pytest.raises(BadInput, match="a log, not a dataset; put --predictions before each"):
        audit(large_log, predictions=[small_log])
    run = audit(small_log, predictions=[small_log], protocol="accuracy")
    assert len(run.dataset) == 6


def test_a_folder_without_logs_says_how_to_get_them(tmp_path):
    (tmp_path / "results_x.json").write_text('{"results": {}, "configs": {}}')
    with pytest.raises(BadInput, match="no log of predictions in it; lm_eval writes them with --log_samples"):
        audit(predictions=[tmp_path])


def test_wsc273_as_the_harness_logs_it_is_known_by_its_content(real_file, write_log):
    wsc = load(real_file("wsc/WSCollection.xml"))
    rows = []
    for index, problem in enumerate(wsc[:273]):
        rows.append(wsc273_row(problem, turned=index % 2 == 1))
    path = write_log("wsc273", *rows)
    dataset, versions = logged_data(prediction_files([path]))
    assert dataset.card.name == "wsc273"
    assert len(dataset) == 273
    assert versions == []
    for problem in dataset:
        assert not any(candidate.endswith("'s") for candidate in problem.candidates)


def test_a_variant_that_nobody_names_is_known_by_its_text(twins, write_log):
    switched = []
    for problem in twins[2:4]:
        before = problem.before.replace("Nora thanked Ines", "Ines thanked Nora")
        switched.append(problem.replace(before=before, answer=1 - problem.answer))
    write_log("mine", *winogrande_rows(twins))
    path = write_log("mine_switched", *winogrande_rows(switched))
    run = audit(twins, predictions=[path.parent])
    scorings = {row.scoring for row in run.metrics}
    assert scorings == {"lmeval:mine"}
    consistency = run.find("switching", "switchable", "consistency")
    assert consistency.n == 2


def test_the_array_of_the_first_versions_is_read(twins, tmp_path):
    rows = number_rows(winogrande_rows(twins))
    path = tmp_path / "gpt2_winogrande.jsonl"
    path.write_text(json.dumps(rows, indent=2))
    part = read_only_part(path, twins)
    assert part.model == "gpt2_winogrande"
    assert part.scoring == "lmeval"
    assert len(part.predictions) == 6
    run = audit(predictions=[path], protocol="accuracy")
    assert len(run.dataset) == 6


def test_compressed_logs_are_read(twins, tmp_path):
    rows = number_rows(winogrande_rows(twins))
    path = tmp_path / f"samples_mine_{DATE}.jsonl.gz"
    path.write_bytes(gzip.compress(json_lines(rows).encode()))
    part = read_only_part(path, twins)
    assert part.model == tmp_path.name
    assert part.scoring == "lmeval:mine"
    assert len(part.predictions) == 6
    run = audit(predictions=[path], protocol="accuracy")
    assert len(run.dataset) == 6


def generated_row(problem, *answers, **more) -> dict:
    """Row of a task that lets the model write its answers."""
    prompt = "{text}\nA) {0}\nB) {1}\nAnswer:".format(*problem.candidates, text=problem.text)
    row = sample(winogrande_doc(problem), [(prompt, "")], [0], **more)
    row["arguments"]["gen_args_0"]["arg_1"] = {"until": ["\n"], "max_gen_toks": 8}
    response = answers[0] if len(answers) == 1 else list(answers)
    return row | {"resps": [list(answers)], "filtered_resps": [response]}


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
def test_generated_answers_are_read_or_left_open(twins, write_log, answers, more, expected):
    path = write_log("mine", generated_row(twins[0], *answers, **more))
    part = read_only_part(path, twins)
    (row,) = part.predictions
    assert row.prediction == expected
    reason = None if expected is not None else "no answer could be read"
    assert row.why == reason


@pytest.mark.parametrize("answers", ["ABB", "BB"])
def test_repeats_of_a_question_are_samples(twins, write_log, answers):
    path = write_log("mine", generated_row(twins[0], *answers))
    part = read_only_part(path, twins)
    samples = [row.sample for row in part.predictions]
    assert samples == list(range(len(answers)))
    letters = ["AB"[choice] for choice in choices_of(part)]
    assert letters == list(answers)


def test_repeats_of_which_the_harness_kept_the_first_are_samples_too(twins, write_log):
    first_kept = {"filtered_resps": ["A"], "filter": "none", "exact_match": 0.0}
    row = generated_row(twins[0], "A", "B") | first_kept
    path = write_log("mine", row)
    part = read_only_part(path, twins)
    choices_by_sample = [(row.sample, row.prediction) for row in part.predictions]
    assert choices_by_sample == [(0, 0), (1, 1)]


def test_what_a_filter_chose_of_repeats_is_one_answer(twins, write_log):
    three_answers = generated_row(twins[0], "A", "B", "B")
    row = three_answers | {"filtered_resps": ["B"], "filter": "maj@3"}
    path = write_log("mine", row)
    part = read_only_part(path, twins)
    choices_by_sample = [(row.sample, row.prediction) for row in part.predictions]
    assert choices_by_sample == [(None, 1)]


def test_filters_of_one_task_are_scorings_of_the_same_problems(twins, write_log):
    strict_row = generated_row(twins[0], "A", filter="strict")
    loose_row = generated_row(twins[0], "B", filter="loose")
    path = write_log("mine", strict_row, loose_row)
    path.write_text(json_lines([strict_row | {"doc_id": 0}, loose_row | {"doc_id": 0}]))
    run = audit(predictions=[path], protocol="accuracy")
    assert len(run.dataset) == 1
    choices_by_scoring = {row.scoring: row.prediction for row in run.predictions}
    assert choices_by_scoring == {
        "lmeval:mine?filter=strict": 0,
        "lmeval:mine?filter=loose": 1,
    }


def test_an_inspect_log_holds_its_problems_where_its_inputs_have_a_blank(twins, tmp_path):
    samples = []
    for number, problem in enumerate(twins):
        letter = "AB"[problem.answer]
        scores = {"choice": {"value": "C", "answer": letter}}
        samples.append(
            {
                "id": number,
                "input": f"Sentence: {problem.text}",
                "choices": list(problem.candidates),
                "target": letter,
                "scores": scores,
            }
        )
    path = tmp_path / "2026-01-02T03-04-05-00-00_winogrande_abc123.json"
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": samples}))
    run = audit(predictions=[path])
    assert run.dataset.card.name == "winogrande"
    assert len(run.dataset.groups) == 3
    assert run.find("groups", "complete", "group_accuracy").value == 1
    for logged_sample in samples:
        logged_sample["input"] = "Who?"
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": samples}))
    with pytest.raises(BadInput, match="its problems are not in it; name the dataset before --predictions"):
        audit(predictions=[path])


def test_repeated_problems_of_a_log_stay_repeated(twins, write_log):
    repeated = Dataset([twins[0], twins[0], twins[1]])
    path = write_log("mine", *winogrande_rows(repeated))
    run = audit(predictions=[path], protocol="accuracy")
    assert len(run.dataset) == 3
