"""The papers' protocols as data: the verdict on a table follows from its fields and from stored intervals."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from runs import protocol
from runs.__main__ import main
from runs.protocol import Claim, Protocol, is_same, protocols, read_protocols
from runs.protocol_jobs import jobs_of_table, protocol_jobs
from runs.store import Record, Store
from runs.tables import RESULTS, all_tables, row
from winokit.errors import BadInput

MEANING = ("dev", "accuracy", "all", "accuracy")
"""Dataset, protocol, subset and metric of every stored row."""
FIELDS = {"train_size": 40_398, "metric": "accuracy", "test": "dev"}
ABOVE = Claim("dev | *", "accuracy", "above")


@pytest.fixture
def results(tmp_path):
    protocol.store_of.cache_clear()
    yield tmp_path
    protocol.store_of.cache_clear()


def store_intervals(results, name="some-1", **intervals):
    """Store accuracies on dev, by model: value, low and high."""
    records = []
    for model, (value, low, high) in intervals.items():
        accuracy = row(*MEANING, value, 100, low=low, high=high, chance=0.5)
        records.append(Record(f"dev | {model}", {}, (accuracy,)))
    Store(results / f"{name}.json").put(*records)
    protocol.store_of.cache_clear()


def table(**changes):
    """A protocol whose fields are the same on both sides, with changes."""
    same_on_both_sides = Protocol("some", "1", "a table", tuple(FIELDS), FIELDS, {}, FIELDS, claims=(ABOVE,))
    return replace(same_on_both_sides, **changes)


def test_an_essential_field_that_differs_makes_it_another_experiment(results):
    store_intervals(results, one=(0.7, 0.6, 0.8))
    verdict = table(here={**FIELDS, "train_size": 9_244}).verdict(results)
    assert verdict == ("another experiment", "differs in train size")
    assert table(here={**FIELDS, "train_size": 40_348, "seeds": 3}).verdict(results)[0] == "holds"
    assert table(paper={**FIELDS, "train_size": "unknown"}).verdict(results)[0] == "holds"


def test_the_word_follows_from_the_intervals_of_every_row(results):
    store_intervals(results, one=(0.7, 0.6, 0.8), other=(0.55, 0.45, 0.65))
    assert table().verdict(results) == ("does not hold", "not in 1 of 2 comparisons: other 0.550 [0.450, 0.650]")
    store_intervals(results, one=(0.7, 0.6, 0.8), other=(0.75, 0.65, 0.85))
    assert table().verdict(results)[0] == "holds"
    assert table(paper={**FIELDS, "encoder": "a large one"}).verdict(results)[0] == "in kind"


def test_without_a_result_or_with_a_reason_a_table_is_not_run(results):
    assert table().verdict(results) == ("not run", "no result is stored; `python -m runs some-1` makes it")
    assert table(here={"not_run": "needs people"}).verdict(results) == ("not run", "needs people")
    trained = table(here={**FIELDS, "trains": True})
    assert trained.verdict(results) == ("not run", "`python -m runs some-1` makes it")


def test_what_is_stored_counts_until_the_protocol_itself_was_run(results):
    trained = table(here={**FIELDS, "trains": True}, stored={"test": "another"})
    assert trained.verdict(results) == ("another experiment", "differs in test")
    store_intervals(results, one=(0.7, 0.6, 0.8))
    assert trained.verdict(results)[0] == "holds"


@pytest.mark.parametrize(
    ("side", "than", "within", "holds"),
    [
        ("above", None, 0, True),
        ("below", 0.75, 0, False),
        ("below", 0.85, 0, True),
        ("near", 0.65, 0.2, True),
        ("near", 0.65, 0.1, False),
        ("equal", 0.705, 0.01, True),
        ("equal", 0.72, 0.01, False),
    ],
)
def test_sides_are_of_the_whole_interval(results, side, than, within, holds):
    store_intervals(results, one=(0.7, 0.6, 0.8))
    claim = replace(ABOVE, side=side, than=than, within=within)
    findings = claim.findings(Store(results / "some-1.json"))
    assert [finding.holds for finding in findings] == [holds]


def test_a_difference_between_parts_has_an_interval(results):
    store_intervals(results, one=(0.9, 0.8, 0.95))
    store = Store(results / "some-1.json")
    accuracy_of_rest = row(*MEANING, 0.6, 100, low=0.5, high=0.7)
    store.put(replace(store["dev | one"], key="rest | one", rows=(accuracy_of_rest,)))
    claim = replace(ABOVE, less="rest")
    (finding,) = claim.findings(store)
    assert finding.name == "one"
    assert finding.holds
    (finding_below,) = replace(claim, side="below").findings(store)
    assert not finding_below.holds


def records_of_arm(arm, accuracies):
    """Records of an arm, one per seed."""
    records = []
    for seed, accuracy in enumerate(accuracies):
        records.append(Record(f"{arm}/{seed}", {}, (row(*MEANING, accuracy, 100),)))
    return records


@pytest.mark.parametrize(
    ("accuracies", "holds"),
    [([0.7, 0.71, 0.72], True), ([0.7], False), ([0.9, 0.5, 0.61], False)],
    ids=["all higher", "one seed", "not all higher"],
)
def test_arms_are_compared_over_their_seeds_and_one_seed_shows_nothing(tmp_path, accuracies, holds):
    store = Store(tmp_path / "store.json")
    store.put(*records_of_arm("words", accuracies))
    store.put(*records_of_arm("original", [0.6, 0.6, 0.6]))
    claim = Claim("words/*", "accuracy", "above", less="original/*")
    assert [finding.holds for finding in claim.findings(store)] == [holds]


def test_every_table_of_the_papers_has_a_protocol_with_its_fields_on_both_sides():
    for paper_table in protocols().values():
        if "not_run" in paper_table.here:
            continue
        name = paper_table.name
        assert paper_table.essential, name
        for field in paper_table.essential:
            assert field in paper_table.paper, f"{name}: {field} of the paper"
            assert field in paper_table.here, f"{name}: {field} here"
        assert paper_table.source, f"{name}: no line of the source"
        assert set(paper_table.stored) <= set(paper_table.here) | {"seeds"}, name
        word, _ = paper_table.verdict()
        assert word in protocol.WORDS


def test_tables_have_the_names_of_their_protocols_and_of_their_jobs():
    tables_of_no_paper = {"square-one-figure-1", "winogrande-authors", "liu-heads", "naturalness-texts"}
    assert set(all_tables()) - set(protocols()) == tables_of_no_paper
    assert {job.table for job in protocol_jobs()} <= set(protocols())


def test_jobs_have_names_of_their_own_and_begin_with_jobs_that_come_before_them():
    names = [job.name for job in protocol_jobs()]
    assert len(set(names)) == len(names)
    for index, job in enumerate(protocol_jobs()):
        assert job.after is None or job.after in names[:index]
    settings = jobs_of_table("square-one-6.1-trained")[0].settings
    assert settings.batch_size == 8
    assert settings.epochs == 8
    assert settings.learning_rate == 1e-5
    assert settings.keep == "last"


def test_settings_of_jobs_are_those_that_the_protocol_says():
    for job in protocol_jobs():
        here = protocols()[job.table].here
        if "draws" not in here:
            assert job.settings.epochs == here["epochs"], job.name
            assert job.settings.batch_size == here["batch"], job.name
            assert job.settings.learning_rate == here["rate"], job.name


def test_trials_draw_the_same_settings_for_every_formalization():
    here = protocols()["liu-1"].here
    epochs_drawn, _, _ = here["draws"].partition(";")
    draws_by_arm: dict[str, list[tuple[object, ...]]] = {}
    for job in jobs_of_table("liu-1"):
        settings = job.settings
        assert settings.keep == "best"
        assert f"{settings.epochs}" in epochs_drawn
        draw = (settings.seed, settings.epochs, settings.batch_size, settings.learning_rate)
        draws_by_arm.setdefault(job.arm, []).append(draw)
    expected_draws = draws_by_arm["liu/superglue-wsc/p-span"]
    assert len(draws_by_arm) == 12
    assert all(draws == expected_draws for draws in draws_by_arm.values())
    assert here["trials"] == 60
    assert len(set(expected_draws)) == 60


def test_both_columns_of_settings_are_shown_and_what_differs():
    text = table(here={**FIELDS, "test": "another", "seeds": 3}).settings_table()
    assert "| train size | 40,398 | 40,398 | same |" in text
    assert "| test | dev | another | **differs** |" in text
    assert "| seeds | | 3 | |" in text


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [(100, 99, True), (100, 98, False), ([1, 2], [1, 2], True), ([1, 2], [1], False), ({"a": 1}, {"b": 1}, False)],
)
def test_sizes_are_the_same_within_one_in_a_hundred(theirs, ours, same):
    assert is_same(theirs, ours) is same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[a]\ntitle = "t"\nclaims = [{ rows = "x", metric = "m", side = "over" }]',
            "side: expected above or below or near or equal, found 'over'",
        ),
        ('[a]\ntitle = "t"\nclaims = [{ rows = "x", side = "above" }]', "metric"),
        ('[a]\ntitle = "t"\nword = "holds"', "word"),
    ],
)
def test_a_field_that_no_protocol_has_is_refused(tmp_path, text, message):
    path = tmp_path / "paper.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=message):
        list(read_protocols(path))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--model", "hf:./nowhere"], "./nowhere: no such folder; give a folder"),
        (["--model", "hf:nobody/nothing"], "nobody/nothing: no such folder, and"),
        (["--model", "hf:roberta-large"], "roberta-large: no such folder, and"),
        (["--model", "hf:a/b/c"], "a/b/c: no such folder; give a folder with a model, or a name of the hub"),
        (["--model", "random"], "random: cannot be trained"),
        (["--model", "a=builtin", "--model", "b=builtin"], "one model at a time"),
        (["--only", "square-one/7"], "--only square-one/7: no job of square-one-6.1-trained"),
        (["--out", str(RESULTS)], "choose another --out"),
        (["--steps", "0"], "--steps: expected a number above 0, found 0"),
        (["--minutes", "-1"], "--minutes: expected a number above 0, found -1.0"),
    ],
)
def test_what_cannot_be_trained_is_told_in_one_line_before_anything_is_read(
    tmp_path, capsys, monkeypatch, arguments, why
):
    pytest.importorskip("torch")
    from runs import sets, training

    def unreachable(*_, **__):
        raise OSError("no network in tests")

    monkeypatch.setattr(training.socket, "create_connection", unreachable)
    monkeypatch.setattr(sets, "prepared", lambda *_: pytest.fail("datasets are read"))
    if "--out" not in arguments:
        arguments = [*arguments, "--out", str(tmp_path)]
    assert main(["square-one-6.1-trained", *arguments]) == 2
    message = capsys.readouterr().err
    assert why in message
    assert message.count("\n") == 1


def test_without_a_gpu_the_cost_is_told_and_nothing_is_done(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch")
    from runs import training

    monkeypatch.setattr(training, "has_gpu", lambda: False)
    assert main(["square-one-6.1-trained", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert (
        "| control | the original form of the same problems | the original form of the same problems | same |" in text
    )
    assert "6 jobs, 156,288 steps;" in text  # 8 epochs of 26,044 problems in batches of 8
    assert not list(tmp_path.iterdir())
