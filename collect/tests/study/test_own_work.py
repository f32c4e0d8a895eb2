"""A worker's own record: what became of their pairs and why, what was paid, their last answer, remarks on items."""

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
    """Judges a pair of the author's: every vote as the fields say."""

    def judged(**fields):
        crew.write(study, author)
        for judge in [crew.newcomer(study) for _ in range(3)]:
            for _ in range(2):
                crew.vote(study, judge, **fields)
        return own_work.pairs(study, author.id, 1).rows[0][1]

    return judged


def test_a_pair_waits_until_it_is_judged(study, crew, author):
    crew.write(study, author)
    crew.vote(study, crew.newcomer(study), equally_plausible="yes")
    ((_, texts),) = own_work.pairs(study, author.id, 1).rows
    assert [(text.state, text.reasons) for text in texts] == [("waiting", ())] * 2
    assert texts[0].text == crew.form()["first"]


def test_a_pair_that_all_find_good_is_accepted(judged):
    assert {text.state for text in judged()} == {"accepted"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"equally_plausible": "yes"}, "readers found both answers equally plausible"),
        ({"local_decides": "yes"}, "the words around the blank gave the answer away"),
    ],
)
def test_a_pair_that_was_turned_down_says_which_rule_it_broke(judged, said, why):
    assert {(text.state, text.reasons) for text in judged(**said)} == {("turned_down", (why,))}


def test_a_requesters_decision_is_said_to_be_one_without_their_note(study, judged, author):
    judged()
    for row in listings.problems(study).rows:
        moderation.adjudicate(study, row.id, False, "w-abc judged this carelessly", "ann")
    ((_, texts),) = own_work.pairs(study, author.id, 1).rows
    assert {(text.state, text.reasons) for text in texts} == {("turned_down", ("the requester decided this",))}


def test_a_discarded_pair_says_why_but_a_block_does_not_tell_of_gold(study, crew, author):
    crew.write(study, author)
    moderation.discard(study, listings.submissions(study).rows[0].id, "about a real person", "requester:ann")
    other = crew.newcomer(study)
    crew.write(study, other, 1)
    moderation.block(study, other.code, "2 of 5 gold questions right", "requester:ann", discard_work=True)
    reasons = [own_work.pairs(study, worker.id, 1).rows[0][1][0].reasons for worker in (author, other)]
    assert reasons == [("about a real person",), ("it was removed from the study",)]


def test_where_nobody_validates_what_was_written_counts(make_study, crew):
    study = make_study(tasks={"kinds": ["write"]})
    worker = crew.newcomer(study)
    crew.write(study, worker)
    assert {text.state for text in own_work.pairs(study, worker.id, 1).rows[0][1]} == {"accepted"}


def test_pay_is_told_by_what_it_was_for_and_whether_it_came(study, crew, author):
    crew.write(study, author)
    payout.plan(study, "requester:ann")
    judge = crew.newcomer(study)
    crew.vote(study, judge)
    lines, payouts = own_work.own_pay(study, author.id)
    assert [tuple(line) for line in lines] == [("write", 1, 40, 40, 0)]
    assert [paid.cents for paid in payouts] == [40]
    assert [tuple(line) for line in own_work.own_pay(study, judge.id)[0]] == [("validate", 1, 3, 0, 0)]


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
    """A judge who has a task, and has said something about it."""
    crew.write(study, crew.newcomer(study))
    judge = crew.newcomer(study)
    task = tasks.lease(study, judge.id, "validate")
    own_work.remark(study, judge.id, task.token, {"reason": "unclear", "comment": "who  is\n we?"})
    return judge, task


def test_a_remark_is_kept_once_per_item_and_found_with_its_problem(study, flagged):
    judge, task = flagged
    own_work.remark(study, judge.id, task.token, {"comment": "a typo"})
    (row,) = listings.problems(study, status="flagged").rows
    assert [(one.reason, one.text, one.worker.code) for one in row.remarks] == [("other", "a typo", judge.code)]
    assert snapshot(study).remarks == 1
    with pytest.raises(Incomplete, match="please choose"):
        own_work.remark(study, judge.id, task.token, {"comment": " "})
    with pytest.raises(NotFound):
        own_work.remark(study, judge.id + 1, task.token, {"reason": "unclear"})


def test_a_remark_is_exported_and_leaves_with_its_worker(study, flagged, tmp_path):
    judge, _ = flagged
    export.export(study, tmp_path)
    (remark,) = (json.loads(line) for line in (tmp_path / "remarks.jsonl").read_text("utf-8").splitlines())
    assert (remark["worker"], remark["reason"], remark["text"]) == (judge.code, "unclear", "who is we?")
    told = [problem.provenance.get("remarks", []) for problem in winokit.load(tmp_path / "others.jsonl")]
    assert [[one["text"] for one in remarks] for remarks in told if remarks] == [["who is we?"]]
    moderation.withdraw(study, judge.code, "requester:ann")
    export.export(study, tmp_path)
    assert (tmp_path / "remarks.jsonl").read_text("utf-8") == ""


def test_pay_per_hour_is_told_from_five_submissions_on_and_warned_about_under_the_floor(make_study, crew, clock):
    study = make_study(pay={"least_per_hour": 5}, tasks={"twins": 6})
    author = crew.newcomer(study)
    judge = crew.newcomer(study)
    for number in range(3):
        crew.write(study, author, number)
    for count in range(1, 6):
        (kind,) = (kind for kind in snapshot(study).kinds if kind.kind == "validate")
        assert (kind.hourly_cents, progress.usual_seconds(study).get("validate")) == (None, None), count
        task = tasks.lease(study, judge.id, "validate")
        clock.pass_minutes(0.5)
        submissions.submit(study, judge.id, task.token, crew.ballot(task))
    clock.pass_minutes(1)
    (kind,) = (kind for kind in snapshot(study).kinds if kind.kind == "validate")
    assert (kind.hourly_cents, kind.underpaid) == (360, True)
    assert progress.usual_seconds(study)["validate"] == 30
    said = [line for line in status_lines(snapshot(study)) if isinstance(line, str) and line.startswith("warning")]
    pays = "validate pays 3.60 USD per hour at the median time"
    assert said == [f"warning: {pays}, below pay.least_per_hour (5.00 USD)"]
