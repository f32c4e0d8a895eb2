"""People solve a dataset and its variants, and their answers are audited like the predictions of a model."""

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


def read_answers(study):
    with study.store.read() as session:
        return {(row.before, row.after): row.answer for row in session.scalars(select(ProblemRow))}


def solve_everything(study, worker, *, wrong_if=lambda task: False):
    """Answer every task that a worker gets, right unless `wrong_if(task)`, and return their number."""
    answers = read_answers(study)
    count = 0
    while True:
        try:
            task = tasks.lease(study, worker.id, "evaluate")
        except NotNow:
            return count
        right = answers[task.before, task.after]
        choice = 1 - right if wrong_if(task) else right
        submissions.submit(study, worker.id, task.token, {"choice": str(choice)})
        count += 1


def make_evaluation(make_study, limit=6, votes=3, **settings):
    evaluate = {"data": "open", "limit": limit, **settings}
    return make_study(tasks={"kinds": ["evaluate"], "votes": votes, "twins": 0}, evaluate=evaluate)


def test_people_s_answers_are_audited_like_any_predictions(make_study, crew, tmp_path):
    study = make_evaluation(make_study)

    def has_never(task):
        return "never" in task.before + task.after

    solve_everything(study, crew.newcomer(study))
    for _ in range(2):
        solve_everything(study, crew.newcomer(study), wrong_if=has_never)
    report = export(study, tmp_path)
    assert report.files["predictions.jsonl"] == 6
    assert report.notes == []
    data = winokit.load(tmp_path / "evaluated.jsonl")
    assert data.content_hash == winokit.load("open")[:6].content_hash
    run = winokit.audit(data, predictions=[tmp_path / "predictions.jsonl"])
    wrong_count = sum("never" in problem.text for problem in data)
    assert wrong_count > 0
    accuracy = run.find("accuracy", "all", "accuracy")
    assert (accuracy.model, accuracy.scoring, accuracy.n) == ("people", "majority-of-3", 6)
    assert accuracy.value == pytest.approx(1 - wrong_count / 6)
    assert run.find("groups", "complete", "group_accuracy").n == 3


def test_a_variant_is_solved_and_audited_as_such(make_study, crew, tmp_path):
    study = make_evaluation(make_study, variants=["part-sent"])
    answers = read_answers(study)
    assert 0 < len(answers) <= 6
    original_texts = {problem.text for problem in winokit.load("open")[:6]}
    variant_texts = {f"{before}_{after}" for before, after in answers}
    assert not variant_texts & original_texts
    for _ in range(3):
        solve_everything(study, crew.newcomer(study))
    export(study, tmp_path)
    data = winokit.load(tmp_path / "evaluated.jsonl")
    run = winokit.audit(data, predictions=[tmp_path / "predictions.jsonl"])
    assert run.find("artifacts", "part-sent", "accuracy").value == 1.0


@pytest.mark.parametrize("variant", ["switched", "no-cands", "part-sent", "local-context"])
def test_people_and_models_are_asked_the_same_variants(variant):
    data = winokit.load("open")
    families_and_problems, notes = evaluation_problems(data, [variant])
    problems = [problem for _, problem in families_and_problems]
    audited = TRANSFORMS[variant](data)
    assert winokit.Dataset(problems) == audited.problems
    assert [problem.provenance["of"] for problem in problems] == [
        problem.provenance["of"] for problem in audited.problems
    ]
    assert bool(notes) == bool(audited.refused)
    assert all(f"not made of {len(audited.refused)} of" in note for note in notes)


def test_nobody_sees_a_problem_whole_and_distorted(make_study, crew):
    study = make_evaluation(make_study, limit=4, votes=1, variants=["original", "local-context"])
    people = [crew.newcomer(study) for _ in range(2)]
    assert sum(solve_everything(study, worker) for worker in people) == 8
    with study.store.read() as session:
        rows = session.execute(select(Vote.worker_id, Task.family).join(Task, Task.id == Vote.task_id)).all()
    assert len(set(rows)) == len(rows) == 8


def test_problems_whose_votes_are_out_are_left_out_and_noted(make_study, crew, tmp_path):
    study = make_evaluation(make_study, votes=2)
    solve_everything(study, crew.newcomer(study))
    report = export(study, tmp_path)
    assert report.files["predictions.jsonl"] == 0
    assert report.notes == ["6 problems are left out: they do not have all their votes yet"]


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
    votes = [Vote(choice=choice) for choice in choices]
    decision = majority(row, votes, 3)
    expected_scores = None if scores is None else pytest.approx(scores)
    assert decision.scores == expected_scores
    assert (decision.prediction, decision.why, decision.answer) == (prediction, why, 0)
    write_predictions([decision], tmp_path / "predictions.jsonl")


def test_people_may_say_that_they_cannot_tell_where_the_study_lets_them(make_study, crew):
    study = make_evaluation(make_study, limit=1, abstain=True)
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
        study_folder = init(tmp_path / "study", evaluate=str(source), variant=("part-sent",))
    source.unlink()
    assert study_folder.record["title"] == "People solve twins"
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
        problems = session.scalars(select(ProblemRow).where(ProblemRow.variant == "part-sent")).all()
    study.close()
    assert len(problems) > 200
    assert notes[0].startswith("part-sent: not made of")
