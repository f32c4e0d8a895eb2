"""Tables that others publish are read, whatever their delimiter, their columns and their way to say a choice."""

import pytest
from support.json_rows import json_lines
from support.reading import choice_number, choices_of, read_only_part

from winokit import audit, load
from winokit.data.predictions.answers import listed_names
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed, UnknownName
from winokit.problem import Dataset


@pytest.fixture
def write_table(tmp_path):
    def write(content, name="table.csv", encoding="utf-8"):
        """Write a text as it is, or rows as JSON lines."""
        path = tmp_path / name
        text = content if isinstance(content, str) else json_lines(content)
        path.write_text(text, encoding)
        return path

    return write


def read_choices(path, data, columns=None):
    """Choices of a table whose columns are guessed, or named as on the command line."""
    roles = checked_columns(columns) if columns else None
    return choices_of(read_only_part(path, data, columns=roles))


@pytest.fixture
def sourced(twins):
    """Twins with their index as id of the source."""
    return twins.with_problems(problem.replace(provenance={"idx": index}) for index, problem in enumerate(twins))


@pytest.fixture
def copa(tmp_path):
    """Two problems of COPA, of which the second candidate is right."""
    fall = {"premise": "The man fell.", "choice1": "The man fell. A.", "choice2": "The man fell. B."}
    rain = {"premise": "It rained.", "choice1": "It rained. A.", "choice2": "It rained. B."}
    rows = [
        fall | {"question": "cause", "label": 1, "idx": 0},
        rain | {"question": "effect", "label": 1, "idx": 1},
    ]
    path = tmp_path / "copa.jsonl"
    path.write_text(json_lines(rows))
    return load(path)


def test_logits_between_semicolons_with_decimal_commas_keep_their_margins(sourced, write_table):
    rows = "".join(f"{index};{index - 2},5;0,25\n" for index in range(6))
    path = write_table(f"idx;logit_option1;logit_option2\n{rows}", encoding="utf-8-sig")
    part = read_only_part(path, sourced)
    scores = [row.scores for row in part.predictions]
    assert scores[:2] == [(-2.5, 0.25), (-1.5, 0.25)]
    assert choices_of(part) == [1, 1, 0, 0, 0, 0]
    assert part.predictions[0].margin == 2.75


@pytest.mark.parametrize(
    ("header", "cells"),
    [("score_a,score_b", "-1.5,2"), ("logprobs", '"[-1.5, 2.0]"'), ("logits", "tensor([-1.5000  2.0000])")],
)
def test_scores_stand_in_a_column_each_or_all_in_one(sourced, write_table, header, cells):
    path = write_table(f"idx,{header}\n0,{cells}\n")
    part = read_only_part(path, sourced)
    assert part.predictions[0].scores == (-1.5, 2.0)
    assert part.predictions[0].prediction == 1


def test_scores_follow_the_candidates_of_their_row(twins, write_table):
    text = f'sentence,option1,option2,score1,score2\n"{twins[0].text}",the cup,the jug,3,1\n'
    path = write_table(text)
    part = read_only_part(path, twins)
    assert part.predictions[0].scores == (1.0, 3.0)
    assert part.predictions[0].prediction == 1


def test_a_prediction_beside_scores_counts_and_it_is_said_where_they_differ(sourced, write_table):
    path = write_table("idx,pred,score1,score2\n0,1,0,9\n1,2,0,9\n")
    part = read_only_part(path, sourced)
    assert choices_of(part) == [0, 1]
    assert "in 1 row the prediction is not the candidate with the highest score" in part.notes[0]


def test_a_tie_and_an_empty_score_abstain(sourced, write_table):
    path = write_table("idx,score1,score2\n0,1,1\n1,,\n")
    assert read_choices(path, sourced) == [None, None]


def test_a_score_that_is_no_number_and_one_too_many_are_malformed(sourced, write_table):
    path = write_table("idx,score1,score2\n0,x,1\n")
    with pytest.raises(Malformed, match=r"table\.csv:2: field 'score1': expected numbers, found 'x 1'"):
        read_choices(path, sourced)
    path = write_table('idx,scores\n0,"1 2 3"\n')
    with pytest.raises(Malformed, match="expected 2 scores, one per candidate, found 3"):
        read_choices(path, sourced)


def test_generated_text_is_read_as_a_chat_s_replies_are_and_matched_by_its_prompt(twins, write_table):
    first_candidates = [f"It must be {problem.candidates[0]}!" for problem in twins[4:]]
    replies = ["the cup", "The answer is the cup.", "I do not know.", "Both.", *first_candidates]
    rows = []
    for problem, reply in zip(twins, replies, strict=True):
        rows.append({"input": f"Who? {problem.text} Choose.", "generated_text": reply})
    path = write_table(rows, "flan.jsonl")
    part = read_only_part(path, twins)
    assert choices_of(part) == [1, 1, None, None, 0, 0]
    assert part.predictions[2].why == "no answer could be read: 'I do not know.'"
    assert "in 2 rows no answer could be read; they are abstentions; the first: line 3" in part.notes[-1]


def test_option1_and_its_candidate_are_one_answer_unless_they_differ(twins, write_table):
    jug, cup = twins[0].candidates
    header = "sentence,option1,option2,ChatGPT response\n"
    first_row = f'"{twins[0].text}",{jug},{cup},Option1: {jug}\n'
    second_row = f'"{twins[1].text}",{jug},{cup},Option2: {cup}\n'
    path = write_table(header + first_row + second_row)
    assert read_choices(path, twins) == [0, 1]
    contradiction = f'"{twins[1].text}",{jug},{cup},Option1: {cup}\n'
    path = write_table(header + first_row + contradiction)
    assert read_choices(path, twins) == [0, None]


def test_a_column_in_which_nothing_can_be_read_is_refused(sourced, write_table):
    path = write_table("idx,output\n0,Hm.\n1,What?\n")
    with pytest.raises(BadInput, match=r"in column 'output' no answer could be read; the first: line 2: 'Hm\.'"):
        read_choices(path, sourced)


def test_superglue_s_idx_and_label_count_from_zero_even_where_all_are_one(copa, write_table):
    rows = [{"idx": 0, "label": 1}, {"idx": 1, "label": 1}]
    path = write_table(rows, "COPA.jsonl")
    assert read_choices(path, copa) == [1, 1]
    rows = [{"idx": 1, "label": 0}, {"idx": 0, "label": 1}]
    path = write_table(rows, "COPA.jsonl")
    assert read_choices(path, copa) == [1, 0]


def test_superglue_s_judgements_are_true_or_false(real_file, write_table):
    data = load(real_file("superglue-wsc/val.jsonl"))
    rows = [{"idx": index, "label": str(bool(problem.answer))} for index, problem in enumerate(data)]
    path = write_table(rows, "WSC.jsonl")
    part = read_only_part(path, data)
    assert all(row.prediction == row.answer for row in part.predictions)
    assert part.notes == []


def test_a_copa_table_is_matched_by_premise_and_choices(copa, write_table):
    rows = "premise,question,choice1,choice2,label,pred\n"
    for problem in reversed(copa):
        first, second = problem.candidates
        rows += f"{problem.labels['premise']},{problem.labels['asks_for']},{second},{first},0,1\n"
    path = write_table(rows)
    part = read_only_part(path, copa)
    assert choices_of(part) == [0, 0]
    assert any("count from 0" in note for note in part.notes)


def test_the_columns_can_be_named(twins, write_table):
    path = write_table(f'nr\tsatz\twahl\n7\t"{twins[1].text}"\t2\n8\t"{twins[0].text}"\t1\n')
    assert read_choices(path, twins, "text=SATZ,prediction=wahl") == [0, 1]
    assert read_choices(path, twins, {"text": "satz", "prediction": "wahl:1"}) == [0, 1]


def test_choices_count_from_one_unless_the_column_says_from_zero(twins, write_table):
    path = write_table(f'satz,wahl\n"{twins[1].text}",3\n')
    with pytest.raises(Malformed, match="expected 1 or 2, found '3'"):
        read_choices(path, twins, "text=satz,prediction=wahl")
    path = write_table(f'satz,wahl\n"{twins[1].text}",1\n')
    assert read_choices(path, twins, "text=satz,prediction=wahl:0") == [1]
    path = write_table(f'satz,wahl\n"{twins[1].text}",2\n')
    with pytest.raises(Malformed, match="expected 0 or 1, found '2'"):
        read_choices(path, twins, "text=satz,prediction=wahl:0")


def test_order_must_be_asked_for_and_is_counted(twins, write_table):
    path = write_table("logit_0|logit_1\n" + "1|2\n" * 6)
    with pytest.raises(BadInput, match=r"id or text, found logit_0, logit_1; .*scores2=logit_1,order=line"):
        read_choices(path, twins)
    columns = "scores1=logit_0,scores2=logit_1,order=line"
    assert read_choices(path, twins, columns) == [1] * 6
    with pytest.raises(BadInput, match=r"6 rows for the 5 problems of .*: rows are matched by order"):
        read_choices(path, twins[:5], columns)


def test_a_column_of_numbers_can_say_the_order(twins, write_table):
    rows = "6,1\n5,1\n4,1\n3,2\n2,1\n1,1\n"
    path = write_table("nr,p\n" + rows)
    assert read_choices(path, twins, "order=nr,prediction=p") == [0, 0, 1, 0, 0, 0]
    path = write_table("nr,p\n" + rows.replace("5,", "6,"))
    with pytest.raises(BadInput, match="column 'nr': expected the numbers of 6 problems, from 0 or 1 and each once"):
        read_choices(path, twins, "order=nr,prediction=p")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("id=idx,prediction=guess", r"no column 'guess' for 'prediction'; it has idx, a_pred, b_pred"),
        (None, r"a_pred, b_pred: which is the prediction\? --columns id=idx,prediction=a_pred"),
    ],
)
def test_what_is_missing_is_said_with_what_was_found(sourced, write_table, columns, says):
    path = write_table("idx,a_pred,b_pred\n0,1,1\n")
    with pytest.raises(BadInput, match=says):
        read_choices(path, sourced, columns)


def test_a_wrong_role_says_which_there_are():
    with pytest.raises(UnknownName, match="Did you mean 'prediction'"):
        checked_columns("predicton=x")
    with pytest.raises(BadInput, match="'prediction' is missing, or 'scores1' and 'scores2'"):
        checked_columns("id=x")
    with pytest.raises(BadInput, match=r"^--columns: expected role=column,role=column, found 'id'"):
        checked_columns("id")


def test_byte_85_inside_a_letter_ends_no_line(write_table, tmp_path):
    problem = load("open")[0].replace(before="Åsa 因 met Nora when ", candidates=("Åsa", "Nora"))
    data = Dataset([problem])
    text = f"sentence,prediction\n{data[0].text},Åsa\n"
    path = write_table(text)
    assert read_choices(path, data) == [0]
    path = write_table(text, encoding="utf-16")
    assert read_choices(path, data) == [0]


def test_an_audit_takes_the_columns(twins, write_table):
    columns = "prediction=wahl,order=line"
    lines = "".join(f"{1 + problem.answer},x{index}\n" for index, problem in enumerate(twins))
    path = write_table("wahl,nr\n" + lines)
    run = audit(twins, predictions=[path], protocol="accuracy", columns=columns)
    assert run.find("accuracy", "all", "accuracy").value == 1
    with pytest.raises(BadInput, match="--predictions FILE"):
        audit(twins, columns=columns)


def test_a_lenient_audit_counts_what_it_skips_in_data_and_predictions(twins, write_table, tmp_path):
    data = tmp_path / "data.jsonl"
    rows = []
    lines = ["sentence,option1,option2,prediction"]
    for index, problem in enumerate(twins):
        first, second = problem.candidates
        rows.append({"text": problem.text, "candidates": [first, second], "answer": problem.answer})
        lines.append(f'"{problem.text}",{first},{second},{index}')
    data.write_text(json_lines(rows) + "{broken\n")
    path = write_table("\n".join(lines) + "\n")
    with pytest.raises(Malformed, match=r"data\.jsonl:7"):
        audit(data, predictions=[path], protocol="accuracy")
    with pytest.raises(Malformed, match=r"table\.csv:2: field 'prediction': expected 1 or 2, found '0'"):
        audit(twins, predictions=[path], protocol="accuracy")
    run = audit(data, predictions=[path], protocol="accuracy", lenient=True)
    assert any("skipped 1 malformed record" in note for note in run.notes)
    assert any("skipped 4 malformed rows" in note for note in run.notes)
    assert run.find("accuracy", "all", "accuracy").n == 2


def test_a_prediction_that_is_no_text_is_named_and_a_workbook_is_refused(sourced, write_table):
    cup = sourced[0].candidates[1]
    path = write_table([{"idx": 0, "pred": [cup]}], "a.jsonl")
    assert read_choices(path, sourced) == [1]
    path = write_table([{"idx": 0, "pred": {"a": 1}}], "a.jsonl")
    with pytest.raises(Malformed, match=r"a\.jsonl:1: field 'pred': expected a text or a number, found \{'a': 1\}"):
        read_choices(path, sourced)
    path = write_table("PK", "a.xlsx")
    with pytest.raises(BadInput, match="a workbook; save the table in it as csv"):
        read_choices(path, sourced)


def test_rows_of_several_models_are_told_apart_by_a_column(sourced, write_table):
    path = write_table("who,idx,pred\na,0,1\nb,0,2\n")
    first, second = read_predictions(path, sourced, columns=checked_columns("model=who,id=idx,prediction=pred"))
    assert first.model == "a"
    assert choices_of(first) == [0]
    assert second.model == "b"
    assert choices_of(second) == [1]


def test_one_number_in_a_column_of_scores_is_a_confidence_and_not_scores(sourced, write_table):
    path = write_table("idx,pred,score\n0,1,0.93\n1,2,0.5\n")
    part = read_only_part(path, sourced)
    choices_and_scores = [(row.prediction, row.scores) for row in part.predictions]
    assert choices_and_scores == [(0, None), (1, None)]


def test_numbers_and_replies_may_stand_side_by_side_and_a_stray_word_is_a_slip(sourced, write_table):
    head = "idx,response\n"
    rows = "0,1\n1,Option 2\n2,I am sorry to say that I cannot tell.\n3,2\n"
    path = write_table(head + rows)
    part = read_only_part(path, sourced)
    assert choices_of(part) == [0, 1, None, 1]
    path = write_table(head + rows + "4,the mug\n")
    with pytest.raises(Malformed, match="expected 1 or 2, found 'the mug'"):
        read_predictions(path, sourced)


def test_a_prompt_in_a_column_of_any_name_is_looked_into_when_it_is_named(twins, write_table):
    path = write_table(f'eingabe,wahl\n"Wer? {twins[1].text} Sag es.",2\n')
    assert read_choices(path, twins, "text=eingabe,prediction=wahl") == [1]


@pytest.mark.parametrize(
    "columns", ["id=idx,option1=a,option2=b,prediction=p", "order=idx,option1=a,option2=b,prediction=p"]
)
def test_candidates_of_another_problem_are_not_taken_for_those_of_this_one(sourced, write_table, columns):
    jug, cup = sourced[0].candidates
    lines = "".join(f"{index},{cup},{jug},1\n" for index in range(6))
    path = write_table("idx,a,b,p\n" + lines)
    part = read_only_part(path, sourced, columns=checked_columns(columns))
    assert choices_of(part) == [1, 1]
    assert f"not {cup} / {jug}" in part.unmatched[0]


@pytest.mark.parametrize("mark", ["{label}) ", "({label}) ", "{label}. ", "Option {label}: ", "{label}: "])
@pytest.mark.parametrize("labels", ["AB", "12"])
@pytest.mark.parametrize("ending", ["\n", " "])
def test_a_letter_or_number_means_what_the_prompt_lists_behind_it(tmp_path, mark, labels, ending):
    data = load("open")[:24]
    rows = []
    for index, problem in enumerate(data):
        options = problem.candidates if index % 2 else problem.candidates[::-1]
        labelled = [mark.format(label=label) + option for label, option in zip(labels, options, strict=True)]
        prompt = f"{problem.text}\n{ending.join(labelled)}\nAnswer:"
        choice = problem.candidates[choice_number(index, problem) - 1]
        label = labels[options.index(choice)]
        response = f"The answer is ({label})." if index % 2 else label
        rows.append({"prompt": prompt, "response": response})
    path = tmp_path / "asked.jsonl"
    path.write_text(json_lines(rows))
    part = read_only_part(path, data)
    assert part.right == 18
    assert len(part.predictions) == 24


def test_of_prompts_with_solved_examples_the_last_list_counts():
    names = ("the jug", "the cup")
    prompt = "Who?\nA) the jug\nB) the cup\nAnswer: A\n\nWho?\nA) the cup\nB) the jug\nAnswer:"
    assert listed_names(prompt, "A", names) == ("the cup", "the jug")
    assert listed_names(prompt, "1", names) is None
    assert listed_names("A jug. B) the cup", "A", names) is None


def scores_by_label(problem, choice, labels, is_reversed):
    """Score of each candidate by its label, in their order or in the opposite one."""
    scores = [(label, 0.2) for label in labels]
    scores[choice] = (labels[choice], 0.8)
    if is_reversed:
        scores.reverse()
    return dict(scores)


@pytest.mark.parametrize("kind", ["names", "letters", "numbers", "printed"])
def test_scores_by_candidate_go_to_that_candidate_in_whatever_order(tmp_path, kind):
    data = load("open")[:24]
    labels_of_kind = {"letters": ("A", "B"), "numbers": ("1", "2")}
    rows = []
    for index, problem in enumerate(data):
        labels = labels_of_kind.get(kind, problem.candidates)
        choice = choice_number(index, problem) - 1
        scores = scores_by_label(problem, choice, labels, is_reversed=index % 2)
        rows.append({"id": problem.id, "scores": str(scores) if kind == "printed" else scores})
    path = tmp_path / "scores.jsonl"
    path.write_text(json_lines(rows))
    part = read_only_part(path, data)
    assert part.right == 18
    assert len(part.predictions) == 24


def test_scores_of_strangers_are_refused(tmp_path):
    data = load("open")[:24]
    path = tmp_path / "scores.jsonl"
    path.write_text(json_lines([{"id": data[0].id, "scores": {"somebody": 1, "else": 0}}]))
    with pytest.raises(BadInput):
        read_predictions(path, data)


def test_a_share_in_a_row_of_totals_is_no_prediction(tmp_path):
    data = load("open")[:24]
    path = tmp_path / "mine.csv"
    rows = "".join(f'"{problem.text}",{problem.answer + 1}\n' for problem in data)
    path.write_text(f"sentence,prediction\n{rows},0.75\n")
    part = read_only_part(path, data)
    assert part.right == 24


def test_percent_and_decimal_commas_are_scores(tmp_path):
    data = load("open")[:24]
    path = tmp_path / "mine.csv"
    cells = ("80,5 %;19,5 %", "19,5 %;80,5 %")
    lines = "".join(f"{problem.id};{cells[problem.answer]}\n" for problem in data)
    path.write_text("id;prob1;prob2\n" + lines)
    part = read_only_part(path, data)
    assert part.right == 24


def test_a_gold_letter_means_what_the_prompt_lists_too(tmp_path):
    data = load("open")[:24]
    path = tmp_path / "asked.jsonl"
    rows = []
    for problem in data:
        first, second = problem.candidates
        prompt = f"{problem.text}\nA. {second}\nB. {first}"
        rows.append({"prompt": prompt, "gold": "BA"[problem.answer], "output": "A"})
    path.write_text(json_lines(rows))
    part = read_only_part(path, data)
    second_count = sum(problem.answer == 1 for problem in data)
    assert part.right == second_count
    assert not part.unmatched
