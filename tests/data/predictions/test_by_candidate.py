"""A table may have a row per candidate, as classifiers of filled texts write it."""

import csv

import pytest
from support.reading import choice_number, count_correct, read_only_part, with_source_ids

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.methods.transforms.substitute import substitute


@pytest.fixture(scope="module")
def data():
    """Twenty-four problems with the ids of a source."""
    return with_source_ids(load("open")[:24], "idx", "p")


def is_chosen(index, problem, candidate_index):
    """Whether `choice_number` chooses this candidate."""
    return choice_number(index, problem) == candidate_index + 1


@pytest.fixture
def write_table(data, tmp_path):
    """Function that writes a table with a row per candidate.

    A column is a function of a problem's index, the problem and the candidate's index.
    """

    def write(order=1, **columns):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(columns)
            for index, problem in list(enumerate(data))[::order]:
                for candidate_index in range(len(problem.candidates)):
                    cells = [cell_of(index, problem, candidate_index) for cell_of in columns.values()]
                    table.writerow(cells)
        return path

    return write


def source_id(index, problem, candidate_index):
    return f"p{index}"


def sentence(index, problem, candidate_index):
    return problem.text


def candidate(index, problem, candidate_index):
    return problem.candidates[candidate_index]


def filled_text(index, problem, candidate_index):
    return substitute(problem, problem.candidates[candidate_index]).text


def ending(index, problem, candidate_index):
    return problem.candidates[candidate_index] + problem.after


def score(index, problem, candidate_index):
    return 0.8 if is_chosen(index, problem, candidate_index) else 0.3


def verdict(yes, no):
    """Column with one word for the chosen candidate and another for the other."""
    return lambda *row: yes if is_chosen(*row) else no


@pytest.mark.parametrize(
    "columns",
    [
        {"sentence": sentence, "option": candidate, "score": score},
        {"idx": source_id, "choice": candidate, "prob": score},
        {"sentence": sentence, "hypothesis": filled_text, "prediction": verdict("entailment", "not_entailment")},
        {"sentence1": sentence, "sentence2": ending, "prediction": verdict("1", "0")},
        {"text": sentence, "candidate": lambda at, problem, place: place, "loss": lambda *row: 2 - score(*row)},
    ],
)
def test_rows_of_one_problem_choose_together(data, write_table, columns):
    path = write_table(order=-1, **columns)
    part = read_only_part(path, data)
    assert len(part.predictions) == 24
    assert count_correct(part) == 18


def test_filled_texts_alone_tell_problem_and_candidate(data, write_table):
    path = write_table(text=filled_text, label=verdict("LABEL_1", "LABEL_0"), score=lambda *row: 0.9)
    part = read_only_part(path, data, columns=checked_columns("candidate=text,prediction=label,scores=score"))
    assert count_correct(part) == 18
    scores = sorted(part.predictions[0].scores)
    assert scores == pytest.approx([0.1, 0.9])


def test_a_score_of_the_label_and_one_of_yes_are_told_apart(data, write_table):
    columns = checked_columns("text=sentence,candidate=option,prediction=label,scores=score")
    path = write_table(sentence=sentence, option=candidate, label=verdict("yes", "no"), score=score)
    part = read_only_part(path, data, columns=columns)
    assert count_correct(part) == 18
    assert sorted(part.predictions[0].scores) == [0.3, 0.8]


def test_yes_to_both_candidates_and_a_missing_row_are_abstentions_with_their_reasons(data, write_table):
    def yes_but_to_first_problem(index, problem, candidate_index):
        return "yes" if index else "no"

    path = write_table(sentence=sentence, option=candidate, prediction=yes_but_to_first_problem)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    part = read_only_part(path, data)
    reasons = [row.why for row in part.predictions]
    assert reasons[0] == "yes is said of 0 candidates"
    assert reasons[1] == "yes is said of 2 candidates"
    assert reasons[-1] == "1 of its 2 candidates have no row"


def test_a_row_that_names_no_candidate_is_reported(data, write_table):
    def somebody_in_first_problem(index, problem, candidate_index):
        return "somebody" if index == 0 else problem.candidates[candidate_index]

    path = write_table(sentence=sentence, option=somebody_in_first_problem, score=score)
    part = read_only_part(path, data)
    assert part.unmatched[0] == "line 2: it names no candidate of its problem: 'somebody'"


def test_two_rows_that_say_different_things_of_one_candidate_are_reported(data, write_table):
    path = write_table(sentence=sentence, option=candidate, score=score)
    first_line = path.read_text().splitlines()[1]
    contradiction = first_line.rsplit(",", 1)[0] + ",0.5\n"
    with path.open("a") as file:
        file.write(contradiction)
    part = read_only_part(path, data)
    assert part.unmatched == ["line 50: line 2 and it say different things of one candidate"]


def test_a_row_per_candidate_without_its_problem_is_refused(data, write_table):
    path = write_table(option=candidate, score=score)
    with pytest.raises(BadInput, match=r"names no candidate|no problem"):
        read_predictions(path, data, columns=checked_columns("candidate=option,scores=score"))
