import json

import pytest
from support.harness import partial, sample, winogrande_doc, wsc273_row

from winokit import load
from winokit.data.predictions.read import read_predictions
from winokit.errors import Malformed
from winokit.problem import Dataset


@pytest.fixture
def written(tmp_path):
    def write(*rows, name="samples_mine.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def test_the_real_log_has_639_right_and_agrees_with_the_harness_row_by_row(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    path = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    (read,) = read_predictions(path, dev)
    assert (len(read.predictions), read.unmatched, read.notes) == (1267, [], [])
    logged = [json.loads(line) for line in path.read_text().splitlines()]
    by_text = {row["doc"]["sentence"]: row for row in logged}
    for problem, made in zip(dev, read.predictions, strict=True):
        row = by_text[problem.text]
        assert (made.prediction == made.answer) == (row["acc"] == 1.0)
        assert made.scores == tuple(float(response[0]) for response in row["filtered_resps"])
    assert sum(made.prediction == made.answer for made in read.predictions) == 639


def test_the_real_log_says_the_same_of_a_dataset_with_its_options_turned(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    turned = dev.with_problems(problem.with_order((1, 0)) for problem in dev)
    path = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    (straight,) = read_predictions(path, dev)
    (read,) = read_predictions(path, turned)
    assert sum(made.prediction == made.answer for made in read.predictions) == 639
    assert [made.scores[::-1] for made in read.predictions] == [made.scores for made in straight.predictions]


def test_scores_follow_the_options_of_the_document(twins, written):
    (read,) = read_predictions(written(partial(twins[1], [-5, -9], order=(1, 0))), twins)
    assert (read.predictions[0].scores, read.predictions[0].prediction) == ((-9.0, -5.0), 1)


def test_scores_follow_the_requests_where_these_are_in_another_order_than_the_document(twins, written):
    (read,) = read_predictions(written(partial(twins[1], [-5, -9], order=(0, 1), asked=(1, 0))), twins)
    assert (read.predictions[0].scores, read.predictions[0].prediction, read.notes) == ((-9.0, -5.0), 1, [])


def test_requests_in_a_chat_template_are_understood(twins, written):
    row = partial(twins[1], [-5, -9], order=(1, 0))
    for request in row["arguments"].values():
        request["arg_0"] = f"<|user|>\n{request['arg_0']}<|end|>\n<|assistant|>"
    (read,) = read_predictions(written(row), twins)
    assert read.predictions[0].scores == (-9.0, -5.0)


def test_older_logs_with_lists_and_numbers_are_read(twins, written):
    row = partial(twins[0], [-1, -2])
    row["arguments"] = [list(request.values()) for request in row["arguments"].values()]
    row["filtered_resps"] = [[-1.5, False], [-2.5, False]]
    (read,) = read_predictions(written(row), twins)
    assert read.predictions[0].scores == (-1.5, -2.5)


def test_without_requests_the_order_is_that_of_the_document(twins, written):
    row = partial(twins[1], [-5, -9], order=(1, 0))
    del row["arguments"]
    (read,) = read_predictions(written(row), twins)
    assert read.predictions[0].scores == (-9.0, -5.0)


def test_choices_that_are_the_candidates_are_mapped_by_their_text(twins, written):
    question = f"{twins[3].text} Who?"
    doc = winogrande_doc(twins[3])
    (read,) = read_predictions(written(sample(doc, [(question, " Ines"), (question, " Nora")], [-1, -2])), twins)
    assert (read.predictions[0].scores, read.predictions[0].prediction) == ((-2.0, -1.0), 1)


def test_lettered_choices_are_read_from_the_prompt(twins, written):
    prompt = f"{twins[3].text}\nA. Ines\nB. Nora\nAnswer:"
    row = sample(winogrande_doc(twins[3]), [(prompt, " A"), (prompt, " B")], [-1, -2])
    (read,) = read_predictions(written(row), twins)
    assert read.predictions[0].scores == (-2.0, -1.0)


def test_choices_that_are_no_candidates_are_unmatched(twins, written):
    prompt = f"{twins[3].text} True?"
    row = sample(winogrande_doc(twins[3]), [(prompt, " yes"), (prompt, " no")], [-1, -2])
    (read,) = read_predictions(written(row, partial(twins[0], [-1, -2])), twins)
    assert read.unmatched == ["line 1: its choices 'yes' / 'no' are not the candidates Nora / Ines"]


@pytest.mark.parametrize(
    ("responses", "says"),
    [
        ([["-1", "False"]], "line 2: 1 responses where the problem has 2 candidates"),
        ([["-1", "False"]] * 4, "line 2: 4 responses where the problem has 2 candidates"),
        (["Ines", "Nora"], "line 2: expected a log-probability in its responses, found 'Ines'"),
        ([["Ines"], ["Nora"]], "line 2: expected a log-probability in its responses, found ['Ines']"),
    ],
)
def test_responses_that_do_not_fit_are_unmatched(twins, written, responses, says):
    odd = partial(twins[1], [-1, -2]) | {"filtered_resps": responses}
    (read,) = read_predictions(written(partial(twins[0], [-1, -2]), odd), twins)
    assert (len(read.predictions), read.unmatched) == (1, [says])


def test_ties_and_scores_that_are_no_numbers_are_abstentions(twins, written):
    rows = [partial(twins[0], [-2, -2], acc=1.0), partial(twins[1], ["nan", -2]), partial(twins[2], ["-inf", -2])]
    (read,) = read_predictions(written(*rows), twins)
    assert [(made.prediction, made.why, made.scores) for made in read.predictions] == [
        (None, "a tie", (-2.0, -2.0)),
        (None, "a score is not a number", None),
        (1, None, None),
    ]
    notes = [note.partition(": ")[2] for note in read.notes]
    assert notes[0] == "in 1 row a tie; they are abstentions; the first: line 1"
    assert notes[1] == "in 1 row a score is not a number; they are abstentions; the first: line 2"
    assert notes[2] == "we read 0 right, the file says 1: 1 row differs, the first: line 1"


def test_a_verdict_that_does_not_follow_from_the_scores_is_noted(twins, written):
    rows = [partial(twins[0], [-1, -2], acc=1.0), partial(twins[1], [-1, -2], acc=1.0)]
    (read,) = read_predictions(written(*rows), twins)
    assert len(read.notes) == 1
    assert "right, the file says" in read.notes[0]
    assert read.notes[0].endswith("the first: line 2")


def test_wsc273_as_the_harness_logs_it_is_joined_to_the_collection(real_file, written):
    wsc = load(real_file("wsc/WSCollection.xml"))
    rows = [wsc273_row(problem, turned=place % 2 == 1) for place, problem in enumerate(wsc[:273])]
    assert any(row["doc"]["text"][row["doc"]["pronoun_loc"] :][:2] != row["doc"]["pronoun"][:2] for row in rows)
    (read,) = read_predictions(written(*rows), wsc)
    assert (len(read.predictions), read.unmatched, read.notes) == (273, [], [])
    assert all(made.prediction == made.answer for made in read.predictions)


def test_documents_of_no_known_dialect_are_found_by_their_sentence(real_file, written):
    data = load(real_file("winogender/all_sentences.tsv"))
    rows = []
    for problem in data:
        occupation, participant = (name.removeprefix("the ") for name in problem.candidates)
        doc = {"sentid": "x", "sentence": problem.sentence, "pronoun": problem.pronoun, "occupation": occupation}
        asked = f"{problem.sentence} ‘{problem.pronoun.capitalize()}’ refers to the"
        rows.append(sample(doc, [(asked, f" {participant}"), (asked, f" {occupation}")], [-1, -2], acc=problem.answer))
    (read,) = read_predictions(written(*rows), data)
    assert (len(read.predictions), read.unmatched, read.notes) == (720, [], [])
    assert {made.prediction for made in read.predictions} == {1}


def test_yes_no_judgements_are_told_apart_by_their_query(real_file, written):
    data = load(real_file("superglue-wsc/val.jsonl"))
    rows = []
    for line in real_file("superglue-wsc/val.jsonl").read_text().splitlines():
        doc = json.loads(line)
        doc = {"text": doc["text"], **doc["target"], "label": int(doc["label"])}
        scores = [-1, -2] if doc["label"] == 0 else [-2, -1]
        rows.append(sample(doc, [("Passage …", " no"), ("Passage …", " yes")], scores, acc=1.0))
    (read,) = read_predictions(written(*reversed(rows)), data)
    assert (len(read.predictions), read.unmatched, read.notes) == (104, [], [])
    assert all(made.prediction == made.answer for made in read.predictions)


def test_model_and_task_come_from_the_results_beside_or_from_the_folder(twins, tmp_path):
    folder = tmp_path / "org__small-lm"
    folder.mkdir()
    log = folder / "samples_winogrande_2026-01-02T03-04-05.678901.jsonl"
    log.write_text(json.dumps(partial(twins[0], [-1, -2])))
    (read,) = read_predictions(log, twins)
    assert (read.model, read.scoring) == ("org/small-lm", "lmeval:winogrande")
    (folder / "results_2026-01-02T03-04-05.678901.json").write_text('{"model_name": "org/small-lm-v2"}')
    assert read_predictions(log, twins)[0].model == "org/small-lm-v2"


def test_filters_are_scorings_of_their_own(twins, written):
    rows = [partial(twins[0], [-1, -2]), partial(twins[0], [-2, -1], filter="strict")]
    reads = read_predictions(written(*rows), twins)
    assert [(read.scoring, read.predictions[0].prediction) for read in reads] == [
        ("lmeval", 0),
        ("lmeval?filter=strict", 1),
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"doc": 3}, "field 'doc': expected the evaluated document, found 3"),
        ({"filtered_resps": None}, "field 'filtered_resps': expected a list of responses, found None"),
        ({"arguments": 3}, "field 'arguments': expected the requests, found 3"),
        ({"arguments": [["x"]]}, "field 'arguments': expected a context and a continuation, found ['x']"),
    ],
)
def test_a_malformed_row_is_named(twins, written, change, says):
    path = written(partial(twins[0], [-1, -2]), partial(twins[1], [-1, -2]) | change)
    with pytest.raises(Malformed) as caught:
        read_predictions(path, twins)
    assert str(caught.value) == f"{path}:2: {says}"
    assert len(read_predictions(path, twins, lenient=True)[0].predictions) == 1


def test_a_document_of_another_dataset_is_unmatched(twins, written):
    path = written(*(partial(problem, [-1, -2]) for problem in twins))
    (read,) = read_predictions(path, Dataset(twins[:2]))
    assert (len(read.predictions), len(read.unmatched)) == (2, 4)
