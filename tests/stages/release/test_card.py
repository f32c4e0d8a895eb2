"""The card of a release says its splits, leaks, licence, audits and origin, and no hidden answer."""

import json

import pytest
import yaml

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.problem import Card, Dataset
from winokit.stages.audit.run import audit
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")


def card_of(tmp_path, data="open", **extras):
    settings = ReleaseSettings(name="open-wino")
    release = write_release(data, tmp_path / "out", settings=settings, extras=ReleaseExtras(**extras))
    return (release.folder / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return card_of(tmp_path_factory.mktemp("card"))


def front_matter(card):
    return yaml.safe_load(card.split("---\n")[1])


def test_front_matter_names_every_configuration_and_its_files(plain):
    matter = front_matter(plain)
    configs = matter["configs"]
    assert [config["config_name"] for config in configs] == ["debiased", "m", "l", "xl"]
    assert [config.get("default") for config in configs] == [True, None, None, None]
    assert [row["split"] for row in configs[1]["data_files"]] == ["train", "validation", "test"]
    assert matter["license"] == "cc0-1.0"


def test_counts_stand_in_a_table(plain):
    assert "| `train_xl` | 322 | 322 | 0 | 161 | 0 |" in plain
    assert "| `test` | 64 | 64 | 0 | 32 | 0 |" in plain


def test_a_training_set_that_is_debiased_in_name_only_is_said_to_be(plain):
    assert "`train_debiased` has all other kept problems; nothing was removed, so it is debiased in name only." in plain


def test_the_reference_formalization_is_said(plain):
    assert "**mc-mlm**" in plain
    assert "**partial** scoring" in plain


def test_leaks_between_splits_are_said_even_when_there_are_none(plain):
    assert "| train and test | none | 0 | 0 |" in plain
    assert "The first candidate is the answer in 50.0 % of `train_debiased`" in plain


def test_a_licence_that_is_not_stated_is_said_loudly(tmp_path):
    card = card_of(tmp_path, Dataset(load("open"), Card("open")))
    assert "**The licence is not stated.**" in card
    assert front_matter(card)["license"] == "unknown"


def test_what_the_authors_say_is_in_it(tmp_path):
    (tmp_path / "about.md").write_text("## Motivation\n\nTo see whether chairs float.\n")
    assert "To see whether chairs float." in card_of(tmp_path, about=tmp_path / "about.md")


def test_an_audit_is_told_with_its_verdict(tmp_path):
    run = audit("open", model="random")
    run.save(tmp_path / "run")
    card = card_of(tmp_path, audit=(tmp_path / "run",))
    assert "### random, own" in card or "### random" in card
    assert "428 problems, of which 322 are in train, 42 are in dev, 64 are in test." in card
    assert "What it found is with the test's answers." in card
    assert "fully right" not in card
    hidden = json.loads((tmp_path / "out.hidden" / "checks.json").read_text())
    assert "fully right" in json.dumps(hidden["audits"])


def test_an_audit_of_what_is_public_is_told_in_full(tmp_path):
    card_of(tmp_path)
    audit(tmp_path / "out" / "winogrande" / "dev.jsonl", model="random").save(tmp_path / "run")
    card = card_of(tmp_path, audit=(tmp_path / "run",))
    assert "42 problems, of which 42 are in dev." in card
    assert "fully right" in card


def test_an_audit_of_other_problems_is_refused(tmp_path, twins):
    audit(twins, model="random").save(tmp_path / "run")
    with pytest.raises(BadInput, match=r"--set audit=.*none of the release's problems"):
        card_of(tmp_path, audit=(tmp_path / "run",))


STUDY = {
    "title": "Twins of spring",
    "settings": {"tasks": {"kinds": ["write", "validate"]}, "validity": {"rule": "majority"}, "pay": {"write": "0.40"}},
    "problems": {"written": 90, "valid": 60},
    "workers": {"active": 11, "blocked": 1},
    "agreement": [{"kind": "validate", "question": "answer", "problems": 60, "unanimous": 50, "kappa": 0.81}],
}


def test_a_study_is_told_from_its_export(tmp_path):
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "study.json").write_text(json.dumps(STUDY))
    card = card_of(tmp_path, collection=tmp_path / "export")
    assert "in the study “Twins of spring”; tasks: write, validate." in card
    assert "Problems: 90 written, 60 valid." in card
    assert "Workers: 12." in card
    assert "all said the same on 50 of 60; Fleiss' κ 0.81." in card


def test_votes_of_the_problems_are_told_in_sum_and_no_worker_is_named(tmp_path):
    votes = [{"worker": "w7", "choice": 1}, {"worker": "w8", "choice": 1}]
    provenance = {"study": "Spring", "author": "w9", "votes": votes, "agreement": "unanimous-yes"}
    data = Dataset([p.replace(provenance=provenance) for p in load("open")], Card("open", licence="CC0-1.0"))
    card = card_of(tmp_path, data)
    assert "They were written by 1 person." in card
    assert "856 votes were cast on them, 2.0 per problem." in card
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix in (".md", ".jsonl", ".json", ".yaml"):
            text = path.read_text()
            assert '"w9"' not in text, path.name
            assert "w7" not in text[:20000], path.name


def test_a_folder_that_is_no_export_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"there is no study\.json"):
        card_of(tmp_path, collection=tmp_path)
