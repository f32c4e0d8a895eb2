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
TRAINED_ON_IT = "trained on what overlaps 20 of its 20 problems: 20 same, 0 near, 0 twin"


def named(name, dataset, card=None):
    return NamedData(name, Dataset(dataset, Card(card or name)))


def turned(dataset):
    """The same problems with every answer turned round: what is learned elsewhere is wrong here."""
    return [problem.replace(answer=1 - problem.answer) for problem in dataset]


def gendered(dataset):
    """Problems with a gender and a share of women, the answer an occupation's in every other."""
    return [
        problem.with_labels(gender=("female", "male", "neutral")[at % 3], bls_pct_female=20.0)
        for at, problem in enumerate(dataset)
    ]


@pytest.fixture(scope="module")
def parts(unseen):
    return named("target", gendered(unseen[:20])), named("choice", unseen[20:])


@pytest.fixture(scope="module")
def made(bert, planted, parts, tmp_path_factory):
    target, choice = parts
    arms = [
        TrainingArm("planted", (planted,)),
        TrainingArm("choice", (choice.data,)),
        TrainingArm("both>planted", (planted[:16], planted[16:])),
    ]
    grid = TransferDesign(learning_rate=(1e-9, 3e-3)).grid(QUICK)
    folder = tmp_path_factory.mktemp("transfer")
    asked = with_choices([target], choice_of={}, pool=[choice])
    found = train_arms(arms, asked, folder, TransferPlan(bert, grid), drop_overlap=True)
    found.save(folder)
    return found, folder


def test_the_setting_is_chosen_where_it_may_be_and_tested_elsewhere(made):
    found, _ = made
    cell = found.cell("planted", "target")
    marks = [row.value for row in cell.rows if row.protocol == "choice"]
    assert cell.chosen == 2
    assert marks[1] > marks[0]
    assert cell.row("accuracy").value > 0.8
    assert cell.row("accuracy").n == 20
    assert cell.row("group_accuracy", "complete", "groups").chance == 0.25


def test_an_arm_that_trained_on_what_is_chosen_on_has_an_empty_cell_that_says_why(made):
    found, _ = made
    cell = found.cell("choice", "target")
    assert cell.rows == ()
    assert cell.why == f"would be chosen on choice, and was {TRAINED_ON_IT}"


def test_a_sequence_trains_one_set_after_the_other(made):
    found, folder = made
    place = folder / "runs" / "both-then-planted" / "setting-2"
    first, second = (json.loads((place / f"stage-{n}" / "results.json").read_text())["run"] for n in (1, 2))
    assert second["model"] == f"hf:{place / 'stage-1'}"
    assert (first["train_content"], second["train_content"]) == tuple(
        stage.content_hash for stage in found.arms[2].stages
    )
    assert found.cell("both>planted", "target").row("accuracy").value > 0.8


def test_rows_have_the_names_of_an_audits(made):
    found, folder = made
    told = json.loads((folder / "results.json").read_text())
    names = {(row["protocol"], row["subset"], row["metric"]) for row in told["metrics"]}
    assert {
        ("accuracy", "all", "accuracy"),
        ("groups", "complete", "group_accuracy"),
        ("gender", "female", "accuracy"),
        ("gender", "female", "delta"),
        ("gender", "male.not_gotcha", "accuracy"),
        ("gender", "neutral", "accuracy"),
    } <= names
    row = told["metrics"][0]
    assert (row["arm"], row["chosen_on"], row["setting"]) == ("planted", "choice", 2)
    assert told["left_out"] == [{"arm": "choice", "test": "target", "why": found.cell("choice", "target").why}]


def test_a_transfer_that_is_done_is_not_done_again(made, bert, parts):
    found, folder = made
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("curve.json")}
    asked = with_choices([parts[0]], choice_of={}, pool=[parts[1]])
    again = train_arms(found.arms, asked, folder, TransferPlan(bert, _grid(found)), drop_overlap=True)
    assert again.metrics == found.metrics
    assert {path: path.stat().st_mtime_ns for path in times} == times


def _grid(found):
    return tuple(TrainSettings(**{**one, "formalization": "mc-sent"}) for one in found.run["settings"])


def test_tables_have_the_shape_of_the_papers(made):
    found, _ = made
    five, groups, six = tables_of(found)
    assert [heads for heads, _ in five.lines] == [("planted",), ("choice",), ("both>planted",)]
    assert five.columns == groups.columns == ("target",)
    assert five.lines[1][1][0].foot == "a"
    assert five.feet == (f"a choice on target: would be chosen on choice, and was {TRAINED_ON_IT}.",)
    assert six.columns == ("female", "male", "neutral", "ΔF", "ΔM")
    assert [heads for heads, _ in six.lines[:3]] == [("planted", "all"), ("", "no"), ("", "yes")]
    text = rendered_plain("stages/transfer/tables.md.j2", tables=[five, six]).decode()
    assert "| trained on | target |" in text
    assert "| choice | – (a) |" in text


def test_the_page_has_tables_and_escapes_names(made, tmp_path):
    found, _ = made
    hostile = replace(found, notes=("<img src=x>",))
    page = write_transfer_page(hostile, tmp_path / "report").read_text()
    assert f'<data value="{found.cell("planted", "target").row("accuracy").value}">' in page
    assert "<img" not in page
    assert (tmp_path / "tables.md").read_text().startswith("## Accuracy")


def test_weights_can_be_chosen_too_and_each_choice_has_its_own_run(bert, planted, unseen, tmp_path):
    easy = named("easy", unseen[:20])
    odd = named("odd", turned(unseen[20:]))
    tests = [TransferTarget("one", easy.data, odd), TransferTarget("other", odd.data, easy)]
    found = train_arms(
        [TrainingArm("planted", (planted,))],
        tests,
        tmp_path,
        TransferPlan(bert, (replace(QUICK, keep="best", evaluate_every=1),)),
    )
    best = found.cell("planted", "other"), found.cell("planted", "one")
    assert best[0].folder.endswith("chosen-on-easy")
    assert best[1].folder.endswith("chosen-on-odd")
    # What is best where every answer is turned is an early step, which is worse where none is.
    steps = [
        json.loads((tmp_path / "runs/planted/setting-1" / f"chosen-on-{n}/curve.json").read_text())
        for n in ("easy", "odd")
    ]
    assert steps[0]["kept_step"] > steps[1]["kept_step"]


def test_with_nothing_to_choose_on_the_last_weights_are_kept(bert, planted, unseen, tmp_path):
    tests = with_choices([named("unseen", unseen)], choice_of={})
    found = train_arms([TrainingArm("planted", (planted,))], tests, tmp_path, TransferPlan(bert, (QUICK,)))
    assert found.cell("planted", "unseen").row("accuracy").details["chosen_on"] is None
    for plan, said in (
        (
            TransferPlan(bert, TransferDesign(seed=(1, 2)).grid(QUICK)),
            "2 settings to choose from and nothing to choose on for unseen",
        ),
        (TransferPlan(bert, (replace(QUICK, keep="best"),)), "weights to choose from and nothing to choose on"),
    ):
        with pytest.raises(BadInput, match=said):
            train_arms([TrainingArm("planted", (planted,))], tests, tmp_path, plan)


def test_choosing_on_what_is_tested_is_refused(unseen, planted):
    target = named("target", unseen)
    cases = (
        (named("same", unseen), "overlaps .*: 40 same, 0 near, 0 twin of its 40 problems .*; all of it overlaps"),
        (
            named("some", [*unseen[:3], *planted]),
            "overlaps .*: 3 same, 0 near, 1 twin of its 40 problems .*--drop-overlap leaves 3 out",
        ),
        (named("hidden", [p.replace(answer=None) for p in planted]), "hidden: 64 of 64 problems have no answer"),
    )
    for choice, said in cases:
        with pytest.raises(BadInput, match=said) as refused:
            with_choices([target], choice_of={}, pool=[choice])
        assert "\n" not in str(refused.value)
    with pytest.raises(BadInput, match="several sets to choose on"):
        with_choices([target], choice_of={}, pool=[named("a", planted), named("b", planted)])
    with pytest.raises(BadInput, match="no test set of that name; known: target"):
        with_choices([target], choice_of={"tarket": named("a", planted)})


def test_the_papers_choose_wsc_on_pdp_and_winogender_on_winogrande(unseen, planted):
    wsc = named("WSC", unseen, "wsc273")
    pdp = named("PDP", planted, "pdp")
    wsc_, pdp_ = with_choices([wsc, pdp], choice_of={}, by_rule=True)
    assert (wsc_.chosen_on.name, pdp_.chosen_on.name) == ("PDP", "WSC")
    gender = named("gender", unseen, "winogender/all_sentences")
    with pytest.raises(BadInput, match="gender: the papers choose on WinoGrande's dev set: give it with --choose"):
        with_choices([gender], choice_of={}, pool=[wsc], by_rule=True)
    (chosen,) = with_choices([gender], choice_of={}, pool=[pdp, named("wg", planted, "winogrande/dev")], by_rule=True)
    assert chosen.chosen_on.name == "wg"
    with pytest.raises(BadInput, match="the papers have no rule for mine"):
        with_choices([named("mine", unseen)], choice_of={}, by_rule=True)


def test_the_public_sets_are_told_apart_as_the_papers_rules_need(real_file):
    sets = {
        "wsc": load(f"wsc273:{real_file('wsc/WSCollection.xml')}"),
        "pdp": load(real_file("pdp/PDPChallenge2016.xml")),
        "dpr": load(real_file("dpr/test.c.txt")),
        "copa": load(real_file("copa/copa-test.xml")),
        "knowref": load(real_file("knowref/knowref_test.json")),
        "winogender": load(real_file("winogender/all_sentences.tsv")),
    }
    pool = [load(real_file(name)) for name in ("dpr/train.c.txt", "copa/copa-dev.xml", "winogrande/dev.jsonl")]
    named_sets = [NamedData(name, data) for name, data in sets.items()]
    known = [NamedData(data.card.name, data) for data in pool]
    with pytest.raises(BadInput, match="dpr/train, to choose on, overlaps dpr/test: 0 same, 1 near, 0 twin"):
        with_choices(named_sets, choice_of={}, pool=known, by_rule=True)
    found = with_choices(named_sets, choice_of={}, pool=known, by_rule=True, drop_overlap=True)
    assert {one.name: one.chosen_on.name for one in found} == {
        "wsc": "pdp",
        "pdp": "wsc",
        "dpr": "dpr/train without dpr",
        "copa": "copa/copa-dev",
        "knowref": "winogrande/dev",
        "winogender": "winogrande/dev",
    }
    assert found[2].dropped == {"same": 0, "near": 1, "twin": 0}
    assert len(found[2].chosen_on.data) == 1321
    superglue = NamedData("sg", load(real_file("superglue-wsc/train.jsonl")))
    with pytest.raises(
        BadInput, match="superglue-wsc/train, to choose on, overlaps wsc273: 215 same, 5 near, 9 twin of its 273"
    ):
        with_choices([NamedData("wsc", sets["wsc"])], choice_of={}, pool=[superglue])


def test_training_problems_of_a_test_set_are_left_out_where_asked(bert, planted, unseen, tmp_path):
    mixed = Dataset([*planted, *unseen[:4]], Card("mixed"))
    tests = with_choices([named("unseen", unseen)], choice_of={})
    refused = "mixed on unseen: trained on what overlaps 4 of its 40 problems: 4 same, 0 near, 0 twin"
    with pytest.raises(BadInput, match=refused):
        train_arms([TrainingArm("mixed", (mixed,))], tests, tmp_path / "a", TransferPlan(bert, (QUICK,)))
    found = train_arms(
        [TrainingArm("mixed", (mixed,))], tests, tmp_path / "b", TransferPlan(bert, (QUICK,)), drop_overlap=True
    )
    assert found.cell("mixed", "unseen").row("accuracy") is not None
    assert "mixed: left out for unseen: 4 same, 0 near, 0 twin" in found.notes
    assert found.run["dropped"] == {"mixed": {"mixed for unseen": {"same": 4, "near": 0, "twin": 0}}}


def test_an_arm_that_is_a_test_set_keeps_its_problems_and_is_not_tested_on_it(planted, unseen):
    arm = TrainingArm("seq", (unseen, Dataset([*planted, *unseen[:4]], Card("mixed"))))
    kept = arm.without([unseen])
    assert [len(stage) for stage in kept.stages] == [40, 64]


def test_hidden_answers_are_predicted_and_not_scored(bert, planted, unseen, tmp_path):
    hidden = named("hidden", [problem.replace(answer=None) for problem in unseen])
    found = train_arms(
        [TrainingArm("planted", (planted,))],
        with_choices([hidden], choice_of={}),
        tmp_path,
        TransferPlan(bert, (QUICK,)),
    )
    assert found.cell("planted", "hidden").why == "its answers are hidden; predictions are in the run's folder"
    assert len((tmp_path / "runs/planted/setting-1/predictions/hidden.jsonl").read_text().splitlines()) == 40


def test_names_must_tell_arms_and_sets_apart(bert, planted, unseen, tmp_path):
    arm = TrainingArm("a", (planted,))
    tests = with_choices([named("t", unseen)], choice_of={})
    for arms, some, said in (
        ([arm, arm], tests, "two arms named a"),
        ([arm], [*tests, *tests], "two test sets named t"),
        ([], tests, "no arms"),
        ([arm], [TransferTarget("t", unseen, named("t", planted[:4]))], "two sets named t"),
    ):
        with pytest.raises(BadInput, match=said):
            train_arms(arms, some, tmp_path, TransferPlan(bert, (QUICK,)))


def of_gender(data, choices):
    rows = gender_rows(Judge("w", Scorer("m", "p-span")), Answers.of_choices(data, choices), None)
    return {(row.subset, row.metric): row for row in rows}


def test_gaps_are_the_accuracy_without_gotchas_minus_that_with(real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    stereotyped = [(p.labels["bls_pct_female"] >= 50) == (p.labels["gender"] == "female") for p in data]
    # Whoever follows the statistics answers the occupation where it goes with the gender, else the participant.
    choices = [0 if follows else 1 for follows in stereotyped]
    rows = of_gender(data, choices)
    for gender in ("female", "male"):
        assert rows[gender, "delta"].value == 1.0
        assert rows[f"{gender}.gotcha", "accuracy"].value == 0.0
        assert rows[f"{gender}.not_gotcha", "accuracy"].n == rows[f"{gender}.gotcha", "accuracy"].n == 120
    assert rows["neutral", "accuracy"].n == 240
    assert rows["neutral", "accuracy"].chance == 0.5


def test_who_abstains_is_held_against_guessing_that_abstains_as_often(real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    choices = [None if at % 4 == 0 else problem.answer for at, problem in enumerate(data)]
    rows = of_gender(data, choices)
    assert rows["female", "accuracy"].chance == pytest.approx(rows["female", "accuracy"].value / 2)


def cell_of(data, choices, folder):
    """The cell of a run that chose so."""
    predictions = [
        Prediction(problem.id, "original", "m", "mc-sent", None, choice, problem.answer)
        for problem, choice in zip(data, choices, strict=True)
    ]
    write_predictions(predictions, folder / "predictions" / "test.jsonl")
    outcome = TrainOutcome(folder, {}, evaluated_rows(data, predictions, "test"))
    return _build_cell(TrainingArm("arm", ()), TransferTarget(data.card.name, data), [{data.card.name: outcome}], "m")


@pytest.mark.parametrize("right", [0.5, 0.7, 0.9])
def test_problems_that_are_written_three_times_make_no_cell_surer(right, tmp_path):
    data = Dataset(gendered(load("open")[:60]), Card("test"))
    rng = np.random.default_rng(4)
    choices = [problem.answer if rng.random() < right else 1 - problem.answer for problem in data]
    once = cell_of(data, choices, tmp_path / "once")
    copies = cell_of(thrice(data), repeated(choices), tmp_path / "thrice")
    check_not_surer(once.rows, copies.rows)
    assert {row.protocol for row in once.rows} == {"accuracy", "groups", "gender"}
    states = []
    for cell in (once, copies):
        tests = [SimpleNamespace(name="test")]
        states.append(state_of(SimpleNamespace(cells=[cell], tests=tests, warnings=())))
    assert states[0] == states[1]
