import json

import pytest

from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.gender import gotcha
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.methods.transforms.variants import TRANSFORMS, make_variants, one_by_one
from winokit.models.random_model import RandomModel
from winokit.problem import Dataset, Problem
from winokit.stages.audit.protocols import PROTOCOLS, protocol
from winokit.stages.audit.run import audit


def value(run, protocol, subset, metric):
    row = run.find(protocol, subset, metric)
    assert row is not None, (protocol, subset, metric)
    return row.value


@pytest.fixture(scope="module")
def guessed():
    return audit("open", model=RandomModel())


def perfect(dataset, variants=("original",)):
    """Predictions that are always right, on the dataset and on whichever variants are named."""
    rows = [Prediction(p.id, "original", "oracle", "own", None, p.answer, p.answer) for p in dataset]
    for name, variant in make_variants(dataset).items():
        if name in variants:
            of = [(str(p.provenance["of"]), p.answer) for p in variant.problems]
            rows += [Prediction(i, name, "oracle", "own", None, answer, answer) for i, answer in of]
    return rows


def test_the_public_roberta_predictions_give_their_known_counts(real_file):
    run = audit(
        real_file("winogrande/dev.jsonl"),
        predictions=[real_file("predictions/roberta_winogrande_dev.csv")],
    )
    assert value(run, "accuracy", "all", "accuracy") * 1267 == pytest.approx(966)
    counts = [value(run, "groups", "complete", name) * 284 for name in ("group_accuracy", "one_right", "none_right")]
    assert counts == pytest.approx([163, 65, 56])
    assert run.find("groups", "single", "accuracy").n == 699
    assert value(run, "groups", "single", "accuracy") * 699 == pytest.approx(575)


def test_a_harness_log_is_audited_without_its_model(real_file):
    log = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    run = audit(real_file("winogrande/dev.jsonl"), predictions=[log])
    assert value(run, "accuracy", "all", "accuracy") * 1267 == pytest.approx(639)
    assert run.find("groups", "complete", "group_accuracy").n == 284


def test_wsc_has_its_labelled_subsets(real_file):
    labels = [real_file(f"trichelair/WSC_{kind}_label.json") for kind in ("switched", "associative")]
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}", labels=labels)
    run = audit(wsc, model=RandomModel())
    assert run.find("association", "associative", "accuracy").n == 37
    assert run.find("association", "non_associative", "accuracy").n == 236
    assert run.find("groups", "complete", "group_accuracy").n == 136
    switched = run.find("switching", "switchable", "consistency")
    left = sum(one.n for one in run.left_out if one.protocol == "switching")
    assert (switched.n, left) == (131, 142)
    assert switched.note == "switchable: labels; sentences: the authors' 131, ours 0"


def test_winogender_flags_make_four_cells_of_120(real_file):
    dataset = load(real_file("winogender/all_sentences.tsv"))
    run = audit(dataset, model=RandomModel(), scoring="own")
    for gender in ("female", "male"):
        for flag in ("gotcha", "not_gotcha"):
            assert run.find("gender", f"{gender}.{flag}", "accuracy").n == 120
    assert gotcha("female", True, 10.0) is True


def test_a_scoring_that_replaces_the_pronoun_says_it_cannot_see_gender(real_file):
    dataset = load(real_file("winogender/all_sentences.tsv"))
    run = audit(dataset, model=RandomModel(), scoring=["masked-candidate", "pronoun"])
    notes = {row.scoring: row.note for row in run.metrics if row.metric == "delta" and row.subset == "female"}
    assert "its gender is not read" in notes["masked-candidate"]
    assert notes["pronoun"] is None
    deltas = {
        row.subset: row.value for row in run.metrics if row.metric == "delta" and row.scoring == "masked-candidate"
    }
    assert deltas["male"] == pytest.approx(-deltas["female"])


def test_winobias_has_its_gap_when_both_sides_are_audited_as_one(real_file):
    sides = [str(real_file(f"winobias/{side}_stereotyped_type1.txt.dev")) for side in ("pro", "anti")]
    run = audit("+".join(sides), model=RandomModel(), scoring="own", protocol=("gender",))
    gap = run.find("gender", "all", "pro_minus_anti")
    assert gap.n == 792
    assert gap.value == pytest.approx(
        value(run, "gender", "pro", "accuracy") - value(run, "gender", "anti", "accuracy")
    )


def test_guessing_is_at_chance_everywhere(guessed):
    for row in guessed.metrics:
        if row.metric in ("accuracy", "group_accuracy", "switched_accuracy", "consistency") and row.n >= 100:
            spread = (row.chance * (1 - row.chance) / row.n) ** 0.5
            assert abs(row.value - row.chance) < 5 * spread, row


def test_every_share_has_an_interval_around_it_and_an_n(guessed):
    for row in guessed.metrics:
        assert row.n > 0
        if row.low is not None:
            assert row.low <= row.value <= row.high, row


def test_chance_is_a_quarter_for_pairs(guessed):
    assert guessed.find("groups", "complete", "group_accuracy").chance == 0.25
    assert guessed.find("accuracy", "all", "accuracy").chance == 0.5


def test_a_perfect_model_is_perfect_under_every_protocol(tmp_path):
    dataset = load("open")
    write_predictions(perfect(dataset, ("switched", "no-cands", "special-word", "reversed")), tmp_path / "p.jsonl")
    run = audit(dataset, predictions=[tmp_path / "p.jsonl"])
    for name in (
        ("accuracy", "all", "accuracy"),
        ("groups", "complete", "group_accuracy"),
        ("switching", "switchable", "consistency"),
        ("switching", "switchable", "switched_accuracy"),
        ("special-word", "all", "group_accuracy"),
        ("strict", "complete", "group_accuracy"),
        ("position", "all", "order_invariance"),
    ):
        assert value(run, *name) == 1.0, name
    assert value(run, "dependence", "complete", "same_option") == 0.0


def test_a_model_that_overlooks_the_special_word_is_seen_through(tmp_path):
    """Always the first candidate: half right, no group right, and below what independence would give."""
    dataset = load("open")
    rows = [Prediction(p.id, "original", "first", "own", None, 0, p.answer) for p in dataset]
    write_predictions(rows, tmp_path / "p.jsonl")
    run = audit(dataset, predictions=[tmp_path / "p.jsonl"])
    assert value(run, "accuracy", "all", "accuracy") == 0.5
    assert value(run, "groups", "complete", "group_accuracy") == 0.0
    assert value(run, "dependence", "complete", "same_option") == 1.0
    assert value(run, "dependence", "complete", "independent_group_accuracy") == pytest.approx(0.25, abs=0.02)


def test_abstentions_count_as_guesses_in_expected_accuracy(tmp_path):
    dataset = load("open")
    rows = [Prediction(p.id, "original", "shy", "own", None, None, p.answer, "no evidence") for p in dataset]
    write_predictions(rows, tmp_path / "p.jsonl")
    run = audit(dataset, predictions=[tmp_path / "p.jsonl"])
    assert value(run, "accuracy", "all", "accuracy") == 0.0
    assert value(run, "accuracy", "all", "expected_accuracy") == 0.5
    assert value(run, "accuracy", "all", "abstained") == 1.0


def test_a_model_that_abstains_has_its_precision_beside(tmp_path):
    data = load("open")[:20]
    rows = [
        Prediction(p.id, "original", "shy", "own", None, p.answer if i < 6 else None, p.answer)
        for i, p in enumerate(data)
    ]
    rows[0] = Prediction(data[0].id, "original", "shy", "own", None, 1 - data[0].answer, data[0].answer)
    write_predictions(rows, tmp_path / "p.jsonl")
    run = audit(data, predictions=[tmp_path / "p.jsonl"])
    assert value(run, "accuracy", "all", "precision") == pytest.approx(5 / 6)
    assert run.find("accuracy", "all", "precision").n == 6
    assert value(run, "accuracy", "all", "abstained") == pytest.approx(0.7)


def test_candidates_are_as_long_as_their_word_pieces(tmp_path):
    problems = [
        Problem("The one beat the other as ", " was quick.", names, answer=0)
        for names in (("Kim", "Bob"), ("Bob", "Xiuhtezcatl"), ("the old man", "the old hat"))
    ]
    data = Dataset(problems)
    write_predictions([Prediction(p.id, "original", "m", "own", None, 0, 0) for p in data], tmp_path / "p.jsonl")
    run = audit(data, predictions=[tmp_path / "p.jsonl"])
    assert run.find("length", "equal", "accuracy").n == 2
    assert run.find("length", "unequal", "accuracy").n == 1
    assert value(run, "length", "unequal", "shorter_chosen") == 1


def test_an_estimated_associative_subset_says_so(tmp_path):
    data = load("open")[:20]
    data = data.with_problems(
        p.with_labels(associative=i % 3 == 0, associative_by="PMI in a corpus") for i, p in enumerate(data)
    )
    write_predictions(perfect(data), tmp_path / "p.jsonl")
    run = audit(data, predictions=[tmp_path / "p.jsonl"])
    assert "estimated" in run.find("association", "associative", "accuracy").note


def test_perturbed_versions_are_joined_to_their_originals(real_file):
    names = [str(real_file(f"perturbed-wsc/text_{name}.jsonl")) for name in ("tense", "gender")]
    run = audit(
        real_file("perturbed-wsc/text_original.jsonl"),
        model=RandomModel(),
        perturbed=names,
        protocol=("stability", "strict"),
    )
    assert run.find("stability", "tense", "accuracy").n == 281
    assert run.find("stability", "gender", "stability").n == 155
    assert run.find("strict", "complete", "group_accuracy").n == 142


def test_naturalness_cuts_the_problems_into_thirds_by_surprisal():
    model = RandomModel()
    model.kind = "causal"
    run = audit("open", model=model, scoring="own", protocol=("naturalness",))
    sizes = [run.find("naturalness", third, "accuracy").n for third in ("likely", "middling", "unlikely")]
    assert (sum(sizes), max(sizes) - min(sizes)) == (428, 1)
    assert run.find("naturalness", "all", "surprisal_per_word").value > 0


def test_a_coin_has_no_surprisal():
    run = audit("open", model=RandomModel(), protocol=("naturalness",))
    assert run.find_or_none("naturalness", "likely", "accuracy") is None
    assert [one.protocol for one in run.left_out] == ["naturalness"]


def test_naturalness_of_a_masked_model_is_computed_only_when_asked_for_by_name():
    few = load("open")[:4]
    everything = audit(few, model="builtin")
    assert everything.find_or_none("naturalness", "likely", "accuracy") is None
    assert any(one.protocol == "naturalness" and "masked" in one.why for one in everything.left_out)
    assert audit(few, model="builtin", protocol="naturalness").find("naturalness", "likely", "accuracy") is not None


def test_any_protocol_can_be_asked_on_a_subset():
    run = audit("open", model=RandomModel(), protocol="accuracy", subset="non_associative")
    row = run.find("accuracy", "all@non_associative", "accuracy")
    assert row.n == 389
    with pytest.raises(UnknownName, match="No subset named 'funny'"):
        audit("open", model=RandomModel(), protocol="accuracy", subset="funny")


def test_a_wrong_protocol_is_corrected():
    with pytest.raises(UnknownName, match=r"Did you mean 'groups'\?"):
        audit("open", model=RandomModel(), protocol=("group",))


def test_hidden_answers_are_left_out_and_said_so(twins):
    hidden = Dataset([twins[0].replace(answer=None), *twins[1:]])
    run = audit(hidden, model=RandomModel())
    assert run.find("accuracy", "all", "accuracy").n == 5
    assert ("the answer is hidden", 1) in [(one.why, one.n) for one in run.left_out]


def test_nothing_to_audit_is_an_error():
    with pytest.raises(BadInput, match="nothing to audit"):
        audit("open", model=[])


def test_the_same_seed_gives_the_same_rows(guessed):
    again = audit("open", model=RandomModel())
    assert again.metrics == guessed.metrics


def test_the_order_of_problems_changes_no_value(guessed):
    backwards = audit(Dataset(reversed(list(load("open"))), load("open").card), model=RandomModel())
    ours = {(m.protocol, m.subset, m.metric): (round(m.value, 9), m.n) for m in guessed.metrics}
    theirs = {(m.protocol, m.subset, m.metric): (round(m.value, 9), m.n) for m in backwards.metrics}
    assert ours == theirs


def test_a_run_comes_back_from_its_folder(guessed, tmp_path):
    guessed.save(tmp_path / "run")
    again = Run.load(tmp_path / "run")
    assert again.metrics == guessed.metrics
    assert again.predictions == guessed.predictions
    assert again.dataset == guessed.dataset
    assert again.left_out == guessed.left_out
    rows = json.loads((tmp_path / "run" / "results.json").read_text())["metrics"]
    contract = ["dataset", "model", "scoring", "formalization", "protocol", "subset", "metric", "value", "n"]
    assert list(rows[0])[:12] == [*contract, "low", "high", "chance"]


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no run there"):
        Run.load(tmp_path)


def test_every_protocol_has_a_name_of_the_contract():
    assert {"accuracy", "groups", "switching", "association", "artifacts", "special-word", "gender", "position", "luck",
            "dependence", "structure", "length", "stability", "strict"} <= set(PROTOCOLS)  # fmt: skip


def test_a_protocol_is_scored_on_what_it_needs_and_on_nothing_else():
    assert {row.variant for row in audit("open", RandomModel(), protocol="accuracy", limit=20).predictions} == {
        "original"
    }
    asked = audit("open", RandomModel(), protocol="artifacts", limit=20)
    assert {row.variant for row in asked.predictions} == {"original", "no-cands", "part-sent", "local-context"}
    with pytest.raises(BadInput, match="--perturbed has no effect on accuracy"):
        audit("open", RandomModel(), protocol="accuracy", perturbed=["open"])


def test_another_package_adds_a_protocol_and_its_variant(monkeypatch, tmp_path):
    @protocol("shouted")
    def shouting(sheet):
        yield from sheet.accuracy("shouting", "all", sheet.answers("shouted"))

    monkeypatch.setitem(PROTOCOLS._things, "shouting", shouting)
    shout = one_by_one(lambda problem: problem.replace(before=problem.before.upper()))
    monkeypatch.setitem(TRANSFORMS._things, "shouted", shout)
    run = audit("open", RandomModel(), protocol="shouting", out=tmp_path / "run", limit=20)
    assert [(row.protocol, row.n) for row in run.metrics] == [("shouting", 20)]
    assert "Shouting" in run.report.read_text("utf-8")
    assert (tmp_path / "run" / "variants" / "shouted.jsonl").is_file()
