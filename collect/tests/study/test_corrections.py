"""Work handed in again gives the same receipt, corrects the first version, or is refused in plain words."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from collect_support.studies import is_waited_for, waiting_in_a_circle
from sqlalchemy import func, select
from support.waiting import until

from winokit_collect.study import export, listings, moderation, submissions, tasks
from winokit_collect.study.refusals import AlreadyHandedIn, Incomplete, NotNow
from winokit_collect.study.schema import EXPIRED, Lease, LogEntry, Payment, ProblemRow, Submission, Task, Vote, Worker

NEVER = "never"
ALWAYS = "always"


@pytest.fixture
def author(study, crew):
    return crew.newcomer(study)


@pytest.fixture
def pair_token(study, crew, author):
    """The token of the task whose pair the author has handed in."""
    token = tasks.take(study, author.id, "write")
    submissions.submit(study, author.id, token, crew.form())
    return token


def rows_of(study, table):
    with study.store.read() as session:
        return session.scalars(select(table).order_by(table.id)).all()


def count_rows(study, table):
    with study.store.read() as session:
        return session.scalar(select(func.count()).select_from(table))


def submission_history(study):
    """Earlier versions of the study's only submission."""
    (submission,) = rows_of(study, Submission)
    return submission.history


def verdict_on(study, problem_id):
    (problem,) = (row for row in rows_of(study, ProblemRow) if row.id == problem_id)
    return problem.valid


def skip_on_sqlite(database):
    if database.startswith("sqlite"):
        pytest.skip("SQLite has one writer")


def reworded_form(crew):
    """The fields of the same pair, better worded."""
    first = crew.form()["first"].replace("we never have", "we have never")
    return crew.form(first=first, second=first.replace(NEVER, ALWAYS))


def test_the_same_again_is_the_same_receipt_however_late(study, crew, clock, author, pair_token):
    first = submissions.submit(study, author.id, pair_token, crew.form())
    clock.pass_minutes(600)
    first_text = crew.form()["first"]
    receipt = submissions.submit(study, author.id, pair_token, crew.form(first=f"  {first_text} "))
    assert receipt == first
    assert receipt.replayed
    assert count_rows(study, Payment) == 1


def test_other_twins_take_the_place_of_the_first_and_are_paid_once(study, crew, author, pair_token):
    receipt = submissions.submit(study, author.id, pair_token, reworded_form(crew))
    assert (receipt.corrected, receipt.counted, receipt.cents) == (True, True, 40)
    (submission,) = rows_of(study, Submission)
    assert submission.fields["first"] == reworded_form(crew)["first"]
    earlier_texts = [version["fields"]["first"] for version in submission.history]
    assert earlier_texts == [crew.form()["first"]]
    problems = rows_of(study, ProblemRow)
    texts = [f"{row.before}_{row.after}" for row in problems]
    assert texts == [reworded_form(crew)["first"], reworded_form(crew)["second"]]
    assert {row.group_id for row in problems} == {problems[0].group_id}
    validate_tasks = [task for task in rows_of(study, Task) if task.kind == "validate"]
    assert [(task.problem_id, task.family) for task in validate_tasks] == [(row.id, row.public_id) for row in problems]
    (payment,) = rows_of(study, Payment)
    assert (payment.submission_id, payment.cents) == (submission.id, 40)


def test_a_correction_of_a_correction_is_not_too_similar_to_either(study, crew, author, pair_token):
    for form in (reworded_form(crew), crew.form(), reworded_form(crew)):
        assert submissions.submit(study, author.id, pair_token, form).corrected
    assert len(submission_history(study)) == 3
    assert count_rows(study, ProblemRow) == 2


def test_a_correction_keeps_the_rules_and_a_broken_one_changes_nothing(study, crew, author, pair_token):
    with pytest.raises(Incomplete):
        submissions.submit(study, author.id, pair_token, crew.form(anchor="fence"))
    assert submission_history(study) == []


def test_after_a_while_another_version_is_refused_with_what_stands(study, crew, clock, author, pair_token):
    submitted_at = rows_of(study, Submission)[0].submitted_at
    clock.pass_minutes(10)
    with pytest.raises(AlreadyHandedIn) as caught:
        submissions.submit(study, author.id, pair_token, reworded_form(crew))
    assert caught.value.at == submitted_at
    assert caught.value.stands["first"] == crew.form()["first"]
    assert caught.value.sent["first"] == reworded_form(crew)["first"]
    assert submission_history(study) == []


def test_how_long_is_the_studys_to_say(make_study, crew, clock):
    study = make_study(tasks={"correct_for": 0})
    author = crew.newcomer(study)
    token = tasks.take(study, author.id, "write")
    submissions.submit(study, author.id, token, crew.form())
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, author.id, token, reworded_form(crew))


@pytest.mark.parametrize("ending", ["live", "given back", "expired", "voted"])
def test_twins_that_somebody_was_given_stay_as_they_were_given(study, crew, clock, author, pair_token, ending):
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    if ending == "given back":
        tasks.give_back(study, judge.id, task.token)
    elif ending == "expired":
        with study.store.write() as session:
            tasks.end_leases(session, EXPIRED, Lease.worker_id == judge.id)
    elif ending == "voted":
        submissions.submit(study, judge.id, task.token, crew.ballot(task))
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, author.id, pair_token, reworded_form(crew))
    assert submissions.look_again(study, author.id, pair_token).correct_until is None


def test_what_a_requester_has_decided_about_stays(study, crew, author, pair_token):
    problem = rows_of(study, ProblemRow)[0]
    moderation.adjudicate(study, problem.id, True, "", "ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, author.id, pair_token, reworded_form(crew))


def test_what_was_discarded_or_is_from_somebody_blocked_is_not_corrected(study, crew, author, pair_token):
    (submission,) = rows_of(study, Submission)
    moderation.discard(study, submission.id, "no", "requester:ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, author.id, pair_token, reworded_form(crew))
    blocked = crew.newcomer(study)
    token = tasks.take(study, blocked.id, "write")
    submissions.submit(study, blocked.id, token, crew.form(5))
    moderation.block(study, blocked.code, "why", "requester:ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, blocked.id, token, crew.form(6))


def test_late_work_that_does_not_count_can_be_corrected_and_still_does_not(make_study, crew, clock):
    study = make_study(tasks={"twins": 1})
    slow = crew.newcomer(study)
    quick = crew.newcomer(study)
    token = tasks.take(study, slow.id, "write")
    clock.pass_minutes(60)
    crew.write(study, quick, 7)
    assert not submissions.submit(study, slow.id, token, crew.form()).counted
    receipt = submissions.submit(study, slow.id, token, reworded_form(crew))
    assert (receipt.corrected, receipt.counted) == (True, False)
    assert count_rows(study, ProblemRow) == 2


def test_a_misclick_is_corrected_and_the_verdict_with_it(make_study, crew):
    study = make_study(tasks={"votes": 1})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    ballot = crew.ballot(task)
    right_choice = int(ballot["choice"])
    submissions.submit(study, judge.id, task.token, ballot | {"choice": str(1 - right_choice)})
    (vote,) = rows_of(study, Vote)
    assert verdict_on(study, vote.problem_id) is False
    receipt = submissions.submit(study, judge.id, task.token, ballot)
    assert receipt.corrected
    assert verdict_on(study, vote.problem_id) is True
    (vote,) = rows_of(study, Vote)
    assert (vote.choice, vote.counted) == (right_choice, True)
    assert [payment.cents for payment in rows_of(study, Payment)] == [40, 3]
    assert submissions.submit(study, judge.id, task.token, ballot).replayed


def test_a_vote_on_gold_is_corrected_like_any_other(make_study, crew):
    study = make_study(quality={"gold_share": 1.0})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    for choice in ("0", "1"):
        submissions.submit(study, judge.id, task.token, crew.ballot(task, choice=choice))
    (vote,) = rows_of(study, Vote)
    answers = {row.id: row.answer for row in rows_of(study, ProblemRow)}
    assert vote.gold
    assert vote.is_right is (answers[vote.problem_id] == 1)


def test_a_vote_stays_after_a_while_and_after_a_requesters_decision(study, crew, clock):
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    ballot = crew.ballot(task)
    submissions.submit(study, judge.id, task.token, ballot)
    changed_ballot = ballot | {"equally_plausible": "yes"}
    moderation.adjudicate(study, rows_of(study, Vote)[0].problem_id, True, "", "ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, judge.id, task.token, changed_ballot)
    second = tasks.lease(study, judge.id, "validate")
    submissions.submit(study, judge.id, second.token, crew.ballot(second))
    clock.pass_minutes(11)
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, judge.id, second.token, crew.ballot(second, equally_plausible="yes"))
    assert submissions.submit(study, judge.id, second.token, crew.ballot(second)).replayed


def test_a_draft_that_is_not_kept_is_refused(study, author, pair_token):
    with pytest.raises(NotNow, match="nothing was saved"):
        tasks.save_draft(study, author.id, pair_token, {"first": "Another"})


def test_what_was_corrected_is_exported_with_its_history_and_withdrawn_with_it(
    study, crew, author, pair_token, tmp_path
):
    submissions.submit(study, author.id, pair_token, reworded_form(crew))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    submissions.submit(study, judge.id, task.token, crew.ballot(task, equally_plausible="yes"))
    submissions.submit(study, judge.id, task.token, crew.ballot(task))
    export.export(study, tmp_path / "out")
    problems = (tmp_path / "out" / "others.jsonl").read_text("utf-8")
    assert crew.form()["first"] in problems
    votes = (tmp_path / "out" / "votes.jsonl").read_text("utf-8")
    assert '"equally_plausible": true, ' in votes
    assert listings.submissions(study).rows[0].history
    moderation.withdraw(study, author.code, "test")
    moderation.withdraw(study, judge.code, "test")
    assert [submission.history for submission in rows_of(study, Submission)] == [[], []]


def test_many_different_versions_at_once_are_one_pair_paid_once_and_none_is_lost(study, crew, author):
    token = tasks.take(study, author.id, "write")
    forms = [crew.form(number) for number in range(1, 9)]

    def submit_form(form):
        return submissions.submit(study, author.id, token, form)

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(submit_form, forms + forms))
    assert len({receipt.submission_id for receipt in receipts}) == 1
    new_receipts = [receipt for receipt in receipts if not receipt.corrected and not receipt.replayed]
    assert len(new_receipts) == 1
    (submission,) = rows_of(study, Submission)
    earlier_texts = [version["fields"]["first"] for version in submission.history]
    texts = [*earlier_texts, submission.fields["first"]]
    assert set(texts) == {form["first"] for form in forms}
    assert len(texts) == sum(not receipt.replayed for receipt in receipts)
    first_problem = rows_of(study, ProblemRow)[0]
    assert f"{first_problem.before}_{first_problem.after}" == texts[-1]
    assert count_rows(study, ProblemRow) == 2
    assert [payment.cents for payment in rows_of(study, Payment)] == [40]


def test_twins_that_are_just_being_given_to_somebody_are_not_corrected_under_their_eyes(
    study, crew, author, pair_token, monkeypatch
):
    is_giving = threading.Event()
    is_refused = threading.Event()
    give_task = tasks._give_task

    def give_slowly(*arguments):
        is_giving.set()
        until(lambda: is_waited_for(study) or is_refused.is_set())
        return give_task(*arguments)

    monkeypatch.setattr(tasks, "_give_task", give_slowly)
    judge = crew.newcomer(study)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(tasks.lease, study, judge.id, "validate")
        is_giving.wait()
        with pytest.raises(AlreadyHandedIn):
            submissions.submit(study, author.id, pair_token, reworded_form(crew))
        is_refused.set()
        task = future.result()
    assert f"{task.before}_{task.after}" in (crew.form()["first"], crew.form()["second"])
    assert submissions.submit(study, judge.id, task.token, crew.ballot(task)).counted


def test_two_votes_corrected_at_once_are_both_in_the_verdict(make_study, crew, monkeypatch):
    study = make_study(tasks={"votes": 2})
    crew.write(study, crew.newcomer(study))
    judges_with_tasks = []
    for judge in (crew.newcomer(study), crew.newcomer(study)):
        task = tasks.lease(study, judge.id, "validate")
        submissions.submit(study, judge.id, task.token, crew.ballot(task, equally_plausible="yes"))
        judges_with_tasks.append((judge, task))
    settle = submissions.settle
    settle_calls = []

    def settle_slowly(*arguments):
        settle_calls.append(1)
        until(lambda: is_waited_for(study) or len(settle_calls) == 2)
        settle(*arguments)

    monkeypatch.setattr(submissions, "settle", settle_slowly)

    def correct_vote(judge_with_task):
        judge, task = judge_with_task
        return submissions.submit(study, judge.id, task.token, crew.ballot(task))

    with ThreadPoolExecutor(2) as pool:
        receipts = list(pool.map(correct_vote, judges_with_tasks))
    assert all(receipt.corrected for receipt in receipts)
    assert rows_of(study, ProblemRow)[0].valid is True


# A vote and the next task in one transaction


def test_a_vote_is_kept_where_the_next_task_cannot_be_given_with_it(study, crew, pair_token, monkeypatch):
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")

    def fail(*_, **__):
        raise OSError

    monkeypatch.setattr(submissions, "take_within", fail)
    receipt = submissions.submit(study, judge.id, task.token, crew.ballot(task), go_on=True)
    assert (receipt.counted, receipt.replayed, receipt.next_token) == (True, False, None)
    assert count_rows(study, Vote) == 1
    assert count_rows(study, Submission) == 2
    paid_ids = [payment.worker_id for payment in rows_of(study, Payment)]
    assert paid_ids.count(judge.id) == 1


def test_a_vote_survives_a_deadlock_over_the_next_task(make_study, crew, database):
    skip_on_sqlite(database)
    study = make_study(quality={"gold_share": 1e-9})
    crew.write(study, crew.newcomer(study))
    crew.write(study, crew.newcomer(study), 1)
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    quality = study.config.quality.model_copy(update={"gold_share": 1.0})
    study.config = study.config.model_copy(update={"quality": quality})
    # As one who discards what others have built on.
    gold_tasks = select(Task.id).where(Task.gold).with_for_update()
    its_task_id = select(Lease.task_id).where(Lease.token == task.token).scalar_subquery()
    with waiting_in_a_circle(study, gold_tasks, select(Task.id).where(Task.id == its_task_id)):
        receipt = submissions.submit(study, judge.id, task.token, crew.ballot(task), go_on=True)
    assert (receipt.counted, receipt.next_token) == (True, None)
    assert count_rows(study, Vote) == 1


@pytest.mark.parametrize("go_on", [True, False])
def test_a_vote_that_postgresql_has_ended_is_taken_once_more(study, crew, pair_token, database, go_on):
    skip_on_sqlite(database)
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    its_task = select(Task.id).join(Lease).where(Lease.token == task.token).with_for_update(of=Task)
    with waiting_in_a_circle(study, its_task, select(Lease.id).where(Lease.token == task.token)):
        receipt = submissions.submit(study, judge.id, task.token, crew.ballot(task), go_on=go_on)
    assert receipt.counted
    assert count_rows(study, Vote) == 1


def test_a_task_is_given_though_postgresql_has_ended_that_once(study, crew, database):
    """Two workers who wait for each other may each hold a task that the other one finds full."""
    skip_on_sqlite(database)
    writer = crew.newcomer(study)
    with waiting_in_a_circle(study, select(Task.id).with_for_update(), select(Worker.id)):
        token = tasks.take(study, writer.id, "write")
    assert token == tasks.take(study, writer.id, "write")
    assert sum(task.held or 0 for task in rows_of(study, Task)) == 1


def test_leases_end_though_postgresql_has_ended_that_once(study, crew, clock, database):
    skip_on_sqlite(database)
    tasks.lease(study, crew.newcomer(study).id, "write")
    clock.pass_minutes(600)
    with waiting_in_a_circle(study, select(Task.id).with_for_update(), select(Lease.id)):
        expired = tasks.expire(study)
    assert expired + tasks.expire(study) == 1  # a lease that another holds is left for the next time
    assert sum(task.held or 0 for task in rows_of(study, Task)) == 0


@pytest.mark.parametrize("is_blocked", [False, True], ids=["one vote", "all of a worker"])
def test_work_is_discarded_though_postgresql_has_ended_that_once(study, crew, pair_token, database, is_blocked):
    """One vote is discarded, or all the work of a worker who is blocked."""
    skip_on_sqlite(database)
    judge = crew.newcomer(study)
    submission_id = crew.vote(study, judge).submission_id
    its_task = select(Task.id).join(Submission).where(Submission.id == submission_id).with_for_update(of=Task)
    rows_needed_next = select(Worker.id) if is_blocked else select(Submission.id)
    with waiting_in_a_circle(study, its_task, rows_needed_next):
        if is_blocked:
            moderation.block(study, judge.code, "haste", "ann", discard_work=True)
        else:
            moderation.discard(study, submission_id, "haste", "ann")
    assert [vote.counted for vote in rows_of(study, Vote)] == [False]
    actions = [entry.action for entry in rows_of(study, LogEntry)]
    assert actions.count("discard") == 1


def test_who_votes_on_what_is_not_asked_any_more_is_given_no_more_of_it(make_study, crew):
    study = make_study(tasks={"kinds": ["write", "validate", "switchable"]})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "switchable")
    fewer_tasks = study.config.tasks.model_copy(update={"kinds": ("write", "validate")})
    study.config = study.config.model_copy(update={"tasks": fewer_tasks})
    receipt = submissions.submit(study, judge.id, task.token, {"choice": "yes"}, go_on=True)
    assert (receipt.counted, receipt.next_token) == (True, None)
