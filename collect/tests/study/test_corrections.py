"""Thanked means stored: the same again is the same receipt, something else a correction, or refused in plain words."""

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
def written(study, crew, author):
    """The token of a pair that was handed in."""
    token = tasks.take(study, author.id, "write")
    submissions.submit(study, author.id, token, crew.form())
    return token


def rows(study, what):
    with study.store.read() as session:
        return session.scalars(select(what).order_by(what.id)).all()


def count(study, what):
    with study.store.read() as session:
        return session.scalar(select(func.count()).select_from(what))


def changed(crew):
    """The same pair, better worded."""
    first = crew.form()["first"].replace("we never have", "we have never")
    return crew.form(first=first, second=first.replace(NEVER, ALWAYS))


def test_the_same_again_is_the_same_receipt_however_late(study, crew, clock, author, written):
    first = submissions.submit(study, author.id, written, crew.form())
    clock.pass_minutes(600)
    again = submissions.submit(study, author.id, written, {**crew.form(), "first": f"  {crew.form()['first']} "})
    assert again == first
    assert again.replayed
    assert count(study, Payment) == 1


def test_other_twins_take_the_place_of_the_first_and_are_paid_once(study, crew, author, written):
    receipt = submissions.submit(study, author.id, written, changed(crew))
    assert (receipt.corrected, receipt.counted, receipt.cents) == (True, True, 40)
    (submission,) = rows(study, Submission)
    assert submission.fields["first"] == changed(crew)["first"]
    assert [past["fields"]["first"] for past in submission.history] == [crew.form()["first"]]
    problems = rows(study, ProblemRow)
    assert [f"{row.before}_{row.after}" for row in problems] == [changed(crew)["first"], changed(crew)["second"]]
    assert {row.group_id for row in problems} == {problems[0].group_id}
    judged = [task for task in rows(study, Task) if task.kind == "validate"]
    assert [(task.problem_id, task.family) for task in judged] == [(row.id, row.public_id) for row in problems]
    assert [(payment.submission_id, payment.cents) for payment in rows(study, Payment)] == [(submission.id, 40)]


def test_a_correction_of_a_correction_is_not_too_similar_to_either(study, crew, author, written):
    for form in (changed(crew), crew.form(), changed(crew)):
        assert submissions.submit(study, author.id, written, form).corrected
    assert len(rows(study, Submission)[0].history) == 3
    assert count(study, ProblemRow) == 2


def test_a_correction_keeps_the_rules_and_a_broken_one_changes_nothing(study, crew, author, written):
    with pytest.raises(Incomplete):
        submissions.submit(study, author.id, written, crew.form(anchor="fence"))
    assert rows(study, Submission)[0].history == []


def test_after_a_while_another_version_is_refused_with_what_stands(study, crew, clock, author, written):
    at = rows(study, Submission)[0].submitted_at
    clock.pass_minutes(10)
    with pytest.raises(AlreadyHandedIn) as caught:
        submissions.submit(study, author.id, written, changed(crew))
    assert caught.value.at == at
    assert caught.value.stands["first"] == crew.form()["first"]
    assert caught.value.sent["first"] == changed(crew)["first"]
    assert rows(study, Submission)[0].history == []


def test_how_long_is_the_studys_to_say(make_study, crew, clock):
    study = make_study(tasks={"correct_for": 0})
    author = crew.newcomer(study)
    token = tasks.take(study, author.id, "write")
    submissions.submit(study, author.id, token, crew.form())
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, author.id, token, changed(crew))


@pytest.mark.parametrize("ending", ["live", "given back", "expired", "voted"])
def test_twins_that_somebody_was_given_stay_as_they_were_given(study, crew, clock, author, written, ending):
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
        submissions.submit(study, author.id, written, changed(crew))
    assert submissions.look_again(study, author.id, written).correct_until is None


def test_what_a_requester_has_decided_about_stays(study, crew, author, written):
    moderation.adjudicate(study, rows(study, ProblemRow)[0].id, True, "", "ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, author.id, written, changed(crew))


def test_what_was_discarded_or_is_from_somebody_blocked_is_not_corrected(study, crew, author, written):
    moderation.discard(study, rows(study, Submission)[0].id, "no", "requester:ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, author.id, written, changed(crew))
    other = crew.newcomer(study)
    token = tasks.take(study, other.id, "write")
    submissions.submit(study, other.id, token, crew.form(5))
    moderation.block(study, other.code, "why", "requester:ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, other.id, token, crew.form(6))


def test_late_work_that_does_not_count_can_be_corrected_and_still_does_not(make_study, crew, clock):
    study = make_study(tasks={"twins": 1})
    slow = crew.newcomer(study)
    quick = crew.newcomer(study)
    token = tasks.take(study, slow.id, "write")
    clock.pass_minutes(60)
    crew.write(study, quick, 7)
    assert not submissions.submit(study, slow.id, token, crew.form()).counted
    receipt = submissions.submit(study, slow.id, token, changed(crew))
    assert (receipt.corrected, receipt.counted) == (True, False)
    assert count(study, ProblemRow) == 2


def test_a_misclick_is_corrected_and_the_verdict_with_it(make_study, crew):
    study = make_study(tasks={"votes": 1})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    right = crew.ballot(task)
    submissions.submit(study, judge.id, task.token, right | {"choice": str(1 - int(right["choice"]))})
    judged = rows(study, Vote)[0].problem_id
    assert [row.valid for row in rows(study, ProblemRow) if row.id == judged] == [False]
    receipt = submissions.submit(study, judge.id, task.token, right)
    assert receipt.corrected
    assert [row.valid for row in rows(study, ProblemRow) if row.id == judged] == [True]
    (vote,) = rows(study, Vote)
    assert (vote.choice, vote.counted) == (int(right["choice"]), True)
    assert [payment.cents for payment in rows(study, Payment)] == [40, 3]
    assert submissions.submit(study, judge.id, task.token, right).replayed


def test_a_vote_on_gold_is_corrected_like_any_other(make_study, crew):
    study = make_study(quality={"gold_share": 1.0})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    for choice in ("0", "1"):
        submissions.submit(study, judge.id, task.token, crew.ballot(task, choice=choice))
    (vote,) = rows(study, Vote)
    answers = {row.id: row.answer for row in rows(study, ProblemRow)}
    assert vote.gold
    assert vote.is_right is (answers[vote.problem_id] == 1)


def test_a_vote_stays_after_a_while_and_after_a_requesters_decision(study, crew, clock):
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    ballot = crew.ballot(task)
    submissions.submit(study, judge.id, task.token, ballot)
    other = ballot | {"equally_plausible": "yes"}
    moderation.adjudicate(study, rows(study, Vote)[0].problem_id, True, "", "ann")
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, judge.id, task.token, other)
    second = tasks.lease(study, judge.id, "validate")
    submissions.submit(study, judge.id, second.token, crew.ballot(second))
    clock.pass_minutes(11)
    with pytest.raises(AlreadyHandedIn):
        submissions.submit(study, judge.id, second.token, crew.ballot(second, equally_plausible="yes"))
    assert submissions.submit(study, judge.id, second.token, crew.ballot(second)).replayed


def test_a_draft_that_is_not_kept_is_refused(study, author, written):
    with pytest.raises(NotNow, match="nothing was saved"):
        tasks.save_draft(study, author.id, written, {"first": "Another"})


def test_what_was_corrected_is_exported_with_its_history_and_withdrawn_with_it(study, crew, author, written, tmp_path):
    submissions.submit(study, author.id, written, changed(crew))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    submissions.submit(study, judge.id, task.token, crew.ballot(task, equally_plausible="yes"))
    submissions.submit(study, judge.id, task.token, crew.ballot(task))
    export.export(study, tmp_path / "out")
    told = (tmp_path / "out" / "others.jsonl").read_text("utf-8")
    assert crew.form()["first"] in told
    assert '"equally_plausible": true, ' in (tmp_path / "out" / "votes.jsonl").read_text("utf-8")
    assert listings.submissions(study).rows[0].history
    moderation.withdraw(study, author.code, "test")
    moderation.withdraw(study, judge.code, "test")
    assert [submission.history for submission in rows(study, Submission)] == [[], []]


def test_many_different_versions_at_once_are_one_pair_paid_once_and_none_is_lost(study, crew, author):
    token = tasks.take(study, author.id, "write")
    forms = [crew.form(number) for number in range(1, 9)]

    def send(form):
        return submissions.submit(study, author.id, token, form)

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(send, forms + forms))
    assert len({receipt.submission_id for receipt in receipts}) == 1
    assert sum(not (receipt.corrected or receipt.replayed) for receipt in receipts) == 1
    (submission,) = rows(study, Submission)
    versions = [past["fields"]["first"] for past in submission.history] + [submission.fields["first"]]
    assert set(versions) == {form["first"] for form in forms}
    assert len(versions) == sum(not receipt.replayed for receipt in receipts)
    assert next(f"{row.before}_{row.after}" for row in rows(study, ProblemRow)) == versions[-1]
    assert count(study, ProblemRow) == 2
    assert [payment.cents for payment in rows(study, Payment)] == [40]


def test_twins_that_are_just_being_given_to_somebody_are_not_corrected_under_their_eyes(
    study, crew, author, written, monkeypatch
):
    giving, refused, give = threading.Event(), threading.Event(), tasks._give_task

    def slowly(*arguments):
        giving.set()
        until(lambda: is_waited_for(study) or refused.is_set())
        return give(*arguments)

    monkeypatch.setattr(tasks, "_give_task", slowly)
    judge = crew.newcomer(study)
    with ThreadPoolExecutor(1) as pool:
        given = pool.submit(tasks.lease, study, judge.id, "validate")
        giving.wait()
        with pytest.raises(AlreadyHandedIn):
            submissions.submit(study, author.id, written, changed(crew))
        refused.set()
        task = given.result()
    assert f"{task.before}_{task.after}" in (crew.form()["first"], crew.form()["second"])
    assert submissions.submit(study, judge.id, task.token, crew.ballot(task)).counted


def test_two_votes_corrected_at_once_are_both_in_the_verdict(make_study, crew, monkeypatch):
    study = make_study(tasks={"votes": 2})
    crew.write(study, crew.newcomer(study))
    held = []
    for judge in (crew.newcomer(study), crew.newcomer(study)):
        task = tasks.lease(study, judge.id, "validate")
        submissions.submit(study, judge.id, task.token, crew.ballot(task, equally_plausible="yes"))
        held.append((judge, task))
    settle = submissions.settle
    settling = []

    def slowly(*arguments):
        settling.append(1)
        until(lambda: is_waited_for(study) or len(settling) == 2)
        settle(*arguments)

    monkeypatch.setattr(submissions, "settle", slowly)

    def correct(one):
        judge, task = one
        return submissions.submit(study, judge.id, task.token, crew.ballot(task))

    with ThreadPoolExecutor(2) as pool:
        assert all(receipt.corrected for receipt in pool.map(correct, held))
    assert rows(study, ProblemRow)[0].valid is True


# A vote and the next task in one transaction


def test_a_vote_is_kept_where_the_next_task_cannot_be_given_with_it(study, crew, written, monkeypatch):
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")

    def fail(*_, **__):
        raise OSError

    monkeypatch.setattr(submissions, "take_within", fail)
    receipt = submissions.submit(study, judge.id, task.token, crew.ballot(task), go_on=True)
    assert (receipt.counted, receipt.replayed, receipt.next_token) == (True, False, None)
    assert (count(study, Vote), count(study, Submission)) == (1, 2)
    assert [line.worker_id for line in rows(study, Payment)].count(judge.id) == 1


def test_a_vote_survives_a_deadlock_over_the_next_task(make_study, crew, database):
    if database.startswith("sqlite"):
        pytest.skip("SQLite has one writer")
    study = make_study(quality={"gold_share": 1e-9})
    crew.write(study, crew.newcomer(study))
    crew.write(study, crew.newcomer(study), 1)
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    quality = study.config.quality.model_copy(update={"gold_share": 1.0})
    study.config = study.config.model_copy(update={"quality": quality})
    # As one who discards what others have built on.
    gold = select(Task.id).where(Task.gold).with_for_update()
    its_number = select(Lease.task_id).where(Lease.token == task.token).scalar_subquery()
    with waiting_in_a_circle(study, gold, select(Task.id).where(Task.id == its_number)):
        receipt = submissions.submit(study, judge.id, task.token, crew.ballot(task), go_on=True)
    assert (receipt.counted, receipt.next_token) == (True, None)
    assert count(study, Vote) == 1


@pytest.mark.parametrize("go_on", [True, False])
def test_a_vote_that_postgresql_has_ended_is_taken_once_more(study, crew, written, database, go_on):
    if database.startswith("sqlite"):
        pytest.skip("SQLite has one writer")
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    its_task = select(Task.id).join(Lease).where(Lease.token == task.token).with_for_update(of=Task)
    with waiting_in_a_circle(study, its_task, select(Lease.id).where(Lease.token == task.token)):
        receipt = submissions.submit(study, judge.id, task.token, crew.ballot(task), go_on=go_on)
    assert receipt.counted
    assert count(study, Vote) == 1


def test_a_task_is_given_though_postgresql_has_ended_that_once(study, crew, database):
    """Two who wait each hold a task that the other finds full, and looks at the next."""
    if database.startswith("sqlite"):
        pytest.skip("SQLite has one writer")
    writer = crew.newcomer(study)
    with waiting_in_a_circle(study, select(Task.id).with_for_update(), select(Worker.id)):
        taken = tasks.take(study, writer.id, "write")
    assert taken == tasks.take(study, writer.id, "write")
    assert sum(task.held or 0 for task in rows(study, Task)) == 1


def test_leases_end_though_postgresql_has_ended_that_once(study, crew, clock, database):
    if database.startswith("sqlite"):
        pytest.skip("SQLite has one writer")
    tasks.lease(study, crew.newcomer(study).id, "write")
    clock.pass_minutes(600)
    with waiting_in_a_circle(study, select(Task.id).with_for_update(), select(Lease.id)):
        expired = tasks.expire(study)
    assert expired + tasks.expire(study) == 1  # a lease that another holds is left for the next time
    assert sum(task.held or 0 for task in rows(study, Task)) == 0


@pytest.mark.parametrize("whole", [False, True])
def test_work_is_discarded_though_postgresql_has_ended_that_once(study, crew, written, database, whole):
    """One vote, or with its worker all that they have handed in."""
    if database.startswith("sqlite"):
        pytest.skip("SQLite has one writer")
    judge = crew.newcomer(study)
    number = crew.vote(study, judge).submission_id
    its_task = select(Task.id).join(Submission).where(Submission.id == number).with_for_update(of=Task)
    with waiting_in_a_circle(study, its_task, select(Worker.id if whole else Submission.id)):
        if whole:
            moderation.block(study, judge.code, "haste", "ann", discard_work=True)
        else:
            moderation.discard(study, number, "haste", "ann")
    assert [vote.counted for vote in rows(study, Vote)] == [False]
    assert [entry.action for entry in rows(study, LogEntry)].count("discard") == 1


def test_who_votes_on_what_is_not_asked_any_more_is_given_no_more_of_it(make_study, crew):
    study = make_study(tasks={"kinds": ["write", "validate", "switchable"]})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "switchable")
    now = study.config.tasks.model_copy(update={"kinds": ("write", "validate")})
    study.config = study.config.model_copy(update={"tasks": now})
    receipt = submissions.submit(study, judge.id, task.token, {"choice": "yes"}, go_on=True)
    assert (receipt.counted, receipt.next_token) == (True, None)
