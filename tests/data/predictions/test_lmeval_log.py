"""A log of lm_eval is read whatever its version, the order of its options and its dialect."""

import json

import pytest
from support.harness import partial, sample, winogrande_doc, wsc273_row
from support.json_rows import json_lines
from support.reading import choices_of, count_correct, read_only_part

from winokit import load
from winokit.data.predictions.read import read_predictions
from winokit.errors import Malformed
from winokit.problem import Dataset


@pytest.fixture
def write_log(tmp_path):
    def write(*rows):
        path = tmp_path / "samples_mine.jsonl"
        path.write_text(json_lines(rows))
        return path

    return write


def test_the_real_log_has_639_right_and_agrees_with_the_harness_row_by_row(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    path = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    part = read_only_part(path, dev)
    assert len(part.predictions) == 1267
    assert part.unmatched == []
    assert part.notes == []
    logged_rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows_by_text = {row["doc"]["sentence"]: row for row in logged_rows}
    for problem, prediction in zip(dev, part.predictions, strict=True):
        row = rows_by_text[problem.text]
        is_right = prediction.prediction == prediction.answer
        assert is_right == (row["acc"] == 1.0)
        logged_scores = tuple(float(response[0]) for response in row["filtered_resps"])
        assert prediction.scores == logged_scores
    assert count_correct(part) == 639


def test_the_real_log_says_the_same_of_a_dataset_with_its_options_turned(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    turned_dev = dev.with_problems(problem.with_order((1, 0)) for problem in dev)
    path = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    dev_part = read_only_part(path, dev)
    part = read_only_part(path, turned_dev)
    assert count_correct(part) == 639
    dev_scores = [row.scores for row in dev_part.predictions]
    swapped_scores = [row.scores[::-1] for row in part.predictions]
    assert swapped_scores == dev_scores


def test_scores_follow_the_options_of_the_document(twins, write_log):
    row = partial(twins[1], [-5, -9], order=(1, 0))
    path = write_log(row)
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (-9.0, -5.0)
    assert part.predictions[0].prediction == 1


def test_scores_follow_the_requests_where_these_are_in_another_order_than_the_document(twins, write_log):
    row = partial(twins[1], [-5, -9], order=(0, 1), asked=(1, 0))
    path = write_log(row)
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (-9.0, -5.0)
    assert part.predictions[0].prediction == 1
    assert part.notes == []


def test_requests_in_a_chat_template_are_understood(twins, write_log):
    row = partial(twins[1], [-5, -9], order=(1, 0))
    for request in row["arguments"].values():
        request["arg_0"] = f"<|user|>\n{request['arg_0']}<|end|>\n<|assistant|>"
    path = write_log(row)
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (-9.0, -5.0)


def test_older_logs_with_lists_and_numbers_are_read(twins, write_log):
    row = partial(twins[0], [-1, -2])
    row["arguments"] = [list(request.values()) for request in row["arguments"].values()]
    row["filtered_resps"] = [[-1.5, False], [-2.5, False]]
    path = write_log(row)
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (-1.5, -2.5)


def test_without_requests_the_order_is_that_of_the_document(twins, write_log):
    row = partial(twins[1], [-5, -9], order=(1, 0))
    del row["arguments"]
    path = write_log(row)
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (-9.0, -5.0)


def test_choices_that_are_the_candidates_are_mapped_by_their_text(twins, write_log):
    question = f"{twins[3].text} Who?"
    document = winogrande_doc(twins[3])
    requests = [(question, " Ines"), (question, " Nora")]
    path = write_log(sample(document, requests, [-1, -2]))
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (-2.0, -1.0)
    assert part.predictions[0].prediction == 1


def test_lettered_choices_are_read_from_the_prompt(twins, write_log):
    prompt = f"{twins[3].text}\nA. Ines\nB. Nora\nAnswer:"
    requests = [(prompt, " A"), (prompt, " B")]
    row = sample(winogrande_doc(twins[3]), requests, [-1, -2])
    path = write_log(row)
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (-2.0, -1.0)


def test_choices_that_are_no_candidates_are_unmatched(twins, write_log):
    prompt = f"{twins[3].text} True?"
    requests = [(prompt, " yes"), (prompt, " no")]
    row = sample(winogrande_doc(twins[3]), requests, [-1, -2])
    other_row = partial(twins[0], [-1, -2])
    path = write_log(row, other_row)
    part = read_only_part(path, twins)
    assert part.unmatched == ["line 1: its choices 'yes' / 'no' are not the candidates Nora / Ines"]


@pytest.mark.parametrize(
    ("responses", "says"),
    [
        ([["-1", "False"]], "line 2: 1 responses where the problem has 2 candidates"),
        ([["-1", "False"]] * 4, "line 2: 4 responses where the problem has 2 candidates"),
        (["Ines", "Nora"], "line 2: expected a log-probability in its responses, found 'Ines'"),
        ([["Ines"], ["Nora"]], "line 2: expected a log-probability in its responses, found ['Ines']"),
    ],
)
def test_responses_that_do_not_fit_are_unmatched(twins, write_log, responses, says):
    row = partial(twins[0], [-1, -2])
    odd_row = partial(twins[1], [-1, -2]) | {"filtered_resps": responses}
    path = write_log(row, odd_row)
    part = read_only_part(path, twins)
    assert len(part.predictions) == 1
    assert part.unmatched == [says]


def test_ties_and_scores_that_are_no_numbers_are_abstentions(twins, write_log):
    tie = partial(twins[0], [-2, -2], acc=1.0)
    without_number = partial(twins[1], ["nan", -2])
    infinite = partial(twins[2], ["-inf", -2])
    path = write_log(tie, without_number, infinite)
    part = read_only_part(path, twins)
    answers = [(row.prediction, row.why, row.scores) for row in part.predictions]
    assert answers == [
        (None, "a tie", (-2.0, -2.0)),
        (None, "a score is not a number", None),
        (1, None, None),
    ]
    tie_note, number_note, verdict_note = [note.partition(": ")[2] for note in part.notes]
    assert tie_note == "in 1 row a tie; they are abstentions; the first: line 1"
    assert number_note == "in 1 row a score is not a number; they are abstentions; the first: line 2"
    assert verdict_note == "we read 0 right, the file says 1: 1 row differs, the first: line 1"


def test_a_verdict_that_does_not_follow_from_the_scores_is_noted(twins, write_log):
    right_row = partial(twins[0], [-1, -2], acc=1.0)
    wrong_row = partial(twins[1], [-1, -2], acc=1.0)
    path = write_log(right_row, wrong_row)
    part = read_only_part(path, twins)
    assert len(part.notes) == 1
    assert "right, the file says" in part.notes[0]
    assert part.notes[0].endswith("the first: line 2")


def test_wsc273_as_the_harness_logs_it_is_joined_to_the_collection(real_file, write_log):
    wsc = load(real_file("wsc/WSCollection.xml"))
    rows = []
    for index, problem in enumerate(wsc[:273]):
        rows.append(wsc273_row(problem, turned=index % 2 == 1))
    documents = [row["doc"] for row in rows]
    assert any(not doc["text"].startswith(doc["pronoun"][:2], doc["pronoun_loc"]) for doc in documents)
    path = write_log(*rows)
    part = read_only_part(path, wsc)
    assert len(part.predictions) == 273
    assert part.unmatched == []
    assert part.notes == []
    assert all(row.prediction == row.answer for row in part.predictions)


def test_documents_of_no_known_dialect_are_found_by_their_sentence(real_file, write_log):
    data = load(real_file("winogender/all_sentences.tsv"))
    rows = []
    for problem in data:
        occupation, participant = [name.removeprefix("the ") for name in problem.candidates]
        doc = {"sentid": "x", "sentence": problem.sentence, "pronoun": problem.pronoun, "occupation": occupation}
        prompt = f"{problem.sentence} ‘{problem.pronoun.capitalize()}’ refers to the"
        requests = [(prompt, f" {participant}"), (prompt, f" {occupation}")]
        rows.append(sample(doc, requests, [-1, -2], acc=problem.answer))
    path = write_log(*rows)
    part = read_only_part(path, data)
    assert len(part.predictions) == 720
    assert part.unmatched == []
    assert part.notes == []
    choices = {row.prediction for row in part.predictions}
    assert choices == {1}


def test_yes_no_judgements_are_told_apart_by_their_query(real_file, write_log):
    data = load(real_file("superglue-wsc/val.jsonl"))
    rows = []
    for line in real_file("superglue-wsc/val.jsonl").read_text().splitlines():
        row = json.loads(line)
        label = int(row["label"])
        document = {"text": row["text"], **row["target"], "label": label}
        scores = [-1, -2] if label == 0 else [-2, -1]
        requests = [("Passage …", " no"), ("Passage …", " yes")]
        rows.append(sample(document, requests, scores, acc=1.0))
    path = write_log(*reversed(rows))
    part = read_only_part(path, data)
    assert len(part.predictions) == 104
    assert part.unmatched == []
    assert part.notes == []
    assert all(row.prediction == row.answer for row in part.predictions)


def test_model_and_task_come_from_the_results_beside_or_from_the_folder(twins, tmp_path):
    folder = tmp_path / "org__small-lm"
    folder.mkdir()
    log = folder / "samples_winogrande_2026-01-02T03-04-05.678901.jsonl"
    log.write_text(json_lines([partial(twins[0], [-1, -2])]))
    part = read_only_part(log, twins)
    assert part.model == "org/small-lm"
    assert part.scoring == "lmeval:winogrande"
    (folder / "results_2026-01-02T03-04-05.678901.json").write_text('{"model_name": "org/small-lm-v2"}')
    part = read_only_part(log, twins)
    assert part.model == "org/small-lm-v2"


def test_filters_are_scorings_of_their_own(twins, write_log):
    first_row = partial(twins[0], [-1, -2])
    strict_row = partial(twins[0], [-2, -1], filter="strict")
    path = write_log(first_row, strict_row)
    first, strict = read_predictions(path, twins)
    assert first.scoring == "lmeval"
    assert choices_of(first) == [0]
    assert strict.scoring == "lmeval?filter=strict"
    assert choices_of(strict) == [1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"doc": 3}, "field 'doc': expected the evaluated document, found 3"),
        ({"filtered_resps": None}, "field 'filtered_resps': expected a list of responses, found None"),
        ({"arguments": 3}, "field 'arguments': expected the requests, found 3"),
        ({"arguments": [["x"]]}, "field 'arguments': expected a context and a continuation, found ['x']"),
    ],
)
def test_a_malformed_row_is_named(twins, write_log, change, says):
    row = partial(twins[0], [-1, -2])
    changed_row = partial(twins[1], [-1, -2]) | change
    path = write_log(row, changed_row)
    with pytest.raises(Malformed) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert message == f"{path}:2: {says}"
    part = read_only_part(path, twins, lenient=True)
    assert len(part.predictions) == 1


def test_a_document_of_another_dataset_is_unmatched(twins, write_log):
    rows = [partial(problem, [-1, -2]) for problem in twins]
    path = write_log(*rows)
    part = read_only_part(path, Dataset(twins[:2]))
    assert len(part.predictions) == 2
    assert len(part.unmatched) == 4
