"""Tables with a row per candidate, as classifiers of filled texts write them."""

import csv

import pytest

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.methods.transforms.substitute import substitute


@pytest.fixture(scope="module")
def data():
    """Twenty-four problems with the ids of a source."""
    problems = load("open")[:24]
    return problems.with_problems(p.replace(provenance={"idx": f"p{at}"}) for at, p in enumerate(problems))


def choice(at, problem):
    """The place that is chosen: right three times in four."""
    return problem.answer if at % 4 else 1 - problem.answer


@pytest.fixture
def written(data, tmp_path):
    """A table with a row per candidate; columns are functions of a row's number, its problem and the candidate."""

    def write(delimiter=",", order=1, **columns):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file, delimiter=delimiter)
            table.writerow(columns)
            for at, problem in list(enumerate(data))[::order]:
                for place in range(len(problem.candidates)):
                    table.writerow([cell(at, problem, place) for cell in columns.values()])
        return path

    return write


def sentence(at, problem, place):
    return problem.text


def candidate(at, problem, place):
    return problem.candidates[place]


def filled(at, problem, place):
    return substitute(problem, problem.candidates[place]).text


def ending(at, problem, place):
    return problem.candidates[place] + problem.after


def score(at, problem, place):
    return 0.8 if choice(at, problem) == place else 0.3


def verdict(yes, no):
    return lambda at, problem, place: yes if choice(at, problem) == place else no


def right(read):
    return sum(made.prediction == made.answer for made in read.predictions)


@pytest.mark.parametrize(
    "columns",
    [
        {"sentence": sentence, "option": candidate, "score": score},
        {"qid": lambda at, problem, place: f"p{at}", "choice": candidate, "prob": score},
        {"sentence": sentence, "hypothesis": filled, "prediction": verdict("entailment", "not_entailment")},
        {"sentence1": sentence, "sentence2": ending, "prediction": verdict("1", "0")},
        {"text": sentence, "candidate": lambda at, problem, place: place, "loss": lambda *row: 2 - score(*row)},
    ],
)
def test_rows_of_one_problem_choose_together(data, written, columns):
    (read,) = read_predictions(
        written(order=-1, **({"idx": columns.pop("qid")} if "qid" in columns else {}), **columns), data
    )
    assert len(read.predictions) == 24
    assert right(read) == 18


def test_filled_texts_alone_tell_problem_and_candidate(data, written):
    path = written(text=filled, label=verdict("LABEL_1", "LABEL_0"), score=lambda *row: 0.9)
    (read,) = read_predictions(path, data, columns=checked_columns("candidate=text,prediction=label,scores=score"))
    assert right(read) == 18
    assert sorted(read.predictions[0].scores) == pytest.approx([0.1, 0.9])


def test_a_score_of_the_label_and_one_of_yes_are_told_apart(data, written):
    columns = checked_columns("text=sentence,candidate=option,prediction=label,scores=score")
    path = written(sentence=sentence, option=candidate, label=verdict("yes", "no"), score=score)
    (read,) = read_predictions(path, data, columns=columns)
    assert right(read) == 18
    assert sorted(read.predictions[0].scores) == [0.3, 0.8]


def test_yes_to_both_candidates_and_a_missing_row_are_abstentions_with_their_reasons(data, written):
    path = written(sentence=sentence, option=candidate, prediction=lambda at, problem, place: "yes" if at else "no")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    (read,) = read_predictions(path, data)
    reasons = [made.why for made in read.predictions]
    assert reasons[0] == "yes is said of 0 candidates"
    assert reasons[1] == "yes is said of 2 candidates"
    assert reasons[-1] == "1 of its 2 candidates have no row"


def test_a_row_that_names_no_candidate_is_reported(data, written):
    path = written(
        sentence=sentence,
        option=lambda at, problem, place: "somebody" if at == 0 else candidate(at, problem, place),
        score=score,
    )
    (read,) = read_predictions(path, data)
    assert read.unmatched[0] == "line 2: it names no candidate of its problem: 'somebody'"


def test_two_rows_that_say_different_things_of_one_candidate_are_reported(data, written):
    path = written(sentence=sentence, option=candidate, score=score)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[1].rsplit(",", 1)[0] + ",0.5"]) + "\n")
    (read,) = read_predictions(path, data)
    assert read.unmatched == ["line 50: line 2 and it say different things of one candidate"]


def test_a_row_per_candidate_without_its_problem_is_refused(data, written):
    with pytest.raises(BadInput, match=r"names no candidate|no problem"):
        read_predictions(
            written(option=candidate, score=score), data, columns=checked_columns("candidate=option,scores=score")
        )
