"""The quiz asks about one kind of task after the other, as a worker needs them, and is paid once."""

import pytest

from winokit_collect.study import ledger, tasks, workers
from winokit_collect.study.refusals import NotAllowed, NotNow


@pytest.fixture
def study(make_study):
    return make_study(quality={"quiz_pass_mark": 0.8, "quiz_attempts": 2}, pay={"quiz": "0.25"})


@pytest.fixture
def answer(study, crew):
    """A function that lets a newcomer answer the questions of some kinds, all right or all wrong.

    The newcomer is its attribute `me`.
    """
    me = crew.newcomer(study)

    def answer_quiz(*kinds, right=True):
        questions = workers.quiz_for(study, workers.get(study, me.code), kinds)
        shift = 0 if right else 1
        choices = [(question.answer + shift) % len(question.options) for question in questions]
        return workers.take_quiz(study, me.id, choices, kinds)

    answer_quiz.me = me
    return answer_quiz


def test_who_qualifies_for_one_kind_is_asked_before_another(study, answer):
    assert len(answer("write").right) == 8 < len(study.quiz)
    me = workers.get(study, answer.me.code)
    assert workers.step_of(study, me) == "work"
    assert tasks.take(study, me.id, "write")
    assert workers.must_qualify(study, me, "validate")
    with pytest.raises(NotAllowed):
        tasks.take(study, me.id, "validate")
    assert answer("validate").passed
    assert not workers.must_qualify(study, workers.get(study, me.code), "validate")
    with pytest.raises(NotNow):
        answer("validate")


def test_who_fails_a_later_kind_keeps_the_first_and_is_not_offered_the_other(study, answer, crew):
    writer = crew.newcomer(study)
    workers.take_quiz(study, writer.id, [question.answer for question in study.quiz])
    crew.write(study, writer)
    answer("write", right=False)  # a failed try at one kind takes none from another
    answer("write")
    assert set(tasks.available(study, answer.me.id)) == {"write", "validate"}
    assert answer("validate", right=False).attempts_left == 1
    assert answer("validate", right=False).attempts_left == 0
    me = workers.get(study, answer.me.code)
    assert (me.state, workers.step_of(study, me)) == ("active", "work")
    assert set(tasks.available(study, me.id)) == {"write"}
    with pytest.raises(NotAllowed):
        tasks.take(study, me.id, "validate")


def test_each_kind_has_its_own_tries_and_who_has_failed_all_of_them_is_out(study, answer):
    answer("write", right=False)
    assert answer("validate", right=False).attempts_left == 1
    assert answer("write", right=False).attempts_left == 0
    assert workers.get(study, answer.me.code).state == "active"
    with pytest.raises(NotNow):
        answer("write")
    assert answer("validate", right=False).attempts_left == 0
    assert workers.get(study, answer.me.code).state == "screened-out"


def test_a_wrong_pass_throws_away_nothing_that_was_passed(study, crew):
    me = crew.newcomer(study)
    right_only_for_writing = []
    for question in study.quiz:
        shift = 1 if question.kind == "validate" else 0
        right_only_for_writing.append((question.answer + shift) % len(question.options))
    assert not workers.take_quiz(study, me.id, right_only_for_writing).passed
    me = workers.get(study, me.code)
    assert workers.step_of(study, me) == "work"
    assert workers.is_qualified(study, me, "write")
    assert not workers.is_qualified(study, me, "validate")
    assert workers.next_quiz(study, me, study.config.tasks.kinds) == "validate"


def test_whoever_qualified_before_quizzes_had_kinds_may_do_everything(study, answer):
    answer("write")
    with study.store.write() as session:
        session.get_one(workers.Worker, answer.me.id).qualified_for = None
    me = workers.get(study, answer.me.code)
    assert all(workers.is_qualified(study, me, kind) for kind in ("write", "validate"))


def test_the_first_quiz_is_paid_once_passed_or_not(study, answer):
    answer("write", right=False)
    answer("write")
    answer("validate")
    assert [(line.reason, line.cents) for line in ledger.entries(study)] == [("quiz", 25)]
