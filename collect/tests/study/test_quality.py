"""Screening, quiz, gold questions, signals and blocks."""

import random
from collections import Counter
from contextlib import suppress
from statistics import median

import pytest
from sqlalchemy import select
from sqlalchemy.orm import selectinload
from support.votes import rating_table

from winokit.extend import BadInput, fleiss_kappa
from winokit_collect.study import listings, moderation, progress, quality, submissions, tasks, workers
from winokit_collect.study.content import bundled
from winokit_collect.study.refusals import Incomplete, NotAllowed, NotNow
from winokit_collect.study.schema import Identity, Lease, ProblemRow, Task, Vote, Worker
from winokit_collect.study.study import Signer


def test_a_worker_goes_from_consent_over_screening_and_quiz_to_work(make_study):
    study = make_study(quality={"quiz_pass_mark": 0.8})
    worker = workers.join(study, "links")
    assert workers.step_of(study, worker) == "consent"
    assert workers.step_of(study, workers.consent(study, worker.id)) == "screening"
    assert workers.step_of(study, workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)) == "quiz"
    result = workers.take_quiz(study, worker.id, [question.answer for question in study.quiz])
    assert (result.passed, result.share) == (True, 1.0)
    assert workers.step_of(study, workers.get(study, worker.code)) == "work"


@pytest.mark.parametrize("told", [(False, False), (True, True)])
def test_those_whom_the_study_is_not_for_are_screened_out(make_study, told):
    study = make_study()
    worker = workers.join(study, "links")
    workers.consent(study, worker.id)
    assert workers.step_of(study, workers.screen(study, worker.id, *told)) == "screened-out"
    assert (
        workers.step_of(study, workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False))
        == "screened-out"
    )
    with pytest.raises(NotAllowed):
        tasks.lease(study, worker.id, "write")


def test_the_quiz_may_be_tried_twice(make_study):
    study = make_study(quality={"quiz_pass_mark": 0.8})
    worker = workers.join(study, "links")
    workers.consent(study, worker.id)
    workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)
    wrong = [(question.answer + 1) % len(question.options) for question in study.quiz]
    with pytest.raises(Incomplete):
        workers.take_quiz(study, worker.id, wrong[:1])
    assert workers.take_quiz(study, worker.id, wrong).attempts_left == 1
    assert workers.step_of(study, workers.get(study, worker.code)) == "quiz"
    assert workers.take_quiz(study, worker.id, wrong).attempts_left == 0
    assert workers.step_of(study, workers.get(study, worker.code)) == "screened-out"
    with pytest.raises(NotNow):
        workers.take_quiz(study, worker.id, [question.answer for question in study.quiz])


@pytest.mark.parametrize("kinds", [["write"], ["write", "validate"], ["write", "switchable"], ["evaluate"]])
def test_the_quiz_asks_what_the_tasks_of_the_study_need_and_no_more(make_study, kinds):
    asked = {"evaluate": {"data": "open", "limit": 2}} if kinds == ["evaluate"] else {}
    study = make_study(tasks={"kinds": kinds}, quality={"quiz_pass_mark": 0.8}, **asked)
    assert {question.kind for question in study.quiz} == set(kinds)


@pytest.fixture
def golden(make_study, crew):
    """A study in which every judgement is a gold question as long as there are any."""
    study = make_study(tasks={"kinds": ["write", "validate"]}, quality={"gold_share": 1.0, "gold_least_seen": 3})
    crew.write(study, crew.newcomer(study))
    return study


def answer_gold(study, worker, *, right):
    task = tasks.lease(study, worker.id, "validate")
    with study.store.read() as session:
        asked = session.scalars(select(Task).join(Lease).where(Lease.token == task.token)).one()
        assert asked.gold
        answer = session.get(ProblemRow, asked.problem_id).answer
    choice = answer if right else 1 - answer
    fields = {"choice": str(choice), "equally_plausible": "no", "local_decides": "no"}
    return submissions.submit(study, worker.id, task.token, fields)


def test_gold_questions_are_mixed_in_paid_and_not_counted_as_work(golden, crew):
    worker = crew.newcomer(golden)
    assert [answer_gold(golden, worker, right=True).cents for _ in range(3)] == [3, 3, 3]
    with golden.store.read() as session:
        assert {vote.is_right for vote in session.scalars(select(Vote))} == {True}
        asked = session.scalars(select(Task).where(Task.kind == "validate", ~Task.gold)).all()
    assert [(task.accepted, task.held) for task in asked] == [(0, 0), (0, 0)]


def test_a_worker_who_fails_gold_questions_is_blocked(golden, crew):
    worker = crew.newcomer(golden)
    for right in (True, False, False):
        answer_gold(golden, worker, right=right)
    assert workers.step_of(golden, workers.get(golden, worker.code)) == "blocked"
    with pytest.raises(NotAllowed) as caught:
        tasks.lease(golden, worker.id, "validate")
    assert "gold" not in str(caught.value)
    line = listings.log_entries(golden, action="block")[0]
    assert (line.target, line.detail) == (worker.code, {"why": "1 of 3 gold questions right"})


def test_a_worker_is_only_marked_where_the_requester_wants_to_decide(make_study, crew):
    study = make_study(quality={"gold_share": 1.0, "gold_least_seen": 3, "block_by_gold": False})
    crew.write(study, crew.newcomer(study))
    worker = crew.newcomer(study)
    for _ in range(5):
        answer_gold(study, worker, right=False)
    assert workers.step_of(study, workers.get(study, worker.code)) == "work"
    told = {one.code: one for one in quality.workers(study)}[worker.code]
    assert (told.gold_seen, told.gold_right) == (5, 0)
    assert "fails gold questions" in told.flags


def test_nobody_gets_gold_where_there_is_no_real_work(make_study, crew):
    study = make_study(quality={"gold_share": 1.0})
    with pytest.raises(NotNow):
        tasks.lease(study, crew.newcomer(study).id, "validate")


def test_a_gold_question_is_asked_once_of_each_worker(golden, crew):
    worker = crew.newcomer(golden)
    for _ in range(8):
        answer_gold(golden, worker, right=True)
    with golden.store.read() as session:
        asked = session.scalars(select(Vote.problem_id)).all()
    assert len(set(asked)) == 8


def test_about_the_configured_share_of_judgements_is_gold(make_study, crew):
    study = make_study(
        tasks={"kinds": ["evaluate"], "twins": 0, "votes": 1},
        evaluate={"data": "open", "limit": 80},
        gold=str(bundled("gold.jsonl")),
        quality={"gold_share": 0.25, "block_by_gold": False},
    )
    study.signer = Signer(b"one")  # with a new secret each time, one run in 320 is out of bounds
    worker = crew.newcomer(study)
    for _ in range(60):
        task = tasks.lease(study, worker.id, "evaluate")
        submissions.submit(study, worker.id, task.token, {"choice": "0"})
    with study.store.read() as session:
        gold = sum(session.scalars(select(Vote.gold)))
    assert 6 <= gold <= 26  # 60 draws at a quarter


def test_haste_pasting_and_disagreement_are_marked(make_study, crew, clock):
    study = make_study(
        tasks={"kinds": ["evaluate"], "twins": 0},
        evaluate={"data": "open", "limit": 6},
        quality={"fast_vote_seconds": 5},
    )
    honest = [crew.newcomer(study) for _ in range(2)]
    hasty = crew.newcomer(study)
    for worker in (*honest, hasty):
        for _ in range(6):
            task = tasks.lease(study, worker.id, "evaluate")
            clock.pass_minutes(0 if worker is hasty else 0.5)
            choice = "1" if worker is hasty else "0"
            submissions.submit(study, worker.id, task.token, {"choice": choice})
    told = {one.code: one for one in quality.workers(study)}
    assert told[hasty.code].agreement == 0.0
    assert told[hasty.code].flags == ("disagrees with others", "hasty")
    assert told[honest[0].code].flags == ()
    assert told[honest[0].code].median_seconds == 30


def test_a_blocked_worker_holds_nothing_and_their_work_can_be_taken_out(study, crew):
    crew.write(study, crew.newcomer(study))
    bad = crew.newcomer(study)
    crew.vote(study, bad)
    held = tasks.lease(study, bad.id, "validate")
    moderation.block(study, bad.code, "writes nonsense", "requester:ada", discard_work=True)
    with study.store.read() as session:
        asked = session.scalars(select(Task).where(Task.kind == "validate")).all()
        assert [vote.counted for vote in session.scalars(select(Vote))] == [False]
    assert [(task.accepted, task.held) for task in asked] == [(0, 0), (0, 0)]
    receipt = submissions.submit(study, bad.id, held.token, crew.ballot(held))
    assert (receipt.counted, receipt.cents) == (False, 0)
    moderation.unblock(study, bad.code, "requester:ada")
    assert workers.step_of(study, workers.get(study, bad.code)) == "work"


def test_agreement_is_fleiss_kappa_over_complete_problems(study, crew):
    crew.write(study, crew.newcomer(study))
    crew.write(study, crew.newcomer(study), 4)
    people = [crew.newcomer(study) for _ in range(3)]
    for number, worker in enumerate(people):
        for _ in range(4):
            crew.vote(study, worker, equally_plausible="yes" if number == 0 else "no")
    told = {row.question: row for row in progress.snapshot(study).agreement}
    assert told["answer"].problems == 4
    assert told["answer"].unanimous == 4
    assert told["answer"].kappa == pytest.approx(1.0)
    assert told["equally plausible"].kappa == pytest.approx(-0.5)
    assert told["decided by the clause"].kappa is None
    assert "one category" in told["decided by the clause"].why_not


def counted_by_hand(study):
    """Agreement on each question, and with others for each worker, from every vote, one by one."""
    complete = select(Task).where(Task.accepted == study.config.tasks.votes, ~Task.gold).order_by(Task.id)
    with study.store.read() as session:
        tasks_ = session.scalars(complete.options(selectinload(Task.votes))).all()
        votes = session.scalars(select(Vote).where(Vote.counted, ~Vote.gold).order_by(Vote.id)).all()
    questions = []
    for kind, _, name in quality.QUESTIONS:
        ratings = [[getattr(vote, name) for vote in task.votes if vote.counted] for task in tasks_ if task.kind == kind]
        asked = [answers for answers in ratings if None not in answers]
        unanimous = sum(len(set(answers)) == 1 for answers in asked)
        try:
            kappa = fleiss_kappa(rating_table(asked)).value if asked else None
        except BadInput:
            kappa = None
        questions += [(len(asked), unanimous, kappa)] if kind in study.config.tasks.kinds else []
    agreed = Counter()
    compared = Counter()
    for vote in votes:
        others = [other.choice for other in votes if other.task_id == vote.task_id and other is not vote]
        (most, count), *rest = Counter(others).most_common(2) or [(None, 0)]
        if count > (rest[0][1] if rest else 0):
            compared[vote.worker_id] += 1
            agreed[vote.worker_id] += vote.choice == most
    return questions, agreed, compared


@pytest.mark.parametrize("kinds", [["evaluate"], ["write", "validate"]])
def test_what_the_database_counts_is_what_every_vote_says(make_study, crew, clock, kinds):
    more = {"tasks": {"kinds": kinds, "twins": 8}, "quality": {"gold_share": 0.2, "block_by_gold": False}}
    study = make_study(evaluate={"data": "open", "limit": 16, "abstain": True} if kinds == ["evaluate"] else {}, **more)
    dice = random.Random(5)
    people = [crew.newcomer(study) for _ in range(5)]
    for number in range(0 if kinds == ["evaluate"] else 8):
        crew.write(study, people[number % 5], 4 * number)
    for worker in people * 12:
        with suppress(NotNow):  # until nothing is left
            task = tasks.lease(study, worker.id, kinds[-1])
            clock.pass_minutes(dice.random())
            # Mostly one of them: of few votes, enough must have others that agree to be compared with.
            choice = dice.choice(["0", "0", "0", "0", "0", "1", "unsure"][: 7 if kinds == ["evaluate"] else 6])
            told = {"choice": choice, "equally_plausible": dice.choice(["yes", "no"]), "local_decides": "no"}
            submissions.submit(study, worker.id, task.token, told)
    moderation.discard(study, 9, "nonsense", "requester:ada")
    questions, agreed, compared = counted_by_hand(study)
    counted = progress.snapshot(study).agreement
    assert [(row.problems, row.unanimous) for row in counted] == [row[:2] for row in questions]
    assert [row.kappa for row in counted] == pytest.approx([row[2] for row in questions], abs=1e-12)
    assert max(row.problems for row in counted) > 3
    for worker, told in zip(people, quality.workers(study), strict=True):
        expected = agreed[worker.id] / compared[worker.id] if compared[worker.id] >= quality.FEW else None
        assert told.agreement == expected
        mine = listings.submissions(study, worker=worker.code).rows
        assert (told.submissions, told.median_seconds) == (len(mine), median(one.seconds for one in mine))
        (alone,) = quality.workers(study, Worker.code == worker.code)
        assert vars(alone) == vars(told)
    assert any(worker.agreement is not None for worker in quality.workers(study))


def test_dawid_and_skene_trust_those_who_agree(make_study, crew):
    study = make_study(tasks={"kinds": ["evaluate"], "twins": 0, "votes": 4}, evaluate={"data": "open", "limit": 12})
    people = [crew.newcomer(study) for _ in range(4)]
    with study.store.read() as session:
        answers = {row.before + row.after: row.answer for row in session.scalars(select(ProblemRow))}
    for number, worker in enumerate(people):
        for place in range(12):
            task = tasks.lease(study, worker.id, "evaluate")
            right = answers[task.before + task.after]
            choice = right if number < 3 else place % 2
            submissions.submit(study, worker.id, task.token, {"choice": str(choice)})
    found = quality.dawid_skene(study, "evaluate")
    assert sorted(found.labels.values()) == sorted(answers.values())
    assert min(found.reliability[one.code] for one in people[:3]) > 0.95
    assert found.reliability[people[3].code] < 0.8
    assert found.differs == ()


def test_who_a_worker_is_can_be_forgotten(study):
    worker = workers.join(study, "prolific", Identity(external_id="5f8a1b2c3d4e5f6a7b8c9d0e"))
    again = workers.join(study, "prolific", Identity(external_id="5f8a1b2c3d4e5f6a7b8c9d0e"))
    assert again.code == worker.code
    workers.forget(study, worker.code, "requester:ada")
    with study.store.read() as session:
        assert session.scalars(select(Identity)).all() == []
