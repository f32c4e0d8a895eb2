"""Errata: what people found wrong is marked, said and never mended."""

import pytest

import winokit
from winokit.data.errata import Erratum, errata_of_votes, has_wrong_label, mark_errata, read_errata, write_errata
from winokit.errors import BadInput, WinokitError

ENTRY = '[[erratum]]\nid = "{id}"\nverdict = "wrong label"\npeople = 3\nagreed = 3\n'


@pytest.fixture
def data():
    return winokit.load("open")


def test_errata_are_marked_and_no_label_is_changed(tmp_path, data):
    path = tmp_path / "errata.toml"
    path.write_text(ENTRY.format(id=data[4].id))
    marked = winokit.load("open", errata=path)
    assert [has_wrong_label(problem) for problem in marked].index(True) == 4
    assert marked[4].labels["erratum"] == "wrong label (3 of 3 people)"
    assert [problem.answer for problem in marked] == [problem.answer for problem in data]


def test_written_errata_are_read_again(tmp_path):
    errata = [Erratum("a1", "wrong label", 3, 2, 'a "reader"', "one\nline"), Erratum("b2", "ambiguous", 5, 4)]
    assert read_errata(write_errata(errata, tmp_path / "errata.toml")) == errata


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
    assert "\n" not in str(caught.value)


def test_one_erratum_that_fits_nothing_is_noted(tmp_path, data):
    path = tmp_path / "errata.toml"
    path.write_text(ENTRY.format(id=data[0].id) + ENTRY.format(id="nowhere"))
    assert "1 of 2 errata not used; the first: nowhere" in mark_errata(data, path).notes[-1]


def test_votes_become_errata_when_more_than_half_choose_another_candidate(data):
    def voted(problem, *choices):
        votes = [{"variant": "original", "kind": "evaluate", "choice": choice, "counted": True} for choice in choices]
        return problem.replace(provenance={"votes": votes})

    wrong = 1 - data[0].answer
    problems = [
        voted(data[0], wrong, wrong, data[0].answer),
        voted(data[1], data[1].answer, data[1].answer, 1 - data[1].answer),
        voted(data[2], None, None, data[2].answer),
        data[3],
    ]
    errata, judged = errata_of_votes(problems, "three readers")
    assert judged == 3
    assert [(each.id, each.verdict, each.people, each.agreed) for each in errata] == [
        (data[0].id, "wrong label", 3, 2),
        (data[2].id, "ambiguous", 3, 2),
    ]


def test_a_report_names_the_score_without_errata(tmp_path, data):
    path = tmp_path / "errata.toml"
    path.write_text("".join(ENTRY.format(id=data[row].id) for row in (0, 2)))
    labels = tmp_path / "labels.txt"
    chosen = [str(problem.answer + 1) for problem in data]
    for row in (0, 2):
        chosen[row] = str(2 - data[row].answer)
    labels.write_text("\n".join(chosen) + "\n")
    run = winokit.audit("open", predictions=labels, errata=path, protocol="accuracy")
    row = run.find("accuracy", "without_errata", "accuracy")
    assert (row.value, row.n) == (1.0, len(data) - 2)
    from winokit.stages.audit.verdict import verdict

    assert "100.0\u00a0% without 2 problems that people found wrong (errata)." in verdict(run.metrics).headline
    with pytest.raises(BadInput):
        winokit.load("open", errata=tmp_path / "missing.toml")
