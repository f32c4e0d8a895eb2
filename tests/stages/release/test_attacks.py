"""Attacks on a hidden test, most of which once worked: what releases, cards and gradings tell of its answers."""

import hashlib
import itertools
import json
import random
import shutil
import sys
import threading
from collections import Counter
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
from winokit.stages.evolve.solved import solved_beyond_chance
from winokit.stages.grade.ladder import rules_of, to_step
from winokit.stages.grade.leaderboard import leaderboard
from winokit.stages.grade.record import Statement, write_graded
from winokit.stages.grade.run import grade_submission
from winokit.stages.release.contents import SAME_TEXT, fill, read_inputs
from winokit.stages.release.hidden import Draws, hidden_folder, read_hidden, read_secret
from winokit.stages.release.manifest import read_lineage
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings
from winokit.stages.release.splits import keys_of, units_of
from winokit.text.words import letters

KEY = b"k" * 32
NAMED = ReleaseSettings(name="open-wino", licence="CC0-1.0", test=32)


def some_alone() -> Dataset:
    """The bundled twins, of which every seventh group has lost a member, so that tests have problems alone."""
    data = load("open")
    lost = {members[0].id for number, members in enumerate(data.groups.values()) if number % 7 == 0}
    return data.filter(lambda problem: problem.id not in lost)


def public_files(folder: Path) -> dict[str, bytes]:
    """Every public byte but what is salted: the commitment, and the hashes of files that are here themselves."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    manifest = json.loads(files["manifest.json"])
    del manifest["commitment"]
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def two_versions(data: Dataset, folder: Path) -> tuple[Path, Path]:
    """A release and its next version with nothing new."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    first = write_release(data, folder / "v1", settings=NAMED, extras=ReleaseExtras(secret=KEY))
    second = evolve(first.folder, out=folder / "v2", model=["random"], version="2.0", test=32)
    return first.folder, second.folder


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    return two_versions(some_alone(), tmp_path_factory.mktemp("versions"))


def turned(data: Dataset, ids: set[str]) -> Dataset:
    """The data with some answers turned round."""
    return data.with_problems(p.replace(answer=1 - p.answer) if p.id in ids else p for p in data)


def test_with_other_hidden_answers_two_public_releases_would_be_the_same_to_the_byte(versions, tmp_path):
    """No order, no side, no count, no hash and no difference of two versions can check a guess, whatever it is."""
    first, second = versions
    labels = read_hidden(first)
    units = [group or name for name, group in zip(labels.ids, labels.groups, strict=True)]
    assert None in labels.groups
    assert len(set(units)) > 15
    chance = random.Random(1)
    for number in range(2):
        some = {unit for unit in sorted(set(units)) if chance.random() < 0.5}
        ids = {name for name, unit in zip(labels.ids, units, strict=True) if unit in some}
        assert ids & {name for name, group in zip(labels.ids, labels.groups, strict=True) if group is None}
        other = two_versions(turned(some_alone(), ids), tmp_path / str(number))
        assert read_hidden(other[0]).answers != labels.answers
        for mine, theirs in zip(versions, other, strict=True):
            changed = {name for name, data in public_files(mine).items() if public_files(theirs)[name] != data}
            assert changed <= {"evolution.json", "evolution.html", "manifest.json"}
            record = [json.loads((folder / "evolution.json").read_text()) for folder in (second, other[1])]
            assert record[0]["problems"] == record[1]["problems"]
        assert public_files(first) == public_files(other[0])


def test_what_two_versions_share_stands_in_the_same_order(versions):
    first, second = (
        [json.loads(line) for line in (folder / "winogrande" / "test.jsonl").read_text().splitlines()]
        for folder in versions
    )
    assert first == second


def test_the_order_of_the_input_leaves_no_trace_in_a_release(versions, tmp_path):
    mixed = list(some_alone())
    random.Random(3).shuffle(mixed)
    data = Dataset([p if random.Random(p.id).random() < 0.5 else p.with_order((1, 0)) for p in mixed], Card("open"))
    again = write_release(data, tmp_path / "v1", settings=NAMED, extras=ReleaseExtras(secret=KEY))
    name = "winogrande/test.jsonl"
    assert (again.folder / name).read_bytes() == (versions[0] / name).read_bytes()


def test_the_side_of_an_answer_is_a_coin_whatever_the_answer_is():
    data = Dataset([p.replace(group=None) for p in list(load("open"))[::2]], Card("singles"))
    sides = []
    for number in range(12):
        test = fill(read_inputs(data), ReleaseSettings(test=0.4), None, Draws(bytes([number]) * 32)).files["test"]
        sides += [(p.answer, p.candidates == tuple(sorted(p.candidates))) for p in test]
    first = np.mean([answer == 0 for answer, _ in sides])
    assert abs(first - 0.5) < 4 * 0.5 / np.sqrt(len(sides))
    by_alphabet = [answer for answer, alphabet in sides if alphabet]
    against = [answer for answer, alphabet in sides if not alphabet]
    right_first = np.mean([p.right == min(p.candidates) for p in data])
    assert abs(1 - np.mean(by_alphabet) - right_first) < 0.12
    assert abs(np.mean(against) - right_first) < 0.12


def test_the_commitment_holds_the_owner_to_the_answers_and_checks_no_guess(versions):
    first, _ = versions
    commitment = json.loads((first / "manifest.json").read_text())["commitment"]
    labels = (hidden_folder(first) / "labels.jsonl").read_bytes()
    assert commitment == Draws(KEY).commitment(labels)
    public = b"".join(public_files(first).values())
    assert hashlib.sha256(labels).hexdigest().encode() not in public
    assert KEY.hex().encode() not in public


def test_labels_or_a_secret_that_were_changed_are_refused(versions, tmp_path):
    first, _ = versions
    for name, content in (("secret", "ab" * 32), ("labels.jsonl", None)):
        folder = tmp_path / name
        shutil.copytree(hidden_folder(first), folder)
        old = (folder / name).read_text()
        (folder / name).write_text(content or old.replace('"answer": 0', '"answer": 1', 1))
        with pytest.raises(BadInput, match="labels or secret are not those that"):
            read_hidden(first, folder)
        about = json.loads((folder / "release.json").read_text())
        del about["commitment"]  # the manifest has it still
        (folder / "release.json").write_text(json.dumps(about))
        with pytest.raises(BadInput, match="labels or secret are not those that"):
            read_hidden(first, folder)


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (None, 0o600, "no such file; a lost secret cannot be recreated"),
        ("ab" * 31, 0o600, "expected a secret of 64 hexadecimal digits"),
        ("zz" * 32, 0o600, "expected a secret of 64 hexadecimal digits"),
        ("", 0o600, "expected a secret of 64 hexadecimal digits"),
        ("ab" * 32, 0o644, "others can read the secret: chmod 600"),
        ("ab" * 32, 0o640, "others can read the secret: chmod 600"),
    ],
)
def test_a_secret_that_is_none_is_one_line_and_nothing_is_written(tmp_path, capsys, monkeypatch, content, mode, said):
    path = tmp_path / "secret"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    command = ["winokit", "release", "open", "--out", str(tmp_path / "out"), "--name", "o", "--set", f"secret={path}"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        main()
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert error.count("\n") == 1
    assert said in " ".join(error.split())
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()


def test_a_lost_secret_ends_the_next_version_and_grading_and_is_not_replaced(versions, tmp_path):
    first = shutil.copytree(versions[0], tmp_path / "v1")
    shutil.copytree(hidden_folder(versions[0]), hidden_folder(first))
    (hidden_folder(first) / "secret").unlink()
    with pytest.raises(BadInput, match="a lost secret cannot be recreated"):
        evolve(first, out=tmp_path / "v2", model=["random"], version="2.0", test=32)
    with pytest.raises(BadInput, match="a lost secret"):
        read_hidden(first)
    with pytest.raises(BadInput, match="a lost secret"):
        write_release(some_alone(), first, settings=NAMED)
    assert not (hidden_folder(first) / "secret").exists()


def test_another_secret_never_replaces_the_one_that_is_there(versions):
    with pytest.raises(BadInput, match="another secret than the one given"):
        write_release(some_alone(), versions[0], settings=NAMED, extras=ReleaseExtras(secret=b"j" * 32))
    assert read_secret(hidden_folder(versions[0]) / "secret") == KEY


def test_the_card_says_of_the_tests_leaks_only_that_there_are_some(tmp_path):
    """Once: "'ball' is the answer in 34 of 34"."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    words = [f"w{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    problems = [
        Problem(
            f"{' '.join(random.Random(n).sample(words, 9))} the ball hit the thing{n} as ",
            " rolled.",
            ("the ball", f"the thing{n}"),
            0,
        )
        for n in range(200)
    ]
    made = write_release(
        Dataset(problems, Card("balls")), tmp_path / "balls", settings=NAMED, extras=ReleaseExtras(secret=KEY)
    )
    text = b"".join(public_files(made.folder).values()).decode("utf-8", "replace")
    card = (made.folder / "README.md").read_text()
    assert "- `test`: something was found; naming it would reveal answers." in card
    assert made.facts.test_leaks
    assert "test" not in made.facts.leaks
    leaks = json.loads((made.hidden / "checks.json").read_text())["leaks"]
    assert any("ball" in leak["says"] for leak in leaks)
    n = {leak["n"] for leak in leaks if "ball" in leak["says"]}
    assert not any(f"of {count}" in line for count in n for line in text.splitlines() if "`test`" in line)
    assert "% of `test`" not in card


def test_unnamed_twins_in_any_order_stand_on_one_side(real_file):
    """Once 34 of 77 tested problems of a shuffled DPR had their twin, with its answer, in training."""
    data = load(f"dpr:{real_file('dpr/test.c.txt')}")
    twins = {p.id: p.group for p in data if p.group}
    mixed = [p.replace(group=None) for p in data]
    random.Random(0).shuffle(mixed)
    for singles in (False, True):
        where = fill(read_inputs(Dataset(mixed, Card("dpr"))), ReleaseSettings(singles=singles)).where
        splits: dict[str, set[str]] = {}
        for name, group in twins.items():
            splits.setdefault(group, set()).add(where.get(name, "out"))
        assert [group for group, places in splits.items() if len(places - {"out"}) > 1] == []


def test_twins_in_katakana_with_two_pronouns_share_a_key():
    """Once a run of katakana swallowed the words after it: in eight releases of XWinograd's Japanese, 38 of 1,152 test
    problems had a text with the same beginning and candidates in training or dev, 32 of them with the other answer."""
    start = "アレンはジミーを笑った。"
    people = ("アレン", "ジミー")
    ends = (("が面白いジョークを言ったからだ。", 1, "彼"), ("をからかっていたからだ。", 0, "彼は彼"))
    data = Dataset([Problem(start, after, people, answer, word, language="ja") for after, answer, word in ends])
    one, other = keys_of(units_of(data, frozenset(p.id for p in data)))
    assert one & other


def three_candidates(count: int) -> list[Problem]:
    """Problems alone with three candidates, about nothing that others are about."""
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
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
    data = binary(Dataset([*load("open"), *three_candidates(60)], Card("open")))
    first = write_release(data, tmp_path / "v1", settings=NAMED, extras=ReleaseExtras(secret=KEY))
    assert first.contents.left_out[SAME_TEXT]
    second = evolve(first.folder, out=tmp_path / "v2", model=["random"], version="2.0", test=32, new=data)
    public = first.contents.where.keys() | second.contents.where.keys()
    assert {row["id"] for row in read_lineage(second.folder / "lineage.jsonl")} <= public
    assert second.contents.where.keys() < {problem.id for problem in data}


def test_a_new_problem_of_the_same_text_does_not_take_the_place_of_a_tested_one(tmp_path):
    """Once the draw decided anew: version 1 had the text with one wrong candidate, version 2 with the other."""
    groups = [
        [p.replace(group=f"three {number}") for p in binary(Dataset([problem]))]
        for number, problem in enumerate(three_candidates(60))
    ]
    before = Dataset([*load("open"), *(members[0] for members in groups)], Card("open"))
    data = Dataset([*load("open"), *(p for members in groups for p in members)], Card("open"))
    first = write_release(before, tmp_path / "v1", settings=NAMED, extras=ReleaseExtras(secret=KEY))
    second = evolve(first.folder, out=tmp_path / "v2", model=["random"], version="2.0", test=32, new=data)
    tested = {problem.id for problem in first.contents.files["test"]}
    assert tested & {members[0].id for members in groups}
    assert tested <= {problem.id for problem in second.contents.files["test"]}


def test_a_copy_with_other_spaces_is_the_same_text():
    """Once WSC and SuperGLUE-WSC, as binary problems in one release, gave 10 answers, all of them right."""
    copies = []
    for problem in three_candidates(60):
        one, other = binary(Dataset([problem]))
        names = tuple(f"the {name}" if name == problem.right else name for name in other.candidates)
        copies += [one, other.replace(before=other.before.replace(",", " ,"), candidates=names)]
    contents = fill(read_inputs(Dataset(copies, Card("copies"))), ReleaseSettings(test=40), None, Draws(KEY))
    tested = [letters(problem.text) for problem in contents.files["test"]]
    assert len(tested) >= 20
    assert len(set(tested)) == len(tested)


def test_possible_twins_need_the_same_candidates_and_the_nearest_is_taken():
    start = "The dog chased the cat up a tree because "
    same = [Problem(start, end, ("the dog", "the cat"), at) for end, at in ((" was angry.", 0), (" was so scared.", 1))]
    far = Problem(start, " was not at all ready to stop.", ("the dog", "the cat"), 0)
    other = Problem(start, " was old.", ("the dog", "the fox"), 1)
    assert possible_twins([same[0], other, same[1]]) == [(0, 2)]
    assert (0, 2) in possible_twins([same[0], other, same[1], far])


# Gradings.


def statement(name: str) -> Statement:
    return Statement(name, "mc-sent", "none", 1)


def test_scores_by_training_size_do_not_read_labels_off(tmp_path):
    """Once five gradings of five columns read 32 of 32 labels off the scores of each size."""
    folder = small.small_release(tmp_path / "v1", tests=16)
    path = tmp_path / "five.lst"
    shown = set()
    for number in range(5):
        columns = np.ones((32, 5), int)
        for size in range(5):
            columns[(number * 5 + size) % 32, size] = 2
        path.write_text("\n".join(",".join(map(str, row)) for row in columns))
        graded = grade_submission(folder, [path], statement(f"name {number}")).public
        shown.add(graded.scores)
        assert (graded.p_luck, graded.main) == (None, None)
    assert shown == {()}


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
    right = small.answers(folder)
    by_step = {}
    for number in range(9):
        path = tmp_path / f"{number}.lst"
        path.write_text("\n".join(small.labels_with(right, set(range(0, 2 * number + 1, 2)))))
        graded = grade_submission(folder, [path], statement(f"name {number}")).public
        if graded.scores:
            main = graded.scores[0]
            by_step.setdefault(main.value, set()).add((main.low, main.high, main.luck_corrected))
    assert by_step
    assert all(len(said) == 1 for said in by_step.values())


def test_under_one_name_only_a_step_above_the_best_is_shown(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=60)
    right = small.answers(folder)
    path = tmp_path / "p.lst"

    def ask(wrong: int, name: str = "able"):
        path.write_text("\n".join(small.labels_with(right, set(range(wrong)))))
        return grade_submission(folder, [path], statement(name)).public

    first = ask(20)
    assert first.main is not None
    worse = ask(22, " ABLE ")
    assert worse.scores == ()
    assert "above the best score shown for this name" in worse.notes[-1]
    assert ask(20).main == first.main  # the same files again
    assert ask(0).main.value > first.main.value


def test_a_budget_of_guesses_shows_nothing_and_votes_are_as_good_as_guesses():
    """The boosting attack of Blum and Hardt (2015), twins guessed as one, under a new name for every submission."""
    rng = np.random.default_rng(0)
    recovered = []
    shown = 0
    exact = []
    for _ in range(60):
        truth = rng.choice([-1, 1], 60)
        rules = rules_of(120, 60)
        votes = rng.normal(size=60) * 1e-9
        informed = np.zeros(60)
        for _ in range(rules.budget):
            guess = rng.choice([-1, 1], 60)
            accuracy = float((guess == truth).mean())
            value = to_step(accuracy, rules.steps, rng.random())
            shown += value >= rules.lowest
            votes += guess * (value >= rules.lowest)
            informed += guess * (accuracy - 0.5)
        recovered.append((np.sign(votes) == truth).mean())
        exact.append((np.sign(informed) == truth).mean())
    assert shown <= 6  # one run in twenty
    assert abs(np.mean(recovered) - 0.5) < 4 * 0.5 / np.sqrt(60 * 60)
    assert np.mean(exact) > 0.6  # the same attack on exact scores


def test_turning_one_pair_at_a_time_reads_no_label_off():
    """Under a new name each time, from a submission that is known to be half right: no step is just missed."""
    rng = np.random.default_rng(1)
    gained = []
    rules = rules_of(120, 60)
    for _ in range(60):
        truth = rng.choice([-1, 1], 60)
        answers = np.concatenate([truth[:40], rng.choice([-1, 1], 20)])
        best = to_step(float((answers == truth).mean()), rules.steps, rng.random())
        before = (answers[40:] == truth[40:]).mean()
        for pair in range(40, 40 + rules.budget - 1):
            turned_round = answers.copy()
            turned_round[pair] *= -1
            value = to_step(float((turned_round == truth).mean()), rules.steps, rng.random())
            if value > best:
                answers = turned_round
                best = value
        gained.append((answers[40:] == truth[40:]).mean() - before)
    assert abs(np.mean(gained)) < 4 * np.std(gained) / np.sqrt(60) + 0.02


def test_who_is_distinguished_on_a_board_reads_no_label_off(tmp_path):
    """Once each of 54 pairs was read off: two entries that differ in known pairs so that one more decides the test."""
    folder = small.small_release(tmp_path / "v1", tests=192)
    path = tmp_path / "p.lst"
    entries = tmp_path / "graded"
    right = small.answers(folder)
    chance = random.Random(0)
    known = range(163)
    unknown = range(163, 192)
    guessed = {pair for pair in unknown if chance.random() < 0.5}

    def enter(name: str, wrong: set[int]) -> None:
        path.write_text("\n".join(small.labels_with(right, {2 * pair + twin for pair in wrong for twin in (0, 1)})))
        write_graded(grade_submission(folder, [path], statement(name)).public, entries / f"{name[0]}.json")

    enter("a", {*unknown} - guessed | {*known[:13]})
    read = []
    for pair in unknown[:16]:
        enter(f"b{pair}", ({*unknown} - guessed | {*known[13:39]}) ^ {pair})
        first, second = leaderboard(folder, entries).places
        assert (first.rank, second.rank) == (1, 2)
        read.append(first.ahead.told_apart == (pair in guessed))
    assert 0.2 < np.mean(read) < 0.8


def test_what_is_left_of_what_some_models_solve_is_balanced_for_each_way_they_agree():
    """Once only the sum was: in thirty such draws, two of three were wrong in 65 %, all three right in 67 %.

    Then only ways with more solved than turned: that none of a way was retired told that its opposite is right.
    """
    problems = Dataset([p for number in range(600) for p in small.twins(number)])
    chance = random.Random(3)
    stances: dict[str, list[int]] = {}
    for group in problems.groups:
        easy = chance.random()
        likely = [skill + easy / 2 for skill in (0.3, 0.3, 0.5)]  # of the last, that it alone is right, too
        stances[group] = [chance.choice((0, 1, 1, 1)) * (1 if chance.random() < share else -1) for share in likely]
    answers = [
        answers_by(
            problems,
            "abc"[model],
            {
                p.id: stances[group][model] > 0 or (stances[group][model] == 0 and place == 0)
                for group, members in problems.groups.items()
                for place, p in enumerate(members)
            },
        )
        for model in range(3)
    ]
    gone = solved_beyond_chance(problems, answers, majority=0.6, secret=Draws(KEY)).retire
    left = Counter(tuple(stances[group]) for group, members in problems.groups.items() if members[0].id not in gone)
    decided = {stance: count for stance, count in left.items() if max(stance.count(1), stance.count(-1)) > 1}
    assert sum(decided.values()) > 200
    assert all(count == left[tuple(-each for each in stance)] for stance, count in decided.items())


def test_what_a_new_version_leaves_is_not_the_opposite_of_what_the_models_say():
    """Who retires what models solve, and no more than chance explains, must not leave what they get wrong."""
    problems = Dataset([p for number in range(400) for p in small.twins(number)])
    chance = random.Random(5)
    right = {}
    for members in problems.groups.values():
        kind = chance.random()  # decided and right, decided and wrong, or one candidate for both twins
        for place, problem in enumerate(members):
            right[problem.id] = kind < 0.6 or (kind >= 0.75 and place == 0)
    solved = solved_beyond_chance(problems, [answers_by(problems, "strong", right)], secret=Draws(KEY))
    left = [members for members in problems.groups.values() if members[0].id not in solved.retire]
    decided = [right[a.id] for a, b in left if right[a.id] == right[b.id]]
    assert len(solved.retire) > 250
    assert np.mean(decided) == 0.5


def test_a_new_twin_of_a_tested_problem_stands_on_its_side_whoever_wrote_it(tmp_path):
    """Once a new twin kept its author's order: 29 of 29 answers first, of an author who writes the right one first."""
    right_first = [p if p.answer == 0 else p.with_order((1, 0)) for p in load("open")]
    first = write_release(
        Dataset(right_first[::2], Card("open")), tmp_path / "v1", settings=NAMED, extras=ReleaseExtras(secret=KEY)
    )
    before = {p.id: p for p in first.contents.files["test"]}
    data = Dataset(right_first, Card("open"))
    second = evolve(first.folder, out=tmp_path / "v2", model=["random"], version="2.0", test=70, new=data)
    test = second.contents.files["test"].problems
    sides = {p.group: p.candidates for p in test if p.id in before}
    new = [p for p in test if p.id not in before and p.group in sides]
    assert len(new) > 20
    assert [
        p.id for p in new if sorted(p.candidates) == sorted(sides[p.group]) and p.candidates != sides[p.group]
    ] == []
    assert 0.2 < np.mean([p.answer == 0 for p in new]) < 0.8
    assert all(p.candidates == before[p.id].candidates for p in test if p.id in before)


def test_columns_that_change_places_are_another_submission_and_the_same_ones_in_other_files_are_not(tmp_path):
    """Once the hash was of the files alone: renamed among the sizes, one submission bought a grading per order."""
    folder = small.small_release(tmp_path / "v1", tests=60)
    right = small.answers(folder)
    files = []
    for size, wrong in zip(small.SIZES, range(5), strict=True):
        files.append(tmp_path / f"p-{size}.lst")
        files[-1].write_text("\n".join(small.labels_with(right, set(range(wrong)))))
    graded = grade_submission(folder, files, statement("able")).public
    again = [path.rename(path.with_name(f"other-{path.name}")) for path in files]
    assert grade_submission(folder, again[::-1], statement("able")).public.submission == graded.submission
    orders = []
    for number, order in enumerate(itertools.islice(itertools.permutations(small.SIZES), 4)):
        (tmp_path / str(number)).mkdir()
        orders.append([tmp_path / str(number) / f"p-{size}.lst" for size in order])
        for path, content in zip(orders[-1], again, strict=True):
            shutil.copy(content, path)
    assert rules_of(120, 60).per_name == 3
    assert len({grade_submission(folder, paths, statement("able")).public.submission for paths in orders[:3]}) == 3
    with pytest.raises(BadInput, match="the budget of this name is spent"):
        grade_submission(folder, orders[3], statement("able"))


def test_gradings_at_the_same_time_do_not_overspend_the_budget(tmp_path):
    """Once thirty that began together all passed a budget of nineteen."""
    folder = small.small_release(tmp_path / "v1", tests=16)
    barrier = threading.Barrier(24)
    right = small.answers(folder)
    outcomes = []

    def ask(number: int) -> None:
        path = tmp_path / f"{number}.lst"
        path.write_text("\n".join(small.labels_with(right, {number})))
        barrier.wait()
        try:
            grade_submission(folder, [path], statement(f"name {number}"))
            outcomes.append("graded")
        except BadInput as error:
            outcomes.append(str(error).partition(":")[0])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(24)]
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
    right = small.answers(folder)
    for wrong in range(2):
        path.write_text("\n".join(small.labels_with(right, set(range(wrong)))))
        graded = grade_submission(folder, [path], statement(f"a{mark}b")).public
    assert (graded.gradings.different, graded.gradings.all, graded.gradings.by_name) == (2, 2, 2)
    log = hidden_folder(folder) / "log.jsonl"
    row = json.loads(log.read_text().split("\n")[0])
    log.write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")  # as logs were written before
    path.write_text("\n".join(small.labels_with(right, {5, 7, 9})))
    assert grade_submission(folder, [path], statement(f"a{mark}b")).public.gradings.by_name == 2


@pytest.mark.parametrize(
    "other", ["a\u200bb", "\uff21B", "A\u00ad B", "a\ufe0fb", "ab\u3164", "a\u2800b", "a\u034fb", "a\U000e0100b"]
)
def test_marks_that_nobody_sees_and_wide_letters_make_no_new_name(tmp_path, other):
    folder = small.small_release(tmp_path / "v1", tests=60)
    path = tmp_path / "p.lst"
    for wrong, name in enumerate(["ab", other]):
        path.write_text("\n".join(small.labels_with(small.answers(folder), set(range(wrong)))))
        graded = grade_submission(folder, [path], statement(name)).public
    assert graded.gradings.by_name == 2


def test_a_line_of_the_log_that_was_cut_short_does_not_swallow_the_next(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=60)
    path = tmp_path / "p.lst"
    (hidden_folder(folder) / "log.jsonl").write_text('{"submission": "abc", "na')
    path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
    gradings = grade_submission(folder, [path], statement("a")).public.gradings
    assert (gradings.different, gradings.by_name) == (2, 1)


@pytest.mark.parametrize("row", ['{"name": 7}', '{"shown": [1]}', '{"shown": {"accuracy": "x"}}', None])
def test_a_log_that_grade_did_not_write_is_one_line(tmp_path, row):
    folder = small.small_release(tmp_path / "v1")
    path = tmp_path / "p.lst"
    log = hidden_folder(folder) / "log.jsonl"
    log.mkdir() if row is None else log.write_text(row + "\n")
    path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
    with pytest.raises(BadInput, match=r"log\.jsonl"):
        grade_submission(folder, [path])


def test_a_file_whose_name_is_no_text_is_one_line_and_nothing_is_logged(tmp_path, capsys, monkeypatch):
    folder = small.small_release(tmp_path / "v1")
    path = tmp_path / "bad\udcff.lst"
    path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
    said = ["--formalization", "x", "--training-data", "none", "--trials", "1"]
    monkeypatch.setattr(sys, "argv", ["winokit", "grade", str(folder), str(path), *said])
    with pytest.raises(SystemExit) as left:
        main()
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert error.count("\n") == 1
    assert "must be text, found 'bad\\udcff'" in error
    assert not (hidden_folder(folder) / "log.jsonl").exists()


def test_one_hidden_answer_of_unnamed_twins_in_any_order_changes_no_public_byte(tmp_path):
    """Once a flipped answer took twins for strangers: the card's count of groups, and their coin, told that."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    mixed = [p.replace(group=None) for p in load("open")]
    random.Random(0).shuffle(mixed)
    data = Dataset(mixed, Card("open"))
    first = write_release(data, tmp_path / "0", settings=NAMED, extras=ReleaseExtras(secret=KEY)).folder
    assert None not in read_hidden(first).groups
    for name in read_hidden(first).ids[:3]:
        other = write_release(
            turned(data, {name}), tmp_path / name, settings=NAMED, extras=ReleaseExtras(secret=KEY)
        ).folder
        assert public_files(other) == public_files(first)


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
        data = [p.replace(answer=answer) for p, answer in zip((near, far, third), answers, strict=True)]
        groups.append([p.group for p in read_inputs(Dataset(data, Card("x"))).problems])
        keys.append(keys_of(units_of(Dataset(data), frozenset(p.id for p in data))))
    assert all(found == groups[0] for found in groups)
    assert all(found == keys[0] for found in keys)
    assert all(keys[0])


def test_the_balance_of_dev_and_of_new_training_tells_nothing_of_the_test():
    """Once the excess was drawn over all splits together: dev's turned less solved was the test's solved less turned,
    and guessing so got 54.8 % of its decided groups."""
    groups = [small.twins(number) for number in range(300)]
    problems = Dataset([p for members in groups for p in members])
    guessed = []
    for run in range(20):
        chance = random.Random(run)
        right = {}
        where = {}
        for number, members in enumerate(groups):
            kind = chance.random()
            for place, problem in enumerate(members):
                right[problem.id] = kind < 0.55 or (kind >= 0.7 and place == 0)
                if number < 200:
                    where[problem.id] = "test" if number < 120 else "dev"
        gone = solved_beyond_chance(
            problems, [answers_by(problems, "m", right)], secret=Draws(bytes([run]) * 32), where=where
        ).retire
        left = [members for members in groups if members[0].id not in gone]
        decided = {split: [] for split in ("test", "dev", "new")}
        for one, other in left:
            if right[one.id] == right[other.id]:
                decided[where.get(one.id, "new")].append(right[one.id])
        assert len(decided["test"]) > 10
        assert decided["new"] == []
        guessed.append(np.mean(decided["test"]))
    assert guessed == [0.5] * 20
