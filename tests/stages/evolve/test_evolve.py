"""A new version retires what models solve beyond chance, twins together, and gives all else a place and a past."""

import html
import inspect
import json
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
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
THIRD = EvolveSettings("3.0")
TEST_PAIRS = range(26, 86)
"""Numbers of the pairs in the test split of the release."""


def make_twins(numbers: Iterable[int]) -> list[Problem]:
    """Pairs of twins with these numbers, one pair after the other."""
    problems = []
    for number in numbers:
        problems += small.twins(number)
    return problems


def ids_of(problems: Iterable[Problem]) -> set[str]:
    return {problem.id for problem in problems}


def count_groups_within(groups: Iterable[Iterable[Problem]], ids: set[str]) -> int:
    """Number of groups whose every problem is among these ids."""
    return sum(ids_of(members) <= ids for members in groups)


def write_rows(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_record(folder: Path) -> dict:
    """The record of an evolution in a release folder, or in its hidden folder."""
    return json.loads((folder / "evolution.json").read_text())


def lineage_by_id(evolution) -> dict[str, dict]:
    return {row["id"]: row for row in evolution.lineage}


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1", tests=60)


@pytest.fixture
def new() -> Dataset:
    return Dataset(make_twins(range(200, 240)), Card("small"))


def simulate_model(problems: Dataset, name: str, skill: float, *, switched: bool = True) -> EvolveAnswers:
    """Answers of a model that knows the share `skill` of the groups and guesses the rest."""
    draws = random.Random(name)
    knows_group = {group: draws.random() < skill for group in sorted(problems.groups)}

    def draw_correctness() -> dict[str, bool]:
        correctness = {}
        for problem in problems:
            is_known = knows_group.get(problem.group, False)
            correctness[problem.id] = is_known or draws.random() < 0.5
        return correctness

    original = draw_correctness()
    if not switched:
        return answers_by(problems, name, original, {})
    return answers_by(problems, name, original, draw_correctness())


def test_the_pool_knows_answers_places_and_what_is_new(release, new):
    pool = pool_of(release, new)
    splits = [pool.where.get(problem.id) for problem in pool.problems]
    assert pool.version == "1.0"
    assert all(problem.answer is not None for problem in pool.problems)
    assert splits.count("test") == 120
    assert sum(pool.is_new(problem) for problem in pool.problems) == 80
    assert len(pool.asked) == 20 + 120 + 80


def test_without_hidden_labels_the_answers_must_be_offered(release, new):
    hidden_folder(release).rename(release.with_name("safe"))
    with pytest.raises(BadInput, match="answers of 120 of its 120 test problems are needed"):
        pool_of(release, new)
    tests = make_twins(TEST_PAIRS)
    reordered_tests = [problem.with_order((1, 0)) for problem in tests]
    pool = pool_of(release, Dataset([*reordered_tests, *new]))
    pooled = {problem.id: problem for problem in pool.problems}
    for problem in tests:
        assert pooled[problem.id].right == problem.right
        assert pooled[problem.id].candidates == problem.candidates


def test_hidden_labels_may_lie_in_a_folder_that_is_named(release, new):
    safe = release.with_name("safe")
    hidden_folder(release).rename(safe)
    pool = pool_of(release, new, hidden=safe)
    assert len(pool.asked) == 220


def test_guessers_get_nothing_retired(release, new):
    problems = pool_of(release, new).asked
    retired = []
    for number in range(30):
        guesser = simulate_model(problems, f"guesser {number}", 0.0)
        retired.append(solved_beyond_chance(problems, [guesser]).retire)
    assert sum(map(bool, retired)) <= 2


def test_a_model_that_answers_one_side_gets_nothing_retired(release, new):
    problems = pool_of(release, new).asked
    is_first = {problem.id: problem.answer == 0 for problem in problems}
    model = answers_by(problems, "first", is_first, is_first)
    assert solved_beyond_chance(problems, [model]).retire == frozenset()


def test_whole_groups_go_and_as_many_stay_as_guessing_would_solve(release, new):
    problems = pool_of(release, new).asked
    model = simulate_model(problems, "strong", 0.7)
    solved = solved_beyond_chance(problems, [model])
    staying = problems.filter(lambda problem: problem.id not in solved.retire)
    leaving = problems.filter(lambda problem: problem.id in solved.retire)
    assert set(leaving.groups).isdisjoint(staying.groups)

    settled = model.settled_on(staying)
    is_wrong = ~settled.correct & ~settled.silent
    ids = np.array([problem.id for problem in staying])
    right_ids = set(ids[settled.correct])
    wrong_ids = set(ids[is_wrong])
    (stratum,) = solved.strata
    assert stratum.retired == stratum.solved - stratum.turned > 50
    solved_count = count_groups_within(staying.groups.values(), right_ids)
    turned_count = count_groups_within(staying.groups.values(), wrong_ids)
    assert solved_count == turned_count == stratum.turned


@pytest.mark.parametrize("skill", [0.0, 0.3, 0.8])
def test_the_number_solved_by_guessing_is_estimated_well(skill):
    problems = Dataset(make_twins(range(1000)))
    model = simulate_model(problems, f"model {skill}", skill, switched=False)
    (stratum,) = solved_beyond_chance(problems, [model]).strata
    assert stratum.turned == pytest.approx(250 * (1 - skill), abs=35)


def test_all_models_must_solve_a_group_unless_a_majority_is_enough(release, new):
    problems = pool_of(release, new).asked
    skills = {"one": 0.9, "two": 0.9, "three": 0.0}
    models = [simulate_model(problems, name, skill) for name, skill in skills.items()]
    by_all = solved_beyond_chance(problems, models)
    by_most = solved_beyond_chance(problems, models, majority=0.6)
    assert by_all.needed == 3
    assert by_most.needed == 2
    assert len(by_most.retire) > len(by_all.retire)


@pytest.mark.parametrize("share", [0.5, 0.0, 1.1])
def test_a_majority_must_be_more_than_half(share):
    with pytest.raises(BadInput, match="majority"):
        EvolveSettings(majority=share)


@pytest.mark.parametrize("alpha", [0, 1.1, float("nan")])
def test_alpha_must_be_a_probability_above_zero(alpha):
    with pytest.raises(BadInput, match=f"alpha: expected 1 or less and a number above 0, found {alpha}"):
        EvolveSettings("2.0", alpha=alpha)


def test_every_door_has_the_same_alpha():
    doors = (verb, solved_beyond_chance)
    defaults = {inspect.signature(door).parameters["alpha"].default for door in doors}
    defaults.add(EvolveSettings("2.0").alpha)
    assert defaults == {0.05}


def test_silence_neither_solves_nor_turns(release, new):
    problems = pool_of(release, new).asked
    model = simulate_model(problems, "strong", 0.6, switched=False)
    choices = model.on(problems).choices
    silent_groups = set(list(problems.groups)[:50])
    predictions = []
    for problem, model_choice in zip(problems, choices, strict=True):
        choice = None if problem.group in silent_groups else int(model_choice)
        predictions.append(Prediction(problem.id, "original", "m", "s", None, choice, problem.answer))
    silent = EvolveAnswers.of("strong", AskedProblems.of(problems), predictions)
    (stratum,) = solved_beyond_chance(problems, [silent]).strata

    correct = silent.settled_on(problems).correct
    right_ids = {problem.id for problem, is_right in zip(problems, correct, strict=True) if is_right}
    speaking = [members for name, members in problems.groups.items() if name not in silent_groups]
    assert stratum.solved == count_groups_within(speaking, right_ids)
    assert stratum.turned == sum(ids_of(members).isdisjoint(right_ids) for members in speaking)


def test_problems_written_three_times_are_retired_no_more_surely(release, new):
    problems = pool_of(release, new).asked
    model = simulate_model(problems, "able", 0.12, switched=False)
    correct = model.on(problems).correct.tolist()
    copies = thrice(problems)
    copy_ids = [problem.id for problem in copies]
    is_right = dict(zip(copy_ids, repeated(correct), strict=True))
    copies_model = answers_by(copies, "able", is_right)
    (stratum,) = solved_beyond_chance(problems, [model]).strata
    (stratum_of_copies,) = solved_beyond_chance(copies, [copies_model]).strata
    assert 0.001 < stratum.p < 0.9
    assert stratum_of_copies.p >= stratum.p - 1e-9


def test_a_model_that_always_gives_the_commonest_answer_gets_no_problem_alone_retired():
    people = ("Ann", "Bea")
    problems = []
    for number in range(200):
        answer = int(number % 20 >= 13)
        problems.append(Problem(f"Ann met Bea {number} times as ", " ran.", people, answer))
    singles = Dataset(problems)
    is_first = {problem.id: problem.answer == 0 for problem in singles}
    assert sum(is_first.values()) == 130
    model = answers_by(singles, "first", is_first)
    assert solved_beyond_chance(singles, [model]).retire == frozenset()


def test_null_and_p_value_of_a_model_are_for_the_owner_alone(release, new):
    pool = pool_of(release, new)
    evolution = make_evolution(pool, [simulate_model(pool.asked, "strong", 0.6)], NEXT)
    write_evolution(evolution, release)
    hidden_fares = read_record(hidden_folder(release))["fares"]
    public_fares = read_record(release)["fares"]
    for fare in hidden_fares:
        assert 0 < fare["null"] < 1
        assert 0 <= fare["p"] <= 1
    for fare in public_fares:
        assert fare["null"] is None
        assert fare["p"] is None


def test_the_record_of_a_version_without_null_is_read(second_version):
    folder, _ = second_version
    record = read_record(folder)
    for fare in record["fares"]:
        del fare["null"], fare["p"]
    (folder / "evolution.json").write_text(json.dumps(record))
    pool = pool_of(folder, Dataset([]))
    model = simulate_model(pool.asked, "strong", 0.2)
    evolution = make_evolution(pool, [model], EvolveSettings("3.0", folder))
    assert {fare.version for fare in evolution.fares} >= {"1.0", "2.0"}


def test_models_that_guess_as_one_are_not_taken_for_several(release, new):
    problems = pool_of(release, new).asked
    guesser = simulate_model(problems, "guesser", 0.0)
    assert solved_beyond_chance(problems, [guesser, guesser, guesser]).retire == frozenset()


def test_the_draw_does_not_depend_on_the_order_of_the_file(release, new):
    problems = pool_of(release, new).asked
    model = simulate_model(problems, "strong", 0.5)
    reversed_problems = problems.with_problems(reversed(problems.problems))
    secret = Draws(b"a" * 32)
    solved = solved_beyond_chance(problems, [model], secret=secret)
    solved_reversed = solved_beyond_chance(reversed_problems, [model], secret=secret)
    assert solved.retire == solved_reversed.retire


def test_another_secret_or_none_makes_another_draw(release, new):
    problems = pool_of(release, new).asked
    model = simulate_model(problems, "strong", 0.5)
    # Two draws may be equal, twenty are not.
    draws_with_secrets = set()
    draws_without = set()
    for key in range(20):
        secret = Draws(bytes([key]) * 32)
        draws_with_secrets.add(solved_beyond_chance(problems, [model], secret=secret).retire)
        draws_without.add(solved_beyond_chance(problems, [model]).retire)
    assert len(draws_with_secrets) > 1
    assert len(draws_without) > 1


@pytest.fixture
def strong_evolution(release, new):
    """The pool of the release, and its evolution against a model that knows six groups of ten."""
    pool = pool_of(release, new)
    model = simulate_model(pool.asked, "strong", 0.6)
    return pool, make_evolution(pool, [model], NEXT)


def test_every_problem_has_a_row_in_the_lineage(strong_evolution):
    pool, evolution = strong_evolution
    assert set(lineage_by_id(evolution)) == ids_of(pool.problems)


def test_a_retired_problem_has_a_past_and_a_reason(strong_evolution):
    pool, evolution = strong_evolution
    rows = lineage_by_id(evolution)
    retired = {problem_id for problem_id, row in rows.items() if row["status"] == "retired"}
    test_ids = {problem_id for problem_id, split in pool.where.items() if split == "test"}
    assert retired
    assert retired == test_ids - ids_of((*evolution.kept, *evolution.removed))
    for problem_id in retired:
        row = rows[problem_id]
        assert (row["split"], row["since"], row["until"]) == (None, "1.0", "2.0")
        assert "strong" in row["why"]


def test_a_problem_that_stays_keeps_its_split(strong_evolution):
    pool, evolution = strong_evolution
    rows = lineage_by_id(evolution)
    for problem in evolution.kept:
        row = rows[problem.id]
        split_before = pool.where.get(problem.id)
        status, since = ("kept", "1.0") if split_before else ("added", "2.0")
        assert row["split"] == split_before == evolution.fixed.get(problem.id)
        assert row["status"] == status
        assert row["since"] == since
    for problem in evolution.removed:
        assert rows[problem.id]["split"] == evolution.fixed[problem.id] == "train"


def test_training_problems_stay_training_whatever_the_models_know(strong_evolution):
    pool, evolution = strong_evolution
    train_ids = {problem_id for problem_id, split in pool.where.items() if split == "train"}
    assert len(train_ids) == 32
    assert {evolution.fixed[problem_id] for problem_id in train_ids} == {"train"}
    assert train_ids <= ids_of(evolution.kept)


def test_retired_dev_problems_become_training_and_retired_test_problems_nothing(release, new):
    pool = pool_of(release, new)
    evolution = make_evolution(pool, [simulate_model(pool.asked, "strong", 0.8)], NEXT)
    splits_before = {pool.where.get(problem.id) for problem in evolution.removed}
    assert splits_before == {"dev", None}
    assert any("close the leaderboard of 1.0" in note for note in evolution.notes)


def test_rows_of_what_stays_do_not_tell_who_solved_it(strong_evolution):
    _, evolution = strong_evolution
    staying = [row for row in evolution.lineage if row["status"] in ("kept", "added")]
    assert {row["why"] for row in staying} == {"here before", "new in this version"}


def test_a_new_twin_goes_where_its_group_stands(release):
    members = small.twins(30)
    same_problem = members[0].replace(group="mine")
    new_twin = members[0].replace(after=" had two copies.", group="mine")
    pool = pool_of(release, Dataset([same_problem, new_twin]))
    group_ids = ids_of((*members, new_twin))
    assert pool.where[new_twin.id] == "test"
    assert {problem.group for problem in pool.problems if problem.id in group_ids} == {"g30"}


def test_groups_of_the_same_name_in_both_stay_apart(release):
    strangers = [problem.replace(group="g30") for problem in small.twins(500)]
    pool = pool_of(release, Dataset(strangers))
    stranger_ids = ids_of(strangers)
    member_ids = ids_of(small.twins(30))
    stranger_groups = {problem.group for problem in pool.problems if problem.id in stranger_ids}
    member_groups = {problem.group for problem in pool.problems if problem.id in member_ids}
    assert len(stranger_groups) == len(member_groups) == 1
    assert stranger_groups != member_groups
    assert all(pool.where.get(problem_id) is None for problem_id in stranger_ids)


@pytest.fixture
def second_version(release, new, tmp_path):
    """A second version in a folder of its own, and the ids of the problems it retired."""
    pool = pool_of(release, new)
    model = simulate_model(pool.asked, "strong", 0.6)
    evolution = make_evolution(pool, [model], replace(NEXT, previous=release))
    folder = small.small_release(tmp_path / "v2", tests=0, about={"version": "2.0"})
    retired_rows = [row for row in evolution.lineage if row["status"] == "retired"]
    lineage_path = folder / "lineage.jsonl"
    write_lineage(lineage_path, read_lineage(lineage_path) + retired_rows)
    write_evolution(evolution, folder)
    return folder, {row["id"] for row in retired_rows}


@pytest.fixture
def retired_problems(second_version) -> Dataset:
    """The problems that the second version retired, to be offered again."""
    _, retired = second_version
    return Dataset(problem for problem in make_twins(TEST_PAIRS) if problem.id in retired)


def test_a_retired_problem_does_not_return_by_being_offered_again(second_version, retired_problems):
    folder, retired = second_version
    pool = pool_of(folder, retired_problems)
    assert set(pool.returning) == retired
    assert retired.isdisjoint(ids_of(pool.problems))
    assert "had been retired before and stay out" in pool.notes[0]
    evolution = make_evolution(pool, [simulate_model(pool.asked, "m", 0)], THIRD)
    rows = lineage_by_id(evolution)
    assert {rows[problem_id]["status"] for problem_id in retired} == {"retired"}
    assert {rows[problem_id]["until"] for problem_id in retired} == {"2.0"}


def test_who_brings_it_back_gets_it_for_training_with_its_past(second_version, retired_problems):
    folder, retired = second_version
    pool = pool_of(folder, retired_problems, bring_back=True)
    evolution = make_evolution(pool, [simulate_model(pool.asked, "m", 0)], THIRD)
    rows = lineage_by_id(evolution)
    reasons = {rows[problem_id]["why"] for problem_id in retired}
    assert {evolution.fixed[problem_id] for problem_id in retired} == {"train"}
    assert reasons == {"retired from 2.0 before, and brought back"}


def test_the_record_carries_on_how_models_fared(second_version):
    folder, _ = second_version
    pool = pool_of(folder, Dataset(make_twins(range(300, 340))))
    model = simulate_model(pool.asked, "strong", 0.2)
    evolution = make_evolution(pool, [model], EvolveSettings("3.0", folder))
    strong_fares = [fare for fare in evolution.fares if fare.model == "strong"]
    fares = {(fare.version, fare.metric): fare for fare in strong_fares}
    assert {version for version, _ in fares} == {"1.0", "2.0", "3.0"}
    assert not fares["1.0", "accuracy"].against
    assert fares["2.0", "accuracy"].against
    assert fares["1.0", "group_accuracy"].value > fares["2.0", "group_accuracy"].value


def test_a_record_with_a_score_that_is_no_number_is_one_line(second_version):
    folder, _ = second_version
    record = read_record(folder)
    record["fares"][0]["n"] = "many"
    (folder / "evolution.json").write_text(json.dumps(record))
    pool = pool_of(folder, Dataset([]))
    model = simulate_model(pool.asked, "strong", 0.2)
    message = r"evolution\.json: not what winokit evolve writes \(a score is no number"
    with pytest.raises(BadInput, match=message):
        make_evolution(pool, [model], EvolveSettings("3.0", folder))


def test_the_page_says_that_falling_scores_are_by_construction(second_version):
    folder, _ = second_version
    page = (folder / "evolution.html").read_text()
    assert "Their scores fall by construction" in page
    assert "Every model shown was filtered against" in page


def test_the_public_record_does_not_tell_how_many_groups_were_solved(second_version):
    folder, _ = second_version
    public_record = read_record(folder)
    hidden_record = read_record(hidden_folder(folder))
    strata = hidden_record["solved"]
    assert public_record["solved"] == []
    assert next(iter(public_record)) == next(iter(hidden_record)) == "schema"
    assert [stratum["split"] for stratum in strata] == ["dev", "new", "test"]
    assert sum(stratum["turned"] for stratum in strata) > 0
    checks = {finding.check for finding in verify(folder).findings}
    assert "files" not in checks


def test_the_page_tells_apart_the_kinds_of_groups_that_guessing_solves_more_or_less_often(release, new):
    pool = pool_of(release, new)
    model = simulate_model(pool.asked, "strong", 0.6)
    switched_ids = set()
    for number, members in enumerate(pool.asked.groups.values()):
        switched_ids |= ids_of(members[: number % 3])
    correct = model.settled_on(pool.asked).correct
    ids = [problem.id for problem in pool.asked]
    right = dict(zip(ids, correct.tolist(), strict=True))
    switched = {problem_id: right[problem_id] for problem_id in switched_ids}
    model_in_part_switched = answers_by(pool.asked, "strong", right, switched)
    evolution = make_evolution(pool, [model_in_part_switched], NEXT)
    kinds = []
    for pairs in ("pairs of dev", "new pairs", "pairs of test"):
        kinds += [pairs, f"{pairs} (1 of 2 switched too)", f"{pairs} (switched too)"]
    assert [stratum.kind for stratum in evolution.solved.strata] == kinds

    write_evolution(evolution, release)
    page = (hidden_folder(release) / "evolution.html").read_text()
    for kind in kinds:
        assert f"<td>{kind.capitalize()}</td>" in page
    for note in (*evolution.notes, *evolution.findings):
        assert f"<li>{html.escape(note)}.</li>" in page


def test_watched_models_are_charted_and_not_filtered_against(release, new):
    pool = pool_of(release, new)
    strong = simulate_model(pool.asked, "strong", 0.6)
    watched = simulate_model(pool.asked, "other", 0.6)
    evolution = make_evolution(pool, [strong], NEXT, watched=[watched])
    unwatched_evolution = make_evolution(pool, [strong], NEXT)
    watched_fares = [fare for fare in evolution.fares if fare.model == "other"]
    assert evolution.solved.retire == unwatched_evolution.solved.retire  # from one secret
    assert not any(fare.against for fare in watched_fares)
    write_evolution(evolution, release)
    page = (release / "evolution.html").read_text()
    assert "Look at the models it was not filtered against" in page


def test_a_model_is_asked_every_problem_and_switched_where_it_can_be():
    people = synthetic(20)
    (model,) = answers_of(people, "random")
    variants = [variant for variant, _ in model.choice_of]
    assert variants.count("original") == len(people)
    assert 0 < variants.count(SWITCHED) <= len(people)


def test_a_file_of_predictions_must_answer_every_problem(release, new, tmp_path):
    problems = pool_of(release, new).asked
    scorer = {"model": "m", "scoring": "s"}
    rows = []
    for problem in problems:
        rows.append({"id": problem.id, "variant": "original", **scorer, "prediction": problem.answer})
    path = tmp_path / "predictions.jsonl"
    write_rows(path, rows)
    (answers,) = answers_of(problems, path)
    assert answers.on(problems).correct.all()
    write_rows(path, rows[1:])
    with pytest.raises(BadInput, match="no prediction of m for 1 of the 220"):
        answers_of(problems, path)


def test_a_new_version_needs_a_name_of_its_own_and_something_to_filter_against(release, new):
    pool = pool_of(release, new)
    with pytest.raises(BadInput, match="filter against what"):
        make_evolution(pool, [], NEXT)
    model = simulate_model(pool.asked, "m", 0.1)
    with pytest.raises(BadInput, match=r"must not be called 1\.0"):
        make_evolution(pool, [model], EvolveSettings("1.0"))


@pytest.fixture
def answers(release, tmp_path) -> tuple[Dataset, Path]:
    """New problems, and a file with the answers of a model that knows most groups."""
    offered = Dataset(synthetic(40, bias=0.0), Card("synthetic", licence="CC0-1.0"))
    problems = pool_of(release, offered).asked
    choices = simulate_model(problems, "able", 0.7).on(problems).predictions
    rows = []
    for problem, choice in zip(problems, choices, strict=True):
        rows.append({"id": problem.id, "model": "able", "scoring": "s", "prediction": choice})
    path = tmp_path / "predictions.jsonl"
    write_rows(path, rows)
    return offered, path


def test_one_call_asks_models_and_files(release, answers):
    offered, path = answers
    settings = replace(NEXT, previous=release, predictions=(path,), watch=("random",))
    evolution = ask_and_evolve(offered, settings)
    filtered_against = {fare.model: fare.against for fare in evolution.fares if fare.version == "2.0"}
    assert len(evolution.solved.retire) > 50
    assert filtered_against == {"able": True, "random": False}
    repeated_model = replace(NEXT, previous=release, model=("random", "random"))
    with pytest.raises(BadInput, match="random is named twice"):
        ask_and_evolve(offered, repeated_model)


def test_a_version_becomes_a_release_that_verifies_and_evolves_again(release, answers, tmp_path):
    offered, path = answers
    evolution = ask_and_evolve(offered, replace(NEXT, previous=release, predictions=(path,)))
    second_release = write_release(
        evolution.kept,
        tmp_path / "v2",
        removed=evolution.removed,
        settings=ReleaseSettings(name="small", version="2.0", singles=True),
        succession=Succession(evolution.fixed, evolution.placed),
    )
    folder = second_release.folder
    write_evolution(evolution, folder)
    warnings = [finding for finding in verify(folder).findings if finding.warns]
    assert warnings == []

    first_files = read_release(release)
    second_files = read_release(folder)
    train_ids = set()
    for name, problems in first_files.items():
        if name.startswith("train"):
            train_ids |= ids_of(problems)
    second_test_ids = ids_of(second_files["test"])
    assert train_ids.isdisjoint(ids_of(second_files["dev"]))
    assert train_ids.isdisjoint(second_test_ids)
    assert ids_of(first_files["test"]) & second_test_ids

    rows = {row["id"]: row for row in read_lineage(folder / "lineage.jsonl")}
    assert {rows[problem_id]["split"] for problem_id in second_test_ids} == {"test"}
    third_pool = pool_of(folder, Dataset([]))
    assert third_pool.version == "2.0"
    assert {row["since"] for row in third_pool.lineage.values()} == {"1.0", "2.0"}
