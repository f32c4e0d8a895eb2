"""Feedback on a form: the rules of `winokit check`, half filled in or whole; and the adversary."""

import sys
import threading

import pytest
from sqlalchemy import select
from support.waiting import HANGS

from winokit.extend import twin_rules
from winokit_collect.study import adversary, submissions, tasks, writing
from winokit_collect.study.refusals import Incomplete
from winokit_collect.study.schema import Submission
from winokit_collect.study.writing import clean, read_twins

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
        found = {broken.rule for broken in twin_rules.broken_rules([p.replace(group="g") for p in pair], [0, 1])}
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
    first = crew.newcomer(study)
    second = crew.newcomer(study)
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
    assert "words around the blank alone give it both answers" in verdict.message


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


SENSIBLE = {
    "first": "Anna handed the heavy ladder to Emma in the garden because _ was too tired to carry it any further.",
    "second": "Anna handed the heavy ladder to Emma in the garden because _ was strong enough to carry it any further.",
    "candidate_1": "Anna",
    "candidate_2": "Emma",
    "answer_1": "1",
    "answer_2": "2",
    "anchor": "ladder",
}
TOPIC = {"topic": "How to help a neighbor in the garden", "words": ["ladder", "hedge", "rake"]}


def warned(study, topic=TOPIC, **changes):
    told = writing.WritingFeedback(study, SENSIBLE | changes, "social", (), topic)
    return told.warning_names, told.ready


def test_sensible_twins_are_not_warned_of(make_study):
    assert warned(make_study(rules={"warn": True})) == ("", True)


def test_warnings_can_be_answered_and_only_those_that_were_shown(make_study):
    study = make_study(rules={"warn": True})
    swapped = {"second": SENSIBLE["first"].replace("_ was too tired", "_ is too tired")}
    assert warned(study, **swapped) == ("telling_change", False)
    assert warned(study, **swapped, meant="telling_change") == ("telling_change", True)
    assert warned(study, **swapped, meant="language") == ("telling_change", False)
    off = {**TOPIC, "topic": "How to plant tulip bulbs"}
    assert "anchor_topic" in warned(study, off, anchor="further")[0]


def test_gibberish_and_another_language_are_warned_of(make_study):
    study = make_study(rules={"warn": True})
    german = "Anna gab Emma die schwere ladder, weil _ im Garten viel zu {} war und nicht mehr weiter konnte."
    assert "language" in warned(study, first=german.format("müde"), second=german.format("stark"))[0]
    noise = "qwe Anna asd zxc ladder Emma rty fgh vbn _ uio jkl was pou lkj {} mnb hgf"
    assert "makes_sense" in warned(study, first=noise.format("hjk"), second=noise.format("poi"))[0]


def test_an_answer_is_stored_with_the_pair_and_asked_for_first(make_study, crew):
    study = make_study(rules={"warn": True}, tasks={"social_share": 1})
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token
    fields = SENSIBLE | {"second": SENSIBLE["first"].replace("_ was too", "_ is too"), "anchor": "garden"}
    with pytest.raises(Incomplete) as caught:
        submissions.submit(study, worker.id, token, fields)
    assert list(caught.value.problems) == ["meant"]
    names = writing.WritingFeedback(
        study, fields, "social", (), tasks.look(study, worker.id, token).topic
    ).warning_names
    submissions.submit(study, worker.id, token, fields | {"meant": names, "meant_why": "tense decides"})
    with study.store.read() as session:
        stored = session.scalar(select(Submission.fields))
    assert (stored["meant"], stored["meant_why"]) == (names, "tense decides")


def test_tries_are_counted_by_version(make_study, crew):
    study = make_study(adversary={"model": "random", "tries": 2})
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token

    def left(number, take=True):
        return adversary.tries_left(study, worker.id, token, crew.form(number), take=take)

    assert [left(0), left(0), left(1), left(1, take=False), left(2), left(0)] == [1, 1, 0, 0, -1, 0]


def test_a_model_that_hangs_is_given_up_on_and_claims_nothing(make_study, crew, tmp_path, monkeypatch):
    (tmp_path / "sleeper.py").write_text(
        "import threading\n"
        "is_over = threading.Event()\n"
        "def score(before, after, candidates, pronoun):\n"
        f"    is_over.wait({HANGS})\n"
        "    return (0, 1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "sleeper", raising=False)
    study = make_study(adversary={"model": "python:sleeper:score", "seconds": 0.05})
    crew.write(study, crew.newcomer(study))
    with study.store.read() as session:
        stored = session.scalar(select(Submission.adversary))
    sys.modules["sleeper"].is_over.set()
    assert (stored["right"], stored["fooled"]) == ([None, None], False)


def test_a_model_that_cannot_decide_is_not_fooled(make_study, crew, tmp_path, monkeypatch):
    (tmp_path / "undecided.py").write_text("def score(before, after, candidates, pronoun):\n    return (1, 1)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    verdict = adversary.ask(make_study(adversary={"model": "python:undecided:score"}), crew.form())
    assert (verdict.right, verdict.fooled) == ((None, None), False)
    assert "could not be asked" in verdict.message


def test_people_go_on_where_no_thread_can_be_started_to_ask_a_model(make_study, crew, monkeypatch):
    study = make_study(adversary={"model": "random"})

    def refused(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    verdict = adversary.ask(study, crew.form())
    assert (verdict.right, verdict.fooled) == ((None, None), False)


def test_a_model_says_how_sure_it_is(make_study, crew, tmp_path, monkeypatch):
    (tmp_path / "sure.py").write_text("def score(before, after, candidates, pronoun):\n    return (0.25, 0.75)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    verdict = adversary.ask(make_study(adversary={"model": "python:sure:score"}), crew.form())
    assert (verdict.sure, verdict.chosen) == ((0.75, 0.75), ("the spaniel", "the spaniel"))
    assert verdict.right == (True, False)


def test_what_a_model_knows_is_found_out_once(make_study, monkeypatch):
    study = make_study(adversary={"model": "random"})
    study.adversary.prepare(study)
    evaluation = study.adversary.evaluation
    assert evaluation.pairs == 214
    assert 20 < evaluation.solved < 90
    monkeypatch.setattr(type(study.adversary), "_evaluate_model", lambda self: pytest.fail("asked again"))
    study.adversary.prepare(study)
    assert study.adversary.evaluation == evaluation
