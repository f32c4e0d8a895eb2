"""Existing data can be judged with `collect init --judge`, and the labels join back to it."""

import json

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

import winokit
from winokit import Card, Dataset, Problem, load, write
from winokit.extend import BadInput, telling
from winokit_collect import commands as cli
from winokit_collect import verbs
from winokit_collect.study import new_tasks, progress, submissions, tasks
from winokit_collect.study.new_tasks import draw_groups
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import Lease, ProblemRow, Task
from winokit_collect.study.study import Study

BOTH = ("switchable", "associative")
WHOLE = Dataset([Problem.whole(["She sleep.", "She sleeps."], 1)], Card("pairs"))
OPEN = load("open")
HIDDEN = OPEN[:4].with_problems([problem.replace(answer=None) for problem in OPEN[:4]])
UNNAMED = Dataset([Problem("Yesterday it rained and ", " was wet.", ("the dog", "the cat"), 0)], Card("unnamed"))
FINNISH_PROBLEM = Problem("Kissa näki koiran, koska ", " oli pihalla.", ("kissa", "koira"), 0, language="fi")
FOREIGN = Dataset([FINNISH_PROBLEM], Card("finnish", language="fi"))


def open_study(folder):
    """Open the study of a folder, without its quiz and without blocks by gold questions."""
    path = folder / "study.toml"
    text = path.read_text().replace("quiz_pass_mark = 0.8", "quiz_pass_mark = 0")
    path.write_text(text.replace("block_by_gold = true", "block_by_gold = false"))
    return Study.open(folder)


def export_labels(study):
    """Close a study and export it, and return the path of its labels."""
    study.close()
    verbs.export(study.folder)
    return study.folder / "export" / "labels.jsonl"


def judge_everything(study, crew, judge_problem, people=4):
    """Let new workers judge until nothing is left.

    `judge_problem` gives the fields of a vote for a kind of task and the public id of a problem.
    """
    public_ids = {row.id: row.public_id for row in _read_problems(study)}
    judges = [crew.newcomer(study) for _ in range(people)]
    for kind in sorted(study.config.tasks.kinds):  # clauses before whole texts
        for judge in judges:
            while True:
                try:
                    token = tasks.take(study, judge.id, kind)
                except NotNow:
                    break
                with study.store.read() as session:
                    problem_id = session.scalar(select(Task.problem_id).join(Lease).where(Lease.token == token))
                submissions.submit(study, judge.id, token, judge_problem(kind, public_ids[problem_id]))


def answer_yes_or_no(is_yes):
    return {"choice": "yes" if is_yes else "no"}


def confirm_answer(answer, *, is_ambiguous):
    """The fields of a vote for an answer that finds both candidates plausible if it is ambiguous."""
    return {
        "choice": str(answer),
        "equally_plausible": "yes" if is_ambiguous else "no",
        "local_decides": "no",
    }


def test_labels_by_people_join_back_to_the_data(tmp_path, crew):
    data = draw_groups(load("open"), 20, 0)
    plain = data.with_problems([problem.replace(labels={}) for problem in data])
    write(plain, tmp_path / "data.jsonl")
    verbs.init(tmp_path / "study", judge=str(tmp_path / "data.jsonl"), kind=BOTH)
    study = open_study(tmp_path / "study")
    true_labels = {problem.id: problem.labels for problem in data}
    judge_everything(study, crew, lambda kind, name: answer_yes_or_no(true_labels[name][kind]))
    agreement = progress.snapshot(study).agreement
    assert [(row.kappa, row.ac1) for row in agreement] == [(1, 1)] * 2
    labels = export_labels(study)
    joined = load(str(tmp_path / "data.jsonl"), labels=[labels])
    assert len(joined) == 20
    for problem in joined:
        for kind in BOTH:
            true_label = true_labels[problem.id][kind]
            assert problem.labels.get(kind, true_label) == true_label
    assert sum("switchable" in problem.labels for problem in joined) >= 18
    report = json.loads((labels.parent / "study.json").read_text())
    assert all(row["kappa_low"] < row["kappa_high"] == 1.0 for row in report["agreement"])


def test_labels_of_texts_that_occur_twice_are_joined_by_id(tmp_path):
    first = OPEN.problems[0].replace(labels={}, group=None)
    second = first.replace(occurrence=2)
    write(Dataset([first, second], Card("twice")), tmp_path / "data.jsonl")
    judged = [first.with_labels(switchable=True), second.with_labels(switchable=False)]
    write(Dataset(judged, Card("labels")), tmp_path / "labels.jsonl")
    joined = load(str(tmp_path / "data.jsonl"), labels=[tmp_path / "labels.jsonl"])
    assert [problem.labels.get("switchable") for problem in joined] == [True, False]


def test_labels_that_the_data_had_are_kept_as_reference(tmp_path, crew):
    verbs.init(tmp_path / "study", judge="open", kind=("switchable",), limit=10, votes=2)
    study = open_study(tmp_path / "study")
    judge_everything(study, crew, lambda kind, name: {"choice": "no"})
    judged = load(str(export_labels(study)))
    references = {problem.id: {"switchable": problem.labels["switchable"]} for problem in load("open")}
    assert {problem.labels["switchable"] for problem in judged if "switchable" in problem.labels} == {False}
    assert all(problem.provenance["reference"] == references[problem.id] for problem in judged)


def test_twins_that_exist_are_validated(tmp_path, crew):
    verbs.init(tmp_path / "study", judge="open", kind=("validate",), limit=8, votes=2)
    study = open_study(tmp_path / "study")
    answers = {problem.id: problem.answer for problem in load("open")}
    doubtful = min(answers.keys() & {row.public_id for row in _read_problems(study)})

    def judge_problem(kind, name):
        return confirm_answer(answers[name], is_ambiguous=name == doubtful)

    judge_everything(study, crew, judge_problem)
    judged = load(str(export_labels(study)))
    assert len(judged) == 8
    for problem in judged:
        assert problem.labels["valid"] == (problem.id != doubtful)
    assert [len(members) for members in judged.groups.values()] == [2] * 4


def test_a_queue_of_suspects_comes_back_as_errata(tmp_path, crew):
    swapped = OPEN[0].replace(answer=1 - OPEN[0].answer)
    suspects = OPEN[:4].with_problems([swapped, *OPEN[1:4]])
    write(suspects, tmp_path / "suspects.jsonl")
    verbs.init(tmp_path / "study", judge=str(tmp_path / "suspects.jsonl"), kind=("validate", "switchable"), votes=2)
    study = open_study(tmp_path / "study")
    answers = {problem.id: problem.answer for problem in OPEN[:4]}
    doubtful = OPEN[3].id

    def judge_problem(kind, name):
        if kind == "switchable":
            return answer_yes_or_no(True)
        return confirm_answer(answers[name], is_ambiguous=name == doubtful)

    judge_everything(study, crew, judge_problem)
    labels = export_labels(study)
    board = tmp_path / "board.csv"
    board.write_text("model,0,1\na,1,0\nb,0,1\n")
    run = winokit.items(suspects, board, votes=labels, out=tmp_path / "items")
    corrected = winokit.load(str(tmp_path / "suspects.jsonl"), errata=run.errata)
    with_errata = [problem for problem in corrected if "erratum" in problem.labels]
    errata = {problem.id: problem.labels["erratum"] for problem in with_errata}
    assert errata == {swapped.id: "wrong label (2 of 2 people)", doubtful: "ambiguous (2 of 2 people)"}


def _read_problems(study):
    with study.store.read() as session:
        return session.scalars(select(ProblemRow)).all()


def test_a_limit_draws_whole_groups(tmp_path):
    sample = draw_groups(load("open"), 31, 0)
    assert len(sample) == 30
    assert {len(members) for members in sample.groups.values()} == {2}
    assert draw_groups(load("open"), 31, 1).problems != sample.problems
    with pytest.raises(BadInput, match="the smallest has 2"):
        draw_groups(load("open"), 1, 0)


def test_trichelairs_study_gives_trichelairs_subsets(tmp_path, crew, real_file):
    """Judges who repeat the published labels give the audit 131 switchable and 37 associative problems."""
    data = f"wsc273:{real_file('wsc/WSCollection.xml')}"
    files = [real_file(f"trichelair/WSC_{name}_label.json") for name in ("switched", "associative")]
    labelled = load(data, labels=files)
    write(labelled, tmp_path / "wsc.jsonl")  # with the sentences that they switched
    verbs.init(tmp_path / "study", judge=str(tmp_path / "wsc.jsonl"), kind=BOTH, votes=2)
    study = open_study(tmp_path / "study")
    true_labels = {problem.id: problem.labels for problem in labelled}
    judge_everything(study, crew, lambda kind, name: answer_yes_or_no(true_labels[name][kind]), people=2)
    run = winokit.audit(data, model="random", labels=[export_labels(study)])
    sizes = {(row.protocol, row.subset): row.n for row in run.metrics if row.metric == "accuracy"}
    assert sizes["switching", "switchable"] == 131
    assert sizes["association", "associative"] == 37


@pytest.mark.parametrize(
    ("data", "kind", "complaint"),
    [
        (HIDDEN, "validate", "no problem can be used for validate judgements: it has no answer"),
        (
            UNNAMED,
            "switchable",
            "no problem can be used for switchable judgements: a candidate is not named",
        ),
        (WHOLE, "validate", "no problem can be used for validate judgements: whole texts"),
        (FOREIGN, "switchable", "no problem can be used for switchable judgements"),
    ],
)
def test_data_that_cannot_be_judged_is_refused_before_anything_is_written(tmp_path, data, kind, complaint):
    write(data, tmp_path / "data.jsonl")
    with pytest.raises(BadInput, match=complaint):
        verbs.init(tmp_path / "study", judge=str(tmp_path / "data.jsonl"), kind=(kind,))
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--judge", "open"], "--judge requires --kind"),
        (["--judge", "open", "--kind", "write"], "--judge requires --kind"),
        (["--judge", "open", "--kind", "validate", "--kind", "validate"], "each kind of task may appear only once"),
        (["--judge", "open", "--kind", "validate", "--evaluate", "open"], "--evaluate cannot be combined"),
        (["--judge", "open", "--kind", "validate", "--adversary", "builtin"], "does not take --adversary"),
        (["--judge", "open", "--kind", "validate", "--variant", "switched"], "--variant rewrites a dataset"),
        (["--kind", "validate"], "the data to judge"),
        (["--limit", "5"], "--limit requires data"),
    ],
)
def test_what_does_not_go_together_is_one_line(tmp_path, options, complaint):
    with pytest.raises(BadInput, match=complaint):  # which `winokit` prints as one line
        CliRunner().invoke(cli.app, ["init", str(tmp_path / "study"), *options], catch_exceptions=False)
    assert not (tmp_path / "study").exists()


def test_data_in_several_languages_is_asked_about_in_one_that_was_said(tmp_path):
    texts = {"en": "The cup does not fit in the bag since _ is big.", "fr": "La coupe ne va pas, car _ est grande."}
    problems = []
    for code, text in texts.items():
        before, after = text.split("_")
        problems.append(Problem(before, after, ("la coupe", "le sac"), 0, language=code))
    write(Dataset(problems, Card("both")), tmp_path / "both.jsonl")
    with pytest.raises(BadInput, match="in en, fr; choose one with --language"):
        verbs.init(tmp_path / "study", judge=str(tmp_path / "both.jsonl"), kind=("validate",))
    verbs.init(tmp_path / "study", judge=str(tmp_path / "both.jsonl"), kind=("validate",), language="fr")
    assert load(tmp_path / "study" / new_tasks.DATA).languages == ("fr",)
    notes: list[str] = []
    with telling(notes.append):
        verbs.init(tmp_path / "german", judge="open", kind=("validate",), language="de", limit=4)
    assert "looks like English" in notes[0]
