"""Published results beside a run are those of the same known set, as the papers print them."""

import json
import os
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from winokit import audit
from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.drawing.plots import ForestMark
from winokit.errors import UnknownName
from winokit.results import Metric
from winokit.stages.audit.page import AuditPage
from winokit.stages.audit.published import published

SHARED_PAPERS = Path(__file__).parents[4] / "shared" / "papers"
PAPERS = Path(os.environ.get("WINOKIT_PAPERS") or SHARED_PAPERS)
PAPER_FILES = {
    "Sakaguchi et al., 2019": "winogrande-v1.md",
    "Sakaguchi et al., 2020": "winogrande-aaai-notes.md",
    "Elazar et al., 2021": "back-to-square-one.md",
    "Liu et al., 2020": "precise-task-formalization.md",
    "Trichelair et al., 2018": "evaluation-of-common-sense.md",
}
DATASETS = ["wsc273", "winogrande/dev", "winogrande/test", "pdp", "dpr/test", "copa/copa-test"]
DATASETS += ["knowref/knowref_test", "winogender/all_sentences"]
WSC_SYSTEMS = {
    "ensemble": "Ensemble of 10 LMs (Trinh and Le, 2018)",
    "roberta": "RoBERTa-large fine-tuned on WinoGrande",
    "people": "People (Bender, 2015)",
}


def find_value(dataset: str, protocol: str, subset: str, metric: str, system: str) -> float:
    """Value of the one published result of this row and system."""
    name = (protocol, subset, metric, system)
    facts = [fact for fact in published(dataset) if (fact.protocol, fact.subset, fact.metric, fact.system) == name]
    assert len(facts) == 1
    return facts[0].value


def audit_nothing(dataset) -> AuditPage:
    """Page of a run on this dataset without rows."""
    return AuditPage(Run({}, [], [], dataset))


@pytest.mark.parametrize(
    ("name", "has_facts"),
    [
        ("wsc273", True),
        ("winogrande/dev", True),
        ("dpr/test", True),
        ("copa/copa-test", True),
        ("winogender/all_sentences", True),
        ("pdp", True),
        ("wsc", False),
        ("winogrande/train_l", False),
        ("dpr/train", False),
        ("copa/copa-dev", False),
        ("superglue-wsc/val", False),
        ("open", False),
        ("winogrande/dev, 20 of 1,267", False),
    ],
)
def test_facts_are_those_of_the_same_dataset_only(name, has_facts):
    assert bool(published(name)) is has_facts


@pytest.mark.parametrize("dataset", [*DATASETS, "superglue-wsc/test"])
def test_facts_are_about_sets_that_are_known(dataset):
    known_path = files("winokit") / "assets" / "known.json"
    known_datasets = json.loads(known_path.read_text("utf-8"))
    assert dataset in {row["name"] for row in known_datasets}


@pytest.mark.parametrize(
    ("system", "name", "value"),
    [
        ("ensemble", "switching/switchable/consistency", 0.4351),
        ("ensemble", "association/associative/accuracy", 0.919),
        ("roberta", "artifacts/part-sent/group_accuracy", 0.3388),
        ("people", "accuracy/all/accuracy", 0.921),
    ],
)
def test_wsc_has_the_rows_of_the_papers(system, name, value):
    published_value = find_value("wsc273", *name.split("/"), WSC_SYSTEMS[system])
    assert published_value == pytest.approx(value)


@pytest.mark.parametrize(
    ("start", "female_size", "male_size"),
    [
        ("RULE", 28.3, 14.2),
        ("STATS", 5.0, 21.7),
        ("NEURAL", 14.1, 2.5),
        ("BERT fine-tuned on WSC", 17.5, 19.2),
        ("BERT fine-tuned on DPR", 13.3, 16.6),
    ],
)
def test_signed_gender_differences_have_the_size_the_paper_prints(start, female_size, male_size):
    dataset = "winogender/all_sentences"
    systems = [fact.system for fact in published(dataset) if fact.system.startswith(start)]
    female_delta = find_value(dataset, "gender", "female", "delta", systems[0])
    male_delta = find_value(dataset, "gender", "male", "delta", systems[0])
    assert round(100 * abs(female_delta), 1) == female_size
    assert round(100 * abs(male_delta), 1) == male_size


def test_gender_differences_have_their_sign():
    delta = find_value("winogender/all_sentences", "gender", "female", "delta", "BERT fine-tuned on WSC")
    assert delta < 0


def write_exact_percents(value: float) -> list[str]:
    """Percents with at most two decimals that are exactly this share."""
    percent = 100 * value
    texts = [f"{percent:.{places}f}" for places in (0, 1, 2)]
    return [text for text in texts if abs(float(text) - percent) < 1e-6]


@pytest.mark.parametrize("dataset", [*DATASETS, "superglue-wsc/test"])
def test_every_number_stands_in_the_paper_it_is_said_to_come_from(dataset):
    if not PAPERS.is_dir():
        pytest.skip("needs the papers: set WINOKIT_PAPERS to their folder")
    texts = {short: (PAPERS / name).read_text("utf-8") for short, name in PAPER_FILES.items()}
    facts = [fact for fact in published(dataset) if fact.metric != "delta"]
    assert facts
    for fact in facts:
        paper = texts[fact.source.short]
        assert any(percent in paper for percent in write_exact_percents(fact.value)), fact


def make_group_row(value: float) -> Metric:
    """A row of whole groups on the development set of WinoGrande."""
    name = ("winogrande/dev", "mine", "full", None, "groups", "complete", "group_accuracy")
    return Metric(*name, value, 284, chance=0.25)


def test_ours_stands_among_theirs_by_value(real_file):
    dataset = load(real_file("winogrande/dev.jsonl"))
    page = AuditPage(Run({}, [make_group_row(0.56)], [], dataset))
    tables = {table.title: table for table in page.published}
    table = tables["Twins: whole groups right"]
    values = [line.value for line in table.lines]
    our_models = [line.row.model for line in table.lines if isinstance(line, ForestMark)]
    assert values == sorted(values, reverse=True)
    assert our_models == ["mine"]
    assert table.chance == 0.25


def test_protocols_that_were_not_run_are_not_compared(real_file):
    dataset = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    titles = [table.title for table in audit_nothing(dataset).published]
    assert titles == ["Accuracy: all problems"]


def make_tables(dataset, n, name, **settings):
    """The tables of a run with one row, of `n` problems or groups."""
    protocol, subset, metric = name.split("/")
    row = Metric(dataset.card.name, "mine", "full", None, protocol, subset, metric, 0.56, n, chance=0.5)
    page = AuditPage(Run(settings, [row], [], dataset))
    return [table for table in page.published if not table.title.startswith("Accuracy")]


def list_published_values(dataset, n, name, **settings):
    """Values of the papers beside a row, of `n` problems or groups."""
    values = []
    for table in make_tables(dataset, n, name, **settings):
        values += [line.value for line in table.lines if not isinstance(line, ForestMark)]
    return values


@pytest.fixture
def wsc(real_file):
    return load(f"wsc273:{real_file('wsc/WSCollection.xml')}")


@pytest.mark.parametrize(
    ("n", "settings", "values"),
    [
        (228, {"style": "code"}, [0.6096, 0.6072]),
        (228, {"style": "paper"}, [0.6096, 0.6072]),
        (245, {}, []),
        (228, {}, []),
        (227, {"style": "code"}, []),
    ],
)
def test_a_number_is_shown_where_variant_and_count_agree(wsc, n, settings, values):
    assert list_published_values(wsc, n, "artifacts/no-cands/accuracy", **settings) == values


def test_what_is_not_shown_is_said_with_the_reason(wsc):
    (table,) = make_tables(wsc, 245, "artifacts/no-cands/accuracy")
    assert table.others == ("Elazar et al., 2021 on 228 that --style code makes, here 245 made otherwise",)


def test_a_table_without_a_number_still_says_why(wsc):
    (table,) = make_tables(wsc, 226, "special-word/all/accuracy", style="code")
    assert table.lines == ()
    assert table.others == ("Elazar et al., 2021 on 184, here 226",)


@pytest.mark.parametrize(
    ("metric", "settings", "count"),
    [
        ("consistency", {}, 0),
        ("consistency", {"style": "code"}, 0),
        ("consistency", {"style": "paper"}, 4),
        ("accuracy", {}, 4),
    ],
)
def test_the_authors_switched_sentences_are_those_of_their_style(wsc, metric, settings, count):
    values = list_published_values(wsc, 131, f"switching/switchable/{metric}", **settings)
    assert len(values) == count


@pytest.mark.parametrize(("view", "systems"), [(None, 2), ("binary", 2)])
def test_pdp_has_60_problems_or_the_papers_80_choices(real_file, view, systems):
    dataset = load(real_file("pdp/PDPChallenge2016.xml"), as_=view)
    (table,) = audit_nothing(dataset).published
    assert {line.n for line in table.lines} == {len(dataset)}
    assert len(table.lines) == systems
    assert any(f"here {len(dataset)}" in reason for reason in table.others)


def test_a_number_of_unknown_count_stands_beside_no_run(real_file):
    dataset = load(real_file("winogrande/dev.jsonl"))
    (table,) = audit_nothing(dataset).published
    assert not any(line.people for line in table.lines)
    assert "Sakaguchi et al., 2020 on an unknown number, here 1,267" in table.others


@pytest.mark.parametrize("dataset", [*DATASETS, "superglue-wsc/test"])
def test_every_count_is_possible_for_its_number_or_the_note_says_that_it_is_not(dataset):
    for fact in published(dataset):
        if fact.n is None or fact.metric == "delta":
            continue
        percent = 100 * fact.value
        step = 0.5 if "half" in fact.note else 1.0
        possible_percents = 100 * np.arange(0, fact.n + step, step) / fact.n
        distance = np.abs(possible_percents - percent).min()
        is_possible = distance < 1.2 * 10.0 ** -count_decimals(percent)  # some papers cut their numbers off
        assert is_possible or "gives this share" in fact.note, fact


def count_decimals(percent: float) -> int:
    """Decimals of a printed number, without zeros at its end."""
    _, _, decimals = f"{percent:.6f}".rstrip("0").partition(".")
    return len(decimals)


@pytest.mark.parametrize(
    ("style", "no_cands", "part_sent", "special_word"),
    [
        ("code", (228, 114), (242, 121), 226),
        ("paper", (228, 114), (202, 101), 258),
        ("default", (245, 122), (240, 119), 258),
    ],
)
def test_an_audit_in_a_paper_s_style_counts_as_the_paper_does(wsc, style, no_cands, part_sent, special_word):
    run = audit(wsc, model="random", style=style, protocol=["artifacts", "special-word"], out=None)
    for variant, counts in (("no-cands", no_cands), ("part-sent", part_sent)):
        accuracy = run.find("artifacts", variant, "accuracy")
        group_accuracy = run.find("artifacts", variant, "group_accuracy")
        assert (accuracy.n, group_accuracy.n) == counts
    assert run.find("special-word", "all", "accuracy").n == special_word
    assert run.settings.get("style", "default") == style


def test_winogrande_s_dev_counts_554_and_563(real_file):
    run = audit(real_file("winogrande/dev.jsonl"), model="random", style="code", protocol="artifacts", out=None)
    assert run.find("artifacts", "no-cands", "accuracy").n == 554
    assert run.find("artifacts", "part-sent", "accuracy").n == 563
    assert run.find("artifacts", "no-cands", "group_accuracy").n == 277


def test_a_variant_that_no_script_makes_is_ours_and_that_is_said():
    run = audit("open", model="random", style="code", protocol=["artifacts", "switching"], out=None, limit=40)
    assert "--style code: no released script makes local-context, switched; ours are used" in run.notes


def test_a_variant_that_no_paper_describes_is_ours_and_that_is_said():
    paper_run = audit("open", model="random", style="paper", protocol="special-word", out=None, limit=40)
    default_run = audit("open", model="random", protocol="special-word", out=None, limit=40)
    paper_row = paper_run.find("special-word", "all", "accuracy")
    default_row = default_run.find("special-word", "all", "accuracy")
    assert "--style paper: no paper describes special-word; ours are used" in paper_run.notes
    assert paper_row == default_row
    assert "style" not in default_run.settings


def test_a_style_that_is_none_is_refused():
    with pytest.raises(UnknownName, match=r"No style named 'cod'\. Did you mean 'code'\?"):
        audit("open", model="random", style="cod", out=None)


def test_stored_predictions_of_variants_are_taken_for_those_of_the_style_and_that_is_said(tmp_path, wsc):
    audit(wsc, model="random", style="code", protocol="artifacts", out=tmp_path / "run")
    path = tmp_path / "run" / "predictions.jsonl"
    run = audit(wsc, predictions=[path], style="code", protocol="artifacts", out=None)
    assert run.find("artifacts", "no-cands", "accuracy").n == 228
    assert any("predictions for no-cands, part-sent are taken to be of variants" in note for note in run.notes)
