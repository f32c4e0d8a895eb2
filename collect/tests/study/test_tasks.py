"""Tasks are given to the right workers for a limited time, and late work counts while there is room."""

import itertools

import pytest
from sqlalchemy import event, select, text, update
from sqlalchemy.exc import IntegrityError

from winokit_collect.study import submissions, tasks, writing
from winokit_collect.study.next_task import situation
from winokit_collect.study.refusals import Incomplete, NotAllowed, NotFound, NotNow
from winokit_collect.study.schema import Payment, ProblemRow, Submission, Task, Vote


def rows_of(study, table, *where):
    with study.store.read() as session:
        return session.scalars(select(table).where(*where).order_by(table.id)).all()


def count_work_rows(study):
    """Number of submissions, payments and problems."""
    return [len(rows_of(study, table)) for table in (Submission, Payment, ProblemRow)]


def task_counters(study, kind):
    """Accepted and held votes of each task of a kind."""
    return [(task.accepted, task.held) for task in rows_of(study, Task, Task.kind == kind)]


def test_a_worker_gets_the_task_they_have_under_way_again(study, crew):
    worker = crew.newcomer(study)
    assert tasks.lease(study, worker.id, "write") == tasks.lease(study, worker.id, "write")
    assert sum(held for _, held in task_counters(study, "write")) == 1


def test_two_workers_get_different_topics(study, crew):
    people = [crew.newcomer(study) for _ in range(4)]
    topics = {tasks.lease(study, worker.id, "write").topic["topic"] for worker in people}
    assert len(topics) == 4


def test_writing_is_balanced_between_people_and_things(make_study, crew):
    study = make_study(tasks={"twins": 10, "social_share": 0.3})
    people = [crew.newcomer(study) for _ in range(10)]
    domains = [tasks.lease(study, worker.id, "write").task_domain for worker in people]
    assert domains.count("social") == 3
    assert "social" in domains[:4]


def test_nothing_is_given_beyond_what_is_asked_for(study, crew):
    for _ in range(4):
        tasks.lease(study, crew.newcomer(study).id, "write")
    with pytest.raises(NotNow, match="no tasks left"):
        tasks.lease(study, crew.newcomer(study).id, "write")


def test_the_database_itself_refuses_a_place_too_many(study):
    with pytest.raises(IntegrityError, match="ck_tasks_never_over_assigned"), study.store.write() as session:
        session.execute(update(Task).values(held=Task.asked + 1))


def test_an_expired_task_goes_to_somebody_else(make_study, crew, clock):
    study = make_study(tasks={"twins": 1})
    first = crew.newcomer(study)
    second = crew.newcomer(study)
    first_task = tasks.lease(study, first.id, "write")
    with pytest.raises(NotNow):
        tasks.lease(study, second.id, "write")
    clock.pass_minutes(46)
    assert tasks.lease(study, second.id, "write").topic == first_task.topic
    assert task_counters(study, "write") == [(0, 1)]


def test_late_work_counts_while_the_place_is_free(make_study, crew, clock):
    study = make_study(tasks={"twins": 1})
    worker = crew.newcomer(study)
    task = tasks.lease(study, worker.id, "write")
    clock.pass_minutes(46)
    tasks.expire(study)
    receipt = submissions.submit(study, worker.id, task.token, crew.form())
    assert (receipt.counted, receipt.late, receipt.cents) == (True, True, 40)
    assert task_counters(study, "write") == [(1, 0)]


def test_late_work_counts_when_nobody_has_ended_the_lease_yet(make_study, crew, clock):
    study = make_study(tasks={"twins": 1})
    worker = crew.newcomer(study)
    task = tasks.lease(study, worker.id, "write")
    clock.pass_minutes(46)
    receipt = submissions.submit(study, worker.id, task.token, crew.form())
    assert (receipt.counted, receipt.late) == (True, True)
    assert task_counters(study, "write") == [(1, 0)]


@pytest.mark.parametrize(("late", "cents"), [(True, 40), (False, 0)])
def test_late_work_without_a_place_is_stored_and_paid_as_the_config_says(make_study, crew, clock, late, cents):
    study = make_study(tasks={"twins": 1}, pay={"late": late})
    slow = crew.newcomer(study)
    quick = crew.newcomer(study)
    task = tasks.lease(study, slow.id, "write")
    clock.pass_minutes(46)
    crew.write(study, quick)
    receipt = submissions.submit(study, slow.id, task.token, crew.form(7))
    assert (receipt.counted, receipt.cents) == (False, cents)
    assert task_counters(study, "write") == [(1, 0)]
    assert len(rows_of(study, ProblemRow)) == 2
    assert rows_of(study, Submission)[1].fields["first"] == crew.form(7)["first"]


def test_handing_in_twice_changes_nothing(study, crew):
    worker = crew.newcomer(study)
    task = tasks.lease(study, worker.id, "write")
    first = submissions.submit(study, worker.id, task.token, crew.form())
    again = submissions.submit(study, worker.id, task.token, crew.form())
    assert again.replayed
    assert again.submission_id == first.submission_id
    assert again.cents == first.cents
    assert count_work_rows(study) == [1, 1, 2]


def test_a_form_that_is_sent_twice_at_once_is_not_too_similar_to_itself(study, crew, monkeypatch):
    worker = crew.newcomer(study)
    task = tasks.lease(study, worker.id, "write")
    refuse_broken = writing.refuse_broken
    receipts = []

    def store_the_other_first(*arguments):
        monkeypatch.setattr(submissions, "refuse_broken", refuse_broken)
        receipts.append(submissions.submit(study, worker.id, task.token, crew.form()))
        with pytest.raises(Incomplete, match="too similar"):
            refuse_broken(*arguments)
        refuse_broken(*arguments)

    monkeypatch.setattr(submissions, "refuse_broken", store_the_other_first)
    again = submissions.submit(study, worker.id, task.token, crew.form())
    assert again.replayed
    assert again.submission_id == receipts[0].submission_id
    assert count_work_rows(study) == [1, 1, 2]


def test_three_distinct_workers_judge_each_problem_and_never_its_author(study, crew):
    author = crew.newcomer(study)
    crew.write(study, author)
    with pytest.raises(NotNow):
        tasks.lease(study, author.id, "validate")
    for _ in range(3):
        worker = crew.newcomer(study)
        crew.vote(study, worker)
        crew.vote(study, worker)
        with pytest.raises(NotNow):
            tasks.lease(study, worker.id, "validate")
    judges_by_problem = {}
    for vote in rows_of(study, Vote):
        judges_by_problem.setdefault(vote.problem_id, set()).add(vote.worker_id)
    assert [len(judges) for judges in judges_by_problem.values()] == [3, 3]
    with pytest.raises(NotNow):
        tasks.lease(study, crew.newcomer(study).id, "validate")


def test_a_worker_gets_other_problems_before_the_twin_of_one_they_judged(study, crew):
    authors = [crew.newcomer(study) for _ in range(2)]
    for number, author in enumerate(authors):
        crew.write(study, author, number)
    judge = crew.newcomer(study)
    groups = []
    for _ in range(4):
        crew.vote(study, judge)
        vote = rows_of(study, Vote, Vote.worker_id == judge.id)[-1]
        (problem,) = rows_of(study, ProblemRow, ProblemRow.id == vote.problem_id)
        groups.append(problem.group_id)
    assert groups[0] != groups[1]
    assert sorted(groups[:2]) == sorted(groups[2:])


def test_twins_can_be_kept_apart_always(make_study, crew):
    study = make_study(tasks={"twins_apart": "always"})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    crew.vote(study, judge)
    with pytest.raises(NotNow):
        tasks.lease(study, judge.id, "validate")
    assert "validate" not in tasks.available(study, judge.id)


def test_whoever_could_judge_a_clause_does_so_before_they_read_the_whole(make_study, crew):
    study = make_study(tasks={"kinds": ["write", "validate", "associative"]})
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    assert tasks.available(study, judge.id) == {"write": 3, "associative": 2}
    with pytest.raises(NotNow):
        tasks.lease(study, judge.id, "validate")
    crew.vote(study, judge, "associative")
    crew.vote(study, judge, "validate")
    clause_vote, text_vote = rows_of(study, Vote)
    assert clause_vote.problem_id == text_vote.problem_id


def test_a_clause_is_not_judged_alone_by_somebody_who_has_read_the_whole(make_study, crew):
    study = make_study(tasks={"kinds": ["write", "validate", "associative"]})
    crew.write(study, crew.newcomer(study))
    people = [crew.newcomer(study) for _ in range(3)]
    open_tasks = [tasks.lease(study, worker.id, "associative") for worker in people]
    reader = crew.newcomer(study)
    crew.vote(study, reader, "validate")  # all places of the clause are held, so that the whole may be read
    tasks.give_back(study, people[0].id, open_tasks[0].token)
    assert {task.free for task in rows_of(study, Task, Task.kind == "associative")} == {1, 3}
    crew.vote(study, reader, "associative")
    text_vote, clause_vote = rows_of(study, Vote)
    assert clause_vote.problem_id != text_vote.problem_id
    with pytest.raises(NotNow):
        tasks.lease(study, reader.id, "associative")


def test_only_the_clause_is_shown_where_association_is_judged(make_study, crew):
    study = make_study(tasks={"kinds": ["write", "associative"]})
    crew.write(study, crew.newcomer(study))
    task = tasks.lease(study, crew.newcomer(study).id, "associative")
    assert (task.before, task.after, task.switched) == (None, None, None)
    assert task.clause == "so we never have to fetch _ back."


def test_a_judge_of_switching_sees_the_candidates_in_each_others_places(make_study, crew):
    study = make_study(tasks={"kinds": ["write", "switchable"]})
    crew.write(study, crew.newcomer(study))
    task = tasks.lease(study, crew.newcomer(study).id, "switchable")
    assert task.switched.startswith("The spaniel can squeeze under the garden gate but the terrier cannot")


def test_what_a_worker_is_shown_tells_neither_answer_nor_author(study, crew):
    author = crew.newcomer(study)
    crew.write(study, author)
    judge = crew.newcomer(study)
    task_text = repr(tasks.lease(study, judge.id, "validate"))
    assert author.code not in task_text
    assert "answer" not in task_text
    assert "gold" not in task_text


def test_the_order_of_options_is_the_lease_s_own_and_stays(study, crew, monkeypatch):
    numbers = itertools.count()
    monkeypatch.setattr(tasks.secrets, "token_urlsafe", lambda size: f"lease number {next(numbers)}")
    crew.write(study, crew.newcomer(study))
    orders = set()
    for _ in range(3):
        worker = crew.newcomer(study)
        for _ in range(2):
            task = tasks.lease(study, worker.id, "validate")
            assert tasks.look(study, worker.id, task.token).options == task.options
            assert dict(task.options) == {0: "the terrier", 1: "the spaniel"}
            orders.add(task.options)
            submissions.submit(study, worker.id, task.token, crew.ballot(task))
    assert len(orders) == 2


def test_another_worker_s_task_does_not_exist(study, crew):
    owner = crew.newcomer(study)
    thief = crew.newcomer(study)
    token = tasks.lease(study, owner.id, "write").token
    with pytest.raises(NotFound):
        tasks.look(study, thief.id, token)
    with pytest.raises(NotFound):
        tasks.give_back(study, thief.id, token)
    with pytest.raises(NotFound):
        tasks.save_draft(study, thief.id, token, {})
    with pytest.raises(NotFound):
        tasks.note_events(study, thief.id, token, [{"kind": "paste"}])
    with pytest.raises(NotFound):
        submissions.submit(study, thief.id, token, crew.form())


def test_a_task_given_back_goes_to_others_and_not_to_the_same_worker(study, crew):
    worker = crew.newcomer(study)
    task = tasks.lease(study, worker.id, "write")
    tasks.give_back(study, worker.id, task.token)
    assert tasks.lease(study, worker.id, "write").topic != task.topic
    assert tasks.lease(study, crew.newcomer(study).id, "write").topic == task.topic


def test_a_draft_survives_an_expired_lease(make_study, crew, clock):
    study = make_study(tasks={"twins": 1})
    worker = crew.newcomer(study)
    task = tasks.lease(study, worker.id, "write")
    tasks.save_draft(study, worker.id, task.token, {"first": "The terrier …", "nonsense": "x"})
    clock.pass_minutes(50)
    again = tasks.lease(study, worker.id, "write")
    assert again.draft == {"first": "The terrier …"}
    assert again.token == task.token


def test_saving_a_draft_keeps_the_place_but_not_for_ever(study, crew, clock):
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token
    expired_counts = []
    for _ in range(5):
        clock.pass_minutes(40)
        expired_counts.append(tasks.expire(study))
        tasks.save_draft(study, worker.id, token, {"first": "…"})
    assert expired_counts == [0, 0, 0, 0, 1]  # four times 45 minutes, and no longer


def test_nobody_works_before_consent_or_in_a_paused_study(study, crew):
    from winokit_collect.study import workers

    with pytest.raises(NotAllowed, match="come first"):
        tasks.lease(study, workers.join(study, "links").id, "write")
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token
    study.pause(True, "requester:ada")
    with pytest.raises(NotNow, match="paused"):
        tasks.lease(study, crew.newcomer(study).id, "write")
    assert submissions.submit(study, worker.id, token, crew.form()).counted


def test_one_worker_does_no_more_than_the_config_allows(make_study, crew):
    study = make_study(tasks={"most_per_worker": 1})
    worker = crew.newcomer(study)
    crew.write(study, worker)
    with pytest.raises(NotNow, match="as many of these"):
        tasks.lease(study, worker.id, "write")


def test_paste_signals_end_up_with_the_submission(study, crew):
    worker = crew.newcomer(study)
    token = tasks.lease(study, worker.id, "write").token
    events = [{"kind": "paste", "amount": 30}, {"kind": "paste", "amount": 12}, {"kind": "rm -rf", "amount": 1}]
    assert tasks.note_events(study, worker.id, token, events) == 2
    submissions.submit(study, worker.id, token, crew.form())
    assert rows_of(study, Submission)[0].pasted == 42


def test_what_can_be_had_is_counted_by_kind(study, crew):
    author = crew.newcomer(study)
    crew.write(study, author)
    assert tasks.available(study, author.id) == {"write": 3}
    assert tasks.available(study, crew.newcomer(study).id) == {"write": 3, "validate": 2}


def test_postgresql_finds_gold_and_a_lease_under_way_by_their_indexes_in_a_large_study(make_study, crew):
    study = make_study()
    if study.store.is_sqlite:
        pytest.skip("SQLite plans by its schema, whatever the tables hold")
    worker = crew.newcomer(study)
    insert_tasks = """
        INSERT INTO tasks (kind, asked, accepted, held, rank, gold)
        SELECT 'validate', 1, 0, 0, n, n % 500 = 0 FROM generate_series(1, 40000) AS n
    """
    insert_past_leases = f"""
        INSERT INTO leases (token, task_id, worker_id, kind, state, leased_at, expires_at)
        SELECT id, id, {worker.id}, kind, 'submitted', now(), now() FROM tasks WHERE NOT gold
    """
    with study.store.write() as session:
        session.execute(text(insert_tasks))
        session.execute(text(insert_past_leases))
    with study.store.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text("ANALYZE"))
    statements = []

    def note_statement(connection, cursor, statement, parameters, context, executemany):
        statements.append((statement, parameters))

    event.listen(study.store.engine, "before_cursor_execute", note_statement)
    with study.store.read() as session:
        situation(session, study, crew.newcomer(study).id, "validate")
        sql, values = next(call for call in statements if "under_way" in call[0])
        cursor = session.connection().connection.cursor()
        plan_rows = cursor.execute(f"EXPLAIN {sql}", values).fetchall()
    plan = "\n".join(line for (line,) in plan_rows)
    assert "uq_leases_one_live" in plan
    assert "ix_leases_live" not in plan
    assert "ix_tasks_gold" in plan
    assert "Sort" not in plan, plan
    assert "Filter: (gold" not in plan, plan


def test_sqlite_finds_leases_whose_time_is_over_by_their_index(make_study):
    study = make_study()
    if not study.store.is_sqlite:
        pytest.skip("SQLite plans by its schema; PostgreSQL reads small tables whole")
    with study.store.read() as session:
        query = "SELECT id FROM leases WHERE state = 'live' AND expires_at <= '2026-01-01' LIMIT 1"
        (plan_row,) = session.execute(text(f"EXPLAIN QUERY PLAN {query}")).all()
    plan = plan_row[-1]
    assert "ix_leases_live (expires_at<?)" in plan
