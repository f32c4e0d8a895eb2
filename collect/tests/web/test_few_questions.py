"""What a page asks of the database: few questions, since two hundred people ask at once."""

import pytest
from sqlalchemy import event

BALLOT = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}


@pytest.fixture
def asked(study):
    """The statements that the database was sent."""
    said = []
    event.listen(
        study.store.engine, "before_cursor_execute", lambda c, cursor, statement, *more: said.append(statement)
    )
    return said


@pytest.fixture
def judge(app, study, worker):
    worker.write()
    worker.write(7)
    return type(worker)(app).join(study)


def test_looking_at_a_task_is_one_question_about_the_worker_and_one_about_the_task(judge, asked):
    task = judge.take("validate")
    asked.clear()
    judge.client.get(f"{task}/vote")
    assert len(asked) == 2, asked


def test_a_vote_with_the_next_task_takes_a_dozen_statements(judge, asked):
    task = judge.take("validate")
    asked.clear()
    judge.client.post(f"{task}/vote", data={"csrf": judge.token, **BALLOT}, follow_redirects=False)
    assert len(asked) <= 12, asked


def test_nothing_is_settled_before_the_last_vote(judge, asked):
    task = judge.take("validate")
    asked.clear()
    judge.client.post(f"{task}/vote", data={"csrf": judge.token, **BALLOT}, follow_redirects=False)
    assert not any("adjudications" in statement for statement in asked)


def test_feedback_looks_for_earlier_texts_once(worker, asked, twins):
    task = worker.take("write")
    asked.clear()
    worker.client.post(f"{task}/feedback", data={"csrf": worker.token, **twins})
    assert len(asked) == 3, asked
