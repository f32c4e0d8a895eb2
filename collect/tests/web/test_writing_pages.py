"""The page to write twins gives feedback, keeps drafts, and loses nothing when a form is refused."""

import re
import time

from sqlalchemy import select

from winokit_collect.study import listings, tasks, workers
from winokit_collect.study.schema import Event
from winokit_collect.web.app import ASKED_A_MINUTE


def textarea_texts(page):
    """The texts in the large fields of a page, in their order."""
    return re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)


def test_feedback_says_each_rule_in_words_and_with_a_sign(worker, twins):
    task = worker.take("write")
    page = worker.send(f"{task}/feedback", **twins | {"second": "", "first": "Too short."}).text
    assert "✕</span> wrong</span> 15 to 30 words expected, found 2" in page
    assert "○</span> not yet</span> the texts differ" in page
    assert "✓</span> ok</span> two candidates" in page


def test_feedback_marks_the_words_that_differ_in_both_texts(worker, twins):
    task = worker.take("write")
    page = worker.send(f"{task}/feedback", **twins).text
    assert "<mark>never</mark>" in page
    assert "<mark>always</mark>" in page
    assert "Ready to submit" in page


def test_feedback_tells_listeners_in_one_line(worker, twins):
    task = worker.take("write")
    assert 'role="status"' in worker.seen
    page = worker.send(f"{task}/feedback", **twins).text
    assert '<p id="summary" hx-swap-oob="innerHTML">All rules are met.' in page


def test_feedback_on_something_much_too_long_says_so(worker, twins):
    task = worker.take("write")
    answer = worker.send(f"{task}/feedback", **twins | {"first": "x" * 1500})
    assert answer.status_code == 200
    assert "at most 1000 characters" in answer.text


def test_a_draft_survives_a_closed_tab(worker, twins):
    task = worker.take("write")
    assert "Draft saved" in worker.send(f"{task}/draft", **twins | {"second": "half a thou"}).text
    page = worker.get(f"{task}/write").text
    assert textarea_texts(page) == [twins["first"], "half a thou"]
    assert "checked" in worker.page.all("input", name="answer_1", value="2")[0]
    assert worker.take("write") == task


def test_without_scripts_the_form_comes_back_as_it_was_with_the_reasons(worker, twins):
    task = worker.take("write")
    answer = worker.send(f"{task}/write", **twins | {"second": "It is far too short to be a twin of _."})
    assert answer.status_code == 422
    assert textarea_texts(answer.text) == [twins["first"], "It is far too short to be a twin of _."]
    assert worker.page.all("input", id="anchor", value="gate")
    assert worker.page.all("a", href="#second")
    assert worker.page.all("div", role="alert", tabindex="-1")


def test_what_was_typed_is_also_kept_as_a_draft_when_it_cannot_be_taken(worker, twins):
    task = worker.take("write")
    worker.send(f"{task}/write", **twins | {"anchor": ""})
    assert textarea_texts(worker.get(f"{task}/write").text) == [twins["first"], twins["second"]]


def test_twins_that_keep_the_rules_are_taken_and_paid(study, worker):
    answer = worker.write()
    assert answer.url.path == "/begin"
    assert "your work has been saved" in answer.text
    assert "$0.40" in answer.text
    assert listings.problems(study).total == 2


def test_handing_in_twice_is_handing_in_once(study, worker, twins):
    task = worker.take("write")
    for _ in range(3):
        assert worker.post(f"{task}/write", data={"csrf": worker.token, **twins}).url.path == "/begin"
    assert listings.problems(study).total == 2


def test_another_workers_task_is_not_there_for_anybody_else(app, study, worker, twins, refused):
    task = worker.take("write")
    other_worker = type(worker)(app).join(study)
    other_worker.get("/begin")
    assert other_worker.get(f"{task}/write").status_code == 404
    other_worker.get("/begin")
    for path in ("write", "feedback", "draft", "adversary", "skip", "signals", "vote"):
        assert other_worker.send(f"{task}/{path}", events="[]", **twins).status_code == 404
        other_worker.get("/begin")
    assert len(refused()) == 8
    assert listings.problems(study).total == 0


def test_another_topic_can_be_asked_for(worker):
    task = worker.take("write")
    answer = worker.send(f"{task}/skip")
    assert answer.url.path.endswith("/write")
    assert not str(answer.url.path).startswith(task)


def test_late_work_is_told_what_may_become_of_it(worker, clock, twins):
    task = worker.take("write")
    clock.pass_minutes(60)
    assert "Somebody else may have been given this topic" in worker.get(f"{task}/write").text
    assert "your work has been saved" in worker.send(f"{task}/write", **twins).text


def test_signals_are_kept(study, worker):
    task = worker.take("write")
    assert worker.send(f"{task}/signals", events='[{"kind": "paste", "amount": 90}]').status_code == 204
    with study.store.read() as session:
        (event,) = session.scalars(select(Event))
    assert (event.kind, event.amount) == ("paste", 90)


def test_signals_that_no_script_of_ours_sends_are_refused(worker):
    task = worker.take("write")
    token = worker.token
    for events in ("", "{}", "[1]", "null", "[" * 5000, '[{"kind": {}}][]'):
        assert worker.post(f"{task}/signals", data={"csrf": token, "events": events}).status_code == 422


def test_the_model_to_fool_answers_when_it_is_asked(make_study, browser_of, twins):
    study = make_study(adversary={"model": "random"})
    somebody = browser_of(study).join(study)
    task = somebody.take("write")
    assert "/adversary" in somebody.send(f"{task}/feedback", **twins).text
    page = somebody.send(f"{task}/adversary", **twins).text
    assert "random" in page
    assert "solved" in page or "fooled" in page
    assert (
        "You can ask the model once everything is filled in"
        in somebody.send(f"{task}/adversary", **twins | {"anchor": ""}).text
    )


def test_tries_are_told_and_end(make_study, browser_of, twins):
    study = make_study(adversary={"model": "random", "tries": 2})
    somebody = browser_of(study).join(study)
    task = somebody.take("write")

    def ask_model(**changes):
        return somebody.send(f"{task}/adversary", **twins | changes).text

    assert "You can ask the model once everything is filled in" in ask_model(first="")
    assert "1 try left" in ask_model()
    assert "1 try left" in ask_model()
    assert "used all your tries" in ask_model(pronoun="it")
    assert "fooled" not in ask_model(pronoun="they")


def test_a_warning_is_shown_and_can_be_answered(make_study, browser_of, twins):
    study = make_study(rules={"warn": True}, tasks={"twins": 1, "social_share": 0})
    somebody = browser_of(study).join(study)
    task = somebody.take("write")
    noise = "The terrier the gate qwe asd the spaniel zxc rty _ fgh vbn never uio jkl hjk."
    fields = {**twins, "first": noise, "second": noise.replace("never", "always")}
    assert "Please check again" in somebody.send(f"{task}/feedback", **fields).text
    page = somebody.send(f"{task}/write", **fields)
    assert page.status_code == 422
    names = page.text.split('name="meant" value="')[1].split('"')[0]
    assert "makes_sense" in names
    somebody.send(f"{task}/write", **fields, meant=names, meant_why="It is <b>meant</b> so")
    (submission,) = listings.submissions(study).rows
    assert submission.fields["meant"] == names
    assert submission.fields["meant_why"] == "It is <b>meant</b> so"


def test_the_model_is_not_asked_without_end(make_study, browser_of, twins, monkeypatch):
    study = make_study(adversary={"model": "random"})
    greedy = browser_of(study).join(study)
    other_worker = type(greedy)(greedy.app).join(study)
    tasks_of_people = {somebody: somebody.take("write") for somebody in (greedy, other_worker)}

    def ask_model(somebody):
        task = tasks_of_people[somebody]
        fields = {"csrf": somebody.token, **twins}
        return somebody.post(f"{task}/adversary", data=fields, headers={"hx-request": "true"})

    answers = [ask_model(greedy) for _ in range(ASKED_A_MINUTE + 2)]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [200] * ASKED_A_MINUTE + [429] * 2
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert "Too many questions to the model; please wait" in answers[-1].text
    assert ask_model(other_worker).status_code == 200
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert ask_model(greedy).status_code == 200


def test_everything_that_can_be_typed_into_has_a_name(worker):
    worker.take("write")
    labels = {label["for"] for label in worker.page.all("label") if label.get("for")}
    boxes = worker.page.all("input", type="text") + worker.page.all("textarea")
    assert {box["id"] for box in boxes} <= labels
    ids = [attributes["id"] for _, attributes in worker.page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for box in boxes:
        descriptions = (box.get("aria-describedby") or "").split()
        assert set(descriptions) <= set(ids)


def test_a_write_task_is_not_a_vote(worker):
    task = worker.take("write")
    assert worker.get(f"{task}/vote").status_code == 404


def test_home_counts_what_was_done(study, worker):
    worker.write()
    assert "you have done 1" in worker.get("/begin").text
    code = re.search(r"w-\w{10}", worker.seen)[0]
    row = workers.get(study, code)
    assert list(tasks.available(study, row.id)) == ["write"]
