"""Feedback on a form: the rules of `winokit check`, half filled in or whole; and the adversary."""

import pytest
from sqlalchemy import select

from winokit.collect.study import adversary, submissions, tasks, writing
from winokit.collect.study.refusals import Incomplete
from winokit.collect.study.schema import Submission
from winokit.collect.study.writing import clean, read_twins
from winokit.data.checks.rules import broken_rules

LONG = "The terrier can squeeze under the garden gate but the spaniel cannot, so we never have to fetch _ back."


def failing(study, fields, domain="physical"):
    return {check.name for check in writing.WritingFeedback(study, fields, domain).checks if check.ok is False}


def test_good_twins_are_ready(study, crew):
    told = writing.WritingFeedback(study, crew.form(), "physical")
    assert told.ready
    assert all(check.ok for check in told.checks)
    assert told.words == (20, 20)
    assert told.overlap == pytest.approx(19 / 20)


def test_an_empty_form_is_neither_right_nor_wrong(study):
    told = writing.WritingFeedback(study, {}, "physical")
    assert not told.ready
    assert {check.ok for check in told.checks} == {None}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"first": LONG.replace("_", "it")}, "one_blank"),
        ({"second": "Too short _ is."}, "length"),
        ({"candidate_1": "the poodle"}, "candidates_present"),
        ({"candidate_2": "a terrier"}, "candidates_differ"),
        ({"anchor": "fence"}, "anchor_present"),
        ({"second": LONG}, "texts_differ"),
        ({"answer_2": "2"}, "opposite_answers"),
        ({"second": " ".join(f"w{i}" for i in range(14)) + " the terrier the spaniel gate _."}, "overlap"),
        ({"candidate_1": "Nora", "candidate_2": "Peter"}, "same_kind"),
    ],
)
def test_each_broken_rule_is_told(study, crew, changes, rule):
    fields = crew.form(**changes)
    assert rule in failing(study, fields)
    assert not writing.WritingFeedback(study, fields, "physical").ready


def test_the_form_and_winokit_check_find_the_same(study, crew):
    for changes in ({}, {"anchor": "fence"}, {"answer_2": "2"}, {"second": LONG}, {"candidate_1": "the poodle"}):
        fields = crew.form(**changes)
        pair = read_twins(fields).problems("en", "physical")
        found = {broken.rule for broken in broken_rules([p.replace(group="g") for p in pair], [0, 1])}
        assert failing(study, fields) == found


def test_the_words_that_differ_are_marked(study, crew):
    told = writing.WritingFeedback(study, crew.form())
    assert [span.text.strip() for span in told.first if span.differs] == ["never"]
    assert [span.text.strip() for span in told.second if span.differs] == ["always"]
    assert "".join(span.text for span in told.first) == LONG


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("It was empty.", "It was full.", ("empty", "full")),
        ("It was too big, sadly.", "It was small, sadly.", ("too big", "small")),
        ("It was red and old.", "It was blue and new.", ("red … old", "blue … new")),
        ("It was not red.", "It was red.", ("not", "")),
    ],
)
def test_special_words_are_what_differs_without_punctuation(one, other, words):
    assert writing.special_words(one, other) == words


def test_something_like_an_earlier_submission_is_refused(study, crew):
    first, second = crew.newcomer(study), crew.newcomer(study)
    crew.write(study, first)
    copied = crew.form(first=LONG.replace("fetch", "bring"), second=LONG.replace("never", "often"))
    assert failing(study, copied) == {"new"}
    token = tasks.lease(study, second.id, "write").token
    with pytest.raises(Incomplete, match="too similar"):
        submissions.submit(study, second.id, token, copied)
    assert failing(study, crew.form(5)) == set()


def test_a_form_with_something_missing_says_what_by_field(study, crew):
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token
    with pytest.raises(Incomplete) as caught:
        submissions.submit(study, worker.id, token, crew.form(anchor="", answer_1=""))
    assert set(caught.value.problems) == {"anchor", "answer_1"}
    with pytest.raises(Incomplete) as caught:
        submissions.submit(study, worker.id, token, crew.form(anchor="fence"))
    assert "missing in 2" in caught.value.problems["anchor"]


def test_a_text_that_no_form_could_send_is_refused(study):
    with pytest.raises(Incomplete, match="1000 characters"):
        writing.WritingFeedback(study, {"first": "x" * 1001})


def test_what_people_type_is_tidied():
    assert read_twins({"first": "It is ____ here"}).texts[0] == "It is _ here"
    assert clean("cafe\u0301 \u202eevil\ud800\x00\n") == "café evil"


def test_the_adversary_says_whether_it_is_fooled_and_is_stored_with_its_revision(make_study, crew):
    study = make_study(adversary={"model": "random"})
    verdict = adversary.ask(study, crew.form())
    assert verdict.model == "random"
    assert verdict.revision
    assert verdict.fooled == (verdict.right != (True, True))
    worker = crew.newcomer(study)
    crew.write(study, worker)
    with study.store.read() as session:
        assert session.scalar(select(Submission.adversary)) == verdict.to_json()


def test_an_adversary_that_reads_the_clause_alone_is_warned_about(make_study, crew, tmp_path, monkeypatch):
    (tmp_path / "clause_reader.py").write_text(
        "def score(before, after, candidates, pronoun):\n    return (0, 1) if 'never' in before + after else (1, 0)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    study = make_study(adversary={"model": "python:clause_reader:score"})
    verdict = adversary.ask(study, crew.form())
    assert (verdict.fooled, verdict.clause_gives_away) == (False, True)
    assert "around the blank" in verdict.message


def test_a_pair_that_fools_the_model_and_is_given_away_is_not_praised(make_study, crew, tmp_path, monkeypatch):
    (tmp_path / "clause_lover.py").write_text(
        "def score(before, after, candidates, pronoun):\n"
        "    right = (0, 1) if 'never' in before + after else (1, 0)\n"
        "    return right[::-1] if 'squeeze' in before else right\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    study = make_study(adversary={"model": "python:clause_lover:score"})
    verdict = adversary.ask(study, crew.form())
    assert (verdict.fooled, verdict.clause_gives_away) == (True, True)
    assert "well done" not in verdict.message
    assert "does not solve" not in verdict.message
    assert "words around the blank alone tell it both answers" in verdict.message


def test_the_model_is_asked_once_about_a_pair(make_study, crew, monkeypatch):
    study = make_study(adversary={"model": "random"})
    asked = []
    score = adversary.score_variants
    monkeypatch.setattr(adversary, "score_variants", lambda *told: asked.append(1) or score(*told))
    shown = adversary.ask(study, crew.form())
    crew.write(study, crew.newcomer(study))
    assert adversary.ask(study, crew.form()) == shown
    assert len(asked) == 1
    adversary.ask(study, crew.form(7))
    assert len(asked) == 2


def test_an_adversary_that_does_not_answer_stops_nobody(make_study, crew):
    study = make_study(adversary={"model": "hf:/no/such/model"})
    assert adversary.ask(study, crew.form()).right == (None, None)
    assert crew.write(study, crew.newcomer(study)).counted


def test_no_adversary_no_verdict(study, crew):
    assert adversary.ask(study, crew.form()) is None
    assert adversary.ask(study, {}) is None
