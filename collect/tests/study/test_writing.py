"""Feedback on a form follows the rules of `winokit check`, and the adversary is asked about it."""

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


def failed_checks(study, fields, domain="physical"):
    """Names of the checks that a form fails."""
    feedback = writing.WritingFeedback(study, fields, domain)
    return {check.name for check in feedback.checks if check.ok is False}


def test_good_twins_are_ready(study, crew):
    feedback = writing.WritingFeedback(study, crew.form(), "physical")
    assert feedback.ready
    assert all(check.ok for check in feedback.checks)
    assert feedback.words == (20, 20)
    assert feedback.overlap == pytest.approx(19 / 20)


def test_an_empty_form_is_neither_right_nor_wrong(study):
    feedback = writing.WritingFeedback(study, {}, "physical")
    assert not feedback.ready
    assert {check.ok for check in feedback.checks} == {None}


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
    assert rule in failed_checks(study, fields)
    assert not writing.WritingFeedback(study, fields, "physical").ready


def test_the_form_and_winokit_check_find_the_same(study, crew):
    for changes in ({}, {"anchor": "fence"}, {"answer_2": "2"}, {"second": LONG}, {"candidate_1": "the poodle"}):
        fields = crew.form(**changes)
        pair = read_twins(fields).problems("en", "physical")
        twins = [problem.replace(group="g") for problem in pair]
        broken_rules = {broken.rule for broken in twin_rules.broken_rules(twins, [0, 1])}
        assert failed_checks(study, fields) == broken_rules


def test_the_words_that_differ_are_marked(study, crew):
    feedback = writing.WritingFeedback(study, crew.form())
    assert [span.text.strip() for span in feedback.first if span.differs] == ["never"]
    assert [span.text.strip() for span in feedback.second if span.differs] == ["always"]
    assert "".join(span.text for span in feedback.first) == LONG


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("It was empty.", "It was full.", ("empty", "full")),
        ("It was too big, sadly.", "It was small, sadly.", ("too big", "small")),
        ("It was red and old.", "It was blue and new.", ("red … old", "blue … new")),
        ("It was not red.", "It was red.", ("not", "")),
    ],
)
def test_special_words_are_what_differs_without_punctuation(first, second, words):
    assert writing.special_words(first, second) == words


def test_something_like_an_earlier_submission_is_refused(study, crew):
    first = crew.newcomer(study)
    second = crew.newcomer(study)
    crew.write(study, first)
    copied = crew.form(first=LONG.replace("fetch", "bring"), second=LONG.replace("never", "often"))
    assert failed_checks(study, copied) == {"new"}
    token = tasks.lease(study, second.id, "write").token
    with pytest.raises(Incomplete, match="too similar"):
        submissions.submit(study, second.id, token, copied)
    assert failed_checks(study, crew.form(5)) == set()


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
    calls = []
    score_variants = adversary.score_variants

    def count_call(*arguments):
        calls.append(arguments)
        return score_variants(*arguments)

    monkeypatch.setattr(adversary, "score_variants", count_call)
    verdict = adversary.ask(study, crew.form())
    crew.write(study, crew.newcomer(study))
    assert adversary.ask(study, crew.form()) == verdict
    assert len(calls) == 1
    adversary.ask(study, crew.form(7))
    assert len(calls) == 2


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


def warn_writer(study, topic=TOPIC, **changes):
    """Names of the warnings about sensible twins with changes, and whether the pair may be handed in."""
    feedback = writing.WritingFeedback(study, SENSIBLE | changes, "social", (), topic)
    return feedback.warning_names, feedback.ready


def test_sensible_twins_are_not_warned_of(make_study):
    assert warn_writer(make_study(rules={"warn": True})) == ("", True)


def test_warnings_can_be_answered_and_only_those_that_were_shown(make_study):
    study = make_study(rules={"warn": True})
    swapped = {"second": SENSIBLE["first"].replace("_ was too tired", "_ is too tired")}
    assert warn_writer(study, **swapped) == ("telling_change", False)
    assert warn_writer(study, **swapped, meant="telling_change") == ("telling_change", True)
    assert warn_writer(study, **swapped, meant="language") == ("telling_change", False)
    other_topic = {**TOPIC, "topic": "How to plant tulip bulbs"}
    names, _ = warn_writer(study, other_topic, anchor="further")
    assert "anchor_topic" in names


def test_gibberish_and_another_language_are_warned_of(make_study):
    study = make_study(rules={"warn": True})
    german = "Anna gab Emma die schwere ladder, weil _ im Garten viel zu {} war und nicht mehr weiter konnte."
    names, _ = warn_writer(study, first=german.format("müde"), second=german.format("stark"))
    assert "language" in names
    noise = "qwe Anna asd zxc ladder Emma rty fgh vbn _ uio jkl was pou lkj {} mnb hgf"
    names, _ = warn_writer(study, first=noise.format("hjk"), second=noise.format("poi"))
    assert "makes_sense" in names


def test_an_answer_is_stored_with_the_pair_and_asked_for_first(make_study, crew):
    study = make_study(rules={"warn": True}, tasks={"social_share": 1})
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token
    second = SENSIBLE["first"].replace("_ was too", "_ is too")
    fields = SENSIBLE | {"second": second, "anchor": "garden"}
    with pytest.raises(Incomplete) as caught:
        submissions.submit(study, worker.id, token, fields)
    assert list(caught.value.problems) == ["meant"]
    topic = tasks.look(study, worker.id, token).topic
    names = writing.WritingFeedback(study, fields, "social", (), topic).warning_names
    submissions.submit(study, worker.id, token, fields | {"meant": names, "meant_why": "tense decides"})
    with study.store.read() as session:
        stored = session.scalar(select(Submission.fields))
    assert (stored["meant"], stored["meant_why"]) == (names, "tense decides")


def test_tries_are_counted_by_version(make_study, crew):
    study = make_study(adversary={"model": "random", "tries": 2})
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token

    def count_tries_left(number, take=True):
        return adversary.tries_left(study, worker.id, token, crew.form(number), take=take)

    assert count_tries_left(0) == 1
    assert count_tries_left(0) == 1
    assert count_tries_left(1) == 0
    assert count_tries_left(1, take=False) == 0
    assert count_tries_left(2) == -1
    assert count_tries_left(0) == 0


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
    model = "def score(before, after, candidates, pronoun):\n    return (1, 1)\n"
    (tmp_path / "undecided.py").write_text(model)
    monkeypatch.syspath_prepend(str(tmp_path))
    study = make_study(adversary={"model": "python:undecided:score"})
    verdict = adversary.ask(study, crew.form())
    assert (verdict.right, verdict.fooled) == ((None, None), False)
    assert "could not be asked" in verdict.message


def test_people_go_on_where_no_thread_can_be_started_to_ask_a_model(make_study, crew, monkeypatch):
    study = make_study(adversary={"model": "random"})

    def refuse_to_start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse_to_start)
    verdict = adversary.ask(study, crew.form())
    assert (verdict.right, verdict.fooled) == ((None, None), False)


def test_a_model_says_how_sure_it_is(make_study, crew, tmp_path, monkeypatch):
    model = "def score(before, after, candidates, pronoun):\n    return (0.25, 0.75)\n"
    (tmp_path / "sure.py").write_text(model)
    monkeypatch.syspath_prepend(str(tmp_path))
    study = make_study(adversary={"model": "python:sure:score"})
    verdict = adversary.ask(study, crew.form())
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
