"""Scores are not read as choices, losses not as scores, and an error proposes only what was tried."""

import csv
import json

import pytest

from winokit import load
from winokit.data.predictions.columns import checked_columns, is_lower_better
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed


@pytest.fixture(scope="module")
def data():
    """Twenty-four problems with the ids of a source."""
    problems = load("open")[:24]
    return problems.with_problems(p.replace(provenance={"idx": f"p{at}"}) for at, p in enumerate(problems))


@pytest.fixture
def written(data, tmp_path):
    """A table with an id and whatever columns are given, each a function of a row's number and its problem."""

    def write(*, ids=True, **columns):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([*(["idx"] if ids else []), *columns])
            for at, problem in enumerate(data):
                cells = [cell(at, problem) for cell in columns.values()]
                table.writerow([*([f"p{at}"] if ids else []), *cells])
        return path

    return write


def choice(at, problem):
    """Right three times in four."""
    return 1 + (problem.answer if at % 4 else 1 - problem.answer)


def loss(place):
    """A loss of the candidate at a place: the lower one is what `choice` chooses."""
    return lambda at, problem: f"{2.25 + at / 1000 - (choice(at, problem) == place + 1):.3f}"


def refusal(path, data, columns=None, **more):
    with pytest.raises(BadInput) as caught:
        read_predictions(path, data, columns=columns and checked_columns(columns), **more)
    return str(caught.value)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("cell", ["0.73", "-2.31", "1e-5", "0,73", "73 %"])
def test_a_column_of_numbers_with_fractions_holds_no_choices(data, written, cell, lenient):
    path = written(prediction=lambda at, problem: cell if at % 2 else "1.0")
    said = refusal(path, data, lenient=lenient)
    assert f"column 'prediction': numbers with fractions in 12 of 24 rows ({cell} in line 3)" in said
    assert "scores1=COLUMN,scores2=COLUMN" in said


def test_one_probability_among_whole_floats_is_enough(data, written):
    path = written(p=lambda at, problem: "0.98" if at == 7 else f"{at % 2}.0")
    assert "(0.98 in line 9)" in refusal(path, data, "id=idx,prediction=p")


def test_floats_of_whole_numbers_are_labels(data, written):
    (read,) = read_predictions(written(prediction=lambda at, problem: f"{choice(at, problem)}.0"), data)
    assert [made.prediction for made in read.predictions] == [choice(at, p) - 1 for at, p in enumerate(data)]


def test_a_score_among_replies_is_unread_and_chooses_nothing(data, written):
    def reply(at, problem):
        return {0: "2.31", 1: "1.0"}.get(at, f"It is {problem.candidates[0]}.")

    (read,) = read_predictions(written(output=reply), data)
    assert [made.prediction for made in read.predictions] == [None, None, *[0] * 22]
    assert "in 2 rows no answer could be read; they are abstentions; the first: line 2: '2.31'" in read.notes[-1]


@pytest.mark.parametrize("cell", ["7", "-2", "1,2", "1234"])
def test_a_number_that_is_no_place_is_malformed_and_not_read_as_a_reply(data, written, cell):
    path = written(prediction=lambda at, problem: cell if at == 3 else 1)
    with pytest.raises(Malformed, match=rf"mine\.csv:5: field 'prediction': expected 1 or 2, found '{cell}'"):
        read_predictions(path, data)


NAMES = ["loss1", "nll_a", "perplexity_option1", "PPL (A)", "Loss-1", "gpt2_loss1", "NLLa", "lossA", "optionOneLoss"]
NAMES += ["mean nll 1", "negative_log_likelihood_1", "cross-entropy 1", "surprisal_1", "perplexities", "PPLOption1"]


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_known_by_plain_variants_of_their_names(name):
    assert is_lower_better(name)


@pytest.mark.parametrize(
    "name", ["neg_loss_1", "choice_by_loss", "argmin_nll", "loss_prediction", "glossary", "people"]
)
def test_what_is_no_loss_is_not_taken_for_one(name):
    assert not is_lower_better(name)


LOSSES = [("loss1", "loss2"), ("NLL_a", "NLL_b"), ("perplexity_option1", "perplexity_option2"), ("PPL 0", "PPL 1")]


@pytest.mark.parametrize("names", LOSSES)
def test_of_losses_the_lowest_is_chosen_whether_their_names_or_roles_say_it(data, written, names):
    path = written(**dict(zip(names, (loss(0), loss(1)), strict=True)))
    for given in (None, f"id=idx,losses1={names[0]},losses2={names[1]}"):
        (read,) = read_predictions(path, data, columns=given and checked_columns(given))
        assert sum(made.prediction == made.answer for made in read.predictions) == 18
        assert all(-3.3 < score < -1.2 for made in read.predictions for score in made.scores)


def test_losses_of_all_candidates_may_stand_in_one_cell(data, written):
    path = written(nll=lambda at, problem: f"[{loss(0)(at, problem)}, {loss(1)(at, problem)}]")
    for given in (None, "id=idx,losses=nll"):
        (read,) = read_predictions(path, data, columns=given and checked_columns(given))
        assert sum(made.prediction == made.answer for made in read.predictions) == 18


@pytest.mark.parametrize(
    "columns", ["id=idx,prediction=loss2", "id=idx,scores1=loss1,scores2=loss2", "order=line,prediction=loss1"]
)
def test_losses_named_as_something_else_are_refused_with_the_roles_they_have(data, written, columns):
    path = written(loss1=loss(0), loss2=loss(1))
    for lenient in (False, True):
        said = refusal(path, data, columns, lenient=lenient)
        assert "the lowest is best: say so with the roles losses1=COLUMN,losses2=COLUMN" in said


def test_scores_and_losses_together_are_refused(data, written):
    with pytest.raises(BadInput, match="scores and losses: name those that the model chose by"):
        checked_columns("id=idx,losses1=a,losses2=b,scores1=c,scores2=d")


def test_losses_without_numbers_in_their_names_are_proposed_as_losses(data, written):
    path = written(nll_of_first=loss(0), nll_of_second=loss(1))
    assert "losses1=COLUMN,losses2=COLUMN" in refusal(path, data)


def test_losses_beside_a_prediction_are_nobody_s_business(data, written):
    (read,) = read_predictions(written(prediction=choice, loss=loss(0)), data)
    assert sum(made.prediction == made.answer for made in read.predictions) == 18


def test_a_proposal_is_the_column_that_reads_and_says_how_many_rows(data, written):
    path = written(wahl=choice, half=lambda at, problem: 1 if at % 2 else "n/a?", loss=loss(0), p=loss(1))
    said = refusal(path, data)
    assert said.endswith("if 'wahl' is what the model chose: --columns id=idx,prediction=wahl (reads 24 of 24 rows)")
    (read,) = read_predictions(path, data, columns=checked_columns("id=idx,prediction=wahl"))
    assert len(read.predictions) == 24


def test_a_column_that_reads_less_than_nine_in_ten_rows_is_not_proposed(data, written):
    said = refusal(written(wahl=lambda at, problem: "n/a?" if at < 3 else 1), data)
    assert "prediction=wahl" not in said
    assert (
        "prediction=COLUMN (no other column reads as choices in nine rows of ten), or write ten lines of Python" in said
    )
    said = refusal(written(wahl=lambda at, problem: "n/a?" if at < 2 else 1), data)
    assert "prediction=wahl (reads 22 of 24 rows)" in said


def test_a_pair_of_columns_is_proposed_as_scores_if_higher_is_better(data, written):
    path = written(s_one=lambda at, problem: "x", s_1=loss(1), s_2=loss(0))
    assert refusal(path, data).endswith(
        "if 's_1' and 's_2' are scores of the candidates, of which the highest is best: "
        "--columns id=idx,scores1=s_1,scores2=s_2 (reads 24 of 24 rows)"
    )


def test_a_proposal_names_the_options_so_that_numbers_count_those_of_their_row(data, written):
    path = written(
        option1=lambda at, problem: problem.candidates[1],
        option2=lambda at, problem: problem.candidates[0],
        wahl=choice,
    )
    columns = "id=idx,option1=option1,option2=option2,prediction=wahl"
    assert f"--columns {columns} (reads 24 of 24 rows)" in refusal(path, data)
    (read,) = read_predictions(path, data, columns=checked_columns(columns))
    assert read.predictions[1].prediction == 2 - choice(1, data[1])


def test_the_dataset_s_own_answers_are_not_proposed_as_predictions(data, written):
    said = refusal(written(truth=lambda at, problem: problem.answer + 1), data)
    assert "prediction=truth" not in said
    said = refusal(written(truth=lambda at, problem: problem.answer + 1, wahl=choice), data)
    assert "prediction=wahl (reads 24 of 24 rows)" in said


def test_of_several_likely_columns_the_one_that_reads_is_proposed(data, written):
    said = refusal(written(a_pred=loss(0), b_pred=choice), data)
    assert said.endswith(
        "a_pred, b_pred: which is the prediction? --columns id=idx,prediction=b_pred (reads 24 of 24 rows)"
    )


def test_columns_of_any_name_are_found_by_the_problems_that_they_name(data, written):
    path = written(ids=False, satz=lambda at, problem: problem.text, wahl=choice)
    assert "text=satz,prediction=wahl (reads 24 of 24 rows)" in refusal(path, data)
    path = written(ids=False, satz=lambda at, problem: problem.text, prediction=choice)
    assert "'satz' names problems: --columns text=satz,prediction=prediction (reads 24 of 24 rows)" in refusal(
        path, data
    )


def test_rows_in_the_order_of_the_problems_are_proposed_on_that_condition_alone(data, written):
    path = written(ids=False, note=lambda at, problem: "x", wahl=choice)
    assert "and its rows are in the order of" in refusal(path, data)
    assert "order=line" not in refusal(path, data[:20])
    said = refusal(written(ids=False, idx=lambda at, problem: f"q{at}", wahl=choice), data)
    assert "order=line" not in said


def test_a_reply_in_sentences_is_proposed_where_nothing_shorter_reads(data, written):
    path = written(satz=lambda at, problem: f"I would say that it is {problem.candidates[0]}.", conf=loss(0))
    assert "prediction=satz (reads 24 of 24 rows)" in refusal(path, data)
    path = written(satz=lambda at, problem: f"I would say that it is {problem.candidates[0]}.", wahl=choice)
    said = refusal(path, data)
    assert "prediction=wahl (reads 24 of 24 rows, 18 right); or " in said
    assert "prediction=satz (reads 24 of 24 rows, " in said


def test_explanations_are_shown_with_what_they_give_and_not_proposed(data, written):
    why = "It is {0}, since one of them must be meant."
    path = written(wahl=choice, reason=lambda at, problem: why.format(problem.candidates[choice(at, problem) - 1]))
    said = refusal(path, data)
    assert "prediction=wahl (reads 24 of 24 rows, 18 right); not proposed: 'reason' reads 24 of 24 rows" in said
    assert "prediction=reason" not in said


def test_two_likely_columns_are_both_shown_with_what_they_give(data, written):
    said = refusal(written(pred_en=choice, pred_zu=lambda at, problem: 1 + at % 2), data)
    assert "prediction=pred_en (reads 24 of 24 rows, 18 right)" in said
    assert "prediction=pred_zu (reads 24 of 24 rows, " in said


@pytest.mark.parametrize("name", ["span2_token_len", "sentence_zu", "gpt_reason", "confidence", "scoreB", "row_index"])
def test_columns_that_are_no_choices_by_their_names_are_never_proposed(data, written, name):
    assert f"prediction={name}" not in refusal(written(**{name: choice}), data)


def test_of_zeros_and_ones_beside_answers_from_one_only_their_being_right_is_proposed(data, written):
    path = written(answer=lambda at, problem: problem.answer + 1, gpt=lambda at, problem: int(at % 4 != 0))
    said = refusal(path, data)
    assert "correct=gpt (reads 24 of 24 rows)" in said
    assert "prediction=gpt" not in said


def test_a_first_line_that_is_data_is_no_header(data, written):
    path = written(wahl=choice)
    path.write_text("\n".join(path.read_text().splitlines()[1:]) + "\n")
    assert "prediction=column 2' (reads 24 of 24 rows)" in refusal(path, data)
    (read,) = read_predictions(path, data, columns=checked_columns("id=column 1,prediction=column 2"))
    assert len(read.predictions) == 24
    assert "its first line is data" in read.notes[0]


def test_probabilities_without_a_header_are_read_in_two_ways(data, tmp_path):
    path = tmp_path / "proba.csv"
    rows = [f"{choice(at, p)};[ {-1.5 + choice(at, p)} {1.5 - choice(at, p)}]" for at, p in enumerate(data)]
    path.write_text("\n".join(rows) + "\n")
    said = refusal(path, data)
    assert "prediction=column 1' (reads 24 of 24 rows, 18 right)" in said
    assert "scores=column 2' (reads 24 of 24 rows, 6 right)" in said


def test_an_object_of_two_lists_of_rows_asks_which_are_meant(data, tmp_path):
    rows = [{"idx": f"p{at}", "prediction": choice(at, problem)} for at, problem in enumerate(data)]
    path = tmp_path / "both.json"
    lists = {"correct": [row for at, row in enumerate(rows) if at % 4], "incorrect": rows[::4]}
    path.write_text(json.dumps({**lists, "summary": {"n": 24}}))
    said = refusal(path, data)
    assert "where=list=correct (reads 18 of 18 rows, 18 right)" in said
    assert "where=list=incorrect (reads 6 of 6 rows, 0 right)" in said
    assert "'where=list=correct|incorrect' (reads 24 of 24 rows, 18 right)" in said
    (read,) = read_predictions(path, data, columns=checked_columns("where=list=incorrect"))
    assert len(read.predictions) == 6


def test_a_column_called_prediction_that_judges_a_model_is_none(data, written):
    words = ("Incorrect", "Correct")
    path = written(gpt_prediction=lambda at, problem: words[at % 2], actual_result=lambda at, p: words[at % 4 != 0])
    said = refusal(path, data)
    assert "correct=actual_result (reads 24 of 24 rows, 18 right)" in said


@pytest.mark.parametrize("names", [("loss_correct", "loss_incorrect"), ("score_gold", "score_wrong")])
def test_scores_of_the_right_and_the_wrong_candidate_are_no_scores_by_candidate(data, written, names):
    path = written(**dict(zip(names, (loss(0), loss(1)), strict=True)))
    kind = "losses" if "loss" in names[0] else "scores"
    said = refusal(path, data, f"id=idx,{kind}1={names[0]},{kind}2={names[1]}")
    assert f"column '{names[0]}': scores of the right and of the wrong candidate do not say which" in said
    assert f"{kind}1={names[0]}" not in refusal(path, data)
