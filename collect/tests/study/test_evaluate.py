"""People as if they were a model: a dataset and its variants, solved by three, audited like any predictions."""

import pytest
from sqlalchemy import select

import winokit
from winokit import write
from winokit.extend import TRANSFORMS, BadInput, telling, write_predictions
from winokit_collect.study import submissions, tasks
from winokit_collect.study.export import export, majority
from winokit_collect.study.new_tasks import evaluation_problems
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import ProblemRow, Task, Vote
from winokit_collect.study.study import Study
from winokit_collect.verbs import init


def answers(study):
    with study.store.read() as session:
        return {(row.before, row.after): row.answer for row in session.scalars(select(ProblemRow))}


def solve(study, worker, *, wrong_if=lambda task: False):
    known = answers(study)
    count = 0
    while True:
        try:
            task = tasks.lease(study, worker.id, "evaluate")
        except NotNow:
            return count
        right = known[task.before, task.after]
        choice = 1 - right if wrong_if(task) else right
        submissions.submit(study, worker.id, task.token, {"choice": str(choice)})
        count += 1


def evaluation(make_study, limit=6, votes=3, **more):
    told = {"data": "open", "limit": limit, **more}
    return make_study(tasks={"kinds": ["evaluate"], "votes": votes, "twins": 0}, evaluate=told)


def test_people_s_answers_are_audited_like_any_predictions(make_study, crew, tmp_path):
    study = evaluation(make_study)
    for number in range(3):
        # two of three get everything with a "never" wrong
        solve(study, crew.newcomer(study), wrong_if=lambda task, n=number: n and "never" in task.before + task.after)
    done = export(study, tmp_path)
    assert done.files["predictions.jsonl"] == 6
    assert done.notes == []
    data = winokit.load(tmp_path / "evaluated.jsonl")
    assert data.content_hash == winokit.load("open")[:6].content_hash
    run = winokit.audit(data, predictions=[tmp_path / "predictions.jsonl"])
    wrong = sum("never" in problem.text for problem in data)
    assert wrong > 0
    accuracy = run.find("accuracy", "all", "accuracy")
    assert (accuracy.model, accuracy.scoring, accuracy.n) == ("people", "majority-of-3", 6)
    assert accuracy.value == pytest.approx(1 - wrong / 6)
    assert run.find("groups", "complete", "group_accuracy").n == 3


def test_a_variant_is_solved_and_audited_as_such(make_study, crew, tmp_path):
    study = evaluation(make_study, variants=["part-sent"])
    asked = answers(study)
    assert 0 < len(asked) <= 6
    whole = {problem.text for problem in winokit.load("open")[:6]}
    assert not {before + "_" + after for before, after in asked} & whole
    for _ in range(3):
        solve(study, crew.newcomer(study))
    export(study, tmp_path)
    run = winokit.audit(winokit.load(tmp_path / "evaluated.jsonl"), predictions=[tmp_path / "predictions.jsonl"])
    assert run.find("artifacts", "part-sent", "accuracy").value == 1.0


@pytest.mark.parametrize("variant", ["switched", "no-cands", "part-sent", "local-context"])
def test_people_and_models_are_asked_the_same_variants(variant):
    data = winokit.load("open")
    asked, notes = evaluation_problems(data, [variant])
    audited = TRANSFORMS[variant](data)
    assert winokit.Dataset([problem for _, problem in asked]) == audited.problems
    assert [p.provenance["of"] for _, p in asked] == [p.provenance["of"] for p in audited.problems]
    assert bool(notes) == bool(audited.refused)
    assert all(f"not made of {len(audited.refused)} of" in note for note in notes)


def test_nobody_sees_a_problem_whole_and_distorted(make_study, crew):
    study = evaluation(make_study, limit=4, votes=1, variants=["original", "local-context"])
    people = [crew.newcomer(study) for _ in range(2)]
    assert sum(solve(study, worker) for worker in people) == 8
    with study.store.read() as session:
        rows = session.execute(select(Vote.worker_id, Task.family).join(Task, Task.id == Vote.task_id)).all()
    assert len(set(rows)) == len(rows) == 8


def test_problems_whose_votes_are_out_are_left_out_and_noted(make_study, crew, tmp_path):
    study = evaluation(make_study, votes=2)
    solve(study, crew.newcomer(study))
    done = export(study, tmp_path)
    assert done.files["predictions.jsonl"] == 0
    assert done.notes == ["6 problems are left out: they do not have all their votes yet"]


@pytest.mark.parametrize(
    ("choices", "scores", "prediction", "why"),
    [
        ([0, 0, 1], (2 / 3, 1 / 3), 0, None),
        ([1, 1, 1], (0.0, 1.0), 1, None),
        ([0, 1, None], (0.5, 0.5), None, "a tie"),
        ([None, None, None], None, None, "nobody could tell"),
    ],
)
def test_the_majority_decides_and_a_tie_abstains(choices, scores, prediction, why, tmp_path):
    row = ProblemRow(family="abc", variant="original", candidates=["a", "b"], answer=0)
    made = majority(row, [Vote(choice=choice) for choice in choices], 3)
    assert made.scores == (None if scores is None else pytest.approx(scores))
    assert (made.prediction, made.why, made.answer) == (prediction, why, 0)
    write_predictions([made], tmp_path / "predictions.jsonl")


def test_people_may_say_that_they_cannot_tell_where_the_study_lets_them(make_study, crew):
    study = evaluation(make_study, limit=1, abstain=True)
    worker = crew.newcomer(study)
    task = tasks.lease(study, worker.id, "evaluate")
    assert task.may_abstain
    submissions.submit(study, worker.id, task.token, {"choice": "unsure"})
    with study.store.read() as session:
        assert session.scalars(select(Vote.choice)).all() == [None]


def test_a_study_of_a_dataset_keeps_its_own_copy(tmp_path, twins):
    source = tmp_path / "twins.jsonl"
    write(twins, source)
    notes = []
    with telling(notes.append):
        made = init(tmp_path / "study", evaluate=str(source), variant=("part-sent",))
    source.unlink()
    assert made.record["title"] == "People solve twins"
    study = Study.open(tmp_path / "study")
    with study.store.read() as session:
        assert len(session.scalars(select(Task).where(~Task.gold)).all()) == 4
    assert notes == [
        "part-sent: not made of 2 of 6 problems, mostly: no connective or punctuation before the blank (2)"
    ]
    study.close()


@pytest.mark.parametrize(
    ("wishes", "complaint"),
    [
        ({"variant": ("part-sent",)}, "--evaluate DATA"),
        ({"evaluate": "open", "kind": ("write",)}, "cannot be combined with --kind"),
        ({"evaluate": "open", "variant": ("upside-down",)}, "evaluate.variants.0"),
        ({"kind": ("validate",)}, "write or evaluate"),
    ],
)
def test_wishes_that_do_not_fit_together_are_one_line(wishes, complaint, tmp_path):
    with pytest.raises(BadInput, match=complaint):
        init(tmp_path / "study", **wishes)
    assert not (tmp_path / "study").exists()


def test_real_data_can_be_put_to_people(real_file, tmp_path):
    notes = []
    with telling(notes.append):
        init(tmp_path / "study", evaluate=str(real_file("wsc/WSCollection.xml")), variant=("part-sent",))
    study = Study.open(tmp_path / "study")
    with study.store.read() as session:
        asked = session.scalars(select(ProblemRow).where(ProblemRow.variant == "part-sent")).all()
    study.close()
    assert len(asked) > 200
    assert notes[0].startswith("part-sent: not made of")
