"""Published results: those of the same known set, as the papers print them."""

import json
import os
from importlib.resources import files
from pathlib import Path

import pytest

from winokit import audit
from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.drawing.plots import ForestMark
from winokit.errors import UnknownName
from winokit.results import Metric
from winokit.stages.audit.page import AuditPage
from winokit.stages.audit.published import published

PAPERS = Path(os.environ.get("WINOKIT_PAPERS") or Path(__file__).parents[4] / "shared" / "papers")
FILES = {
    "Sakaguchi et al., 2019": "winogrande-v1.md",
    "Sakaguchi et al., 2020": "winogrande-aaai-notes.md",
    "Elazar et al., 2021": "back-to-square-one.md",
    "Liu et al., 2020": "precise-task-formalization.md",
    "Trichelair et al., 2018": "evaluation-of-common-sense.md",
}
KEYS = ["wsc273", "winogrande/dev", "winogrande/test", "pdp", "dpr/test", "copa/copa-test"]
KEYS += ["knowref/knowref_test", "winogender/all_sentences"]


def value_of(dataset: str, protocol: str, subset: str, metric: str, system: str) -> float:
    found = [
        f
        for f in published(dataset)
        if (f.protocol, f.subset, f.metric, f.system) == (protocol, subset, metric, system)
    ]
    assert len(found) == 1
    return found[0].value


@pytest.mark.parametrize(
    ("name", "known"),
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
def test_facts_are_those_of_the_same_dataset_only(name, known):
    assert bool(published(name)) is known


@pytest.mark.parametrize("key", [*KEYS, "superglue-wsc/test"])
def test_facts_are_about_sets_that_are_known(key):
    assert key in {row["name"] for row in json.loads((files("winokit") / "assets" / "known.json").read_text("utf-8"))}


def test_wsc_has_the_rows_of_the_papers():
    ensemble = "Ensemble of 10 LMs (Trinh and Le, 2018)"
    assert value_of("wsc273", "switching", "switchable", "consistency", ensemble) == pytest.approx(0.4351)
    assert value_of("wsc273", "association", "associative", "accuracy", ensemble) == pytest.approx(0.919)
    roberta = "RoBERTa-large fine-tuned on WinoGrande"
    assert value_of("wsc273", "artifacts", "part-sent", "group_accuracy", roberta) == pytest.approx(0.3388)
    assert value_of("wsc273", "accuracy", "all", "accuracy", "People (Bender, 2015)") == pytest.approx(0.921)


def test_signed_gender_differences_have_the_size_the_paper_prints():
    printed = {"RULE": (28.3, 14.2), "STATS": (5.0, 21.7), "NEURAL": (14.1, 2.5)}
    printed |= {"BERT fine-tuned on WSC": (17.5, 19.2), "BERT fine-tuned on DPR": (13.3, 16.6)}
    for start, sizes in printed.items():
        system = next(fact.system for fact in published("winogender/all_sentences") if fact.system.startswith(start))
        deltas = [
            value_of("winogender/all_sentences", "gender", gender, "delta", system) for gender in ("female", "male")
        ]
        assert [round(100 * abs(delta), 1) for delta in deltas] == list(sizes)
    assert value_of("winogender/all_sentences", "gender", "female", "delta", "BERT fine-tuned on WSC") < 0


@pytest.mark.parametrize("key", [*KEYS, "superglue-wsc/test"])
def test_every_number_stands_in_the_paper_it_is_said_to_come_from(key):
    if not PAPERS.is_dir():
        pytest.skip("needs the papers: set WINOKIT_PAPERS to their folder")
    texts = {short: (PAPERS / name).read_text("utf-8") for short, name in FILES.items()}
    facts = [fact for fact in published(key) if fact.metric != "delta"]
    assert facts
    for fact in facts:
        forms = {f"{100 * fact.value:.{places}f}" for places in (0, 1, 2)}
        close = {form for form in forms if abs(float(form) - 100 * fact.value) < 1e-6}
        assert any(form in texts[fact.source.short] for form in close), fact


def test_ours_stands_among_theirs_by_value(real_file):
    dataset = load(real_file("winogrande/dev.jsonl"))
    ours = Metric(
        "winogrande/dev", "mine", "full", None, "groups", "complete", "group_accuracy", 0.56, 284, chance=0.25
    )
    tables = {table.title: table for table in AuditPage(Run({}, [ours], [], dataset)).published}
    lines = tables["Twins: whole groups right"].lines
    assert [line.value for line in lines] == sorted((line.value for line in lines), reverse=True)
    assert [line.row.model for line in lines if isinstance(line, ForestMark)] == ["mine"]
    assert tables["Twins: whole groups right"].chance == 0.25


def test_protocols_that_were_not_run_are_not_compared(real_file):
    dataset = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    assert [table.title for table in AuditPage(Run({}, [], [], dataset)).published] == ["Accuracy: all problems"]


def tables_beside(dataset, n, name, **settings):
    """The tables of a run with one row, of `n` problems or groups."""
    protocol, subset, metric = name.split("/")
    ours = Metric(dataset.card.name, "mine", "full", None, protocol, subset, metric, 0.56, n, chance=0.5)
    page = AuditPage(Run(settings, [ours], [], dataset))
    return [table for table in page.published if not table.title.startswith("Accuracy")]


def shown(tables):
    return [line.value for table in tables for line in table.lines if not isinstance(line, ForestMark)]


@pytest.fixture
def wsc(real_file):
    return load(f"wsc273:{real_file('wsc/WSCollection.xml')}")


def test_a_number_is_shown_where_variant_and_count_agree(wsc):
    name = "artifacts/no-cands/accuracy"
    assert shown(tables_beside(wsc, 228, name, style="code")) == [0.6096, 0.6072]
    assert shown(tables_beside(wsc, 228, name, style="paper")) == [0.6096, 0.6072]
    assert shown(tables_beside(wsc, 245, name)) == []
    assert shown(tables_beside(wsc, 228, name)) == []
    assert shown(tables_beside(wsc, 227, name, style="code")) == []


def test_what_is_not_shown_is_said_with_the_reason(wsc):
    (table,) = tables_beside(wsc, 245, "artifacts/no-cands/accuracy")
    assert table.others == ("Elazar et al., 2021 on 228 that --style code makes, here 245 made otherwise",)
    (table,) = tables_beside(wsc, 226, "special-word/all/accuracy", style="code")
    assert (table.lines, table.others) == ((), ("Elazar et al., 2021 on 184, here 226",))


def test_the_authors_switched_sentences_are_those_of_their_style(wsc):
    name = "switching/switchable/consistency"
    assert shown(tables_beside(wsc, 131, name)) == shown(tables_beside(wsc, 131, name, style="code")) == []
    assert len(shown(tables_beside(wsc, 131, name, style="paper"))) == 4
    assert len(shown(tables_beside(wsc, 131, "switching/switchable/accuracy"))) == 4


@pytest.mark.parametrize(("view", "systems"), [(None, 2), ("binary", 2)])
def test_pdp_has_60_problems_or_the_papers_80_choices(real_file, view, systems):
    dataset = load(real_file("pdp/PDPChallenge2016.xml"), as_=view)
    (table,) = AuditPage(Run({}, [], [], dataset)).published
    assert {line.n for line in table.lines} == {len(dataset)}
    assert len(table.lines) == systems
    assert any(f"here {len(dataset)}" in why for why in table.others)


def test_a_number_of_unknown_count_stands_beside_no_run(real_file):
    dataset = load(real_file("winogrande/dev.jsonl"))
    (table,) = AuditPage(Run({}, [], [], dataset)).published
    assert not any(line.people for line in table.lines)
    assert "Sakaguchi et al., 2020 on an unknown number, here 1,267" in table.others


@pytest.mark.parametrize("key", [*KEYS, "superglue-wsc/test"])
def test_every_count_is_possible_for_its_number_or_the_note_says_that_it_is_not(key):
    for fact in published(key):
        if fact.n is None or fact.metric == "delta":
            continue
        printed = len(f"{100 * fact.value:.6f}".rstrip("0").partition(".")[2])
        shares = [100 * half / (2 * fact.n) for half in range(2 * fact.n + 1)]
        off = min(abs(share - 100 * fact.value) for share in shares[:: 1 if "half" in fact.note else 2])
        is_possible = off < 1.2 * 10.0**-printed  # some papers cut their numbers off
        assert is_possible or "gives this share" in fact.note, fact


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
        rows = [run.find("artifacts", variant, metric) for metric in ("accuracy", "group_accuracy")]
        assert tuple(row.n for row in rows) == counts
    assert run.find("special-word", "all", "accuracy").n == special_word
    assert run.settings.get("style", "default") == style


def test_winogrande_s_dev_counts_554_and_563(real_file):
    run = audit(real_file("winogrande/dev.jsonl"), model="random", style="code", protocol="artifacts", out=None)
    assert [run.find("artifacts", name, "accuracy").n for name in ("no-cands", "part-sent")] == [554, 563]
    assert run.find("artifacts", "no-cands", "group_accuracy").n == 277


def test_a_variant_that_a_style_does_not_have_is_ours_and_that_is_said():
    run = audit("open", model="random", style="code", protocol=["artifacts", "switching"], out=None, limit=40)
    assert "--style code: no released script makes local-context, switched; ours are used" in run.notes
    run = audit("open", model="random", style="paper", protocol="special-word", out=None, limit=40)
    assert "--style paper: no paper describes special-word; ours are used" in run.notes
    default = audit("open", model="random", protocol="special-word", out=None, limit=40)
    assert run.find("special-word", "all", "accuracy") == default.find("special-word", "all", "accuracy")
    assert "style" not in default.settings


def test_a_style_that_is_none_is_refused():
    with pytest.raises(UnknownName, match=r"No style named 'cod'\. Did you mean 'code'\?"):
        audit("open", model="random", style="cod", out=None)


def test_stored_predictions_of_variants_are_taken_for_those_of_the_style_and_that_is_said(tmp_path, wsc):
    audit(wsc, model="random", style="code", protocol="artifacts", out=tmp_path / "run")
    path = tmp_path / "run" / "predictions.jsonl"
    again = audit(wsc, predictions=[path], style="code", protocol="artifacts", out=None)
    assert again.find("artifacts", "no-cands", "accuracy").n == 228
    assert any("predictions for no-cands, part-sent are taken to be of variants" in note for note in again.notes)
