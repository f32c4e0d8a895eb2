"""Verdicts follow from votes by the paper's three rules, unless a requester decides otherwise."""

import pytest
from sqlalchemy import select

from winokit_collect.study import moderation
from winokit_collect.study.schema import ProblemRow, Submission, Task
from winokit_collect.study.validity import Judgement, judge

GOOD = Judgement(True, True, True)
WRONG = Judgement(False, True, True)
PLAUSIBLE = Judgement(True, False, True)
LOCAL = Judgement(True, True, False)


@pytest.mark.parametrize(
    ("votes", "unanimous", "majority", "agreement", "failed"),
    [
        ([GOOD, GOOD, GOOD], True, True, "unanimous-yes", ()),
        ([GOOD, GOOD, WRONG], False, True, "split", ("answer",)),
        ([GOOD, GOOD, PLAUSIBLE], False, True, "split", ("plausible",)),
        ([GOOD, GOOD, LOCAL], False, True, "split", ("local",)),
        ([GOOD, WRONG, WRONG], False, False, "split", ("answer",)),
        ([WRONG, WRONG, WRONG], False, False, "unanimous-no", ("answer",)),
        # each rule has its majority, although only one vote is for the problem
        ([GOOD, WRONG, LOCAL], False, True, "split", ("answer", "local")),
        ([WRONG, PLAUSIBLE, LOCAL], False, True, "unanimous-no", ("answer", "plausible", "local")),
    ],
)
def test_the_three_rules(votes, unanimous, majority, agreement, failed):
    strict = judge(votes)
    loose = judge(votes, "majority")
    assert (strict.valid, strict.agreement, strict.failed) == (unanimous, agreement, failed)
    assert (loose.valid, loose.agreement) == (majority, agreement)


def read_problems(study):
    with study.store.read() as session:
        return session.scalars(select(ProblemRow).order_by(ProblemRow.id)).all()


def read_verdicts(study):
    return [(problem.valid, problem.agreement) for problem in read_problems(study)]


def add_judged_twins(study, crew, *third_votes):
    """Write twins and add two votes for a twin, then a vote with each of the given fields."""
    crew.write(study, crew.newcomer(study))
    for fields in ({}, {}, *third_votes):
        worker = crew.newcomer(study)
        crew.vote(study, worker, **fields)
        crew.vote(study, worker, **fields)


def test_a_problem_is_decided_when_its_last_vote_is_in(study, crew):
    add_judged_twins(study, crew)
    assert read_verdicts(study) == [(None, None)] * 2
    worker = crew.newcomer(study)
    crew.vote(study, worker)
    assert [row.valid for row in read_problems(study)] == [True, None]


@pytest.mark.parametrize(("rule", "valid"), [("unanimous", False), ("majority", True)])
def test_one_doubt_is_enough_unless_the_majority_decides(make_study, crew, rule, valid):
    study = make_study(validity={"rule": rule})
    add_judged_twins(study, crew, {"local_decides": "yes"})
    assert read_verdicts(study) == [(valid, "split")] * 2


def test_a_requester_decides_over_the_votes_and_may_take_it_back(study, crew):
    add_judged_twins(study, crew, {"choice": "0"})
    first = read_problems(study)[0]
    assert first.valid is False
    moderation.adjudicate(study, first.id, True, "a slip of the third vote", "ada")
    assert read_verdicts(study)[0] == (True, "split")
    moderation.adjudicate(study, first.id, None, "", "ada")
    assert read_problems(study)[0].valid is False


def test_a_discarded_vote_is_asked_for_again(study, crew):
    add_judged_twins(study, crew, {"choice": "0"})
    with study.store.read() as session:
        last = session.scalars(select(Submission).order_by(Submission.id.desc())).first()
    moderation.discard(study, last.id, "not a native speaker after all", "requester:ada")
    assert [row.valid for row in read_problems(study)] == [False, None]
    crew.vote(study, crew.newcomer(study))
    assert [row.valid for row in read_problems(study)] == [False, True]


def test_discarded_twins_are_no_longer_judged_and_are_asked_for_again(study, crew):
    receipt = crew.write(study, crew.newcomer(study))
    moderation.discard(study, receipt.submission_id, "nonsense", "requester:ada")
    assert all(row.withdrawn for row in read_problems(study))
    with study.store.read() as session:
        write_counts = session.scalars(select(Task.accepted).where(Task.kind == "write")).all()
        validate_counts = session.scalars(select(Task.asked).where(Task.kind == "validate")).all()
    assert write_counts == [0, 0, 0, 0]
    assert validate_counts == [0, 0]
