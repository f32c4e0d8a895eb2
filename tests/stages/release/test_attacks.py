"""Releases, cards and gradings reveal no hidden answer: attacks on a hidden test, most of which once worked."""

import hashlib
import itertools
import json
import random
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from support import small
from support.solving import answers_by

from winokit.cli.main import main
from winokit.data.checks.groups import possible_twins
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.transforms.views import binary
from winokit.problem import Card, Dataset, Problem
from winokit.stages.evolve.run import evolve
from winokit.stages.evolve.solved import EvolveAnswers, solved_beyond_chance
from winokit.stages.grade.ladder import rules_of, to_step
from winokit.stages.grade.leaderboard import leaderboard
from winokit.stages.grade.record import Graded, Statement, write_graded
from winokit.stages.grade.run import grade_submission
from winokit.stages.release.contents import SAME_TEXT, fill, read_inputs
from winokit.stages.release.hidden import Draws, hidden_folder, read_hidden, read_secret
from winokit.stages.release.manifest import read_lineage
from winokit.stages.release.run import Release, write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings
from winokit.stages.release.splits import keys_of, units_of
from winokit.text.words import letters

KEY = b"k" * 32
SECRET = ReleaseExtras(secret=KEY)
NAMED = ReleaseSettings(name="open-wino", licence="CC0-1.0", test=32)
TEST_FILE = "winogrande/test.jsonl"
COMMITMENT_MISMATCH = "labels or secret are not those that"


def data_with_single_problems() -> Dataset:
    """The bundled twins without the first member of every seventh group, so that tests have single problems."""
    data = load("open")
    removed_ids = {members[0].id for number, members in enumerate(data.groups.values()) if number % 7 == 0}
    return data.filter(lambda problem: problem.id not in removed_ids)


def public_files(folder: Path) -> dict[str, bytes]:
    """Content of each public file by its path in the folder.

    Without the salted commitment in the manifest.
    """
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    manifest = json.loads(files["manifest.json"])
    del manifest["commitment"]
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def evolve_once(folder: Path, test: int = 32, new: Dataset | None = None) -> Release:
    """Write version 2.0 of a release beside it, answered by a guesser."""
    return evolve(folder, out=folder.with_name("v2"), model=["random"], version="2.0", test=test, new=new)


def write_two_versions(data: Dataset, folder: Path) -> tuple[Path, Path]:
    """Write a release and its next version with nothing new, and return their folders."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    first = write_release(data, folder / "v1", settings=NAMED, extras=SECRET)
    second = evolve_once(first.folder)
    return first.folder, second.folder


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    return write_two_versions(data_with_single_problems(), tmp_path_factory.mktemp("versions"))


def with_answers_flipped(data: Dataset, ids: set[str]) -> Dataset:
    """The data with the opposite answer in the problems of these ids."""
    problems = []
    for problem in data:
        if problem.id in ids:
            problem = problem.replace(answer=1 - problem.answer)
        problems.append(problem)
    return data.with_problems(problems)


def read_json_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("seed", [1, 2])
def test_with_other_hidden_answers_two_public_releases_would_be_the_same_to_the_byte(versions, tmp_path, seed):
    """No order, no side, no count, no hash and no difference of two versions can check a guess, whatever it is."""
    first, second = versions
    labels = read_hidden(first)
    single_ids = {name for name, group in zip(labels.ids, labels.groups, strict=True) if group is None}
    units = [group or name for name, group in zip(labels.ids, labels.groups, strict=True)]
    assert single_ids
    assert len(set(units)) > 15
    chance = random.Random(seed)
    flipped_units = {unit for unit in sorted(set(units)) if chance.random() < 0.5}
    flipped_ids = {name for name, unit in zip(labels.ids, units, strict=True) if unit in flipped_units}
    assert flipped_ids & single_ids

    flipped_data = with_answers_flipped(data_with_single_problems(), flipped_ids)
    flipped_first, flipped_second = write_two_versions(flipped_data, tmp_path)

    assert read_hidden(flipped_first).answers != labels.answers
    assert public_files(first) == public_files(flipped_first)
    files = public_files(second)
    flipped_files = public_files(flipped_second)
    changed_names = {name for name, content in files.items() if flipped_files[name] != content}
    assert changed_names <= {"evolution.json", "evolution.html", "manifest.json"}
    evolution = json.loads((second / "evolution.json").read_text())
    flipped_evolution = json.loads((flipped_second / "evolution.json").read_text())
    assert evolution["problems"] == flipped_evolution["problems"]


def test_what_two_versions_share_stands_in_the_same_order(versions):
    first, second = versions
    assert read_json_lines(first / TEST_FILE) == read_json_lines(second / TEST_FILE)


def test_the_order_of_the_input_leaves_no_trace_in_a_release(versions, tmp_path):
    shuffled = list(data_with_single_problems())
    random.Random(3).shuffle(shuffled)
    problems = []
    for problem in shuffled:
        if random.Random(problem.id).random() >= 0.5:
            problem = problem.with_order((1, 0))
        problems.append(problem)
    again = write_release(Dataset(problems, Card("open")), tmp_path / "v1", settings=NAMED, extras=SECRET)
    assert (again.folder / TEST_FILE).read_bytes() == (versions[0] / TEST_FILE).read_bytes()


def test_the_side_of_an_answer_is_a_coin_whatever_the_answer_is():
    data = Dataset([p.replace(group=None) for p in list(load("open"))[::2]], Card("singles"))
    inputs = read_inputs(data)
    alphabetical_answers = []
    reversed_answers = []
    for number in range(12):
        draws = Draws(bytes([number]) * 32)
        for problem in fill(inputs, ReleaseSettings(test=0.4), None, draws).files["test"]:
            if problem.candidates == tuple(sorted(problem.candidates)):
                alphabetical_answers.append(problem.answer)
            else:
                reversed_answers.append(problem.answer)
    answers = np.array(alphabetical_answers + reversed_answers)
    first_share = np.mean(answers == 0)
    assert abs(first_share - 0.5) < 4 * 0.5 / np.sqrt(len(answers))
    alphabetical_share = np.mean([p.right == min(p.candidates) for p in data])
    assert abs(1 - np.mean(alphabetical_answers) - alphabetical_share) < 0.12
    assert abs(np.mean(reversed_answers) - alphabetical_share) < 0.12


def test_the_commitment_holds_the_owner_to_the_answers_and_checks_no_guess(versions):
    first, _ = versions
    commitment = json.loads((first / "manifest.json").read_text())["commitment"]
    labels = (hidden_folder(first) / "labels.jsonl").read_bytes()
    assert commitment == Draws(KEY).commitment(labels)
    public = b"".join(public_files(first).values())
    assert hashlib.sha256(labels).hexdigest().encode() not in public
    assert KEY.hex().encode() not in public


def replace_secret(folder: Path) -> None:
    (folder / "secret").write_text("ab" * 32)


def flip_first_label(folder: Path) -> None:
    path = folder / "labels.jsonl"
    path.write_text(path.read_text().replace('"answer": 0', '"answer": 1', 1))


@pytest.mark.parametrize("tamper", [replace_secret, flip_first_label])
def test_labels_or_a_secret_that_were_changed_are_refused(versions, tmp_path, tamper):
    first, _ = versions
    hidden = shutil.copytree(hidden_folder(first), tmp_path / "hidden")
    tamper(hidden)
    with pytest.raises(BadInput, match=COMMITMENT_MISMATCH):
        read_hidden(first, hidden)
    about = json.loads((hidden / "release.json").read_text())
    del about["commitment"]  # the manifest has it still
    (hidden / "release.json").write_text(json.dumps(about))
    with pytest.raises(BadInput, match=COMMITMENT_MISMATCH):
        read_hidden(first, hidden)


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (None, 0o600, "no such file; a lost secret cannot be recreated"),
        ("ab" * 31, 0o600, "expected a secret of 64 hexadecimal digits"),
        ("zz" * 32, 0o600, "expected a secret of 64 hexadecimal digits"),
        ("", 0o600, "expected a secret of 64 hexadecimal digits"),
        ("ab" * 32, 0o644, "others can read the secret: chmod 600"),
        ("ab" * 32, 0o640, "others can read the secret: chmod 600"),
    ],
)
def test_a_secret_that_is_none_is_one_line_and_nothing_is_written(tmp_path, capsys, monkeypatch, content, mode, reason):
    path = tmp_path / "secret"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    command = ["winokit", "release", "open", "--out", str(tmp_path / "out"), "--name", "o", "--set", f"secret={path}"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as exit_info:
        main()
    error = capsys.readouterr().err
    assert exit_info.value.code == 2
    assert error.count("\n") == 1
    assert reason in " ".join(error.split())
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()


def test_a_lost_secret_ends_the_next_version_and_grading_and_is_not_replaced(versions, tmp_path):
    first = shutil.copytree(versions[0], tmp_path / "v1")
    shutil.copytree(hidden_folder(versions[0]), hidden_folder(first))
    (hidden_folder(first) / "secret").unlink()
    with pytest.raises(BadInput, match="a lost secret cannot be recreated"):
        evolve_once(first)
    with pytest.raises(BadInput, match="a lost secret"):
        read_hidden(first)
    with pytest.raises(BadInput, match="a lost secret"):
        write_release(data_with_single_problems(), first, settings=NAMED)
    assert not (hidden_folder(first) / "secret").exists()


def test_another_secret_never_replaces_the_one_that_is_there(versions):
    with pytest.raises(BadInput, match="another secret than the one given"):
        write_release(data_with_single_problems(), versions[0], settings=NAMED, extras=ReleaseExtras(secret=b"j" * 32))
    assert read_secret(hidden_folder(versions[0]) / "secret") == KEY


def problems_answered_by_the_ball(count: int) -> list[Problem]:
    """Single problems about nothing in common, except that "the ball" is always the answer."""
    words = [f"w{a}{b}" for a, b in itertools.product("abcdefghij", repeat=2)]
    problems = []
    for number in range(count):
        filler = " ".join(random.Random(number).sample(words, 9))
        before = f"{filler} the ball hit the thing{number} as "
        problems.append(Problem(before, " rolled.", ("the ball", f"the thing{number}"), 0))
    return problems


def test_the_card_says_of_the_tests_leaks_only_that_there_are_some(tmp_path):
    """Once: "'ball' is the answer in 34 of 34"."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    data = Dataset(problems_answered_by_the_ball(200), Card("balls"))
    release = write_release(data, tmp_path / "balls", settings=NAMED, extras=SECRET)
    card = (release.folder / "README.md").read_text()
    assert "- `test`: something was found; naming it would reveal answers." in card
    assert release.facts.test_leaks
    assert "test" not in release.facts.leaks
    leaks = json.loads((release.hidden / "checks.json").read_text())["leaks"]
    ball_counts = {leak["n"] for leak in leaks if "ball" in leak["says"]}
    assert ball_counts
    public_text = b"".join(public_files(release.folder).values()).decode("utf-8", "replace")
    test_lines = "\n".join(line for line in public_text.splitlines() if "`test`" in line)
    for count in ball_counts:
        assert f"of {count}" not in test_lines
    assert "% of `test`" not in card


@pytest.mark.parametrize("singles", [False, True])
def test_unnamed_twins_in_any_order_stand_on_one_side(real_file, singles):
    """Once 34 of 77 tested problems of a shuffled DPR had their twin, with its answer, in training."""
    data = load(f"dpr:{real_file('dpr/test.c.txt')}")
    shuffled = [p.replace(group=None) for p in data]
    random.Random(0).shuffle(shuffled)
    split_of = fill(read_inputs(Dataset(shuffled, Card("dpr"))), ReleaseSettings(singles=singles)).where
    splits_of_group: dict[str, set[str]] = {}
    for problem in data:
        if problem.group and problem.id in split_of:
            splits_of_group.setdefault(problem.group, set()).add(split_of[problem.id])
    assert splits_of_group
    assert [group for group, splits in splits_of_group.items() if len(splits) > 1] == []


def test_twins_in_katakana_with_two_pronouns_share_a_key():
    """Once a run of katakana swallowed the words after it: in eight releases of XWinograd's Japanese, 38 of 1,152 test
    problems had a text with the same beginning and candidates in training or dev, 32 of them with the other answer."""
    start = "アレンはジミーを笑った。"
    people = ("アレン", "ジミー")
    joke = Problem(start, "が面白いジョークを言ったからだ。", people, 1, "彼", language="ja")
    teasing = Problem(start, "をからかっていたからだ。", people, 0, "彼は彼", language="ja")
    data = Dataset([joke, teasing])
    joke_keys, teasing_keys = keys_of(units_of(data, frozenset(p.id for p in data)))
    assert joke_keys & teasing_keys


def problems_with_three_candidates(count: int) -> list[Problem]:
    """Single problems with three candidates, no two with a name or a topic in common."""
    words = [f"{a}{b}{c}" for a, b, c in itertools.product("bdfgk", "aeiou", "lmnrst")]
    problems = []
    for number in range(count):
        chance = random.Random(number)
        people = tuple(f"{name}{number}" for name in ("Ann", "Bea", "Cleo"))
        start = f"{people[0]}, {people[1]} and {people[2]} {' '.join(chance.sample(words, 9))} because "
        problems.append(Problem(start, f" {' '.join(chance.sample(words, 5))}.", people, chance.randrange(3), "she"))
    return problems


def test_the_lineage_of_a_next_version_names_nothing_that_stayed_out(tmp_path):
    """Once it had the ids of all that was offered. An id is a hash of text and candidates: the text of a test problem
    with another candidate was found in it, and of PDP and SuperGLUE-WSC that gave 26 answers, all of them right."""
    data = binary(Dataset([*load("open"), *problems_with_three_candidates(60)], Card("open")))
    first = write_release(data, tmp_path / "v1", settings=NAMED, extras=SECRET)
    assert first.contents.left_out[SAME_TEXT]
    second = evolve_once(first.folder, new=data)
    public_ids = first.contents.where.keys() | second.contents.where.keys()
    lineage_ids = {row["id"] for row in read_lineage(second.folder / "lineage.jsonl")}
    assert lineage_ids <= public_ids
    assert second.contents.where.keys() < {problem.id for problem in data}


def test_a_new_problem_of_the_same_text_does_not_take_the_place_of_a_tested_one(tmp_path):
    """Once the draw decided anew: version 1 had the text with one wrong candidate, version 2 with the other."""
    first_members = []
    all_members = []
    for number, problem in enumerate(problems_with_three_candidates(60)):
        members = [p.replace(group=f"three {number}") for p in binary(Dataset([problem]))]
        first_members.append(members[0])
        all_members += members
    data_before = Dataset([*load("open"), *first_members], Card("open"))
    data = Dataset([*load("open"), *all_members], Card("open"))
    first = write_release(data_before, tmp_path / "v1", settings=NAMED, extras=SECRET)
    second = evolve_once(first.folder, new=data)
    first_test = {problem.id for problem in first.contents.files["test"]}
    second_test = {problem.id for problem in second.contents.files["test"]}
    assert first_test & {problem.id for problem in first_members}
    assert first_test <= second_test


def test_a_copy_with_other_spaces_is_the_same_text():
    """Once WSC and SuperGLUE-WSC, as binary problems in one release, gave 10 answers, all of them right."""
    copies = []
    for problem in problems_with_three_candidates(60):
        first_pair, second_pair = binary(Dataset([problem]))
        spaced_before = second_pair.before.replace(",", " ,")
        candidates = list(second_pair.candidates)
        candidates[second_pair.answer] = f"the {problem.right}"
        copies += [first_pair, second_pair.replace(before=spaced_before, candidates=tuple(candidates))]
    contents = fill(read_inputs(Dataset(copies, Card("copies"))), ReleaseSettings(test=40), None, Draws(KEY))
    test_texts = [letters(problem.text) for problem in contents.files["test"]]
    assert len(test_texts) >= 20
    assert len(set(test_texts)) == len(test_texts)


def test_possible_twins_need_the_same_candidates_and_the_nearest_is_taken():
    start = "The dog chased the cat up a tree because "
    animals = ("the dog", "the cat")
    angry = Problem(start, " was angry.", animals, 0)
    scared = Problem(start, " was so scared.", animals, 1)
    far = Problem(start, " was not at all ready to stop.", animals, 0)
    other_candidates = Problem(start, " was old.", ("the dog", "the fox"), 1)
    assert possible_twins([angry, other_candidates, scared]) == [(0, 2)]
    assert (0, 2) in possible_twins([angry, other_candidates, scared, far])


# Gradings.


def statement(name: str) -> Statement:
    return Statement(name, "mc-sent", "none", 1)


def grade_labels(folder: Path, path: Path, wrong_rows: Iterable[int], name: str) -> Graded:
    """Write labels that are wrong on these rows, grade them, and return what the submitter sees."""
    labels = small.labels_with(small.answers(folder), set(wrong_rows))
    path.write_text("\n".join(labels))
    return grade_submission(folder, [path], statement(name)).public


def test_scores_by_training_size_do_not_read_labels_off(tmp_path):
    """Once five gradings of five columns read 32 of 32 labels off the scores of each size."""
    folder = small.small_release(tmp_path / "v1", tests=16)
    path = tmp_path / "five.lst"
    for number in range(5):
        columns = np.ones((32, 5), int)
        for size in range(5):
            columns[(number * 5 + size) % 32, size] = 2
        np.savetxt(path, columns, "%d", ",")
        graded = grade_submission(folder, [path], statement(f"name {number}")).public
        assert graded.scores == ()
        assert graded.p_luck is None
        assert graded.main is None


def test_an_entry_has_the_main_score_at_a_step_and_nothing_else(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=60)
    path = tmp_path / "five.lst"
    path.write_text(small.five_columns(small.answers(folder), [{1}, {2, 7}, {3}, set(), {5}]))
    grading = grade_submission(folder, [path], statement("able"))
    (auc,) = grading.public.scores
    assert auc.metric == "auc"
    assert round(auc.value * 10, 6) % 1 == 0
    assert abs(auc.value - grading.owner.main.value) < 0.1
    assert len(grading.owner.scores) == 11
    row = json.loads((hidden_folder(folder) / "log.jsonl").read_text())
    assert len(row["scores"]) == 11
    assert row["shown"] == {"auc": auc.value}


def test_what_is_shown_follows_from_the_step_alone(tmp_path):
    """Two submissions at one step cannot be told apart by interval, luck or anything else that is printed."""
    folder = small.small_release(tmp_path / "v1", tests=60)
    details_at_step: dict[float, set[tuple]] = {}
    for number in range(9):
        wrong_rows = range(0, 2 * number + 1, 2)
        graded = grade_labels(folder, tmp_path / f"{number}.lst", wrong_rows, f"name {number}")
        if graded.scores:
            main = graded.scores[0]
            details = (main.low, main.high, main.luck_corrected)
            details_at_step.setdefault(main.value, set()).add(details)
    assert details_at_step
    assert {len(details) for details in details_at_step.values()} == {1}


def test_under_one_name_only_a_step_above_the_best_is_shown(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=60)
    path = tmp_path / "p.lst"
    first = grade_labels(folder, path, range(20), "able")
    assert first.main is not None
    worse = grade_labels(folder, path, range(22), " ABLE ")
    assert worse.scores == ()
    assert "above the best score shown for this name" in worse.notes[-1]
    same_file = grade_labels(folder, path, range(20), "able")
    assert same_file.main == first.main
    better = grade_labels(folder, path, [], "able")
    assert better.main.value > first.main.value


def share_equal(guesses: np.ndarray, truth: np.ndarray) -> float:
    return float((guesses == truth).mean())


def test_a_budget_of_guesses_shows_nothing_and_votes_are_as_good_as_guesses():
    """The boosting attack of Blum and Hardt (2015), twins guessed as one, under a new name for every submission."""
    rng = np.random.default_rng(0)
    rules = rules_of(120, 60)
    shown_count = 0
    shares_from_steps = []
    shares_from_exact_scores = []
    for _ in range(60):
        truth = rng.choice([-1, 1], 60)
        step_votes = rng.normal(size=60) * 1e-9
        exact_votes = np.zeros(60)
        for _ in range(rules.budget):
            guess = rng.choice([-1, 1], 60)
            accuracy = share_equal(guess, truth)
            is_shown = to_step(accuracy, rules.steps, rng.random()) >= rules.lowest
            if is_shown:
                shown_count += 1
                step_votes += guess
            exact_votes += guess * (accuracy - 0.5)
        shares_from_steps.append(share_equal(np.sign(step_votes), truth))
        shares_from_exact_scores.append(share_equal(np.sign(exact_votes), truth))
    assert shown_count <= 6  # one run in twenty
    assert abs(np.mean(shares_from_steps) - 0.5) < 4 * 0.5 / np.sqrt(60 * 60)
    assert np.mean(shares_from_exact_scores) > 0.6


def test_turning_one_pair_at_a_time_reads_no_label_off():
    """Under a new name each time, from a submission that is known to be half right: no step is just missed."""
    rng = np.random.default_rng(1)
    gains = []
    rules = rules_of(120, 60)
    for _ in range(60):
        truth = rng.choice([-1, 1], 60)
        answers = np.concatenate([truth[:40], rng.choice([-1, 1], 20)])
        best_step = to_step(share_equal(answers, truth), rules.steps, rng.random())
        share_before = share_equal(answers[40:], truth[40:])
        for pair in range(40, 40 + rules.budget - 1):
            flipped_answers = answers.copy()
            flipped_answers[pair] *= -1
            step = to_step(share_equal(flipped_answers, truth), rules.steps, rng.random())
            if step > best_step:
                answers = flipped_answers
                best_step = step
        gains.append(share_equal(answers[40:], truth[40:]) - share_before)
    assert abs(np.mean(gains)) < 4 * np.std(gains) / np.sqrt(60) + 0.02


def test_who_is_distinguished_on_a_board_reads_no_label_off(tmp_path):
    """Once each of 54 pairs was read off: two entries that differ in known pairs so that one more decides the test."""
    folder = small.small_release(tmp_path / "v1", tests=192)
    entries = tmp_path / "graded"
    chance = random.Random(0)
    known_pairs = range(163)
    unknown_pairs = range(163, 192)
    rightly_guessed = {pair for pair in unknown_pairs if chance.random() < 0.5}
    wrongly_guessed = set(unknown_pairs) - rightly_guessed

    def enter_with_wrong_pairs(name: str, wrong_pairs: set[int]) -> None:
        wrong_rows = [2 * pair for pair in wrong_pairs] + [2 * pair + 1 for pair in wrong_pairs]
        graded = grade_labels(folder, tmp_path / "p.lst", wrong_rows, name)
        write_graded(graded, entries / f"{name[0]}.json")

    enter_with_wrong_pairs("a", wrongly_guessed | {*known_pairs[:13]})
    wrong_in_second = wrongly_guessed | {*known_pairs[13:39]}
    inferred_rightly = []
    for pair in unknown_pairs[:16]:
        enter_with_wrong_pairs(f"b{pair}", wrong_in_second ^ {pair})
        first, second = leaderboard(folder, entries).places
        assert (first.rank, second.rank) == (1, 2)
        inferred_rightly.append(first.ahead.told_apart == (pair in rightly_guessed))
    assert 0.2 < np.mean(inferred_rightly) < 0.8


def small_pairs(count: int) -> Dataset:
    """Pairs of twins in a dataset without a card."""
    problems = []
    for number in range(count):
        problems += small.twins(number)
    return Dataset(problems)


def draw_stances(problems: Dataset) -> dict[str, tuple[int, ...]]:
    """For each group whether each of three models has both twins right (1), both wrong (-1), or one of them (0)."""
    chance = random.Random(3)
    stances = {}
    for group in problems.groups:
        ease = chance.random()
        stance = []
        for skill in (0.3, 0.3, 0.5):  # of the last, that it alone is right, too
            is_decided = chance.choice((0, 1, 1, 1))
            direction = 1 if chance.random() < skill + ease / 2 else -1
            stance.append(is_decided * direction)
        stances[group] = tuple(stance)
    return stances


def answers_of_model(problems: Dataset, stances: dict[str, tuple[int, ...]], model: int) -> EvolveAnswers:
    """Answers of one of the three models, which has the first twin right if only one."""
    is_right = {}
    for group, (first, second) in problems.groups.items():
        stance = stances[group][model]
        is_right[first.id] = stance >= 0
        is_right[second.id] = stance > 0
    return answers_by(problems, "abc"[model], is_right)


def test_what_is_left_of_what_some_models_solve_is_balanced_for_each_way_they_agree():
    """Once only the sum was: in thirty such draws, two of three were wrong in 65 %, all three right in 67 %.

    Then only ways with more solved than turned: that none of a way was retired told that its opposite is right.
    """
    problems = small_pairs(600)
    stances = draw_stances(problems)
    answers = [answers_of_model(problems, stances, model) for model in range(3)]
    retired_ids = solved_beyond_chance(problems, answers, majority=0.6, secret=Draws(KEY)).retire
    left_count = Counter(
        stances[group] for group, members in problems.groups.items() if members[0].id not in retired_ids
    )
    decided_count = 0
    for stance, count in left_count.items():
        if max(stance.count(1), stance.count(-1)) > 1:
            decided_count += count
            opposite = tuple(-direction for direction in stance)
            assert left_count[opposite] == count
    assert decided_count > 200


def test_what_a_new_version_leaves_is_not_the_opposite_of_what_the_models_say():
    """Retiring what models solve, and no more than chance explains, must not leave what they get wrong."""
    problems = small_pairs(400)
    chance = random.Random(5)
    is_right = {}
    for first, second in problems.groups.values():
        kind = chance.random()  # decided and right, decided and wrong, or one candidate for both twins
        is_right[first.id] = kind < 0.6 or kind >= 0.75
        is_right[second.id] = kind < 0.6
    solved = solved_beyond_chance(problems, [answers_by(problems, "strong", is_right)], secret=Draws(KEY))
    groups_left = [members for members in problems.groups.values() if members[0].id not in solved.retire]
    decided = [is_right[first.id] for first, second in groups_left if is_right[first.id] == is_right[second.id]]
    assert len(solved.retire) > 250
    assert np.mean(decided) == 0.5


def test_a_new_twin_of_a_tested_problem_stands_on_its_side_whoever_wrote_it(tmp_path):
    """Once a new twin kept its author's order: 29 of 29 answers first, of an author who writes the right one first."""
    right_first = [p if p.answer == 0 else p.with_order((1, 0)) for p in load("open")]
    first = write_release(Dataset(right_first[::2], Card("open")), tmp_path / "v1", settings=NAMED, extras=SECRET)
    second = evolve_once(first.folder, test=70, new=Dataset(right_first, Card("open")))
    tested_before = {p.id: p for p in first.contents.files["test"]}
    old_problems = []
    new_problems = []
    for problem in second.contents.files["test"]:
        if problem.id in tested_before:
            old_problems.append(problem)
        else:
            new_problems.append(problem)
    for problem in old_problems:
        assert problem.candidates == tested_before[problem.id].candidates
    candidates_of = {p.group: p.candidates for p in old_problems}
    new_twins = [p for p in new_problems if p.group in candidates_of]
    assert len(new_twins) > 20
    assert [p.id for p in new_twins if p.candidates == candidates_of[p.group][::-1]] == []
    assert 0.2 < np.mean([p.answer == 0 for p in new_twins]) < 0.8


def submit_files(folder: Path, paths: list[Path], name: str) -> str:
    """Grade the files, one for each training size, and return the hash of the submission."""
    return grade_submission(folder, paths, statement(name)).public.submission


def write_files_by_size(folder: Path, out: Path) -> list[Path]:
    """Write labels for each training size, each wrong on one row more than the one before."""
    paths = []
    for wrong_count, size in enumerate(small.SIZES):
        path = out / f"p-{size}.lst"
        labels = small.labels_with(small.answers(folder), set(range(wrong_count)))
        path.write_text("\n".join(labels))
        paths.append(path)
    return paths


def test_the_same_columns_in_other_files_are_the_same_submission(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=60)
    files = write_files_by_size(folder, tmp_path)
    submission = submit_files(folder, files, "able")
    renamed_files = [path.rename(path.with_name(f"other-{path.name}")) for path in files]
    assert submit_files(folder, renamed_files[::-1], "able") == submission


def test_columns_that_change_places_are_another_submission(tmp_path):
    """Once the hash was of the files alone: renamed among the sizes, one submission bought a grading per order."""
    folder = small.small_release(tmp_path / "v1", tests=60)
    files = write_files_by_size(folder, tmp_path)
    orders = list(itertools.islice(itertools.permutations(small.SIZES), 4))
    permuted_files = []
    for number, order in enumerate(orders):
        out = tmp_path / str(number)
        out.mkdir()
        copies = [shutil.copy(path, out / f"p-{size}.lst") for path, size in zip(files, order, strict=True)]
        permuted_files.append(copies)
    assert rules_of(120, 60).per_name == 3
    submissions = {submit_files(folder, paths, "able") for paths in permuted_files[:3]}
    assert len(submissions) == 3
    with pytest.raises(BadInput, match="the budget of this name is spent"):
        submit_files(folder, permuted_files[3], "able")


def test_gradings_at_the_same_time_do_not_overspend_the_budget(tmp_path):
    """Once thirty that began together all passed a budget of nineteen."""
    folder = small.small_release(tmp_path / "v1", tests=16)
    barrier = threading.Barrier(24)
    outcomes = []

    def grade_at_once(number: int) -> None:
        path = tmp_path / f"{number}.lst"
        labels = small.labels_with(small.answers(folder), {number})
        path.write_text("\n".join(labels))
        barrier.wait()
        try:
            grade_submission(folder, [path], statement(f"name {number}"))
            outcomes.append("graded")
        except BadInput as error:
            outcomes.append(str(error).partition(":")[0])

    threads = [threading.Thread(target=grade_at_once, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["graded"] * 10 + ["the budget of this test is spent"] * 14
    assert len((hidden_folder(folder) / "log.jsonl").read_text().splitlines()) == 10


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\x0b"])
def test_a_name_with_a_strange_line_end_is_one_row_of_the_log(tmp_path, mark):
    """Once such a row read as two, neither of them JSON: the best shown and the budget of the name were forgotten."""
    folder = small.small_release(tmp_path / "v1", tests=60)
    path = tmp_path / "p.lst"
    name = f"a{mark}b"
    grade_labels(folder, path, [], name)
    gradings = grade_labels(folder, path, [0], name).gradings
    assert (gradings.different, gradings.all, gradings.by_name) == (2, 2, 2)
    log = hidden_folder(folder) / "log.jsonl"
    row = json.loads(log.read_text().split("\n")[0])
    log.write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")  # as logs were written before
    assert grade_labels(folder, path, [5, 7, 9], name).gradings.by_name == 2


@pytest.mark.parametrize(
    "variant", ["a\u200bb", "\uff21B", "A\u00ad B", "a\ufe0fb", "ab\u3164", "a\u2800b", "a\u034fb", "a\U000e0100b"]
)
def test_marks_that_nobody_sees_and_wide_letters_make_no_new_name(tmp_path, variant):
    folder = small.small_release(tmp_path / "v1", tests=60)
    path = tmp_path / "p.lst"
    grade_labels(folder, path, [], "ab")
    assert grade_labels(folder, path, [0], variant).gradings.by_name == 2


def test_a_line_of_the_log_that_was_cut_short_does_not_swallow_the_next(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=60)
    (hidden_folder(folder) / "log.jsonl").write_text('{"submission": "abc", "na')
    gradings = grade_labels(folder, tmp_path / "p.lst", [], "a").gradings
    assert (gradings.different, gradings.by_name) == (2, 1)


@pytest.mark.parametrize("row", ['{"name": 7}', '{"shown": [1]}', '{"shown": {"accuracy": "x"}}', None])
def test_a_log_that_grade_did_not_write_is_one_line(tmp_path, row):
    folder = small.small_release(tmp_path / "v1")
    path = tmp_path / "p.lst"
    log = hidden_folder(folder) / "log.jsonl"
    if row is None:
        log.mkdir()
    else:
        log.write_text(row + "\n")
    path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
    with pytest.raises(BadInput, match=r"log\.jsonl"):
        grade_submission(folder, [path])


def test_a_file_whose_name_is_no_text_is_one_line_and_nothing_is_logged(tmp_path, capsys, monkeypatch):
    folder = small.small_release(tmp_path / "v1")
    path = tmp_path / "bad\udcff.lst"
    path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
    options = ["--formalization", "x", "--training-data", "none", "--trials", "1"]
    monkeypatch.setattr(sys, "argv", ["winokit", "grade", str(folder), str(path), *options])
    with pytest.raises(SystemExit) as exit_info:
        main()
    error = capsys.readouterr().err
    assert exit_info.value.code == 2
    assert error.count("\n") == 1
    assert "must be text, found 'bad\\udcff'" in error
    assert not (hidden_folder(folder) / "log.jsonl").exists()


def test_one_hidden_answer_of_unnamed_twins_in_any_order_changes_no_public_byte(tmp_path):
    """Once a flipped answer took twins for strangers: the card's count of groups, and their coin, told that."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    shuffled = [p.replace(group=None) for p in load("open")]
    random.Random(0).shuffle(shuffled)
    data = Dataset(shuffled, Card("open"))
    first = write_release(data, tmp_path / "0", settings=NAMED, extras=SECRET).folder
    assert None not in read_hidden(first).groups
    for name in read_hidden(first).ids[:3]:
        flipped_data = with_answers_flipped(data, {name})
        flipped = write_release(flipped_data, tmp_path / name, settings=NAMED, extras=SECRET).folder
        assert public_files(flipped) == public_files(first)


def test_what_may_be_twins_is_tied_whatever_their_answers_are():
    """Once two that had the same answer could stand in test and training, and that they did told the one from the
    other."""
    start = "The lawyer called the banker "
    people = ("the lawyer", "the banker")
    near = Problem(f"{start}on Monday because the contract had expired and ", " wanted a renewal.", people, 0)
    far = Problem(f"{start}late at night from a taxi; apparently ", " could not find a hotel in the city.", people, 0)
    third = Problem(f"{start}to ask about a loan as ", " needed money for a house.", people, 1)
    groups = []
    keys = []
    for answers in itertools.product((0, 1), repeat=3):
        problems = [p.replace(answer=answer) for p, answer in zip((near, far, third), answers, strict=True)]
        ids = frozenset(p.id for p in problems)
        groups.append([p.group for p in read_inputs(Dataset(problems, Card("x"))).problems])
        keys.append(keys_of(units_of(Dataset(problems), ids)))
    assert groups == [groups[0]] * 8
    assert keys == [keys[0]] * 8
    assert all(keys[0])


@pytest.mark.parametrize("seed", range(20))
def test_the_balance_of_dev_and_of_new_training_tells_nothing_of_the_test(seed):
    """Once the excess was drawn over all splits together: dev's turned less solved was the test's solved less turned,
    and guessing so got 54.8 % of its decided groups."""
    problems = small_pairs(300)
    chance = random.Random(seed)
    is_right = {}
    split_of = {}
    for number, (first, second) in enumerate(problems.groups.values()):
        kind = chance.random()
        is_right[first.id] = kind < 0.55 or kind >= 0.7
        is_right[second.id] = kind < 0.55
        if number < 200:
            split = "test" if number < 120 else "dev"
            split_of[first.id] = split
            split_of[second.id] = split
    answers = answers_by(problems, "m", is_right)
    secret = Draws(bytes([seed]) * 32)
    retired_ids = solved_beyond_chance(problems, [answers], secret=secret, where=split_of).retire
    decided: dict[str, list[bool]] = {"test": [], "dev": [], "new": []}
    for first, second in problems.groups.values():
        is_left = first.id not in retired_ids
        if is_left and is_right[first.id] == is_right[second.id]:
            split = split_of.get(first.id, "new")
            decided[split].append(is_right[first.id])
    assert len(decided["test"]) > 10
    assert decided["new"] == []
    assert np.mean(decided["test"]) == 0.5
