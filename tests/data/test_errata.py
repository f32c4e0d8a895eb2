"""Errata are marked and reported, and labels stay as they are."""

import pytest

import winokit
from winokit.data.errata import Erratum, errata_of_votes, has_wrong_label, mark_errata, read_errata, write_errata
from winokit.errors import BadInput, WinokitError
from winokit.stages.audit.verdict import verdict

ENTRY = '[[erratum]]\nid = "{id}"\nverdict = "wrong label"\npeople = 3\nagreed = 3\n'


@pytest.fixture
def data():
    return winokit.load("open")


def test_errata_are_marked_and_no_label_is_changed(tmp_path, data):
    path = tmp_path / "errata.toml"
    path.write_text(ENTRY.format(id=data[4].id))
    marked = winokit.load("open", errata=path)
    is_wrong = [has_wrong_label(problem) for problem in marked]
    assert is_wrong.index(True) == 4
    assert marked[4].labels["erratum"] == "wrong label (3 of 3 people)"
    answers = [problem.answer for problem in data]
    marked_answers = [problem.answer for problem in marked]
    assert marked_answers == answers


def test_written_errata_are_read_again(tmp_path):
    wrong_label = Erratum("a1", "wrong label", 3, 2, 'a "reader"', "one\nline")
    errata = [wrong_label, Erratum("b2", "ambiguous", 5, 4)]
    path = write_errata(errata, tmp_path / "errata.toml")
    assert read_errata(path) == errata


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[[erratum]]\nid = "x"\nverdict = "bad"\npeople = 1\nagreed = 1\n', "verdict"),
        ('[[erratum]]\nid = "x"\nverdict = "wrong label"\npeople = 1\n', "expected a number as agreed"),
        ('[[erratum]]\nid = "x"\nverdict = "wrong label"\npeople = 1\nagreed = 2\n', "2 of 1 people"),
        ('[[erratum]]\nid = 3\nverdict = "wrong label"\npeople = 1\nagreed = 1\n', "expected a text as id"),
        ("[[erata]]\n", "erratum"),
        ("erratum = 3\n", r"\[\[erratum\]\]"),
        ("[[erratum\n", "not TOML"),
        (ENTRY.format(id="nowhere"), "no erratum fits a problem of open"),
    ],
)
def test_errata_that_make_no_sense_are_refused_in_one_line(tmp_path, data, text, reason):
    path = tmp_path / "errata.toml"
    path.write_text(text)
    with pytest.raises(WinokitError, match=reason) as caught:
        mark_errata(data, path)
    message = str(caught.value)
    assert "\n" not in message


def test_one_erratum_that_fits_nothing_is_noted(tmp_path, data):
    path = tmp_path / "errata.toml"
    entries = [ENTRY.format(id=data[0].id), ENTRY.format(id="nowhere")]
    path.write_text("".join(entries))
    marked = mark_errata(data, path)
    assert "1 of 2 errata not used; the first: nowhere" in marked.notes[-1]


def with_votes(problem, *choices):
    """Problem with a vote for each choice, where None is for none of the candidates."""
    votes = [{"variant": "original", "kind": "evaluate", "choice": choice, "counted": True} for choice in choices]
    return problem.replace(provenance={"votes": votes})


def test_votes_become_errata_when_more_than_half_choose_another_candidate(data):
    first, second, third, fourth = data[:4]
    problems = [
        with_votes(first, 1 - first.answer, 1 - first.answer, first.answer),
        with_votes(second, second.answer, second.answer, 1 - second.answer),
        with_votes(third, None, None, third.answer),
        fourth,
    ]
    errata, judged_count = errata_of_votes(problems, "three readers")
    assert judged_count == 3
    verdicts = [(erratum.id, erratum.verdict, erratum.people, erratum.agreed) for erratum in errata]
    assert verdicts == [(first.id, "wrong label", 3, 2), (third.id, "ambiguous", 3, 2)]


@pytest.fixture
def with_two_errata(tmp_path, data):
    """Run in which two problems are answered wrong, which are those with an erratum."""
    errata_path = tmp_path / "errata.toml"
    errata_path.write_text(ENTRY.format(id=data[0].id) + ENTRY.format(id=data[2].id))
    labels = [str(problem.answer + 1) for problem in data]
    labels[0] = str(2 - data[0].answer)
    labels[2] = str(2 - data[2].answer)
    labels_path = tmp_path / "labels.txt"
    labels_path.write_text("\n".join(labels) + "\n")
    return winokit.audit("open", predictions=labels_path, errata=errata_path, protocol="accuracy")


def test_a_report_names_the_score_without_errata(with_two_errata, data):
    row = with_two_errata.find("accuracy", "without_errata", "accuracy")
    assert row.value == 1.0
    assert row.n == len(data) - 2
    headline = verdict(with_two_errata.metrics).headline
    assert "100.0\u00a0% without 2 problems that people found wrong (errata)." in headline


def test_errata_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(BadInput):
        winokit.load("open", errata=tmp_path / "missing.toml")
