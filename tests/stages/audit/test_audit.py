"""An audit has the rows, counts and notes that its dataset, predictions and protocols call for."""

import json
from dataclasses import replace

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


def get_value(run, protocol, subset, metric):
    row = run.find(protocol, subset, metric)
    assert row is not None, (protocol, subset, metric)
    return row.value


def audit_predictions(dataset, predictions, tmp_path):
    """Audit of predictions that were written to a file."""
    path = tmp_path / "p.jsonl"
    write_predictions(predictions, path)
    return audit(dataset, predictions=[path])


def predict_constant(dataset, choice, model):
    """Predictions of a model that always makes the same choice, or none."""
    return [Prediction(problem.id, "original", model, "own", None, choice, problem.answer) for problem in dataset]


@pytest.fixture(scope="module")
def random_run():
    return audit("open", model=RandomModel())


def predict_right(dataset, variants=()):
    """Predictions that are always right, on the dataset and on the named variants."""
    rows = []
    for problem in dataset:
        rows.append(Prediction(problem.id, "original", "oracle", "own", None, problem.answer, problem.answer))
    for name, variant in make_variants(dataset).items():
        if name not in variants:
            continue
        for problem in variant.problems:
            original_id = str(problem.provenance["of"])
            rows.append(Prediction(original_id, name, "oracle", "own", None, problem.answer, problem.answer))
    return rows


def test_the_public_roberta_predictions_give_their_known_counts(real_file):
    run = audit(
        real_file("winogrande/dev.jsonl"),
        predictions=[real_file("predictions/roberta_winogrande_dev.csv")],
    )
    assert get_value(run, "accuracy", "all", "accuracy") * 1267 == pytest.approx(966)
    metrics = ("group_accuracy", "one_right", "none_right")
    group_counts = [get_value(run, "groups", "complete", metric) * 284 for metric in metrics]
    assert group_counts == pytest.approx([163, 65, 56])
    single = run.find("groups", "single", "accuracy")
    assert single.n == 699
    assert single.value * 699 == pytest.approx(575)


def test_a_harness_log_is_audited_without_its_model(real_file):
    log = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    run = audit(real_file("winogrande/dev.jsonl"), predictions=[log])
    assert get_value(run, "accuracy", "all", "accuracy") * 1267 == pytest.approx(639)
    assert run.find("groups", "complete", "group_accuracy").n == 284


def test_wsc_has_its_labelled_subsets(real_file):
    labels = [real_file(f"trichelair/WSC_{kind}_label.json") for kind in ("switched", "associative")]
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}", labels=labels)
    run = audit(wsc, model=RandomModel())
    consistency = run.find("switching", "switchable", "consistency")
    left_out_count = sum(note.n for note in run.left_out if note.protocol == "switching")
    assert run.find("association", "associative", "accuracy").n == 37
    assert run.find("association", "non_associative", "accuracy").n == 236
    assert run.find("groups", "complete", "group_accuracy").n == 136
    assert (consistency.n, left_out_count) == (131, 142)
    assert consistency.note == "switchable: labels; sentences: the authors' 131, ours 0"


def test_winogender_flags_make_four_cells_of_120(real_file):
    dataset = load(real_file("winogender/all_sentences.tsv"))
    run = audit(dataset, model=RandomModel(), scoring="own")
    for gender in ("female", "male"):
        for flag in ("gotcha", "not_gotcha"):
            accuracy = run.find("gender", f"{gender}.{flag}", "accuracy")
            assert accuracy.n == 120
    assert gotcha("female", True, 10.0) is True


def test_a_scoring_that_replaces_the_pronoun_says_it_cannot_see_gender(real_file):
    dataset = load(real_file("winogender/all_sentences.tsv"))
    run = audit(dataset, model=RandomModel(), scoring=["masked-candidate", "pronoun"])
    deltas = {(row.scoring, row.subset): row for row in run.metrics if row.metric == "delta"}
    female = deltas["masked-candidate", "female"]
    male = deltas["masked-candidate", "male"]
    assert "its gender is not read" in female.note
    assert deltas["pronoun", "female"].note is None
    assert male.value == pytest.approx(-female.value)


def test_winobias_has_its_gap_when_both_sides_are_audited_as_one(real_file):
    sides = [str(real_file(f"winobias/{side}_stereotyped_type1.txt.dev")) for side in ("pro", "anti")]
    run = audit("+".join(sides), model=RandomModel(), scoring="own", protocol=("gender",))
    gap = run.find("gender", "all", "pro_minus_anti")
    pro = get_value(run, "gender", "pro", "accuracy")
    anti = get_value(run, "gender", "anti", "accuracy")
    assert gap.n == 792
    assert gap.value == pytest.approx(pro - anti)


def test_guessing_is_at_chance_everywhere(random_run):
    metrics = ("accuracy", "group_accuracy", "switched_accuracy", "consistency")
    large_rows = [row for row in random_run.metrics if row.metric in metrics and row.n >= 100]
    for row in large_rows:
        spread = (row.chance * (1 - row.chance) / row.n) ** 0.5
        assert abs(row.value - row.chance) < 5 * spread, row


def test_every_share_has_an_interval_around_it_and_an_n(random_run):
    for row in random_run.metrics:
        assert row.n > 0
        if row.low is not None:
            assert row.low <= row.value <= row.high, row


def test_chance_is_a_quarter_for_pairs(random_run):
    assert random_run.find("groups", "complete", "group_accuracy").chance == 0.25
    assert random_run.find("accuracy", "all", "accuracy").chance == 0.5


VARIANTS_OF_PERFECT = ("switched", "no-cands", "special-word", "reversed")
PERFECT_ROWS = [
    ("accuracy", "all", "accuracy"),
    ("groups", "complete", "group_accuracy"),
    ("switching", "switchable", "consistency"),
    ("switching", "switchable", "switched_accuracy"),
    ("special-word", "all", "group_accuracy"),
    ("strict", "complete", "group_accuracy"),
    ("position", "all", "order_invariance"),
]


def test_a_perfect_model_is_perfect_under_every_protocol(tmp_path):
    dataset = load("open")
    run = audit_predictions(dataset, predict_right(dataset, VARIANTS_OF_PERFECT), tmp_path)
    for name in PERFECT_ROWS:
        assert get_value(run, *name) == 1.0, name
    assert get_value(run, "dependence", "complete", "same_option") == 0.0


def test_a_model_that_overlooks_the_special_word_is_seen_through(tmp_path):
    """Always the first candidate: half right, no group right, and below what independence would give."""
    dataset = load("open")
    run = audit_predictions(dataset, predict_constant(dataset, 0, "first"), tmp_path)
    independent = get_value(run, "dependence", "complete", "independent_group_accuracy")
    assert get_value(run, "accuracy", "all", "accuracy") == 0.5
    assert get_value(run, "groups", "complete", "group_accuracy") == 0.0
    assert get_value(run, "dependence", "complete", "same_option") == 1.0
    assert independent == pytest.approx(0.25, abs=0.02)


def test_abstentions_count_as_guesses_in_expected_accuracy(tmp_path):
    dataset = load("open")
    rows = [replace(row, why="no evidence") for row in predict_constant(dataset, None, "shy")]
    run = audit_predictions(dataset, rows, tmp_path)
    assert get_value(run, "accuracy", "all", "accuracy") == 0.0
    assert get_value(run, "accuracy", "all", "expected_accuracy") == 0.5
    assert get_value(run, "accuracy", "all", "abstained") == 1.0


def test_a_model_that_abstains_has_its_precision_beside(tmp_path):
    dataset = load("open")[:20]
    rows = predict_constant(dataset, None, "shy")
    for index in range(6):
        rows[index] = replace(rows[index], prediction=dataset[index].answer)
    rows[0] = replace(rows[0], prediction=1 - dataset[0].answer)
    run = audit_predictions(dataset, rows, tmp_path)
    precision = run.find("accuracy", "all", "precision")
    assert precision.value == pytest.approx(5 / 6)
    assert precision.n == 6
    assert get_value(run, "accuracy", "all", "abstained") == pytest.approx(0.7)


def test_candidates_are_as_long_as_their_word_pieces(tmp_path):
    problems = []
    for names in (("Kim", "Bob"), ("Bob", "Xiuhtezcatl"), ("the old man", "the old hat")):
        problems.append(Problem("The one beat the other as ", " was quick.", names, answer=0))
    dataset = Dataset(problems)
    run = audit_predictions(dataset, predict_constant(dataset, 0, "m"), tmp_path)
    assert run.find("length", "equal", "accuracy").n == 2
    assert run.find("length", "unequal", "accuracy").n == 1
    assert get_value(run, "length", "unequal", "shorter_chosen") == 1


def test_an_estimated_associative_subset_says_so(tmp_path):
    first_problems = load("open")[:20]
    problems = []
    for index, problem in enumerate(first_problems):
        problems.append(problem.with_labels(associative=index % 3 == 0, associative_by="PMI in a corpus"))
    dataset = first_problems.with_problems(problems)
    run = audit_predictions(dataset, predict_right(dataset), tmp_path)
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
    thirds = ("likely", "middling", "unlikely")
    sizes = [run.find("naturalness", third, "accuracy").n for third in thirds]
    assert sum(sizes) == 428
    assert max(sizes) - min(sizes) == 1
    assert run.find("naturalness", "all", "surprisal_per_word").value > 0


def test_a_coin_has_no_surprisal():
    run = audit("open", model=RandomModel(), protocol=("naturalness",))
    assert run.find_or_none("naturalness", "likely", "accuracy") is None
    assert [note.protocol for note in run.left_out] == ["naturalness"]


def test_naturalness_of_a_masked_model_is_computed_only_when_asked_for_by_name():
    few_problems = load("open")[:4]
    full_run = audit(few_problems, model="builtin")
    reasons = [note.why for note in full_run.left_out if note.protocol == "naturalness"]
    assert full_run.find_or_none("naturalness", "likely", "accuracy") is None
    assert any("masked" in reason for reason in reasons)
    named_run = audit(few_problems, model="builtin", protocol="naturalness")
    assert named_run.find("naturalness", "likely", "accuracy") is not None


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
    reasons = [(note.why, note.n) for note in run.left_out]
    assert ("the answer is hidden", 1) in reasons


def test_nothing_to_audit_is_an_error():
    with pytest.raises(BadInput, match="nothing to audit"):
        audit("open", model=[])


def test_the_same_seed_gives_the_same_rows(random_run):
    second_run = audit("open", model=RandomModel())
    assert second_run.metrics == random_run.metrics


def round_values(run):
    """Rounded value and number of each row, by protocol, subset and metric."""
    values = {}
    for row in run.metrics:
        values[row.protocol, row.subset, row.metric] = (round(row.value, 9), row.n)
    return values


def test_the_order_of_problems_changes_no_value(random_run):
    dataset = load("open")
    backwards = Dataset(reversed(list(dataset)), dataset.card)
    backwards_run = audit(backwards, model=RandomModel())
    assert round_values(random_run) == round_values(backwards_run)


@pytest.fixture(scope="module")
def run_folder(random_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "run"
    random_run.save(folder)
    return folder


def test_a_run_comes_back_from_its_folder(random_run, run_folder):
    run_read = Run.load(run_folder)
    assert run_read.metrics == random_run.metrics
    assert run_read.predictions == random_run.predictions
    assert run_read.dataset == random_run.dataset
    assert run_read.left_out == random_run.left_out


def test_rows_in_the_file_begin_with_the_keys_of_the_contract(run_folder):
    results = json.loads((run_folder / "results.json").read_text())
    contract = ["dataset", "model", "scoring", "formalization", "protocol", "subset", "metric", "value", "n"]
    contract += ["low", "high", "chance"]
    assert list(results["metrics"][0])[:12] == contract


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no run there"):
        Run.load(tmp_path)


CONTRACT_PROTOCOLS = """
    accuracy groups switching association artifacts special-word gender position luck dependence structure length
    stability strict
"""


def test_every_protocol_has_a_name_of_the_contract():
    assert set(CONTRACT_PROTOCOLS.split()) <= set(PROTOCOLS)


@pytest.mark.parametrize(
    ("name", "variants"),
    [("accuracy", {"original"}), ("artifacts", {"original", "no-cands", "part-sent", "local-context"})],
)
def test_a_protocol_is_scored_on_what_it_needs_and_on_nothing_else(name, variants):
    run = audit("open", RandomModel(), protocol=name, limit=20)
    assert {row.variant for row in run.predictions} == variants


def test_perturbed_versions_that_no_protocol_needs_are_refused():
    with pytest.raises(BadInput, match="--perturbed has no effect on accuracy"):
        audit("open", RandomModel(), protocol="accuracy", perturbed=["open"])


def test_another_package_adds_a_protocol_and_its_variant(monkeypatch, tmp_path):
    @protocol("shouted")
    def shouting(sheet):
        answers = sheet.answers("shouted")
        yield from sheet.accuracy("shouting", "all", answers)

    monkeypatch.setitem(PROTOCOLS._things, "shouting", shouting)
    shout = one_by_one(lambda problem: problem.replace(before=problem.before.upper()))
    monkeypatch.setitem(TRANSFORMS._things, "shouted", shout)
    run = audit("open", RandomModel(), protocol="shouting", out=tmp_path / "run", limit=20)
    (row,) = run.metrics
    assert (row.protocol, row.n) == ("shouting", 20)
    assert "Shouting" in run.report.read_text("utf-8")
    assert (tmp_path / "run" / "variants" / "shouted.jsonl").is_file()
