"""Tables that others publish: whatever the delimiter, the columns and the way to say a choice."""

import json

import pytest

from winokit import audit, load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed, UnknownName
from winokit.problem import Dataset


@pytest.fixture
def written(tmp_path):
    def write(text, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else "".join(json.dumps(row) + "\n" for row in text), encoding)
        return path

    return write


def predicted(path, data, columns=None, **more):
    (read,) = read_predictions(path, data, columns=columns and checked_columns(columns), **more)
    return [made.prediction for made in read.predictions]


@pytest.fixture
def sourced(twins):
    """Problems with the ids of a source."""
    return twins.with_problems(p.replace(provenance={"idx": place}) for place, p in enumerate(twins))


@pytest.fixture
def copa(tmp_path):
    rows = [("The man fell.", "cause"), ("It rained.", "effect")]
    path = tmp_path / "copa.jsonl"
    path.write_text(
        "".join(
            json.dumps({"premise": p, "choice1": f"{p} A.", "choice2": f"{p} B.", "question": q, "label": 1, "idx": i})
            + "\n"
            for i, (p, q) in enumerate(rows)
        )
    )
    return load(path)


def test_logits_between_semicolons_with_decimal_commas_keep_their_margins(sourced, written):
    rows = "".join(f"{place};{place - 2},5;0,25\n" for place in range(6))
    (read,) = read_predictions(written(f"idx;logit_option1;logit_option2\n{rows}", encoding="utf-8-sig"), sourced)
    assert [made.scores for made in read.predictions][:2] == [(-2.5, 0.25), (-1.5, 0.25)]
    assert [made.prediction for made in read.predictions] == [1, 1, 0, 0, 0, 0]
    assert read.predictions[0].margin == 2.75


@pytest.mark.parametrize(
    ("header", "cells"),
    [("score_a,score_b", "-1.5,2"), ("logprobs", '"[-1.5, 2.0]"'), ("logits", "tensor([-1.5000  2.0000])")],
)
def test_scores_stand_in_a_column_each_or_all_in_one(sourced, written, header, cells):
    (read,) = read_predictions(written(f"idx,{header}\n0,{cells}\n"), sourced)
    assert (read.predictions[0].scores, read.predictions[0].prediction) == ((-1.5, 2.0), 1)


def test_scores_follow_the_candidates_of_their_row(twins, written):
    text = f'sentence,option1,option2,score1,score2\n"{twins[0].text}",the cup,the jug,3,1\n'
    (read,) = read_predictions(written(text), twins)
    assert (read.predictions[0].scores, read.predictions[0].prediction) == ((1.0, 3.0), 1)


def test_a_prediction_beside_scores_counts_and_it_is_said_where_they_differ(sourced, written):
    (read,) = read_predictions(written("idx,pred,score1,score2\n0,1,0,9\n1,2,0,9\n"), sourced)
    assert [made.prediction for made in read.predictions] == [0, 1]
    assert "in 1 row the prediction is not the candidate with the highest score" in read.notes[0]


def test_a_tie_and_an_empty_score_abstain_and_a_missing_one_is_malformed(sourced, written):
    assert predicted(written("idx,score1,score2\n0,1,1\n1,,\n"), sourced) == [None, None]
    with pytest.raises(Malformed, match=r"table\.csv:2: field 'score1': expected numbers, found 'x 1'"):
        predicted(written("idx,score1,score2\n0,x,1\n"), sourced)
    with pytest.raises(Malformed, match="expected 2 scores, one per candidate, found 3"):
        predicted(written('idx,scores\n0,"1 2 3"\n'), sourced)


def test_generated_text_is_read_as_a_chat_s_replies_are_and_matched_by_its_prompt(twins, written):
    others = [f"It must be {one.candidates[0]}!" for one in twins[2:]]
    replies = ["the cup", "The answer is the cup.", "I do not know.", "Both.", *others[2:]]
    rows = [
        {"input": f"Who? {one.text} Choose.", "generated_text": reply}
        for one, reply in zip(twins, replies, strict=True)
    ]
    (read,) = read_predictions(written(rows, "flan.jsonl"), twins)
    assert [made.prediction for made in read.predictions] == [1, 1, None, None, 0, 0]
    assert read.predictions[2].why == "no answer could be read: 'I do not know.'"
    assert "in 2 rows no answer could be read; they are abstentions; the first: line 3" in read.notes[-1]


def test_option1_and_its_candidate_are_one_answer_unless_they_differ(twins, written):
    jug, cup = twins[0].candidates
    text = "".join(
        f'"{one.text}",{jug},{cup},{reply}\n'
        for one, reply in zip(twins, (f"Option1: {jug}", f"Option2: {cup}"), strict=False)
    )
    head = "sentence,option1,option2,ChatGPT response\n"
    assert predicted(written(head + text), twins) == [0, 1]
    other = f'"{twins[1].text}",{jug},{cup},Option1: {cup}\n'
    assert predicted(written(head + text.split("\n")[0] + "\n" + other), twins) == [0, None]


def test_a_column_in_which_nothing_can_be_read_is_refused(sourced, written):
    with pytest.raises(BadInput, match=r"in column 'output' no answer could be read; the first: line 2: 'Hm\.'"):
        predicted(written("idx,output\n0,Hm.\n1,What?\n"), sourced)


def test_superglue_s_idx_and_label_count_from_zero_even_where_all_are_one(copa, written):
    rows = [{"idx": 0, "label": 1}, {"idx": 1, "label": 1}]
    assert predicted(written(rows, "COPA.jsonl"), copa) == [1, 1]
    rows = [{"idx": 1, "label": 0}, {"idx": 0, "label": 1}]
    assert predicted(written(rows, "COPA.jsonl"), copa) == [1, 0]


def test_superglue_s_judgements_are_true_or_false(real_file, written):
    data = load(real_file("superglue-wsc/val.jsonl"))
    rows = [{"idx": place, "label": str(bool(one.answer))} for place, one in enumerate(data)]
    (read,) = read_predictions(written(rows, "WSC.jsonl"), data)
    assert all(made.prediction == made.answer for made in read.predictions)
    assert read.notes == []


def test_a_copa_table_is_matched_by_premise_and_choices(copa, written):
    rows = "".join(
        f"{one.labels['premise']},{one.labels['asks_for']},{one.candidates[1]},{one.candidates[0]},0,1\n"
        for one in reversed(copa)
    )
    (read,) = read_predictions(written(f"premise,question,choice1,choice2,label,pred\n{rows}"), copa)
    assert [made.prediction for made in read.predictions] == [0, 0]
    assert any("count from 0" in note for note in read.notes)


def test_the_columns_can_be_named(twins, written):
    path = written(f'nr\tsatz\twahl\n7\t"{twins[1].text}"\t2\n8\t"{twins[0].text}"\t1\n')
    assert predicted(path, twins, "text=SATZ,prediction=wahl") == [0, 1]
    assert predicted(path, twins, {"text": "satz", "prediction": "wahl:1"}) == [0, 1]
    with pytest.raises(Malformed, match="expected 1 or 2, found '3'"):
        predicted(written(f'satz,wahl\n"{twins[1].text}",3\n'), twins, "text=satz,prediction=wahl")
    path = written(f'satz,wahl\n"{twins[1].text}",1\n')
    assert predicted(path, twins, "text=satz,prediction=wahl:0") == [1]
    with pytest.raises(Malformed, match="expected 0 or 1, found '2'"):
        predicted(written(f'satz,wahl\n"{twins[1].text}",2\n'), twins, "text=satz,prediction=wahl:0")


def test_order_must_be_asked_for_and_is_counted(twins, written):
    path = written("logit_0|logit_1\n" + "1|2\n" * 6)
    with pytest.raises(BadInput, match=r"id or text, found logit_0, logit_1; .*scores2=logit_1,order=line"):
        predicted(path, twins)
    assert predicted(path, twins, "scores1=logit_0,scores2=logit_1,order=line") == [1] * 6
    with pytest.raises(BadInput, match=r"6 rows for the 5 problems of .*: rows are matched by order"):
        predicted(path, twins[:5], "scores1=logit_0,scores2=logit_1,order=line")


def test_a_column_of_numbers_can_say_the_order(twins, written):
    rows = "".join(f"{number},{1 + (number == 3)}\n" for number in (6, 5, 4, 3, 2, 1))
    assert predicted(written("nr,p\n" + rows), twins, "order=nr,prediction=p") == [0, 0, 1, 0, 0, 0]
    with pytest.raises(BadInput, match="column 'nr': expected the numbers of 6 problems, from 0 or 1 and each once"):
        predicted(written("nr,p\n" + rows.replace("5,", "6,")), twins, "order=nr,prediction=p")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("id=idx,prediction=guess", r"no column 'guess' for 'prediction'; it has idx, a_pred, b_pred"),
        (None, r"a_pred, b_pred: which is the prediction\? --columns id=idx,prediction=a_pred"),
    ],
)
def test_what_is_missing_is_said_with_what_was_found(sourced, written, columns, says):
    with pytest.raises(BadInput, match=says):
        predicted(written("idx,a_pred,b_pred\n0,1,1\n"), sourced, columns)


def test_a_wrong_role_says_which_there_are():
    with pytest.raises(UnknownName, match="Did you mean 'prediction'"):
        checked_columns("predicton=x")
    with pytest.raises(BadInput, match="'prediction' is missing, or 'scores1' and 'scores2'"):
        checked_columns("id=x")
    with pytest.raises(BadInput, match=r"^--columns: expected role=column,role=column, found 'id'"):
        checked_columns("id")


def test_byte_85_inside_a_letter_ends_no_line(written, tmp_path):
    data = Dataset([load("open")[0].replace(before="Åsa 因 met Nora when ", candidates=("Åsa", "Nora"))])
    text = f"sentence,prediction\n{data[0].text},Åsa\n"
    assert predicted(written(text), data) == [0]
    assert predicted(written(text, encoding="utf-16"), data) == [0]


def test_an_audit_takes_the_columns_under_either_name(twins, written):
    path = written("wahl,nr\n" + "".join(f"{1 + one.answer},x{place}\n" for place, one in enumerate(twins)))
    for option in ("columns",):
        run = audit(twins, predictions=[path], protocol="accuracy", **{option: "prediction=wahl,order=line"})
        assert run.find("accuracy", "all", "accuracy").value == 1
    with pytest.raises(BadInput, match="--predictions FILE"):
        audit(twins, columns="prediction=wahl,order=line")


def test_a_lenient_audit_counts_what_it_skips_in_data_and_predictions(twins, written, tmp_path):
    data = tmp_path / "data.jsonl"
    rows = [json.dumps({"text": p.text, "candidates": list(p.candidates), "answer": p.answer}) for p in twins]
    data.write_text("\n".join([*rows, "{broken"]) + "\n")
    head = "sentence,option1,option2,prediction\n"
    path = written(head + "".join(f'"{p.text}",{p.candidates[0]},{p.candidates[1]},{n}\n' for n, p in enumerate(twins)))
    with pytest.raises(Malformed, match=r"data\.jsonl:7"):
        audit(data, predictions=[path], protocol="accuracy")
    with pytest.raises(Malformed, match=r"table\.csv:2: field 'prediction': expected 1 or 2, found '0'"):
        audit(twins, predictions=[path], protocol="accuracy")
    run = audit(data, predictions=[path], protocol="accuracy", lenient=True)
    assert any("skipped 1 malformed record" in note for note in run.notes)
    assert any("skipped 4 malformed rows" in note for note in run.notes)
    assert run.find("accuracy", "all", "accuracy").n == 2


def test_a_prediction_that_is_no_text_is_named_and_a_workbook_is_refused(sourced, written):
    assert predicted(written([{"idx": 0, "pred": [sourced[0].candidates[1]]}], "a.jsonl"), sourced) == [1]
    with pytest.raises(Malformed, match=r"a\.jsonl:1: field 'pred': expected a text or a number, found \{'a': 1\}"):
        predicted(written([{"idx": 0, "pred": {"a": 1}}], "a.jsonl"), sourced)
    with pytest.raises(BadInput, match="a workbook; save the table in it as csv"):
        predicted(written("PK", "a.xlsx"), sourced)


def test_rows_of_several_models_are_told_apart_by_a_column(sourced, written):
    path = written("who,idx,pred\na,0,1\nb,0,2\n")
    reads = read_predictions(path, sourced, columns=checked_columns("model=who,id=idx,prediction=pred"))
    assert [(read.model, read.predictions[0].prediction) for read in reads] == [("a", 0), ("b", 1)]


def test_one_number_in_a_column_of_scores_is_a_confidence_and_not_scores(sourced, written):
    (read,) = read_predictions(written("idx,pred,score\n0,1,0.93\n1,2,0.5\n"), sourced)
    assert [(made.prediction, made.scores) for made in read.predictions] == [(0, None), (1, None)]


def test_numbers_and_replies_may_stand_side_by_side_and_a_stray_word_is_a_slip(sourced, written):
    head = "idx,response\n"
    rows = "0,1\n1,Option 2\n2,I am sorry to say that I cannot tell.\n3,2\n"
    (read,) = read_predictions(written(head + rows), sourced)
    assert [made.prediction for made in read.predictions] == [0, 1, None, 1]
    with pytest.raises(Malformed, match="expected 1 or 2, found 'the mug'"):
        read_predictions(written(head + rows + "4,the mug\n"), sourced)


def test_a_prompt_in_a_column_of_any_name_is_looked_into_when_it_is_named(twins, written):
    path = written(f'eingabe,wahl\n"Wer? {twins[1].text} Sag es.",2\n')
    assert predicted(path, twins, "text=eingabe,prediction=wahl") == [1]


@pytest.mark.parametrize(
    "columns", ["id=idx,option1=a,option2=b,prediction=p", "order=idx,option1=a,option2=b,prediction=p"]
)
def test_candidates_of_another_problem_are_not_taken_for_those_of_this_one(sourced, written, columns):
    jug, cup = sourced[0].candidates
    path = written("idx,a,b,p\n" + "".join(f"{place},{cup},{jug},1\n" for place in range(6)))
    (read,) = read_predictions(path, sourced, columns=checked_columns(columns))
    assert [made.prediction for made in read.predictions] == [1, 1]
    assert f"not {cup} / {jug}" in read.unmatched[0]


@pytest.mark.parametrize("mark", ["{label}) ", "({label}) ", "{label}. ", "Option {label}: ", "{label}: "])
@pytest.mark.parametrize("labels", ["AB", "12"])
@pytest.mark.parametrize("ending", ["\n", " "])
def test_a_letter_or_number_means_what_the_prompt_lists_behind_it(tmp_path, mark, labels, ending):
    data = load("open")[:24]
    path = tmp_path / "asked.jsonl"
    rows = []
    for at, problem in enumerate(data):
        order = problem.candidates[:: 1 if at % 2 else -1]
        listed = ending.join(mark.format(label=label) + name for label, name in zip(labels, order, strict=True))
        chosen = problem.candidates[problem.answer if at % 4 else 1 - problem.answer]
        reply = labels[order.index(chosen)]
        rows.append(
            {"prompt": f"{problem.text}\n{listed}\nAnswer:", "response": [reply, f"The answer is ({reply})."][at % 2]}
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (read,) = read_predictions(path, data)
    assert (read.right, len(read.predictions)) == (18, 24)


def test_of_prompts_with_solved_examples_the_last_list_counts():
    from winokit.data.predictions.answers import listed_names

    names = ("the jug", "the cup")
    prompt = "Who?\nA) the jug\nB) the cup\nAnswer: A\n\nWho?\nA) the cup\nB) the jug\nAnswer:"
    assert listed_names(prompt, "A", names) == ("the cup", "the jug")
    assert listed_names(prompt, "1", names) is None
    assert listed_names("A jug. B) the cup", "A", names) is None


@pytest.mark.parametrize("kind", ["names", "letters", "numbers", "printed"])
def test_scores_by_candidate_go_to_that_candidate_in_whatever_order(tmp_path, kind):
    data = load("open")[:24]
    path = tmp_path / "scores.jsonl"
    rows = []
    for at, problem in enumerate(data):
        chosen = problem.answer if at % 4 else 1 - problem.answer
        keys = {"letters": ("A", "B"), "numbers": ("1", "2")}.get(kind, problem.candidates)
        by_name = {keys[place]: 0.8 if place == chosen else 0.2 for place in ((1, 0) if at % 2 else (0, 1))}
        rows.append({"id": problem.id, "scores": str(by_name) if kind == "printed" else by_name})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (read,) = read_predictions(path, data)
    assert (read.right, len(read.predictions)) == (18, 24)
    rows[0]["scores"] = {"somebody": 1, "else": 0}
    path.write_text(json.dumps(rows[0]) + "\n")
    with pytest.raises(BadInput):
        read_predictions(path, data)


def test_a_share_in_a_row_of_totals_is_no_prediction(tmp_path):
    data = load("open")[:24]
    path = tmp_path / "mine.csv"
    rows = "".join(f'"{problem.text}",{problem.answer + 1}\n' for problem in data)
    path.write_text(f"sentence,prediction\n{rows},0.75\n")
    (read,) = read_predictions(path, data)
    assert read.right == 24


def test_percent_and_decimal_commas_are_scores(tmp_path):
    data = load("open")[:24]
    path = tmp_path / "mine.csv"
    cells = [("80,5 %", "19,5 %"), ("19,5 %", "80,5 %")]
    path.write_text("id;prob1;prob2\n" + "".join(f"{p.id};{';'.join(cells[p.answer])}\n" for p in data))
    (read,) = read_predictions(path, data)
    assert read.right == 24


def test_a_gold_letter_means_what_the_prompt_lists_too(tmp_path):
    data = load("open")[:24]
    path = tmp_path / "asked.jsonl"
    rows = []
    for problem in data:
        prompt = f"{problem.text}\nA. {problem.candidates[1]}\nB. {problem.candidates[0]}"
        rows.append({"prompt": prompt, "gold": "BA"[problem.answer], "output": "A"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (read,) = read_predictions(path, data)
    assert read.right == sum(problem.answer == 1 for problem in data)
    assert not read.unmatched
