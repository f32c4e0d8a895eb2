"""Pages send few statements to the database, which many people use at once."""

import pytest
from sqlalchemy import event

BALLOT = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}


@pytest.fixture
def sent_statements(study):
    """The list of statements sent to the database, which grows with each one."""
    statements = []

    def note_statement(connection, cursor, statement, *_):
        statements.append(statement)

    event.listen(study.store.engine, "before_cursor_execute", note_statement)
    return statements


@pytest.fixture
def judge(app, study, worker):
    worker.write()
    worker.write(7)
    return type(worker)(app).join(study)


def test_looking_at_a_task_is_one_question_about_the_worker_and_one_about_the_task(judge, sent_statements):
    task = judge.take("validate")
    sent_statements.clear()
    judge.client.get(f"{task}/vote")
    assert len(sent_statements) == 2, sent_statements


def test_a_vote_with_the_next_task_takes_a_dozen_statements(judge, sent_statements):
    task = judge.take("validate")
    sent_statements.clear()
    judge.client.post(f"{task}/vote", data={"csrf": judge.token, **BALLOT}, follow_redirects=False)
    assert len(sent_statements) <= 12, sent_statements


def test_nothing_is_settled_before_the_last_vote(judge, sent_statements):
    task = judge.take("validate")
    sent_statements.clear()
    judge.client.post(f"{task}/vote", data={"csrf": judge.token, **BALLOT}, follow_redirects=False)
    assert not any("adjudications" in statement for statement in sent_statements)


def test_feedback_looks_for_earlier_texts_once(worker, sent_statements, twins):
    task = worker.take("write")
    sent_statements.clear()
    worker.client.post(f"{task}/feedback", data={"csrf": worker.token, **twins})
    assert len(sent_statements) == 3, sent_statements
