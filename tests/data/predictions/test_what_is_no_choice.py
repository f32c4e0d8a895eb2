"""Scores are not read as choices, losses not as scores, and an error proposes only what was tried."""

import csv
import json

import pytest
from support.reading import choice_number, choices_of, count_correct, is_right, read_only_part, with_source_ids

from winokit import load
from winokit.data.predictions.columns import checked_columns, is_lower_better
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed


@pytest.fixture(scope="module")
def data():
    """Twenty-four problems with the ids of a source."""
    return with_source_ids(load("open")[:24], "idx", "p")


@pytest.fixture
def write_table(data, tmp_path):
    """Function that writes a table with an id and some columns, each a function of a row's index and its problem."""

    def write(*, ids=True, **columns):
        if ids:
            columns = {"idx": lambda index, problem: f"p{index}", **columns}
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(columns)
            for index, problem in enumerate(data):
                table.writerow([cell_of(index, problem) for cell_of in columns.values()])
        return path

    return write


def loss_of(number):
    """Column of losses of the candidate with this number, of which `choice_number` has the lower one."""

    def format_loss(index, problem):
        loss = 2.25 + index / 1000
        if choice_number(index, problem) == number:
            loss -= 1
        return f"{loss:.3f}"

    return format_loss


FIRST_LOSS = loss_of(1)
SECOND_LOSS = loss_of(2)


def answer_number(index, problem):
    return problem.answer + 1


def problem_text(index, problem):
    return problem.text


def sentence_about_first(index, problem):
    return f"I would say that it is {problem.candidates[0]}."


def unreadable_before(count):
    """Column of choices, of which the first rows cannot be read."""
    return lambda index, problem: "n/a?" if index < count else 1


def every_other(index, problem):
    """Number of a choice in odd rows and what cannot be read in even ones."""
    return 1 if index % 2 else "n/a?"


def read_table(path, data, columns=None):
    """Read a table whose columns are guessed, or named as on the command line."""
    roles = checked_columns(columns) if columns else None
    return read_only_part(path, data, columns=roles)


def refusal(path, data, columns=None, **more):
    """Message with which a table is refused."""
    roles = checked_columns(columns) if columns else None
    with pytest.raises(BadInput) as caught:
        read_predictions(path, data, columns=roles, **more)
    return str(caught.value)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("cell", ["0.73", "-2.31", "1e-5", "0,73", "73 %"])
def test_a_column_of_numbers_with_fractions_holds_no_choices(data, write_table, cell, lenient):
    path = write_table(prediction=lambda index, problem: cell if index % 2 else "1.0")
    message = refusal(path, data, lenient=lenient)
    assert f"column 'prediction': numbers with fractions in 12 of 24 rows ({cell} in line 3)" in message
    assert "scores1=COLUMN,scores2=COLUMN" in message


def test_one_probability_among_whole_floats_is_enough(data, write_table):
    path = write_table(p=lambda index, problem: "0.98" if index == 7 else f"{index % 2}.0")
    message = refusal(path, data, "id=idx,prediction=p")
    assert "(0.98 in line 9)" in message


def test_floats_of_whole_numbers_are_labels(data, write_table):
    path = write_table(prediction=lambda index, problem: f"{choice_number(index, problem)}.0")
    part = read_only_part(path, data)
    expected_choices = [choice_number(index, problem) - 1 for index, problem in enumerate(data)]
    assert choices_of(part) == expected_choices


def test_a_score_among_replies_is_unread_and_chooses_nothing(data, write_table):
    def reply(index, problem):
        numbers = {0: "2.31", 1: "1.0"}
        return numbers.get(index, f"It is {problem.candidates[0]}.")

    path = write_table(output=reply)
    part = read_only_part(path, data)
    assert choices_of(part) == [None, None, *[0] * 22]
    assert "in 2 rows no answer could be read; they are abstentions; the first: line 2: '2.31'" in part.notes[-1]


@pytest.mark.parametrize("cell", ["7", "-2", "1,2", "1234"])
def test_a_number_that_is_no_place_is_malformed_and_not_read_as_a_reply(data, write_table, cell):
    path = write_table(prediction=lambda index, problem: cell if index == 3 else 1)
    with pytest.raises(Malformed, match=rf"mine\.csv:5: field 'prediction': expected 1 or 2, found '{cell}'"):
        read_predictions(path, data)


LOSS_NAMES = [
    "loss1", "nll_a", "perplexity_option1", "PPL (A)", "Loss-1", "gpt2_loss1", "NLLa", "lossA", "optionOneLoss",
    "mean nll 1", "negative_log_likelihood_1", "cross-entropy 1", "surprisal_1", "perplexities", "PPLOption1",
]  # fmt: skip


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_losses_are_known_by_plain_variants_of_their_names(name):
    assert is_lower_better(name)


@pytest.mark.parametrize(
    "name", ["neg_loss_1", "choice_by_loss", "argmin_nll", "loss_prediction", "glossary", "people"]
)
def test_what_is_no_loss_is_not_taken_for_one(name):
    assert not is_lower_better(name)


LOSSES = [("loss1", "loss2"), ("NLL_a", "NLL_b"), ("perplexity_option1", "perplexity_option2"), ("PPL 0", "PPL 1")]


@pytest.mark.parametrize("names", LOSSES)
@pytest.mark.parametrize("is_named", [False, True])
def test_of_losses_the_lowest_is_chosen_whether_their_names_or_roles_say_it(data, write_table, names, is_named):
    first, second = names
    path = write_table(**{first: FIRST_LOSS, second: SECOND_LOSS})
    columns = f"id=idx,losses1={first},losses2={second}" if is_named else None
    part = read_table(path, data, columns)
    assert count_correct(part) == 18
    for row in part.predictions:
        assert all(-3.3 < score < -1.2 for score in row.scores)


@pytest.mark.parametrize("columns", [None, "id=idx,losses=nll"])
def test_losses_of_all_candidates_may_stand_in_one_cell(data, write_table, columns):
    path = write_table(nll=lambda index, problem: f"[{FIRST_LOSS(index, problem)}, {SECOND_LOSS(index, problem)}]")
    part = read_table(path, data, columns)
    assert count_correct(part) == 18


@pytest.mark.parametrize(
    "columns", ["id=idx,prediction=loss2", "id=idx,scores1=loss1,scores2=loss2", "order=line,prediction=loss1"]
)
def test_losses_named_as_something_else_are_refused_with_the_roles_they_have(data, write_table, columns):
    path = write_table(loss1=FIRST_LOSS, loss2=SECOND_LOSS)
    for lenient in (False, True):
        message = refusal(path, data, columns, lenient=lenient)
        assert "the lowest is best: say so with the roles losses1=COLUMN,losses2=COLUMN" in message


def test_scores_and_losses_together_are_refused(data, write_table):
    with pytest.raises(BadInput, match="scores and losses: name those that the model chose by"):
        checked_columns("id=idx,losses1=a,losses2=b,scores1=c,scores2=d")


def test_losses_without_numbers_in_their_names_are_proposed_as_losses(data, write_table):
    path = write_table(nll_of_first=FIRST_LOSS, nll_of_second=SECOND_LOSS)
    message = refusal(path, data)
    assert "losses1=COLUMN,losses2=COLUMN" in message


def test_losses_beside_a_prediction_are_nobody_s_business(data, write_table):
    path = write_table(prediction=choice_number, loss=FIRST_LOSS)
    part = read_only_part(path, data)
    assert count_correct(part) == 18


def test_a_proposal_is_the_column_that_reads_and_says_how_many_rows(data, write_table):
    path = write_table(wahl=choice_number, half=every_other, loss=FIRST_LOSS, p=SECOND_LOSS)
    message = refusal(path, data)
    assert message.endswith("if 'wahl' is what the model chose: --columns id=idx,prediction=wahl (reads 24 of 24 rows)")
    part = read_table(path, data, "id=idx,prediction=wahl")
    assert len(part.predictions) == 24


def test_a_column_that_reads_less_than_nine_in_ten_rows_is_not_proposed(data, write_table):
    path = write_table(wahl=unreadable_before(3))
    message = refusal(path, data)
    assert "prediction=wahl" not in message
    reason = "no other column reads as choices in nine rows of ten"
    assert f"prediction=COLUMN ({reason}), or write ten lines of Python" in message
    path = write_table(wahl=unreadable_before(2))
    message = refusal(path, data)
    assert "prediction=wahl (reads 22 of 24 rows)" in message


def test_a_pair_of_columns_is_proposed_as_scores_if_higher_is_better(data, write_table):
    path = write_table(s_one=lambda index, problem: "x", s_1=SECOND_LOSS, s_2=FIRST_LOSS)
    message = refusal(path, data)
    assert message.endswith(
        "if 's_1' and 's_2' are scores of the candidates, of which the highest is best: "
        "--columns id=idx,scores1=s_1,scores2=s_2 (reads 24 of 24 rows)"
    )


def test_a_proposal_names_the_options_so_that_numbers_count_those_of_their_row(data, write_table):
    path = write_table(
        option1=lambda index, problem: problem.candidates[1],
        option2=lambda index, problem: problem.candidates[0],
        wahl=choice_number,
    )
    columns = "id=idx,option1=option1,option2=option2,prediction=wahl"
    message = refusal(path, data)
    assert f"--columns {columns} (reads 24 of 24 rows)" in message
    part = read_table(path, data, columns)
    expected_choice = 2 - choice_number(1, data[1])
    assert part.predictions[1].prediction == expected_choice


def test_the_dataset_s_own_answers_are_not_proposed_as_predictions(data, write_table):
    path = write_table(truth=answer_number)
    message = refusal(path, data)
    assert "prediction=truth" not in message
    path = write_table(truth=answer_number, wahl=choice_number)
    message = refusal(path, data)
    assert "prediction=wahl (reads 24 of 24 rows)" in message


def test_of_several_likely_columns_the_one_that_reads_is_proposed(data, write_table):
    path = write_table(a_pred=FIRST_LOSS, b_pred=choice_number)
    message = refusal(path, data)
    assert message.endswith(
        "a_pred, b_pred: which is the prediction? --columns id=idx,prediction=b_pred (reads 24 of 24 rows)"
    )


def test_columns_of_any_name_are_found_by_the_problems_that_they_name(data, write_table):
    path = write_table(ids=False, satz=problem_text, wahl=choice_number)
    message = refusal(path, data)
    assert "text=satz,prediction=wahl (reads 24 of 24 rows)" in message
    path = write_table(ids=False, satz=problem_text, prediction=choice_number)
    message = refusal(path, data)
    assert "'satz' names problems: --columns text=satz,prediction=prediction (reads 24 of 24 rows)" in message


def test_rows_in_the_order_of_the_problems_are_proposed_on_that_condition_alone(data, write_table):
    path = write_table(ids=False, note=lambda index, problem: "x", wahl=choice_number)
    assert "and its rows are in the order of" in refusal(path, data)
    assert "order=line" not in refusal(path, data[:20])
    path = write_table(ids=False, idx=lambda index, problem: f"q{index}", wahl=choice_number)
    message = refusal(path, data)
    assert "order=line" not in message


def test_a_reply_in_sentences_is_proposed_where_nothing_shorter_reads(data, write_table):
    path = write_table(satz=sentence_about_first, conf=FIRST_LOSS)
    message = refusal(path, data)
    assert "prediction=satz (reads 24 of 24 rows)" in message
    path = write_table(satz=sentence_about_first, wahl=choice_number)
    message = refusal(path, data)
    assert "prediction=wahl (reads 24 of 24 rows, 18 right); or " in message
    assert "prediction=satz (reads 24 of 24 rows, " in message


def test_explanations_are_shown_with_what_they_give_and_not_proposed(data, write_table):
    def reason(index, problem):
        name = problem.candidates[choice_number(index, problem) - 1]
        return f"It is {name}, since one of them must be meant."

    path = write_table(wahl=choice_number, reason=reason)
    message = refusal(path, data)
    assert "prediction=wahl (reads 24 of 24 rows, 18 right); not proposed: 'reason' reads 24 of 24 rows" in message
    assert "prediction=reason" not in message


def test_two_likely_columns_are_both_shown_with_what_they_give(data, write_table):
    path = write_table(pred_en=choice_number, pred_zu=lambda index, problem: 1 + index % 2)
    message = refusal(path, data)
    assert "prediction=pred_en (reads 24 of 24 rows, 18 right)" in message
    assert "prediction=pred_zu (reads 24 of 24 rows, " in message


@pytest.mark.parametrize("name", ["span2_token_len", "sentence_zu", "gpt_reason", "confidence", "scoreB", "row_index"])
def test_columns_that_are_no_choices_by_their_names_are_never_proposed(data, write_table, name):
    path = write_table(**{name: choice_number})
    message = refusal(path, data)
    assert f"prediction={name}" not in message


def test_of_zeros_and_ones_beside_answers_from_one_only_their_being_right_is_proposed(data, write_table):
    path = write_table(answer=answer_number, gpt=is_right)
    message = refusal(path, data)
    assert "correct=gpt (reads 24 of 24 rows)" in message
    assert "prediction=gpt" not in message


def test_a_first_line_that_is_data_is_no_header(data, write_table):
    path = write_table(wahl=choice_number)
    data_lines = path.read_text().splitlines()[1:]
    path.write_text("\n".join(data_lines) + "\n")
    message = refusal(path, data)
    assert "prediction=column 2' (reads 24 of 24 rows)" in message
    part = read_table(path, data, "id=column 1,prediction=column 2")
    assert len(part.predictions) == 24
    assert "its first line is data" in part.notes[0]


def test_probabilities_without_a_header_are_read_in_two_ways(data, tmp_path):
    path = tmp_path / "proba.csv"
    rows = []
    for index, problem in enumerate(data):
        number = choice_number(index, problem)
        rows.append(f"{number};[ {-1.5 + number} {1.5 - number}]")
    path.write_text("\n".join(rows) + "\n")
    message = refusal(path, data)
    assert "prediction=column 1' (reads 24 of 24 rows, 18 right)" in message
    assert "scores=column 2' (reads 24 of 24 rows, 6 right)" in message


def test_an_object_of_two_lists_of_rows_asks_which_are_meant(data, tmp_path):
    rows = [{"idx": f"p{index}", "prediction": choice_number(index, problem)} for index, problem in enumerate(data)]
    path = tmp_path / "both.json"
    right_rows = [row for index, row in enumerate(rows) if index % 4]
    wrong_rows = rows[::4]
    path.write_text(json.dumps({"correct": right_rows, "incorrect": wrong_rows, "summary": {"n": 24}}))
    message = refusal(path, data)
    assert "where=list=correct (reads 18 of 18 rows, 18 right)" in message
    assert "where=list=incorrect (reads 6 of 6 rows, 0 right)" in message
    assert "'where=list=correct|incorrect' (reads 24 of 24 rows, 18 right)" in message
    part = read_table(path, data, "where=list=incorrect")
    assert len(part.predictions) == 6


def test_a_column_called_prediction_that_judges_a_model_is_none(data, write_table):
    words = ("Incorrect", "Correct")
    path = write_table(
        gpt_prediction=lambda index, problem: words[index % 2],
        actual_result=lambda index, problem: words[is_right(index, problem)],
    )
    message = refusal(path, data)
    assert "correct=actual_result (reads 24 of 24 rows, 18 right)" in message


@pytest.mark.parametrize(
    ("kind", "names"),
    [("losses", ("loss_correct", "loss_incorrect")), ("scores", ("score_gold", "score_wrong"))],
    ids=["names0", "names1"],
)
def test_scores_of_the_right_and_the_wrong_candidate_are_no_scores_by_candidate(data, write_table, kind, names):
    first, second = names
    path = write_table(**{first: FIRST_LOSS, second: SECOND_LOSS})
    message = refusal(path, data, f"id=idx,{kind}1={first},{kind}2={second}")
    assert f"column '{first}': scores of the right and of the wrong candidate do not say which" in message
    guessed_message = refusal(path, data)
    assert f"{kind}1={first}" not in guessed_message
