"""The page of each kind of judgement shows what it must and nothing more."""

import pytest

from winokit_collect.study import listings
from winokit_collect.study.content import bundled
from winokit_collect.web.app import create_app


@pytest.fixture
def study(make_study):
    return make_study(tasks={"kinds": ["write", "validate", "switchable"], "votes": 1})


@pytest.fixture
def judge(app, study, worker):
    worker.write()
    return type(worker)(app).join(study)


@pytest.fixture
def judge_of_clauses(make_study, worker):
    study = make_study(tasks={"kinds": ["write", "associative"], "votes": 1})
    app = create_app(study)
    type(worker)(app).join(study).write()
    judge = type(worker)(app).join(study)
    judge.study = study
    return judge


def test_a_validation_asks_three_questions(judge):
    judge.take("validate")
    questions = {box["name"] for box in judge.page.all("input", type="radio")}
    assert questions - {"reason"} == {"choice", "equally_plausible", "local_decides"}
    assert "look only at this" in judge.seen


def test_nothing_on_the_page_tells_the_answer_or_the_author(study, judge):
    judge.take("validate")
    author = listings.problems(study).rows[0].author.code
    assert author not in judge.seen
    assert not [box for box in judge.page.all("input", type="radio") if "checked" in box]


def test_a_vote_leads_to_the_next_one(study, judge):
    task = judge.take("validate")
    answer = judge.send(f"{task}/vote", choice="0", equally_plausible="no", local_decides="no")
    assert "$0.03 earned" in answer.text
    assert answer.url.path.endswith("/vote")
    assert not str(answer.url.path).startswith(task)


def test_what_was_chosen_stays_when_something_is_missing(judge):
    task = judge.take("validate")
    answer = judge.send(f"{task}/vote", choice="1")
    assert answer.status_code == 422
    assert "checked" in judge.page.all("input", name="choice", value="1")[0]
    assert judge.page.all("a", href="#equally_plausible")
    assert judge.page.all("fieldset", id="local_decides")


def test_the_associative_question_shows_the_clause_alone(judge_of_clauses):
    judge_of_clauses.take("associative")
    assert "squeeze" not in judge_of_clauses.seen
    assert "have to fetch" in judge_of_clauses.seen
    assert "the terrier" in judge_of_clauses.seen


def test_the_switchable_question_shows_both_orders(judge):
    judge.take("switchable")
    assert "The terrier can squeeze" in judge.seen
    assert "The spaniel can squeeze" in judge.seen


def test_a_yes_or_no_is_enough_for_the_others(study, judge, judge_of_clauses):
    for somebody, their_study, kind in (
        (judge, study, "switchable"),
        (judge_of_clauses, judge_of_clauses.study, "associative"),
    ):
        task = somebody.take(kind)
        somebody.send(f"{task}/vote", choice="yes")
        votes = []
        for problem in listings.problems(their_study).rows:
            votes += problem.votes
        (vote,) = votes
        assert vote.kind == kind
        assert vote.choice == 1


def test_nobody_judges_their_own(study, worker):
    worker.write()
    answer = worker.send("/begin/validate")
    assert answer.url.path == "/begin"
    assert "no tasks left at the moment" in answer.text


def test_skipping_gives_the_task_back(judge):
    task = judge.take("validate")
    assert not str(judge.send(f"{task}/skip").url.path).startswith(task)


def test_a_vote_cannot_be_sent_to_the_writing_page(judge, twins):
    task = judge.take("validate")
    assert judge.send(f"{task}/write", **twins).status_code == 404


def test_people_solve_a_dataset_and_may_say_they_cannot_tell(make_study, worker):
    study = make_study(
        tasks={"kinds": ["evaluate"], "twins": 0}, evaluate={"data": "open", "limit": 4, "abstain": True}
    )
    somebody = type(worker)(create_app(study)).join(study)
    task = somebody.take("evaluate")
    assert "I cannot tell" in somebody.seen
    boxes = somebody.page.all("input", type="radio")
    assert "equally plausible" not in str(boxes)
    assert somebody.send(f"{task}/vote", choice="unsure").status_code == 200


def test_without_leave_nobody_can_say_that_they_cannot_tell(make_study, worker):
    study = make_study(tasks={"kinds": ["evaluate"], "twins": 0}, evaluate={"data": "open", "limit": 4})
    somebody = type(worker)(create_app(study)).join(study)
    task = somebody.take("evaluate")
    _, _, first_form = somebody.seen.partition("<form")
    ballot, _, _ = first_form.partition("guidelines")
    assert ballot
    assert "I cannot tell" not in ballot
    assert somebody.send(f"{task}/vote", choice="unsure").status_code == 422


def test_an_unknown_kind_of_task_is_not_there(worker):
    worker.get("/begin")
    assert worker.send("/begin/evaluate").status_code == 404


def test_a_worker_who_fails_the_gold_questions_is_shown_the_way_out(make_study, worker):
    study = make_study(
        tasks={"kinds": ["evaluate"], "twins": 0},
        evaluate={"data": "open", "limit": 20},
        gold=str(bundled("gold.jsonl")),
        quality={"gold_share": 1, "gold_least_seen": 2, "gold_least_accuracy": 1},
    )
    somebody = type(worker)(create_app(study)).join(study)
    path = somebody.take("evaluate")
    for _ in range(12):
        answer = somebody.send(f"{path}/vote", choice="0")
        if answer.url.path == "/finish":
            break
        path = str(answer.url.path).removesuffix("/vote")
    assert "You can no longer work in this study" in somebody.seen
