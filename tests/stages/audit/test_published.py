"""Published results: those of the same known set, as the papers print them."""

import json
import os
from importlib.resources import files
from pathlib import Path

import pytest

from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.drawing.plots import ForestMark
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
