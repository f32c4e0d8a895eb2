"""A transfer trains on each arm and tests on each set, and chooses settings on problems that no test has."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from support.copies import check_not_surer, repeated, thrice

from winokit.answers import Answers, Scorer
from winokit.data.loading import load
from winokit.drawing.page import rendered_plain
from winokit.errors import BadInput
from winokit.methods.metrics.judge import Judge, gender_rows
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.methods.training.evaluation import rows as evaluated_rows
from winokit.methods.training.finetune import TrainOutcome
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Card, Dataset
from winokit.stages.transfer.page import write_transfer_page
from winokit.stages.transfer.run import _build_cell, train_arms
from winokit.stages.transfer.selection import (
    NamedData,
    TrainingArm,
    TransferPlan,
    TransferTarget,
    with_choices,
)
from winokit.stages.transfer.settings import TransferDesign
from winokit.stages.transfer.table import tables_of
from winokit.stages.transfer.verdict import state_of

QUICK = TrainSettings("mc-sent", learning_rate=3e-3, epochs=4, batch_size=8, seed=1, keep="last")
ALL_OVERLAPS = "trained on what overlaps 20 of its 20 problems: 20 same, 0 near, 0 twin"
RULES_OF_PAPERS = {"choice_of": {}, "by_rule": True}


def name_data(name, problems, card=None):
    """Problems as a dataset that a transfer calls by a name."""
    return NamedData(name, Dataset(problems, Card(card or name)))


def flip_answers(dataset):
    """The same problems with every answer the other one, so that anything learned elsewhere is wrong here."""
    return [problem.replace(answer=1 - problem.answer) for problem in dataset]


def hide_answers(dataset):
    return [problem.replace(answer=None) for problem in dataset]


def add_genders(dataset):
    """The same problems with genders in turn and a share of women."""
    problems = []
    for index, problem in enumerate(dataset):
        gender = ("female", "male", "neutral")[index % 3]
        problems.append(problem.with_labels(gender=gender, bls_pct_female=20.0))
    return problems


def read_json(path):
    return json.loads(path.read_text())


def modification_times(paths):
    return {path: path.stat().st_mtime_ns for path in paths}


@pytest.fixture(scope="module")
def choice(unseen):
    """A set to choose settings on."""
    return name_data("choice", unseen[20:])


@pytest.fixture(scope="module")
def targets(unseen, choice):
    """A test set with genders, for which settings are chosen on `choice`."""
    target = name_data("target", add_genders(unseen[:20]))
    return with_choices([target], choice_of={}, pool=[choice])


@pytest.fixture(scope="module")
def trained(bert, planted, choice, targets, tmp_path_factory):
    """A transfer of three arms with two settings to choose from, and its folder."""
    arms = [
        TrainingArm("planted", (planted,)),
        TrainingArm("choice", (choice.data,)),
        TrainingArm("both>planted", (planted[:16], planted[16:])),
    ]
    grid = TransferDesign(learning_rate=(1e-9, 3e-3)).grid(QUICK)
    plan = TransferPlan(bert, grid)
    folder = tmp_path_factory.mktemp("transfer")
    transfer = train_arms(arms, targets, folder, plan, drop_overlap=True)
    transfer.save(folder)
    return transfer, folder


@pytest.fixture(scope="module")
def arm(planted):
    return TrainingArm("planted", (planted,))


@pytest.fixture(scope="module")
def quick_plan(bert):
    return TransferPlan(bert, (QUICK,))


def test_the_setting_is_chosen_where_it_may_be_and_tested_elsewhere(trained):
    transfer, _ = trained
    cell = transfer.cell("planted", "target")
    accuracy = cell.row("accuracy")
    choice_scores = [row.value for row in cell.rows if row.protocol == "choice"]
    assert cell.chosen == 2
    assert choice_scores[1] > choice_scores[0]
    assert accuracy.value > 0.8
    assert accuracy.n == 20
    group_accuracy = cell.row("group_accuracy", "complete", "groups")
    assert group_accuracy.chance == 0.25


def test_an_arm_that_trained_on_what_is_chosen_on_has_an_empty_cell_that_says_why(trained):
    transfer, _ = trained
    cell = transfer.cell("choice", "target")
    assert cell.rows == ()
    assert cell.why == f"would be chosen on choice, and was {ALL_OVERLAPS}"


def test_a_sequence_trains_one_set_after_the_other(trained):
    transfer, folder = trained
    run_folder = folder / "runs" / "both-then-planted" / "setting-2"
    first = read_json(run_folder / "stage-1" / "results.json")["run"]
    second = read_json(run_folder / "stage-2" / "results.json")["run"]
    hashes = [stage.content_hash for stage in transfer.arms[2].stages]
    accuracy = transfer.cell("both>planted", "target").row("accuracy")
    assert second["model"] == f"hf:{run_folder / 'stage-1'}"
    assert [first["train_content"], second["train_content"]] == hashes
    assert accuracy.value > 0.8


NAMES_OF_AN_AUDIT = {
    ("accuracy", "all", "accuracy"),
    ("groups", "complete", "group_accuracy"),
    ("gender", "female", "accuracy"),
    ("gender", "female", "delta"),
    ("gender", "male.not_gotcha", "accuracy"),
    ("gender", "neutral", "accuracy"),
}


def test_rows_have_the_names_of_an_audits(trained):
    _, folder = trained
    results = read_json(folder / "results.json")
    names = {(row["protocol"], row["subset"], row["metric"]) for row in results["metrics"]}
    assert names >= NAMES_OF_AN_AUDIT


def test_results_say_what_was_chosen_and_left_out(trained):
    transfer, folder = trained
    results = read_json(folder / "results.json")
    row = results["metrics"][0]
    empty_cell = transfer.cell("choice", "target")
    assert (row["arm"], row["chosen_on"], row["setting"]) == ("planted", "choice", 2)
    assert results["left_out"] == [{"arm": "choice", "test": "target", "why": empty_cell.why}]


def test_a_transfer_that_is_done_is_not_done_again(trained, targets, bert):
    transfer, folder = trained
    times = modification_times(folder.rglob("curve.json"))
    grid = []
    for setting in transfer.run["settings"]:
        grid.append(TrainSettings(**{**setting, "formalization": "mc-sent"}))
    plan = TransferPlan(bert, tuple(grid))
    repetition = train_arms(transfer.arms, targets, folder, plan, drop_overlap=True)
    assert repetition.metrics == transfer.metrics
    assert modification_times(times) == times


def test_tables_have_the_shape_of_the_papers(trained):
    transfer, _ = trained
    five, groups, six = tables_of(transfer)
    five_heads = [heads for heads, _ in five.lines]
    six_heads = [heads for heads, _ in six.lines[:3]]
    _, cells_of_choice = five.lines[1]
    assert five_heads == [("planted",), ("choice",), ("both>planted",)]
    assert five.columns == groups.columns == ("target",)
    assert cells_of_choice[0].foot == "a"
    assert five.feet == (f"a choice on target: would be chosen on choice, and was {ALL_OVERLAPS}.",)
    assert six.columns == ("female", "male", "neutral", "ΔF", "ΔM")
    assert six_heads == [("planted", "all"), ("", "no"), ("", "yes")]


def test_tables_are_written_as_markdown(trained):
    transfer, _ = trained
    five, _, six = tables_of(transfer)
    text = rendered_plain("stages/transfer/tables.md.j2", tables=[five, six]).decode()
    assert "| trained on | target |" in text
    assert "| choice | – (a) |" in text


def test_the_page_has_tables_and_escapes_names(trained, tmp_path):
    transfer, _ = trained
    hostile = replace(transfer, notes=("<img src=x>",))
    page = write_transfer_page(hostile, tmp_path / "report").read_text()
    accuracy = transfer.cell("planted", "target").row("accuracy")
    tables = (tmp_path / "tables.md").read_text()
    assert f'<data value="{accuracy.value}">' in page
    assert "<img" not in page
    assert tables.startswith("## Accuracy")


def test_weights_can_be_chosen_too_and_each_choice_has_its_own_run(bert, arm, unseen, tmp_path):
    easy = name_data("easy", unseen[:20])
    odd = name_data("odd", flip_answers(unseen[20:]))
    tests = [TransferTarget("one", easy.data, odd), TransferTarget("other", odd.data, easy)]
    plan = TransferPlan(bert, (replace(QUICK, keep="best", evaluate_every=1),))
    transfer = train_arms([arm], tests, tmp_path, plan)
    assert transfer.cell("planted", "other").folder.endswith("chosen-on-easy")
    assert transfer.cell("planted", "one").folder.endswith("chosen-on-odd")
    # What is best where every answer is turned is an early step, which is worse where none is.
    setting_folder = tmp_path / "runs" / "planted" / "setting-1"
    easy_curve = read_json(setting_folder / "chosen-on-easy" / "curve.json")
    odd_curve = read_json(setting_folder / "chosen-on-odd" / "curve.json")
    assert easy_curve["kept_step"] > odd_curve["kept_step"]


def test_with_nothing_to_choose_on_the_last_weights_are_kept(quick_plan, arm, unseen, tmp_path):
    tests = with_choices([name_data("unseen", unseen)], choice_of={})
    transfer = train_arms([arm], tests, tmp_path, quick_plan)
    accuracy = transfer.cell("planted", "unseen").row("accuracy")
    assert accuracy.details["chosen_on"] is None


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        pytest.param(
            TransferDesign(seed=(1, 2)).grid(QUICK),
            "2 settings to choose from and nothing to choose on for unseen",
            id="several settings",
        ),
        pytest.param(
            (replace(QUICK, keep="best"),),
            "weights to choose from and nothing to choose on",
            id="the best weights",
        ),
    ],
)
def test_with_nothing_to_choose_on_no_choice_is_made(grid, message, bert, arm, unseen, tmp_path):
    tests = with_choices([name_data("unseen", unseen)], choice_of={})
    with pytest.raises(BadInput, match=message):
        train_arms([arm], tests, tmp_path, TransferPlan(bert, grid))


def test_choosing_on_what_is_tested_is_refused(unseen, planted):
    target = name_data("target", unseen)
    same = name_data("same", unseen)
    some = name_data("some", [*unseen[:3], *planted])
    hidden = name_data("hidden", hide_answers(planted))
    cases = (
        (same, "overlaps .*: 40 same, 0 near, 0 twin of its 40 problems .*; all of it overlaps"),
        (some, "overlaps .*: 3 same, 0 near, 1 twin of its 40 problems .*--drop-overlap leaves 3 out"),
        (hidden, "hidden: 64 of 64 problems have no answer"),
    )
    for choice, message in cases:
        with pytest.raises(BadInput, match=message) as refusal:
            with_choices([target], choice_of={}, pool=[choice])
        assert "\n" not in str(refusal.value)


def test_a_choice_must_be_one_and_for_a_test_set_that_is_there(unseen, planted):
    target = name_data("target", unseen)
    choices = [name_data("a", planted), name_data("b", planted)]
    with pytest.raises(BadInput, match="several sets to choose on"):
        with_choices([target], choice_of={}, pool=choices)
    with pytest.raises(BadInput, match="no test set of that name; known: target"):
        with_choices([target], choice_of={"tarket": choices[0]})


def test_the_papers_choose_wsc_on_pdp_and_pdp_on_wsc(unseen, planted):
    wsc = name_data("WSC", unseen, "wsc273")
    pdp = name_data("PDP", planted, "pdp")
    targets = with_choices([wsc, pdp], **RULES_OF_PAPERS)
    assert [target.chosen_on.name for target in targets] == ["PDP", "WSC"]


def test_the_papers_choose_winogender_on_winogrande(unseen, planted):
    wsc = name_data("WSC", unseen, "wsc273")
    pdp = name_data("PDP", planted, "pdp")
    winogender = name_data("gender", unseen, "winogender/all_sentences")
    winogrande = name_data("wg", planted, "winogrande/dev")
    (target,) = with_choices([winogender], pool=[pdp, winogrande], **RULES_OF_PAPERS)
    assert target.chosen_on.name == "wg"
    with pytest.raises(BadInput, match="gender: the papers choose on WinoGrande's dev set: give it with --choose"):
        with_choices([winogender], pool=[wsc], **RULES_OF_PAPERS)


def test_the_papers_have_no_rule_for_other_data(unseen):
    with pytest.raises(BadInput, match="the papers have no rule for mine"):
        with_choices([name_data("mine", unseen)], **RULES_OF_PAPERS)


TEST_FILES = {
    "pdp": "pdp/PDPChallenge2016.xml",
    "dpr": "dpr/test.c.txt",
    "copa": "copa/copa-test.xml",
    "knowref": "knowref/knowref_test.json",
    "winogender": "winogender/all_sentences.tsv",
}
CHOICE_FILES = ("dpr/train.c.txt", "copa/copa-dev.xml", "winogrande/dev.jsonl")


def load_wsc(real_file):
    path = real_file("wsc/WSCollection.xml")
    return NamedData("wsc", load(f"wsc273:{path}"))


def test_the_public_sets_are_told_apart_as_the_papers_rules_need(real_file):
    tests = [load_wsc(real_file)]
    for name, file in TEST_FILES.items():
        tests.append(NamedData(name, load(real_file(file))))
    pool = []
    for file in CHOICE_FILES:
        data = load(real_file(file))
        pool.append(NamedData(data.card.name, data))
    with pytest.raises(BadInput, match="dpr/train, to choose on, overlaps dpr/test: 0 same, 1 near, 0 twin"):
        with_choices(tests, pool=pool, **RULES_OF_PAPERS)
    targets = with_choices(tests, pool=pool, drop_overlap=True, **RULES_OF_PAPERS)
    dpr = targets[2]
    chosen_on = {target.name: target.chosen_on.name for target in targets}
    assert chosen_on == {
        "wsc": "pdp",
        "pdp": "wsc",
        "dpr": "dpr/train without dpr",
        "copa": "copa/copa-dev",
        "knowref": "winogrande/dev",
        "winogender": "winogrande/dev",
    }
    assert dpr.dropped == {"same": 0, "near": 1, "twin": 0}
    assert len(dpr.chosen_on.data) == 1321


def test_superglues_training_set_cannot_choose_for_wsc273(real_file):
    superglue = NamedData("sg", load(real_file("superglue-wsc/train.jsonl")))
    message = "superglue-wsc/train, to choose on, overlaps wsc273: 215 same, 5 near, 9 twin of its 273"
    with pytest.raises(BadInput, match=message):
        with_choices([load_wsc(real_file)], choice_of={}, pool=[superglue])


def test_training_problems_of_a_test_set_are_left_out_where_asked(quick_plan, planted, unseen, tmp_path):
    mixed = Dataset([*planted, *unseen[:4]], Card("mixed"))
    arms = [TrainingArm("mixed", (mixed,))]
    tests = with_choices([name_data("unseen", unseen)], choice_of={})
    message = "mixed on unseen: trained on what overlaps 4 of its 40 problems: 4 same, 0 near, 0 twin"
    with pytest.raises(BadInput, match=message):
        train_arms(arms, tests, tmp_path / "a", quick_plan)
    transfer = train_arms(arms, tests, tmp_path / "b", quick_plan, drop_overlap=True)
    assert transfer.cell("mixed", "unseen").row("accuracy") is not None
    assert "mixed: left out for unseen: 4 same, 0 near, 0 twin" in transfer.notes
    overlap = {"same": 4, "near": 0, "twin": 0}
    assert transfer.run["dropped"] == {"mixed": {"mixed for unseen": overlap}}


def test_an_arm_that_is_a_test_set_keeps_its_problems_and_is_not_tested_on_it(planted, unseen):
    mixed = Dataset([*planted, *unseen[:4]], Card("mixed"))
    sequence = TrainingArm("seq", (unseen, mixed))
    without_overlap = sequence.without([unseen])
    assert [len(stage) for stage in without_overlap.stages] == [40, 64]


def test_hidden_answers_are_predicted_and_not_scored(quick_plan, arm, unseen, tmp_path):
    hidden = name_data("hidden", hide_answers(unseen))
    transfer = train_arms([arm], with_choices([hidden], choice_of={}), tmp_path, quick_plan)
    path = tmp_path / "runs/planted/setting-1/predictions/hidden.jsonl"
    lines = path.read_text().splitlines()
    cell = transfer.cell("planted", "hidden")
    assert cell.why == "its answers are hidden; predictions are in the run's folder"
    assert len(lines) == 40


def test_names_must_tell_arms_and_sets_apart(quick_plan, planted, unseen, tmp_path):
    arm = TrainingArm("a", (planted,))
    tests = with_choices([name_data("t", unseen)], choice_of={})
    same_name = TransferTarget("t", unseen, name_data("t", planted[:4]))
    cases = (
        ([arm, arm], tests, "two arms named a"),
        ([arm], [*tests, *tests], "two test sets named t"),
        ([], tests, "no arms"),
        ([arm], [same_name], "two sets named t"),
    )
    for arms, targets, message in cases:
        with pytest.raises(BadInput, match=message):
            train_arms(arms, targets, tmp_path, quick_plan)


def tabulate_gender_rows(data, choices):
    """Rows by gender of a model with these choices, by subset and metric."""
    judge = Judge("w", Scorer("m", "p-span"))
    rows = gender_rows(judge, Answers.of_choices(data, choices), None)
    return {(row.subset, row.metric): row for row in rows}


def choose_by_statistics(problem):
    """Choose the occupation if its share of women goes with the pronoun's gender, else the participant."""
    is_female_occupation = problem.labels["bls_pct_female"] >= 50
    is_female_pronoun = problem.labels["gender"] == "female"
    return 0 if is_female_occupation == is_female_pronoun else 1


def test_gaps_are_the_accuracy_without_gotchas_minus_that_with(real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    choices = [choose_by_statistics(problem) for problem in data]
    rows = tabulate_gender_rows(data, choices)
    for gender in ("female", "male"):
        gotcha = rows[f"{gender}.gotcha", "accuracy"]
        not_gotcha = rows[f"{gender}.not_gotcha", "accuracy"]
        assert rows[gender, "delta"].value == 1.0
        assert gotcha.value == 0.0
        assert not_gotcha.n == gotcha.n == 120
    neutral = rows["neutral", "accuracy"]
    assert neutral.n == 240
    assert neutral.chance == 0.5


def test_who_abstains_is_held_against_guessing_that_abstains_as_often(real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    choices = [problem.answer for problem in data]
    choices[::4] = [None] * len(choices[::4])
    female = tabulate_gender_rows(data, choices)["female", "accuracy"]
    assert female.chance == pytest.approx(female.value / 2)


def build_cell(data, choices, folder):
    """The cell of a training run with these choices."""
    predictions = []
    for problem, choice in zip(data, choices, strict=True):
        predictions.append(Prediction(problem.id, "original", "m", "mc-sent", None, choice, problem.answer))
    write_predictions(predictions, folder / "predictions" / "test.jsonl")
    name = data.card.name
    outcome = TrainOutcome(folder, {}, evaluated_rows(data, predictions, "test"))
    arm = TrainingArm("arm", ())
    target = TransferTarget(name, data)
    return _build_cell(arm, target, [{name: outcome}], "m")


def state_of_cell(cell):
    """The facts of a transfer that has this cell alone."""
    test = SimpleNamespace(name="test")
    transfer = SimpleNamespace(cells=[cell], tests=[test], warnings=())
    return state_of(transfer)


@pytest.mark.parametrize("skill", [0.5, 0.7, 0.9])
def test_problems_that_are_written_three_times_make_no_cell_surer(skill, tmp_path):
    problems = add_genders(load("open")[:60])
    data = Dataset(problems, Card("test"))
    rng = np.random.default_rng(4)
    choices = []
    for problem in data:
        is_right = rng.random() < skill
        choices.append(problem.answer if is_right else 1 - problem.answer)
    cell = build_cell(data, choices, tmp_path / "once")
    cell_of_copies = build_cell(thrice(data), repeated(choices), tmp_path / "thrice")
    check_not_surer(cell.rows, cell_of_copies.rows)
    protocols = {row.protocol for row in cell.rows}
    assert protocols == {"accuracy", "groups", "gender"}
    assert state_of_cell(cell) == state_of_cell(cell_of_copies)
