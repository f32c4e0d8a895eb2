"""Workers consent, are screened and quizzed before they work, and are shown the way out."""

import pytest
from markupsafe import escape

from winokit_collect.study import invites, moderation, quality, workers


@pytest.fixture
def newcomer(stranger, study):
    path = invites.create(study).path
    stranger.get(path)
    stranger.send(path)
    return stranger


def test_consent_comes_first_and_needs_a_tick(newcomer):
    for path in ("/begin", "/quiz", "/screening"):
        assert newcomer.get(path).url.path == "/consent"
    answer = newcomer.send("/consent")
    assert answer.status_code == 422
    assert "tick the box" in answer.text
    assert newcomer.send("/consent", agree="yes").url.path == "/screening"


def test_nobody_gets_a_task_before_consent(newcomer):
    assert newcomer.send("/begin/write").url.path == "/consent"


def test_screening_keeps_what_was_answered_when_something_is_missing(newcomer):
    newcomer.send("/consent", agree="yes")
    answer = newcomer.send("/screening", native_speaker="yes")
    assert answer.status_code == 422
    (box,) = newcomer.page.all("input", name="native_speaker", value="yes")
    assert "checked" in box
    assert newcomer.page.all("a", href="#has_seen_wsc")
    assert newcomer.send("/screening", native_speaker="yes", has_seen_wsc="no").url.path == "/begin"


@pytest.mark.parametrize(
    ("native_speaker", "has_seen_wsc"), [("no", "no"), ("yes", "yes")], ids=["no native speaker", "has seen them"]
)
def test_people_the_study_is_not_for_are_told_kindly_and_stay_out(newcomer, native_speaker, has_seen_wsc):
    newcomer.send("/consent", agree="yes")
    answer = newcomer.send("/screening", native_speaker=native_speaker, has_seen_wsc=has_seen_wsc)
    assert answer.url.path == "/finish"
    assert "it is not for you this time" in newcomer.seen
    assert newcomer.get("/begin").url.path == "/finish"
    assert newcomer.get("/screening").url.path == "/finish"


def test_only_the_questions_that_the_study_asks_are_asked(make_study, browser_of):
    study = make_study(quality={"never_seen_wsc": False})
    somebody = browser_of(study)
    path = invites.create(study).path
    somebody.get(path)
    somebody.send(path)
    somebody.send("/consent", agree="yes")
    assert "Winograd Schema" not in somebody.seen
    assert somebody.send("/screening", native_speaker="yes").url.path == "/begin"


@pytest.fixture
def examinee(make_study, browser_of):
    study = make_study(quality={"quiz_pass_mark": 0.8, "quiz_attempts": 2})
    somebody = browser_of(study).join(study)
    somebody.right = quiz_fields(study.quiz)
    somebody.wrong = quiz_fields(study.quiz, shift=1)
    somebody.explanations = [str(escape(question.explanation)) for question in study.quiz]
    return somebody


def quiz_fields(questions, shift=0):
    """The fields of right answers to the questions of a quiz, or of wrong ones if `shift` is 1."""
    fields = {}
    for number, question in enumerate(questions, 1):
        fields[f"q{number}"] = str((question.answer + shift) % len(question.options))
    return fields


def test_the_quiz_lets_in_whoever_knows_the_answers(examinee):
    assert examinee.get("/begin").url.path == "/quiz"
    assert "Well done" in examinee.send("/quiz", **examinee.right).text
    assert examinee.get("/begin").url.path == "/begin"


def test_a_quiz_with_a_gap_is_shown_again_as_it_was(examinee):
    answer = examinee.send("/quiz", **examinee.right | {"q2": ""})
    assert answer.status_code == 422
    assert examinee.page.all("a", href="#q2")
    assert "checked" in examinee.page.all("input", name="q1", value=examinee.right["q1"])[0]


def test_an_answer_that_is_no_option_is_none(examinee):
    for odd in ("99", "-1", "١", "1.0", "x" * 1000):
        assert examinee.send("/quiz", **examinee.right | {"q1": odd}).status_code == 422


def test_a_failed_quiz_marks_what_was_wrong_but_does_not_give_the_answers(examinee):
    one_right = examinee.wrong | {"q1": examinee.right["q1"]}
    page = examinee.send("/quiz", **one_right).text
    assert "You can try one more time" in page
    assert page.count("This was not right") == len(examinee.wrong) - 1
    assert not any(explanation in page for explanation in examinee.explanations)
    assert "Right answer:" not in page


def test_after_the_last_try_the_answers_are_explained_and_the_study_is_over(examinee):
    examinee.send("/quiz", **examinee.wrong)
    page = examinee.send("/quiz", **examinee.wrong).text
    assert "Thank you for trying" in page
    assert page.count("Right answer:") == len(examinee.wrong)
    assert all(explanation in page for explanation in examinee.explanations)
    assert examinee.get("/begin").url.path == "/finish"


def test_the_way_out_shows_the_code_and_what_was_earned(worker):
    worker.write()
    page = worker.get("/finish").text
    assert worker.page.all("b", id="own-code")
    assert "$0.40" in page


def test_a_blocked_worker_is_told_so_and_gets_nothing(study, worker):
    (row,) = quality.workers(study)
    moderation.block(study, row.code, "test", "requester:ann")
    assert worker.get("/begin").url.path == "/finish"
    assert "You can no longer work in this study" in worker.seen
    assert workers.step_of(study, workers.get(study, row.code)) == "blocked"


def test_in_a_paused_study_nothing_new_is_given_out(study, worker):
    study.pause(True, "requester:ann")
    assert "The study is paused" in worker.get("/begin").text
    answer = worker.send("/begin/write")
    assert answer.url.path == "/begin"
    assert "please come back later" in answer.text


def test_guidelines_are_there_for_the_studys_own_tasks_only(worker):
    assert "<h1>Writing twins</h1>" in worker.get("/guidelines/write").text
    assert worker.get("/guidelines/evaluate").status_code == 404
    assert worker.get("/guidelines/..%2Fsecret.key").status_code == 404


def test_the_studys_own_texts_cannot_bring_scripts(make_study, browser_of):
    study = make_study()
    (study.folder / "consent.md").write_text("# Hello\n\n<script>alert(1)</script> [x](javascript:alert(1))\n")
    somebody = browser_of(study)
    path = invites.create(study).path
    somebody.get(path)
    page = somebody.send(path).text
    assert "<script>alert" not in page
    assert 'href="javascript' not in page


def test_a_changed_consent_page_says_that_it_has_changed(study, worker):
    study.consent = "# Other risks"
    study.consent_sha256 = "1" * 64
    assert worker.get("/begin").url.path == "/consent"
    assert "This page has changed since you agreed to it" in worker.seen
    assert worker.send("/consent", agree="yes").url.path == "/begin"


def test_each_page_of_the_quiz_is_about_one_kind_and_what_was_passed_stays(make_study, browser_of, crew):
    study = make_study(quality={"quiz_pass_mark": 0.8, "quiz_attempts": 1}, tasks={"kinds": ["write", "validate"]})
    crew_member = workers.join(study, "links")
    workers.consent(study, crew_member.id)
    workers.screen(study, crew_member.id, native_speaker=True, has_seen_wsc=False)
    workers.take_quiz(study, crew_member.id, [question.answer for question in study.quiz])
    crew.write(study, crew_member)
    somebody = browser_of(study).join(study)
    somebody.get("/quiz")
    assert somebody.page.all("input", name="kinds")[0]["value"] == "write"
    write_questions = [question for question in study.quiz if question.kind == "write"]
    field_names = {box["name"] for box in somebody.page.all("input", type="radio")}
    assert len(field_names) == len(write_questions)
    somebody.send("/quiz", kinds="write", **quiz_fields(write_questions))
    assert somebody.page.all("a", href="/quiz?kind=validate")
    somebody.get("/quiz?kind=validate")
    validate_questions = [question for question in study.quiz if question.kind == "validate"]
    somebody.send("/quiz", kinds="validate", **quiz_fields(validate_questions, shift=1))
    assert somebody.get("/begin").url.path == "/begin"
    assert somebody.send("/begin/write").url.path.endswith("/write")
