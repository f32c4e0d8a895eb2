"""Workers are screened, quizzed, checked by gold questions and signals, and blocked if need be."""

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
    consented = workers.consent(study, worker.id)
    assert workers.step_of(study, consented) == "screening"
    screened = workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)
    assert workers.step_of(study, screened) == "quiz"
    result = workers.take_quiz(study, worker.id, [question.answer for question in study.quiz])
    assert (result.passed, result.share) == (True, 1.0)
    assert workers.step_of(study, workers.get(study, worker.code)) == "work"


@pytest.mark.parametrize(
    ("native_speaker", "has_seen_wsc"), [(False, False), (True, True)], ids=["no native speaker", "has seen them"]
)
def test_those_whom_the_study_is_not_for_are_screened_out(make_study, native_speaker, has_seen_wsc):
    study = make_study()
    worker = workers.join(study, "links")
    workers.consent(study, worker.id)
    screened = workers.screen(study, worker.id, native_speaker=native_speaker, has_seen_wsc=has_seen_wsc)
    assert workers.step_of(study, screened) == "screened-out"
    screened_again = workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)
    assert workers.step_of(study, screened_again) == "screened-out"
    with pytest.raises(NotAllowed):
        tasks.lease(study, worker.id, "write")


def test_the_quiz_may_be_tried_twice(make_study):
    study = make_study(quality={"quiz_pass_mark": 0.8})
    worker = workers.join(study, "links")
    workers.consent(study, worker.id)
    workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)
    wrong_answers = [(question.answer + 1) % len(question.options) for question in study.quiz]
    with pytest.raises(Incomplete):
        workers.take_quiz(study, worker.id, wrong_answers[:1])
    assert workers.take_quiz(study, worker.id, wrong_answers).attempts_left == 1
    assert workers.step_of(study, workers.get(study, worker.code)) == "quiz"
    assert workers.take_quiz(study, worker.id, wrong_answers).attempts_left == 0
    assert workers.step_of(study, workers.get(study, worker.code)) == "screened-out"
    with pytest.raises(NotNow):
        workers.take_quiz(study, worker.id, [question.answer for question in study.quiz])


@pytest.mark.parametrize("kinds", [["write"], ["write", "validate"], ["write", "switchable"], ["evaluate"]])
def test_the_quiz_asks_what_the_tasks_of_the_study_need_and_no_more(make_study, kinds):
    sections = {"tasks": {"kinds": kinds}, "quality": {"quiz_pass_mark": 0.8}}
    if kinds == ["evaluate"]:
        sections["evaluate"] = {"data": "open", "limit": 2}
    study = make_study(**sections)
    assert {question.kind for question in study.quiz} == set(kinds)


@pytest.fixture
def golden(make_study, crew):
    """A study in which every judgement is a gold question as long as there are any."""
    study = make_study(tasks={"kinds": ["write", "validate"]}, quality={"gold_share": 1.0, "gold_least_seen": 3})
    crew.write(study, crew.newcomer(study))
    return study


def rows_of(study, query):
    with study.store.read() as session:
        return session.scalars(query).all()


def worker_rows(study):
    """Each worker's row of the list of workers, by code."""
    return {row.code: row for row in quality.workers(study)}


def answer_gold(study, worker, *, right):
    """Take a task that must be a gold question, and answer it right or wrong."""
    task = tasks.lease(study, worker.id, "validate")
    with study.store.read() as session:
        task_row = session.scalars(select(Task).join(Lease).where(Lease.token == task.token)).one()
        assert task_row.gold
        answer = session.get(ProblemRow, task_row.problem_id).answer
    choice = answer if right else 1 - answer
    fields = {"choice": str(choice), "equally_plausible": "no", "local_decides": "no"}
    return submissions.submit(study, worker.id, task.token, fields)


def test_gold_questions_are_mixed_in_paid_and_not_counted_as_work(golden, crew):
    worker = crew.newcomer(golden)
    receipts = [answer_gold(golden, worker, right=True) for _ in range(3)]
    assert [receipt.cents for receipt in receipts] == [3, 3, 3]
    assert set(rows_of(golden, select(Vote.is_right))) == {True}
    real_tasks = rows_of(golden, select(Task).where(Task.kind == "validate", ~Task.gold))
    assert [(task.accepted, task.held) for task in real_tasks] == [(0, 0), (0, 0)]


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
    row = worker_rows(study)[worker.code]
    assert (row.gold_seen, row.gold_right) == (5, 0)
    assert "fails gold questions" in row.flags


def test_nobody_gets_gold_where_there_is_no_real_work(make_study, crew):
    study = make_study(quality={"gold_share": 1.0})
    with pytest.raises(NotNow):
        tasks.lease(study, crew.newcomer(study).id, "validate")


def test_a_gold_question_is_asked_once_of_each_worker(golden, crew):
    worker = crew.newcomer(golden)
    for _ in range(8):
        answer_gold(golden, worker, right=True)
    problem_ids = rows_of(golden, select(Vote.problem_id))
    assert len(set(problem_ids)) == 8


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
    gold_count = sum(rows_of(study, select(Vote.gold)))
    assert 6 <= gold_count <= 26  # 60 draws at a quarter


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
    rows = worker_rows(study)
    assert rows[hasty.code].agreement == 0.0
    assert rows[hasty.code].flags == ("disagrees with others", "hasty")
    assert rows[honest[0].code].flags == ()
    assert rows[honest[0].code].median_seconds == 30


def test_a_blocked_worker_holds_nothing_and_their_work_can_be_taken_out(study, crew):
    crew.write(study, crew.newcomer(study))
    bad = crew.newcomer(study)
    crew.vote(study, bad)
    open_task = tasks.lease(study, bad.id, "validate")
    moderation.block(study, bad.code, "writes nonsense", "requester:ada", discard_work=True)
    assert rows_of(study, select(Vote.counted)) == [False]
    validate_tasks = rows_of(study, select(Task).where(Task.kind == "validate"))
    assert [(task.accepted, task.held) for task in validate_tasks] == [(0, 0), (0, 0)]
    receipt = submissions.submit(study, bad.id, open_task.token, crew.ballot(open_task))
    assert (receipt.counted, receipt.cents) == (False, 0)
    moderation.unblock(study, bad.code, "requester:ada")
    assert workers.step_of(study, workers.get(study, bad.code)) == "work"


def test_agreement_is_fleiss_kappa_over_complete_problems(study, crew):
    crew.write(study, crew.newcomer(study))
    crew.write(study, crew.newcomer(study), 4)
    people = [crew.newcomer(study) for _ in range(3)]
    for number, worker in enumerate(people):
        plausible = "yes" if number == 0 else "no"
        for _ in range(4):
            crew.vote(study, worker, equally_plausible=plausible)
    agreement = {row.question: row for row in progress.snapshot(study).agreement}
    assert agreement["answer"].problems == 4
    assert agreement["answer"].unanimous == 4
    assert agreement["answer"].kappa == pytest.approx(1.0)
    assert agreement["equally plausible"].kappa == pytest.approx(-0.5)
    assert agreement["decided by the clause"].kappa is None
    assert "one category" in agreement["decided by the clause"].why_not


def agreement_by_hand(study):
    """Agreement on each question, computed from the votes of complete tasks.

    A row is (problems, unanimous problems, Fleiss' kappa or None).
    """
    complete = select(Task).where(Task.accepted == study.config.tasks.votes, ~Task.gold).order_by(Task.id)
    complete_tasks = rows_of(study, complete.options(selectinload(Task.votes)))
    rows = []
    for kind, _, name in quality.QUESTIONS:
        if kind not in study.config.tasks.kinds:
            continue
        ratings = []
        for task in complete_tasks:
            answers = [getattr(vote, name) for vote in task.votes if vote.counted]
            if task.kind == kind and None not in answers:
                ratings.append(answers)
        unanimous_count = sum(len(set(answers)) == 1 for answers in ratings)
        try:
            kappa = fleiss_kappa(rating_table(ratings)).value if ratings else None
        except BadInput:
            kappa = None
        rows.append((len(ratings), unanimous_count, kappa))
    return rows


def most_frequent_choices(votes):
    """The choice that most of the votes have, or all that share the first place.

    A vote that abstains has the choice None.
    """
    choice_counts = Counter(vote.choice for vote in votes)
    highest = max(choice_counts.values(), default=0)
    return [choice for choice, count in choice_counts.items() if count == highest]


def agreement_with_others_by_hand(study):
    """Number of votes that agree with a majority of the others, and of votes that have one.

    Both are counters by worker id.
    """
    votes = rows_of(study, select(Vote).where(Vote.counted, ~Vote.gold).order_by(Vote.id))
    agreed = Counter()
    compared = Counter()
    for vote in votes:
        other_votes = [other for other in votes if other.task_id == vote.task_id and other is not vote]
        most_frequent = most_frequent_choices(other_votes)
        if len(most_frequent) == 1:
            compared[vote.worker_id] += 1
            agreed[vote.worker_id] += vote.choice == most_frequent[0]
    return agreed, compared


def play_at_random(study, crew, clock, people, kind):
    """Let people write eight pairs, if the study has such tasks, and vote until nothing is left."""
    dice = random.Random(5)
    may_abstain = kind == "evaluate"
    if not may_abstain:
        for number in range(8):
            crew.write(study, people[number % 5], 4 * number)
    # Mostly one of them: of few votes, enough must have others that agree to be compared with.
    choices = ["0", "0", "0", "0", "0", "1"]
    if may_abstain:
        choices.append("unsure")
    for worker in people * 12:
        with suppress(NotNow):  # until nothing is left
            task = tasks.lease(study, worker.id, kind)
            clock.pass_minutes(dice.random())
            choice = dice.choice(choices)
            fields = {"choice": choice, "equally_plausible": dice.choice(["yes", "no"]), "local_decides": "no"}
            submissions.submit(study, worker.id, task.token, fields)


@pytest.mark.parametrize("kinds", [["evaluate"], ["write", "validate"]])
def test_what_the_database_counts_is_what_every_vote_says(make_study, crew, clock, kinds):
    evaluate = {"data": "open", "limit": 16, "abstain": True} if kinds == ["evaluate"] else {}
    study = make_study(
        evaluate=evaluate,
        tasks={"kinds": kinds, "twins": 8},
        quality={"gold_share": 0.2, "block_by_gold": False},
    )
    people = [crew.newcomer(study) for _ in range(5)]
    play_at_random(study, crew, clock, people, kinds[-1])
    moderation.discard(study, 9, "nonsense", "requester:ada")

    expected_rows = agreement_by_hand(study)
    agreement = progress.snapshot(study).agreement
    assert [(row.problems, row.unanimous) for row in agreement] == [row[:2] for row in expected_rows]
    assert [row.kappa for row in agreement] == pytest.approx([row[2] for row in expected_rows], abs=1e-12)
    assert max(row.problems for row in agreement) > 3

    agreed, compared = agreement_with_others_by_hand(study)
    rows = quality.workers(study)
    for worker, row in zip(people, rows, strict=True):
        is_compared = compared[worker.id] >= quality.FEW
        assert row.agreement == (agreed[worker.id] / compared[worker.id] if is_compared else None)
        submitted = listings.submissions(study, worker=worker.code).rows
        assert row.submissions == len(submitted)
        assert row.median_seconds == median(submission.seconds for submission in submitted)
        (row_alone,) = quality.workers(study, Worker.code == worker.code)
        assert vars(row_alone) == vars(row)
    assert any(row.agreement is not None for row in rows)


def test_dawid_and_skene_trust_those_who_agree(make_study, crew):
    study = make_study(tasks={"kinds": ["evaluate"], "twins": 0, "votes": 4}, evaluate={"data": "open", "limit": 12})
    people = [crew.newcomer(study) for _ in range(4)]
    answers = {row.before + row.after: row.answer for row in rows_of(study, select(ProblemRow))}
    *reliable, careless = people
    for worker in people:
        for number in range(12):
            task = tasks.lease(study, worker.id, "evaluate")
            right_choice = answers[task.before + task.after]
            choice = number % 2 if worker is careless else right_choice
            submissions.submit(study, worker.id, task.token, {"choice": str(choice)})
    fit = quality.dawid_skene(study, "evaluate")
    assert sorted(fit.labels.values()) == sorted(answers.values())
    assert min(fit.reliability[worker.code] for worker in reliable) > 0.95
    assert fit.reliability[careless.code] < 0.8
    assert fit.differs == ()


def test_who_a_worker_is_can_be_forgotten(study):
    worker = workers.join(study, "prolific", Identity(external_id="5f8a1b2c3d4e5f6a7b8c9d0e"))
    again = workers.join(study, "prolific", Identity(external_id="5f8a1b2c3d4e5f6a7b8c9d0e"))
    assert again.code == worker.code
    workers.forget(study, worker.code, "requester:ada")
    assert rows_of(study, select(Identity)) == []
