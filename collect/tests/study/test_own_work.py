"""Workers see what became of their pairs and why, their pay and their last answer, and can remark on items."""

import json

import pytest

import winokit
from winokit_collect.platforms import payout
from winokit_collect.study import export, listings, moderation, own_work, progress, submissions, tasks
from winokit_collect.study.progress import snapshot, status_lines
from winokit_collect.study.refusals import Incomplete, NotFound


@pytest.fixture
def author(study, crew):
    return crew.newcomer(study)


@pytest.fixture
def judged(study, crew, author):
    """A function that lets three workers judge a pair of the author's, and returns its texts as the author sees them.

    Every vote has the given fields.
    """

    def write_and_judge(**fields):
        crew.write(study, author)
        for judge in [crew.newcomer(study) for _ in range(3)]:
            for _ in range(2):
                crew.vote(study, judge, **fields)
        return texts_of(study, author)

    return write_and_judge


def texts_of(study, author):
    """The two texts of an author's only pair, with their states."""
    ((_, texts),) = own_work.pairs(study, author.id, 1).rows
    return texts


def test_a_pair_waits_until_it_is_judged(study, crew, author):
    crew.write(study, author)
    crew.vote(study, crew.newcomer(study), equally_plausible="yes")
    texts = texts_of(study, author)
    assert [(text.state, text.reasons) for text in texts] == [("waiting", ())] * 2
    assert texts[0].text == crew.form()["first"]


def test_a_pair_that_all_find_good_is_accepted(judged):
    assert {text.state for text in judged()} == {"accepted"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"equally_plausible": "yes"}, "readers found both answers equally plausible"),
        ({"local_decides": "yes"}, "the words around the blank gave the answer away"),
    ],
)
def test_a_pair_that_was_turned_down_says_which_rule_it_broke(judged, fields, reason):
    texts = judged(**fields)
    assert {(text.state, text.reasons) for text in texts} == {("turned_down", (reason,))}


def test_a_requesters_decision_is_said_to_be_one_without_their_note(study, judged, author):
    judged()
    for row in listings.problems(study).rows:
        moderation.adjudicate(study, row.id, False, "w-abc judged this carelessly", "ann")
    texts = texts_of(study, author)
    assert {(text.state, text.reasons) for text in texts} == {("turned_down", ("the requester decided this",))}


def test_a_discarded_pair_says_why_but_a_block_does_not_tell_of_gold(study, crew, author):
    crew.write(study, author)
    submission = listings.submissions(study).rows[0]
    moderation.discard(study, submission.id, "about a real person", "requester:ann")
    blocked = crew.newcomer(study)
    crew.write(study, blocked, 1)
    moderation.block(study, blocked.code, "2 of 5 gold questions right", "requester:ann", discard_work=True)
    assert texts_of(study, author)[0].reasons == ("about a real person",)
    assert texts_of(study, blocked)[0].reasons == ("it was removed from the study",)


def test_where_nobody_validates_what_was_written_counts(make_study, crew):
    study = make_study(tasks={"kinds": ["write"]})
    worker = crew.newcomer(study)
    crew.write(study, worker)
    assert {text.state for text in texts_of(study, worker)} == {"accepted"}


def test_pay_is_told_by_what_it_was_for_and_whether_it_came(study, crew, author):
    crew.write(study, author)
    payout.plan(study, "requester:ann")
    judge = crew.newcomer(study)
    crew.vote(study, judge)
    lines, payouts = own_work.own_pay(study, author.id)
    assert [tuple(line) for line in lines] == [("write", 1, 40, 40, 0)]
    assert [payment.cents for payment in payouts] == [40]
    judge_lines, _ = own_work.own_pay(study, judge.id)
    assert [tuple(line) for line in judge_lines] == [("validate", 1, 3, 0, 0)]


def test_the_last_answer_can_be_found_as_long_as_it_can_be_corrected(study, crew, clock):
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    assert task.last_token is None
    submissions.submit(study, judge.id, task.token, crew.ballot(task))
    assert tasks.lease(study, judge.id, "write").last_token is None  # of another kind
    following = tasks.lease(study, judge.id, "validate")
    assert following.last_token == task.token
    clock.pass_minutes(study.config.tasks.correct_for)
    assert tasks.look(study, judge.id, following.token).last_token is None


@pytest.fixture
def flagged(study, crew):
    """A judge who has a task and has remarked on it, and the task."""
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    own_work.remark(study, judge.id, task.token, {"reason": "unclear", "comment": "who  is\n we?"})
    return judge, task


def test_a_remark_is_kept_once_per_item_and_found_with_its_problem(study, flagged):
    judge, task = flagged
    own_work.remark(study, judge.id, task.token, {"comment": "a typo"})
    (row,) = listings.problems(study, status="flagged").rows
    (remark,) = row.remarks
    assert (remark.reason, remark.text) == ("other", "a typo")
    assert remark.worker.code == judge.code
    assert snapshot(study).remarks == 1
    with pytest.raises(Incomplete, match="please choose"):
        own_work.remark(study, judge.id, task.token, {"comment": " "})
    with pytest.raises(NotFound):
        own_work.remark(study, judge.id + 1, task.token, {"reason": "unclear"})


def test_a_remark_is_exported_and_leaves_with_its_worker(study, flagged, tmp_path):
    judge, _ = flagged
    export.export(study, tmp_path)
    (line,) = (tmp_path / "remarks.jsonl").read_text("utf-8").splitlines()
    remark = json.loads(line)
    assert (remark["worker"], remark["reason"], remark["text"]) == (judge.code, "unclear", "who is we?")
    problems = winokit.load(tmp_path / "others.jsonl")
    (problem,) = (problem for problem in problems if problem.provenance.get("remarks"))
    assert [remark["text"] for remark in problem.provenance["remarks"]] == ["who is we?"]
    moderation.withdraw(study, judge.code, "requester:ann")
    export.export(study, tmp_path)
    assert (tmp_path / "remarks.jsonl").read_text("utf-8") == ""


def validate_progress(study):
    """The row of the progress table about validate tasks."""
    (row,) = (row for row in snapshot(study).kinds if row.kind == "validate")
    return row


def test_pay_per_hour_is_told_from_five_submissions_on_and_warned_about_under_the_floor(make_study, crew, clock):
    study = make_study(pay={"least_per_hour": 5}, tasks={"twins": 6})
    author = crew.newcomer(study)
    judge = crew.newcomer(study)
    for number in range(3):
        crew.write(study, author, number)
    for count in range(1, 6):
        assert validate_progress(study).hourly_cents is None, count
        assert progress.usual_seconds(study).get("validate") is None, count
        task = tasks.lease(study, judge.id, "validate")
        clock.pass_minutes(0.5)
        submissions.submit(study, judge.id, task.token, crew.ballot(task))
    clock.pass_minutes(1)
    assert validate_progress(study).hourly_cents == 360
    assert validate_progress(study).underpaid
    assert progress.usual_seconds(study)["validate"] == 30
    text_lines = [line for line in status_lines(snapshot(study)) if isinstance(line, str)]
    warnings = [line for line in text_lines if line.startswith("warning")]
    hourly_pay = "validate pays 3.60 USD per hour at the median time"
    assert warnings == [f"warning: {hourly_pay}, below pay.least_per_hour (5.00 USD)"]
