"""Workers see the record of their own work, and requesters get from one thing to another by links."""

import re

import pytest
from collect_support.stand_in import prolific_stand_in
from sqlalchemy import func, select

from winokit_collect.study import listings, moderation, submissions, tasks, workers
from winokit_collect.study.schema import Base, Payment, Worker

REASONS = ("write", "validate", "quiz", "fooled", "bonus", "correction")


@pytest.fixture
def judge(study, worker, app):
    """The browser of a worker with a ballot, whose path is its attribute `task`."""
    worker.write()
    somebody = type(worker)(app).join(study)
    somebody.task = somebody.take("validate")
    return somebody


def test_the_record_says_what_became_of_a_pair_and_what_is_owed(study, worker):
    assert "not earned anything yet" in worker.get("/your-work").text
    worker.write()
    page = worker.get("/your-work").text
    assert page.count("waiting for readers") == 2
    assert "$0.40" in page
    moderation.discard(study, 1, "about <b>somebody</b>", "requester:ann")
    assert "About &lt;b&gt;somebody&lt;/b&gt;." in worker.get("/your-work").text


def test_the_record_of_others_is_not_shown(judge):
    assert "terrier" not in judge.get("/your-work").text


def test_a_remark_keeps_what_was_chosen_and_reaches_the_problem(study, judge, requester):
    page = judge.send(f"{judge.task}/remark", choice="1", reason="offensive", comment="<i>no</i>").text
    assert "the requester will see this" in page
    assert "checked" in judge.page.all("input", name="choice", value="1")[0]
    assert judge.send(f"{judge.task}/remark", choice="1").status_code == 422
    assert "please choose what is wrong" in judge.seen
    (row,) = listings.problems(study, status="flagged").rows
    assert "<b>offensive</b>: &lt;i&gt;no&lt;/i&gt;" in requester.get(f"/requester/problems/{row.id}").text
    assert "details" in requester.get("/requester/problems?status=flagged").text


def test_the_last_answer_is_a_link_away(study, judge):
    assert "Change my last answer" not in judge.seen
    judge.send(f"{judge.task}/vote", choice="0", equally_plausible="no", local_decides="no")
    assert judge.page.all("a", href=f"{judge.task}/vote")
    assert "You can correct it" in judge.get(f"{judge.task}/vote").text


def test_from_a_vote_to_its_problem_and_back(study, judge, requester):
    judge.send(f"{judge.task}/vote", choice="0", equally_plausible="no", local_decides="no")
    page = requester.get("/requester/submissions?kind=validate").text
    problem, vote = re.search(r'href="(/requester/problems/\d+)#(vote-\d+)"', page).groups()
    problem_page = requester.get(problem).text
    assert f'id="{vote}"' in problem_page
    (back,) = set(re.findall(r'href="(/requester/submissions\?number=\d+)".*the submission', problem_page))
    assert requester.get(back).text.count('<tr id="no-') == 1
    assert "Nothing here with this number" in requester.get("/requester/submissions?number=999").text


@pytest.fixture
def prolific_study(make_study, monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "tok-1")
    with prolific_stand_in() as books:
        study = make_study(platform=books.platform(tasks_per_visit=8))
        study.books = books
        yield study


def cast_votes(study, crew, clock, judge, count):
    for _ in range(count):
        task = tasks.lease(study, judge.id, "validate")
        clock.pass_minutes(0.5)
        submissions.submit(study, judge.id, task.token, crew.ballot(task))


def test_progress_of_a_visit_is_shown_and_the_minutes_left_once_they_are_known(prolific_study, browser_of, clock, crew):
    study = prolific_study
    somebody = browser_of(prolific_study)
    author = crew.newcomer(study)
    judge = crew.newcomer(study)
    for number in range(4):
        crew.write(study, author, number)
    address = study.books.arrives(1)
    somebody.get("/start", params=address)
    somebody.send("/start", **address)
    somebody.send("/consent", agree="yes")
    somebody.send("/screening", native_speaker="yes", has_seen_wsc="no")
    cast_votes(study, crew, clock, judge, 4)
    task = somebody.take("validate")
    assert "0 of 8 tasks in this visit done" in somebody.seen
    assert "left</span>" not in somebody.seen
    cast_votes(study, crew, clock, judge, 1)
    clock.pass_minutes(1)
    assert "about 4 minutes left" in somebody.get(f"{task}/vote").text
    assert "usually takes 30 s" in somebody.get("/begin").text


def test_who_came_by_a_link_is_not_told_of_a_visit(judge):
    assert "in this visit" not in judge.seen


@pytest.fixture
def examinee(make_study, browser_of):
    study = make_study(quality={"quiz_pass_mark": 0.8}, pay={"quiz": "0.25"})
    somebody = browser_of(study).join(study)
    somebody.study = study
    return somebody


def quiz_answers(study, kind, shift=0):
    """The fields of right answers to the quiz of a kind, or of wrong ones if `shift` is 1."""
    questions = [question for question in study.quiz if question.kind == kind]
    fields = {}
    for number, question in enumerate(questions, 1):
        fields[f"q{number}"] = str((question.answer + shift) % len(question.options))
    return fields


def test_the_quiz_is_about_what_there_is_to_do_and_says_what_it_pays(examinee, crew):
    assert "There are 8 questions" in examinee.seen
    assert "It pays <b>$0.25</b>" in examinee.seen
    assert examinee.page.all("input", name="kinds")[0]["value"] == "write"
    assert "Well done" in examinee.send("/quiz", kinds="write", **quiz_answers(examinee.study, "write")).text
    writer = crew.newcomer(examinee.study)
    workers.take_quiz(examinee.study, writer.id, [question.answer for question in examinee.study.quiz])
    crew.write(examinee.study, writer)
    examinee.get("/begin")
    page = examinee.send("/begin/validate")
    assert page.url.path == "/quiz"
    assert "There are 8 questions" in page.text
    assert "The quiz is unpaid." in page.text
    wrong_answers = quiz_answers(examinee.study, "validate", 1)
    assert "You can try one more time" in examinee.send("/quiz", kinds="validate", **wrong_answers).text
    failed = examinee.send("/quiz", kinds="validate", **wrong_answers)
    assert "Thank you for trying" in failed.text
    assert examinee.page.all("a", href="/begin", class_="button")
    assert "/begin/validate" not in examinee.get("/begin").text
    assert examinee.get("/quiz").url.path == "/begin"


def count_rows(study, table):
    with study.store.read() as session:
        return session.scalar(select(func.count()).select_from(table))


def count_all_rows(study):
    """Number of rows of each table, by its name."""
    return {table.name: count_rows(study, table) for table in Base.metadata.sorted_tables}


@pytest.mark.parametrize("has_work", [False, True])
def test_a_preview_shows_every_task_and_stores_nothing(make_study, browser_of, crew, has_work):
    study = make_study(tasks={"kinds": ["write", "validate", "switchable", "associative"]})
    if has_work:
        crew.write(study, crew.newcomer(study))
    requester = browser_of(study).set_up(study)
    counts_before = count_all_rows(study)
    root = "/requester/preview/task"
    for kind in ("validate", "switchable", "associative"):
        page = requester.get(f"{root}/{kind}-0/vote")
        assert "Nothing is stored, and nobody is paid." in page.text
        assert ("fetch" in page.text) is has_work
        action = requester.page.all("form", class_="ballot")[0]["action"]
        assert requester.send(action).status_code == 422
        assert "please choose" in requester.seen
        assert requester.send(action.replace("/vote", "/remark"), reason="other").status_code == 200
        ballot = {"choice": "yes"}
        if kind == "validate":
            ballot = {"choice": "1", "equally_plausible": "no", "local_decides": "no"}
        assert requester.send(action, **ballot).url.path.startswith(f"{root}/{kind}-")
    assert "Checks" in requester.get(f"{root}/write-0/write").text
    task = requester.page.all("form", id="twins")[0]["data-task"]
    assert "rules met" in requester.send(f"{task}/feedback", anchor="gate").text
    assert requester.send(f"{task}/draft", anchor="gate").status_code == 204
    assert requester.send(f"{task}/write").status_code == 422
    assert requester.send(f"{task}/write", **crew.form(7)).url.path.startswith(f"{root}/write-")
    assert count_all_rows(study) == counts_before
    for token in ("evaluate-0", "write", "validate-x", "-1"):
        assert requester.get(f"{root}/{token}/vote").status_code == 404


def test_a_preview_is_for_requesters(worker):
    assert worker.get("/requester/preview/task/write-0/write").url.path == "/login"


def test_a_preview_warns_on_handing_in_as_it_would_a_worker(make_study, browser_of, crew):
    study = make_study(rules={"warn": True})
    requester = browser_of(study).set_up(study)
    page = "/requester/preview/task/write-0/write"
    requester.get(page)
    task = requester.page.all("form", id="twins")[0]["data-task"]
    fields = crew.form()
    assert "little to do with the topic" in requester.send(f"{task}/feedback", **fields).text
    assert requester.send(f"{task}/write", **fields).status_code == 422
    assert "This is intended" in requester.seen


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_record_has_words_for_every_line_of_the_ledger(make_study, browser_of, crew, language):
    study = make_study(language=language)
    somebody = browser_of(study).join(study)
    with study.store.write() as session:
        lines = [Payment(worker_id=1, reason=reason, cents=1, at=study.now()) for reason in REASONS]
        session.add_all(lines)
    page = somebody.get("/your-work").text
    assert study.texts.lines["own_work.reason_fooled"] in page
    assert study.texts.lines["own_work.reason_other"] not in page


def test_an_owner_removes_a_pilot_by_a_button(study, app, worker, requester):
    assert "/requester/pilot/remove" not in requester.get("/requester/workers").text
    study.pilot = True
    type(worker)(app).join(study).write()
    assert "The pilot" in requester.get("/requester/workers").text
    answer = requester.send("/requester/pilot/remove", write_off="yes")
    assert "please tick the box" in answer.text
    requester.get("/requester/workers")
    answer = requester.send("/requester/pilot/remove", sure="yes")
    assert "0.40 USD are still owed" in answer.text
    requester.get("/requester/workers")
    page = requester.send("/requester/pilot/remove", sure="yes", write_off="yes").text
    assert "1 worker, 1 submission, 2 problems; $0.40 written off" in page
    assert "The pilot" not in page
    assert count_rows(study, Worker) == 1
