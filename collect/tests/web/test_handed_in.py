"""Work that was handed in can be seen again and corrected for a while, and none that was thanked for is lost."""

import pytest

from winokit_collect.study import listings

BETTER = "The terrier can squeeze under the garden gate but the spaniel cannot, so we have {} had to fetch _ back."


@pytest.fixture
def study(make_study):
    return make_study(tasks={"votes": 1})


@pytest.fixture
def better(twins):
    return twins | {"first": BETTER.format("never"), "second": BETTER.format("always")}


@pytest.fixture
def task_path(worker, twins):
    """The address of the task whose twins the worker has handed in."""
    task = worker.take("write")
    worker.send(f"{task}/write", **twins)
    return task


def stored_texts(study):
    pairs = listings.submissions(study, kind="write").rows
    return [submission.fields["first"] for submission in pairs]


def test_a_used_task_shows_what_was_handed_in_and_a_way_to_correct_it(worker, task_path, twins):
    page = worker.get(f"{task_path}/write").text
    assert twins["first"] in page
    (answer,) = worker.page.all("input", name="answer_1", value="2")
    assert "checked" in answer
    assert "You can correct it" in page
    assert "Submit the correction" in page
    assert "Drafts are saved automatically" not in page
    assert f"{task_path}/draft" not in page
    assert f"{task_path}/skip" not in page


def test_a_correction_is_stored_before_it_is_thanked_for_and_pays_nothing_more(study, worker, task_path, better):
    worker.get(f"{task_path}/write")
    answer = worker.send(f"{task_path}/write", **better)
    assert "your correction has been saved" in answer.text
    assert "You have earned" not in answer.text
    assert "$0.40" in answer.text  # in all
    assert "$0.80" not in answer.text
    assert stored_texts(study) == [better["first"]]
    assert better["first"] in worker.get(f"{task_path}/write").text


def test_feedback_on_a_correction_does_not_call_it_too_similar_to_itself(worker, task_path, better):
    worker.get(f"{task_path}/write")
    assert "Ready to submit" in worker.send(f"{task_path}/feedback", **better).text


def test_a_broken_correction_comes_back_with_what_is_wrong_and_saves_no_draft(study, worker, task_path, better, twins):
    worker.get(f"{task_path}/write")
    answer = worker.send(f"{task_path}/write", **better | {"anchor": "fence"})
    assert answer.status_code == 422
    assert better["first"] in answer.text
    assert "Submit the correction" in answer.text
    assert stored_texts(study) == [twins["first"]]
    assert twins["first"] in worker.get(f"{task_path}/write").text


def test_too_late_a_version_is_not_taken_and_both_are_shown(study, clock, worker, task_path, twins, better):
    worker.get(f"{task_path}/write")
    clock.pass_minutes(11)
    answer = worker.send(f"{task_path}/write", **better)
    assert answer.status_code == 409
    assert "this version was not accepted" in answer.text
    assert "Thank you" not in answer.text
    for form in (twins, better):
        assert form["first"].split("_")[0] in answer.text
    assert worker.page.all("textarea") == []
    assert stored_texts(study) == [twins["first"]]
    later_look = worker.get(f"{task_path}/write")
    assert later_look.status_code == 200
    assert "Submitted at" in later_look.text
    assert worker.page.all("textarea") == []
    worker.get("/begin")
    same_again = worker.send(f"{task_path}/write", **twins)
    assert "your work has been saved" in same_again.text


def test_a_draft_after_handing_in_does_not_say_that_it_was_saved(worker, task_path, better):
    worker.get(f"{task_path}/write")
    answer = worker.send(f"{task_path}/draft", **better)
    assert answer.status_code == 409
    assert "Draft saved" not in answer.text
    assert "nothing was saved" in answer.text.casefold()


@pytest.mark.parametrize("kind", ["validate", "switchable", "associative"])
def test_a_vote_can_be_looked_at_corrected_and_then_only_read(make_study, browser_of, clock, kind):
    study = make_study(tasks={"kinds": ["write", kind], "votes": 1})
    browser_of(study).join(study).write()
    judge = browser_of(study).join(study)
    task = judge.take(kind)
    ballot = {"choice": "yes"}
    corrected_ballot = {"choice": "no"}
    if kind == "validate":
        details = {"equally_plausible": "no", "local_decides": "no"}
        ballot = {"choice": "0", **details}
        corrected_ballot = {"choice": "1", **details}
    judge.send(f"{task}/vote", **ballot)
    judge.get(f"{task}/vote")
    (choice,) = judge.page.all("input", name="choice", value=ballot["choice"])
    assert "checked" in choice
    assert "Submit the correction" in judge.seen
    answer = judge.send(f"{task}/vote", **corrected_ballot)
    assert "your correction has been saved" in answer.text
    assert "earned." not in answer.text
    assert listings.submissions(study, kind=kind).total == 1
    clock.pass_minutes(11)
    judge.get("/begin")
    late_answer = judge.send(f"{task}/vote", **ballot)
    assert late_answer.status_code == 409
    assert "this version was not accepted" in late_answer.text
    assert judge.page.all("input", type="radio") == []
    assert "Your answer" in judge.get(f"{task}/vote").text
    judge.get("/begin")
    assert judge.send(f"{task}/vote", **corrected_ballot).status_code == 200


def test_a_requester_sees_that_something_was_corrected(study, worker, requester, task_path, better):
    worker.get(f"{task_path}/write")
    worker.send(f"{task_path}/write", **better)
    assert "corrected 1 ×" in requester.get("/requester/submissions").text
