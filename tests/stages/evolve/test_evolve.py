"""A new version: what models solve beyond chance goes, twins together; everything else has a place and a past."""

import html
import inspect
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from support import small
from support.copies import repeated, thrice
from support.solving import answers_by

from winokit.answers import AskedProblems
from winokit.data.synthetic import synthetic
from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Card, Dataset, Problem
from winokit.stages.evolve.evolution import make_evolution
from winokit.stages.evolve.page import write_evolution
from winokit.stages.evolve.pool import pool_of
from winokit.stages.evolve.run import ask_and_evolve
from winokit.stages.evolve.run import evolve as verb
from winokit.stages.evolve.settings import EvolveSettings
from winokit.stages.evolve.solved import SWITCHED, EvolveAnswers, answers_of, solved_beyond_chance
from winokit.stages.release.contents import Succession
from winokit.stages.release.hidden import Draws, hidden_folder
from winokit.stages.release.manifest import read_lineage, read_release, write_lineage
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseSettings
from winokit.stages.release.verify import verify

NEXT = EvolveSettings("2.0")


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1", tests=60)


@pytest.fixture
def new() -> Dataset:
    return Dataset([problem for number in range(200, 240) for problem in small.twins(number)], Card("small"))


def knows(problems: Dataset, name: str, skill: float, *, switched: bool = True) -> EvolveAnswers:
    """A model that knows a share of the groups and guesses the rest."""
    chance = random.Random(name)
    known = {group: chance.random() < skill for group in sorted(problems.groups)}

    def asked() -> dict[str, bool]:
        return {p.id: known.get(p.group, False) or chance.random() < 0.5 for p in problems}

    return answers_by(problems, name, asked(), asked() if switched else {})


def test_the_pool_knows_answers_places_and_what_is_new(release, new):
    pool = pool_of(release, new)
    assert pool.version == "1.0"
    assert all(problem.answer is not None for problem in pool.problems)
    assert [pool.where.get(p.id) for p in pool.problems].count("test") == 120
    assert sum(pool.is_new(p) for p in pool.problems) == 80
    assert len(pool.asked) == 20 + 120 + 80


def test_without_hidden_labels_the_answers_must_be_offered(release, new):
    hidden_folder(release).rename(release.with_name("safe"))
    with pytest.raises(BadInput, match="answers of 120 of its 120 test problems are needed"):
        pool_of(release, new)
    tests = [problem for number in range(26, 86) for problem in small.twins(number)]
    offered = Dataset([p.with_order((1, 0)) for p in tests] + list(new))
    found = {p.id: p for p in pool_of(release, offered).problems}
    assert all(found[p.id].right == p.right and found[p.id].candidates == p.candidates for p in tests)
    assert len(pool_of(release, new, hidden=release.with_name("safe")).asked) == 220


def test_guessers_get_nothing_retired(release, new):
    asked = pool_of(release, new).asked
    found = [solved_beyond_chance(asked, [knows(asked, f"guesser {number}", 0.0)]).retire for number in range(30)]
    assert sum(map(bool, found)) <= 2


def test_a_model_that_answers_one_side_gets_nothing_retired(release, new):
    asked = pool_of(release, new).asked
    first = {p.id: p.answer == 0 for p in asked}
    assert solved_beyond_chance(asked, [answers_by(asked, "first", first, first)]).retire == frozenset()


def test_whole_groups_go_and_as_many_stay_as_guessing_would_solve(release, new):
    asked = pool_of(release, new).asked
    model = knows(asked, "strong", 0.7)
    found = solved_beyond_chance(asked, [model])
    assert {p.group for p in asked if p.id in found.retire}.isdisjoint(
        p.group for p in asked if p.id not in found.retire
    )
    left = asked.filter(lambda p: p.id not in found.retire)
    settled = model.settled_on(left)
    right = {p.id for p, is_right in zip(left, settled.correct, strict=True) if is_right}
    wrong = {p.id for p, counts in zip(left, ~settled.correct & ~settled.silent, strict=True) if counts}
    (stratum,) = found.strata
    assert stratum.retired == stratum.solved - stratum.turned > 50
    solved, turned = (
        sum(all(p.id in side for p in members) for members in left.groups.values()) for side in (right, wrong)
    )
    assert solved == turned == stratum.turned


def test_the_number_solved_by_guessing_is_estimated_well(release):
    problems = Dataset([p for number in range(1000) for p in small.twins(number)])
    for skill in (0.0, 0.3, 0.8):
        (stratum,) = solved_beyond_chance(problems, [knows(problems, f"model {skill}", skill, switched=False)]).strata
        assert stratum.turned == pytest.approx(250 * (1 - skill), abs=35)


def test_a_majority_must_be_one_and_all_means_all(release, new):
    asked = pool_of(release, new).asked
    models = [knows(asked, "one", 0.9), knows(asked, "two", 0.9), knows(asked, "three", 0.0)]
    assert solved_beyond_chance(asked, models).needed == 3
    most = solved_beyond_chance(asked, models, majority=0.6)
    assert most.needed == 2
    assert len(most.retire) > len(solved_beyond_chance(asked, models).retire)
    for wrong in (0.5, 0.0, 1.1):
        with pytest.raises(BadInput, match="majority"):
            EvolveSettings(majority=wrong)
    for wrong in (0, 1.1, float("nan")):
        with pytest.raises(BadInput, match=f"alpha: expected 1 or less and a number above 0, found {wrong}"):
            EvolveSettings("2.0", alpha=wrong)


def test_every_door_has_the_same_alpha():
    defaults = [inspect.signature(door).parameters["alpha"].default for door in (verb, solved_beyond_chance)]
    assert {*defaults, EvolveSettings("2.0").alpha} == {0.05}


def test_silence_neither_solves_nor_turns(release, new):
    asked = pool_of(release, new).asked
    model = knows(asked, "strong", 0.6, switched=False)
    choices = model.on(asked).choices
    silent_groups = set(list(asked.groups)[:50])
    rows = [
        Prediction(p.id, "original", "m", "s", None, None if p.group in silent_groups else int(c), p.answer)
        for p, c in zip(asked, choices, strict=True)
    ]
    silent = EvolveAnswers.of("strong", AskedProblems.of(asked), rows)
    (stratum,) = solved_beyond_chance(asked, [silent]).strata
    settled = silent.settled_on(asked)
    speaking = [members for name, members in asked.groups.items() if name not in silent_groups]
    right = {p.id for p, is_right in zip(asked, settled.correct, strict=True) if is_right}
    assert stratum.solved == sum(all(p.id in right for p in members) for members in speaking)
    assert stratum.turned == sum(not any(p.id in right for p in members) for members in speaking)


def test_problems_written_three_times_are_retired_no_more_surely(release, new):
    asked = pool_of(release, new).asked
    model = knows(asked, "able", 0.12, switched=False)
    flags = model.on(asked).correct.tolist()
    copies = thrice(asked)
    right = dict(zip((p.id for p in copies), repeated(flags), strict=True))
    (once,) = solved_beyond_chance(asked, [model]).strata
    (again,) = solved_beyond_chance(copies, [answers_by(copies, "able", right)]).strata
    assert 0.001 < once.p < 0.9
    assert again.p >= once.p - 1e-9


def test_a_model_that_always_gives_the_commonest_answer_gets_no_problem_alone_retired():
    alone = Dataset(
        Problem(f"Ann met Bea {n} times as ", " ran.", ("Ann", "Bea"), int(n % 20 >= 13)) for n in range(200)
    )
    first = {p.id: p.answer == 0 for p in alone}
    assert sum(first.values()) == 130
    assert solved_beyond_chance(alone, [answers_by(alone, "first", first)]).retire == frozenset()


def test_null_and_p_value_of_a_model_are_for_the_owner_alone(release, new):
    pool = pool_of(release, new)
    write_evolution(make_evolution(pool, [knows(pool.asked, "strong", 0.6)], NEXT), release)
    full = json.loads((hidden_folder(release) / "evolution.json").read_text())["fares"]
    public = json.loads((release / "evolution.json").read_text())["fares"]
    assert all(0 < fare["null"] < 1 and 0 <= fare["p"] <= 1 for fare in full)
    assert all(fare["null"] is None and fare["p"] is None for fare in public)


def test_the_record_of_a_version_without_null_is_read(second):
    folder, _ = second
    record = json.loads((folder / "evolution.json").read_text())
    for fare in record["fares"]:
        del fare["null"], fare["p"]
    (folder / "evolution.json").write_text(json.dumps(record))
    pool = pool_of(folder, Dataset([]))
    evolution = make_evolution(pool, [knows(pool.asked, "strong", 0.2)], EvolveSettings("3.0", folder))
    assert {fare.version for fare in evolution.fares} >= {"1.0", "2.0"}


def test_models_that_guess_as_one_are_not_taken_for_several(release, new):
    asked = pool_of(release, new).asked
    one = knows(asked, "guesser", 0.0)
    assert solved_beyond_chance(asked, [one, one, one]).retire == frozenset()


def test_the_draw_does_not_depend_on_the_order_of_the_file(release, new):
    asked = pool_of(release, new).asked
    model = knows(asked, "strong", 0.5)
    turned = asked.with_problems(reversed(asked.problems))
    one, again = (solved_beyond_chance(data, [model], secret=Draws(b"a" * 32)).retire for data in (asked, turned))
    assert one == again
    # Two draws may be equal, twenty are not: with other secrets, and where none is given.
    others = {solved_beyond_chance(asked, [model], secret=Draws(bytes([key]) * 32)).retire for key in range(20)}
    assert len(others) > 1
    assert len({solved_beyond_chance(asked, [model]).retire for _ in range(20)}) > 1


def test_every_problem_has_a_place_and_a_past(release, new):
    pool = pool_of(release, new)
    evolution = make_evolution(pool, [knows(pool.asked, "strong", 0.6)], NEXT)
    kept = evolution.kept
    removed = evolution.removed
    lineage = evolution.lineage
    fixed = evolution.fixed
    rows = {row["id"]: row for row in lineage}
    assert set(rows) == {p.id for p in pool.problems}
    gone = {name for name, row in rows.items() if row["status"] == "retired"}
    assert gone
    assert gone == {name for name in pool.where if pool.where[name] == "test"} - {p.id for p in (*kept, *removed)}
    for name in gone:
        assert (rows[name]["split"], rows[name]["since"], rows[name]["until"]) == (None, "1.0", "2.0")
        assert "strong" in rows[name]["why"]
    for problem in kept:
        row = rows[problem.id]
        before = pool.where.get(problem.id)
        assert row["split"] == before == fixed.get(problem.id)
        assert row["status"] == ("kept" if before else "added")
        assert row["since"] == ("1.0" if before else "2.0")
    for problem in removed:
        assert rows[problem.id]["split"] == fixed[problem.id] == "train"


def test_training_problems_stay_training_whatever_the_models_know(release, new):
    pool = pool_of(release, new)
    evolution = make_evolution(pool, [knows(pool.asked, "strong", 0.6)], NEXT)
    trained = {name for name, split in pool.where.items() if split == "train"}
    assert len(trained) == 32
    assert {evolution.fixed[name] for name in trained} == {"train"}
    assert trained <= {p.id for p in evolution.kept}


def test_retired_dev_problems_become_training_and_retired_test_problems_nothing(release, new):
    pool = pool_of(release, new)
    evolution = make_evolution(pool, [knows(pool.asked, "strong", 0.8)], NEXT)
    places = {pool.where.get(p.id) for p in evolution.removed}
    assert places == {"dev", None}
    assert any("close the leaderboard of 1.0" in note for note in evolution.notes)


def test_rows_of_what_stays_do_not_tell_who_solved_it(release, new):
    pool = pool_of(release, new)
    evolution = make_evolution(pool, [knows(pool.asked, "strong", 0.6)], NEXT)
    assert {row["why"] for row in evolution.lineage if row["status"] in ("kept", "added")} == {
        "here before",
        "new in this version",
    }


def test_a_new_twin_goes_where_its_group_stands(release):
    members = small.twins(30)
    third = members[0].replace(after=" had two copies.", group="mine")
    pool = pool_of(release, Dataset([members[0].replace(group="mine"), third]))
    assert pool.where[third.id] == "test"
    assert {p.group for p in pool.problems if p.id in {m.id for m in (*members, third)}} == {"g30"}


def test_groups_of_the_same_name_in_both_stay_apart(release):
    strangers = [p.replace(group="g30") for p in small.twins(500)]
    pool = pool_of(release, Dataset(strangers))
    ours = {p.group for p in pool.problems if p.id in {s.id for s in strangers}}
    theirs = {p.group for p in pool.problems if p.id in {s.id for s in small.twins(30)}}
    assert len(ours) == len(theirs) == 1
    assert ours != theirs
    assert all(pool.where.get(p.id) is None for p in strangers)


@pytest.fixture
def second(release, new, tmp_path):
    """A second version in a folder of its own, and which problems it retired."""
    pool = pool_of(release, new)
    evolution = make_evolution(pool, [knows(pool.asked, "strong", 0.6)], replace(NEXT, previous=release))
    folder = small.small_release(tmp_path / "v2", tests=0, about={"version": "2.0"})
    gone = {row["id"] for row in evolution.lineage if row["status"] == "retired"}
    rows = read_lineage(folder / "lineage.jsonl") + [row for row in evolution.lineage if row["id"] in gone]
    write_lineage(folder / "lineage.jsonl", rows)
    write_evolution(evolution, folder)
    return folder, gone


def test_a_retired_problem_does_not_return_by_being_offered_again(second):
    folder, gone = second
    offered = Dataset([p for number in range(26, 86) for p in small.twins(number) if p.id in gone])
    pool = pool_of(folder, offered)
    assert set(pool.returning) == gone
    assert gone.isdisjoint(p.id for p in pool.problems)
    assert "had been retired before and stay out" in pool.notes[0]
    rows = {row["id"]: row for row in make_evolution(pool, [knows(pool.asked, "m", 0)], EvolveSettings("3.0")).lineage}
    assert {rows[name]["status"] for name in gone} == {"retired"}
    assert {rows[name]["until"] for name in gone} == {"2.0"}


def test_who_brings_it_back_gets_it_for_training_with_its_past(second):
    folder, gone = second
    offered = Dataset([p for number in range(26, 86) for p in small.twins(number) if p.id in gone])
    pool = pool_of(folder, offered, bring_back=True)
    evolution = make_evolution(pool, [knows(pool.asked, "m", 0)], EvolveSettings("3.0"))
    rows = {row["id"]: row for row in evolution.lineage}
    assert {evolution.fixed[name] for name in gone} == {"train"}
    assert {rows[name]["why"] for name in gone} == {"retired from 2.0 before, and brought back"}


def test_the_record_carries_on_how_models_fared(second):
    folder, _ = second
    pool = pool_of(folder, Dataset([p for number in range(300, 340) for p in small.twins(number)]))
    evolution = make_evolution(pool, [knows(pool.asked, "strong", 0.2)], EvolveSettings("3.0", folder))
    fares = {(fare.version, fare.metric): fare for fare in evolution.fares if fare.model == "strong"}
    assert {version for version, _ in fares} == {"1.0", "2.0", "3.0"}
    assert not fares["1.0", "accuracy"].against
    assert fares["2.0", "accuracy"].against
    assert fares["1.0", "group_accuracy"].value > fares["2.0", "group_accuracy"].value


def test_a_record_with_a_score_that_is_no_number_is_one_line(second):
    folder, _ = second
    record = json.loads((folder / "evolution.json").read_text())
    record["fares"][0]["n"] = "many"
    (folder / "evolution.json").write_text(json.dumps(record))
    pool = pool_of(folder, Dataset([]))
    with pytest.raises(BadInput, match=r"evolution\.json: not what winokit evolve writes \(a score is no number"):
        make_evolution(pool, [knows(pool.asked, "strong", 0.2)], EvolveSettings("3.0", folder))


def test_the_page_says_that_falling_scores_are_by_construction(second):
    folder, _ = second
    page = (folder / "evolution.html").read_text()
    assert "Their scores fall by construction" in page
    assert "Every model shown was filtered against" in page
    record = json.loads((folder / "evolution.json").read_text())
    assert record["solved"] == []
    full = json.loads((hidden_folder(folder) / "evolution.json").read_text())
    assert next(iter(record)) == next(iter(full)) == "schema"
    solved = full["solved"]
    assert [one["split"] for one in solved] == ["dev", "new", "test"]
    assert sum(one["turned"] for one in solved) > 0
    assert [f.dataset for f in verify(folder).findings if f.check == "files"] == []


def test_the_page_tells_apart_the_kinds_of_groups_that_guessing_solves_more_or_less_often(release, new):
    pool = pool_of(release, new)
    model = knows(pool.asked, "strong", 0.6)
    some = {p.id for number, members in enumerate(pool.asked.groups.values()) for p in members[: number % 3]}
    settled = model.settled_on(pool.asked)
    right = {p.id: bool(is_right) for p, is_right in zip(pool.asked, settled.correct, strict=True)}
    switched = {name: right[name] for name in some}
    evolution = make_evolution(pool, [answers_by(pool.asked, "strong", right, switched)], NEXT)
    ways = ["", " (1 of 2 switched too)", " (switched too)"]
    kinds = [f"{pairs}{way}" for pairs in ("pairs of dev", "new pairs", "pairs of test") for way in ways]
    assert [one.kind for one in evolution.solved.strata] == kinds
    write_evolution(evolution, release)
    page = (hidden_folder(release) / "evolution.html").read_text()
    assert all(f"<td>{kind.capitalize()}</td>" in page for kind in kinds)
    assert all(f"<li>{html.escape(note)}.</li>" in page for note in (*evolution.notes, *evolution.findings))


def test_watched_models_are_charted_and_not_filtered_against(release, new, tmp_path):
    pool = pool_of(release, new)
    strong = knows(pool.asked, "strong", 0.6)
    other = knows(pool.asked, "other", 0.6)
    evolution = make_evolution(pool, [strong], NEXT, watched=[other])
    assert evolution.solved.retire == make_evolution(pool, [strong], NEXT).solved.retire  # from one secret
    assert not any(fare.against for fare in evolution.fares if fare.model == "other")
    write_evolution(evolution, release)
    assert "Look at the models it was not filtered against" in (release / "evolution.html").read_text()


def test_models_and_files_of_predictions_are_asked(release, new, tmp_path):
    people = synthetic(20)
    (found,) = answers_of(people, "random")
    asked_of = [variant for variant, _ in found.choice_of]
    assert asked_of.count("original") == len(people)
    assert 0 < asked_of.count(SWITCHED) <= len(people)
    asked = pool_of(release, new).asked
    rows = [{"id": p.id, "variant": "original", "model": "m", "scoring": "s", "prediction": p.answer} for p in asked]
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (told,) = answers_of(asked, path)
    assert told.on(asked).correct.all()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    with pytest.raises(BadInput, match="no prediction of m for 1 of the 220"):
        answers_of(asked, path)


def test_a_new_version_needs_a_name_of_its_own_and_something_to_filter_against(release, new):
    pool = pool_of(release, new)
    with pytest.raises(BadInput, match="filter against what"):
        make_evolution(pool, [], NEXT)
    with pytest.raises(BadInput, match=r"must not be called 1\.0"):
        make_evolution(pool, [knows(pool.asked, "m", 0.1)], EvolveSettings("1.0"))


@pytest.fixture
def answers(release, tmp_path) -> tuple[Dataset, Path]:
    """New problems, and a file with the answers of a model that knows most groups."""
    offered = Dataset(synthetic(40, bias=0.0), Card("synthetic", licence="CC0-1.0"))
    asked = pool_of(release, offered).asked
    choices = knows(asked, "able", 0.7).on(asked).predictions
    rows = [
        {"id": p.id, "model": "able", "scoring": "s", "prediction": choice}
        for p, choice in zip(asked, choices, strict=True)
    ]
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return offered, path


def test_one_call_asks_models_and_files(release, answers):
    offered, path = answers
    evolution = ask_and_evolve(offered, replace(NEXT, previous=release, predictions=(path,), watch=("random",)))
    assert len(evolution.solved.retire) > 50
    assert {fare.model: fare.against for fare in evolution.fares if fare.version == "2.0"} == {
        "able": True,
        "random": False,
    }
    with pytest.raises(BadInput, match="random is named twice"):
        ask_and_evolve(offered, replace(NEXT, previous=release, model=("random", "random")))


def test_a_version_becomes_a_release_that_verifies_and_evolves_again(release, answers, tmp_path):
    offered, path = answers
    evolution = ask_and_evolve(offered, replace(NEXT, previous=release, predictions=(path,)))
    kept = evolution.kept
    removed = evolution.removed
    fixed = evolution.fixed
    made = ReleaseSettings(name="small", version="2.0", singles=True)
    out = write_release(
        kept, tmp_path / "v2", removed=removed, settings=made, succession=Succession(fixed, evolution.placed)
    ).folder
    write_evolution(evolution, out)
    assert [finding for finding in verify(out).findings if finding.warns] == []
    before = read_release(release)
    now = read_release(out)
    trained = {p.id for name, part in before.items() if name.startswith("train") for p in part}
    assert trained.isdisjoint(p.id for name in ("dev", "test") for p in now[name])
    assert {p.id for p in before["test"]} & {p.id for p in now["test"]}
    rows = {row["id"]: row for row in read_lineage(out / "lineage.jsonl")}
    assert all(rows[p.id]["split"] == "test" for p in now["test"])
    third = pool_of(out, Dataset([]))
    assert third.version == "2.0"
    assert {row["since"] for row in third.lineage.values()} == {"1.0", "2.0"}
