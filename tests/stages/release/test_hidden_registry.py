"""A release does not publish what another release of the same data keeps hidden."""

import json
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support import small

from winokit.cli.main import main
from winokit.data.formats import write
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.problem import Card, Dataset, Problem
from winokit.stages.evolve.run import evolve
from winokit.stages.release import run as release_run
from winokit.stages.release.disclosure import DisclosureRules, find_disclosures
from winokit.stages.release.hidden_registry import (
    GradedSubmission,
    HiddenRegistry,
    HiddenTest,
    Revealing,
    digests_of,
    open_registry,
)
from winokit.stages.release.run import Release, write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")

PAIRS = 80
SETTINGS = ReleaseSettings(name="mine", licence="CC0-1.0", test=32, dev=16)
KEY = ReleaseExtras(secret=bytes(range(32)))
OTHER_KEY = ReleaseExtras(secret=bytes(range(1, 33)))
REVEALING = ReleaseExtras(secret=bytes(range(1, 33)), reveal=True)
NO_SECRET = ReleaseExtras()
ALL_HIDDEN = r"32 of the 32 problems that mine 1\.0 keeps hidden"


def pairs_of(numbers: range, name: str) -> Dataset:
    """Twins of these numbers."""
    problems = []
    for number in numbers:
        problems += small.twins(number)
    return Dataset(problems, Card(name))


def private_data() -> Dataset:
    """Twins that are in no public set."""
    return pairs_of(range(PAIRS), "mine")


def release_data(folder: Path, data: Dataset | None = None, extras: ReleaseExtras = KEY, **changes) -> Release:
    """Release the data, or the private data if None, with some settings changed."""
    settings = replace(SETTINGS, **changes)
    return write_release(data or private_data(), folder, settings=settings, extras=extras)


def registered_tests() -> list[HiddenTest]:
    return HiddenRegistry().tests()


def registry_file() -> Path:
    """The only file of the registry."""
    (path,) = HiddenRegistry().folder.glob("*.json")
    return path


def find_note(notes: Sequence[str], text: str) -> str:
    """The only note that has this text in it."""
    (note,) = [note for note in notes if text in note]
    return note


def ids_of_test(release: Release) -> set[str]:
    return {problem.id for problem in release.contents.files["test"]}


def run_command(monkeypatch, capsys, *arguments: object) -> tuple[int, str]:
    """The exit code of a command, and its errors."""
    monkeypatch.setattr(sys, "argv", ["winokit", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    return int(exit_info.value.code or 0), capsys.readouterr().err


def test_a_second_release_of_the_same_data_with_a_fresh_secret_is_refused(tmp_path, monkeypatch, capsys):
    """Once 163 of 190 hidden problems stood in the other's dev or training, with their answers."""
    monkeypatch.chdir(tmp_path)
    write(private_data(), tmp_path / "mine.jsonl")
    command = ("release", "mine.jsonl", "--name", "mine", "--licence", "CC0-1.0", "--test", "32", "--out")
    code, _ = run_command(monkeypatch, capsys, *command, "a")
    assert code == 0
    code, error = run_command(monkeypatch, capsys, *command, "b")
    assert code == 2
    assert error.count("\n") == 1
    assert "of the 32 problems that mine 1.0 keeps hidden (" in error
    for way_out in ("--set secret=a.hidden/secret", "--out a", "winokit evolve a", "--set reveal=on"):
        assert f"({way_out})" in error
    assert not (tmp_path / "b").exists()
    assert not (tmp_path / "b.hidden").exists()
    # A secret hides nothing in a release without a hidden test.
    without_test = ("--test", "0", "--set", "secret=a.hidden/secret")
    _, error = run_command(monkeypatch, capsys, *command, "b", *without_test)
    assert "hide a test here too, without --test 0, with the same secret (--set secret=a.hidden/secret)" in error
    assert len(registered_tests()) == 1


def test_how_many_would_be_published_is_counted_by_split(tmp_path):
    hidden_ids = ids_of_test(release_data(tmp_path / "a"))
    with pytest.raises(BadInput) as refusal:
        release_data(tmp_path / "b", extras=OTHER_KEY)
    second = release_data(tmp_path / "b", extras=REVEALING)
    in_training = len(hidden_ids & {problem.id for problem in second.contents.training})
    in_dev = len(hidden_ids & {problem.id for problem in second.contents.files["dev"]})
    message = str(refusal.value)
    assert in_training > 10
    assert f"{in_training + in_dev} of the 32 problems that mine 1.0 keeps hidden" in message
    assert f"{in_training} in training and {in_dev} in dev" in message


def test_with_the_same_secret_the_same_problems_are_hidden(tmp_path):
    first = release_data(tmp_path / "a")
    second = release_data(tmp_path / "b")
    assert second.contents.where == first.contents.where
    (test,) = registered_tests()
    assert sorted(test.folders) == [str(first.hidden.resolve()), str(second.hidden.resolve())]


def test_a_release_in_the_place_of_the_other_may_hide_other_problems_and_says_so(tmp_path):
    release_data(tmp_path / "a")
    second = release_data(tmp_path / "a", test=8)
    note = find_note(second.notes, "by the release that replaces it")
    assert "of the 32 problems that mine 1.0 keeps hidden" in note
    (test,) = registered_tests()
    assert len(test.problems) == 8


def test_a_copy_of_a_replaced_release_keeps_its_place_in_the_registry(tmp_path):
    release_data(tmp_path / "a")
    release_data(tmp_path / "b")
    release_data(tmp_path / "a", test=8)
    assert sorted(len(test.problems) for test in registered_tests()) == [8, 32]


def read_manifest(release: Release) -> dict:
    return json.loads((release.folder / "manifest.json").read_text())


def test_revealing_says_so_in_notes_card_manifest_and_registry(tmp_path):
    first = release_data(tmp_path / "a")
    second = release_data(tmp_path / "b", extras=REVEALING, name="other")
    (note,) = [note for note in second.notes if note.startswith("revealed, ")]
    (row,) = read_manifest(second)["revealed"]
    (test,) = [test for test in registered_tests() if test.release == "mine 1.0"]
    (revealing,) = test.revealings
    assert "of the 32 problems that mine 1.0 keeps hidden" in note
    assert f" {row['problems']} of the 32" in note
    assert "- Published on purpose, with their answers: " in (second.folder / "README.md").read_text()
    assert row["release"] == "mine 1.0"
    assert release_run.as_json(second)["revealed"] == [row]
    assert revealing.release == "other 1.0"
    assert len(revealing.rows) == row["problems"]
    assert "revealed" not in read_manifest(first)


def bytes_by_path(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_release_that_revealed_is_made_again_with_the_same_bytes(tmp_path):
    release_data(tmp_path / "a")
    folder = tmp_path / "b"
    release_data(folder, extras=REVEALING)
    files = bytes_by_path(folder)
    release_data(folder, extras=REVEALING)
    assert bytes_by_path(folder) == files
    # Problems that were revealed once need no option any more.
    release_data(folder, extras=OTHER_KEY)
    assert bytes_by_path(folder) == files


def test_what_was_revealed_may_be_published_by_others_and_the_rest_may_not(tmp_path):
    first = release_data(tmp_path / "a")
    revealing = release_data(tmp_path / "b", test=0, extras=ReleaseExtras(reveal=True))
    assert revealing.hidden is None
    third = release_data(tmp_path / "c", test=0, dev=20, extras=NO_SECRET)
    assert find_note(third.notes, "as in another release that revealed them")
    (test,) = registered_tests()
    assert len(test.revealings[0].rows) == len(first.contents.files["test"]) == 32
    more = pairs_of(range(200, 240), "more")
    release_data(tmp_path / "d", more)
    both = Dataset([*private_data(), *more], Card("all"))
    with pytest.raises(BadInput, match=ALL_HIDDEN + r" \([^)]*\); ways out"):
        release_data(tmp_path / "e", both, test=0, extras=NO_SECRET)


def test_a_release_without_a_hidden_test_must_not_publish_hidden_problems_either(tmp_path):
    release_data(tmp_path / "a")
    with pytest.raises(BadInput, match=ALL_HIDDEN):
        release_data(tmp_path / "b", test=0, extras=NO_SECRET)


def test_several_releases_are_counted_in_one_line(tmp_path):
    release_data(tmp_path / "a")
    release_data(tmp_path / "b", extras=ReleaseExtras(secret=bytes(32), reveal=True), name="other")
    with pytest.raises(BadInput, match=r"keeps hidden \(.*\), and \d+ of 1 other release; ways out") as refusal:
        release_data(tmp_path / "c", test=0, extras=NO_SECRET)
    assert "\n" not in str(refusal.value)


def test_where_the_folder_is_gone_the_secret_is_asked_for(tmp_path):
    first = release_data(tmp_path / "a")
    shutil.rmtree(first.folder)
    shutil.rmtree(first.hidden)
    with pytest.raises(BadInput, match=r"find its secret \(it was in .*a\.hidden\), and give that") as refusal:
        release_data(tmp_path / "a", extras=OTHER_KEY)
    assert "--set reveal=on" in str(refusal.value)
    assert release_data(tmp_path / "a").contents.where == first.contents.where


# The same problem in other words.


REWRITES = {
    "other spaces and marks": lambda p: p.replace(before=p.before.upper().replace(" ", "  "), after=f"{p.after}!"),
    "marks of a web page": lambda p: p.replace(before=f"<p>{p.before.replace(' ', '&nbsp;', 1)}"),
    "no pronoun": lambda p: p.replace(pronoun=None),
    "candidates in the other order": lambda p: p.with_order((1, 0)),
    "one word more": lambda p: p.replace(before=f"Yesterday {p.before}"),
    "one word less": lambda p: p.replace(after=p.after.replace(" all", "").replace(" to", "")),
    "one word changed": lambda p: p.replace(before=p.before.replace("lent", "gave")),
}


def rewritten_data(name: str) -> Dataset:
    """The private data with the rewrite of this name in each problem."""
    rewrite = REWRITES[name]
    return Dataset([rewrite(problem) for problem in private_data()], Card("copies"))


@pytest.mark.parametrize("name", REWRITES)
def test_a_plain_copy_is_the_same_problem(tmp_path, name):
    release_data(tmp_path / "a")
    with pytest.raises(BadInput, match=ALL_HIDDEN):
        release_data(tmp_path / "b", rewritten_data(name), test=0, extras=NO_SECRET)


def test_other_problems_about_the_same_people_are_not(tmp_path):
    release_data(tmp_path / "a")
    others = []
    for problem in private_data():
        before = problem.before.replace("lent", "never wished to buy").replace("books", "horses")
        others.append(problem.replace(before=before))
    release = release_data(tmp_path / "b", Dataset(others, Card("others")), test=0, extras=NO_SECRET)
    assert not [note for note in release.notes if "hidden" in note]


def test_a_twin_that_was_removed_and_would_tell_the_answer_is_withheld_too(tmp_path):
    first_twins = private_data().filter(lambda p: p.after == " had read them all.")
    second_twins = private_data().filter(lambda p: p.after != " had read them all.")
    first = write_release(first_twins, tmp_path / "a", removed=second_twins, settings=SETTINGS, extras=KEY)
    (test,) = registered_tests()
    assert len(test.withheld) == len(first.contents.withheld) == len(test.problems) == 32
    with pytest.raises(BadInput, match=r"32 of the 64 problems that mine 1\.0 keeps hidden"):
        release_data(tmp_path / "b", second_twins, test=0, extras=NO_SECRET)


# Public sets.


def test_a_public_set_is_released_again_with_a_note(tmp_path):
    first = write_release("open", tmp_path / "a")
    second = write_release("open", tmp_path / "b")
    assert second.contents.where != first.contents.where
    note = find_note(second.notes, "public anyway")
    assert "of the 64 problems that open 1.0 keeps hidden" in note


@pytest.mark.parametrize("kind", ["jsonl", "winogrande"])
def test_a_copy_of_the_bundled_twins_under_another_name_is_public_by_its_texts(tmp_path, kind):
    write_release("open", tmp_path / "a")
    write(Dataset(load("open"), Card("my own")), tmp_path / "own.jsonl", kind)
    release = write_release(tmp_path / "own.jsonl", tmp_path / "b", settings=ReleaseSettings(name="own"))
    assert find_note(release.notes, "public anyway")


def test_own_problems_under_the_name_of_a_public_set_are_not_public(tmp_path):
    data = Dataset(private_data(), Card("open"))
    release_data(tmp_path / "a", data)
    with pytest.raises(BadInput, match="keeps hidden"):
        release_data(tmp_path / "b", data, extras=OTHER_KEY)


def test_the_real_winogrande_is_public(tmp_path, real_file):
    path = real_file("winogrande/dev.jsonl")
    settings = ReleaseSettings(name="w")
    write_release(path, tmp_path / "a", settings=settings)
    release = write_release(path, tmp_path / "b", settings=settings)
    note = find_note(release.notes, "public anyway")
    assert "of the 190 problems" in note


def test_the_real_winogrande_with_other_words_is_not_public(tmp_path, real_file):
    winogrande = load(real_file("winogrande/dev.jsonl"))
    problems = [p.replace(before=f"Someone wrote that once {p.before}") for p in winogrande]
    data = Dataset(problems, Card("own"))
    write_release(data, tmp_path / "a")
    with pytest.raises(BadInput, match=r"1[3-9]\d of the 190 problems that own 1\.0 keeps hidden"):
        write_release(data, tmp_path / "b")


# The registry itself.


def test_the_registry_holds_no_text_no_answer_and_no_name(tmp_path):
    first = release_data(tmp_path / "a")
    text = registry_file().read_text()
    assert "answer" not in text
    hexadecimal = set("0123456789abcdef")
    for digest in json.loads(text)["problems"]:
        assert set(digest) <= hexadecimal
    words = set(" ".join(problem.text for problem in first.contents.files["test"]).split())
    assert not [word for word in words if len(word) > 4 and word in text]


def test_digests_are_the_same_whatever_the_answer_is():
    for problem in private_data():
        flipped = problem.replace(answer=1 - problem.answer)
        assert digests_of(flipped) == digests_of(problem)


def test_only_the_owner_can_read_the_registry(tmp_path):
    release_data(tmp_path / "a")
    folder = HiddenRegistry().folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_what_the_registry_knows_reads_back(tmp_path):
    test = HiddenTest(
        identity="commitment",
        release="mine 1.0",
        folders=("/somewhere/a.hidden",),
        problems=(digests_of(small.twins(1)[0]),),
        withheld=(digests_of(small.twins(1)[1]),),
        gradings=(GradedSubmission("submission", "name"),),
        revealings=(Revealing("other 2.0", "hash", (1,)),),
    )
    with open_registry() as registry:
        registry.save(test)
    assert registered_tests() == [test]
    assert HiddenRegistry().find("commitment") == test
    assert HiddenRegistry().find("another") is None


NO_REVEALING = '"revealings": [{"release": "", "content_hash": "", "rows": [99]}]'
DAMAGES = {
    "cut short": lambda text: text[: len(text) // 2],
    "no object": lambda text: "[]",
    "another schema": lambda text: text.replace('"schema": 1', '"schema": 99'),
    "no problems": lambda text: text.replace('"problems"', '"others"'),
    "text for digests": lambda text: text.replace('"problems": [\n  "', '"problems": [\n  "the jug'),
    "a number for a name": lambda text: text.replace('"release": "mine 1.0"', '"release": 1'),
    "a row that is none": lambda text: text.replace('"revealings": []', NO_REVEALING),
    "no text": lambda text: "\0\ud800",
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_registry_that_cannot_be_read_is_one_line_that_names_the_file(tmp_path, monkeypatch, capsys, kind):
    release_data(tmp_path / "a")
    path = registry_file()
    damage = DAMAGES[kind]
    path.write_text(damage(path.read_text()), errors="surrogatepass")
    data = tmp_path / "mine.jsonl"
    write(private_data(), data)
    code, error = run_command(monkeypatch, capsys, "release", data, "--name", "b", "--out", tmp_path / "b")
    assert code == 2
    assert error.count("\n") == 1
    assert str(path) in error.replace("\n", "")
    assert "restore it, or remove it" in error
    assert "Traceback" not in error
    assert not (tmp_path / "b").exists()


def test_a_state_folder_that_cannot_be_written_to_is_one_line_with_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "file"))
    with pytest.raises(BadInput, match="name a folder you can write to in WINOKIT_STATE"):
        release_data(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_release_that_fails_registers_nothing(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise BadInput("the disk is full")

    monkeypatch.setattr(release_run.manifest, "write_manifest", fail)
    with pytest.raises(BadInput, match="the disk is full"):
        release_data(tmp_path / "a")
    assert registered_tests() == []


def test_of_two_releases_made_at_once_one_is_refused(tmp_path):
    barrier = threading.Barrier(2)
    outcomes = []

    def release_at_once(name: str, extras: ReleaseExtras) -> None:
        barrier.wait()
        try:
            release_data(tmp_path / name, extras=extras)
            outcomes.append("made")
        except BadInput as error:
            outcomes.append("refused" if "keeps hidden" in str(error) else str(error))

    secrets = {"a": KEY, "b": OTHER_KEY}
    threads = [threading.Thread(target=release_at_once, args=item) for item in secrets.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["made", "refused"]
    assert len(registered_tests()) == 1


WRITER = """
import sys
from dataclasses import replace
from winokit.stages.release.hidden_registry import GradedSubmission, open_registry
for number in range(20):
    with open_registry() as registry:
        test = registry.find("shared")
        registry.save(test.with_gradings([GradedSubmission(f"{sys.argv[1]}-{number}", "")]))
"""


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path):
    with open_registry() as registry:
        registry.save(HiddenTest("shared", "mine 1.0", (), (digests_of(small.twins(1)[0]),)))
        # They begin while it is locked, so that they wait for each other.
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, name]) for name in ("one", "two", "three")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    (test,) = registered_tests()
    assert len(test.gradings) == 60


# Folders of hidden labels beside the output.


@pytest.fixture
def another_machine(tmp_path, monkeypatch):
    """A function after which the registry is empty, as on another machine."""

    def move_to_another_machine() -> None:
        monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "another machine"))

    return move_to_another_machine


@pytest.mark.parametrize(
    "data", [private_data(), rewritten_data("other spaces and marks")], ids=["exact copies", "rewritten copies"]
)
def test_hidden_labels_beside_the_output_count_where_the_registry_does_not_know_them(tmp_path, another_machine, data):
    release_data(tmp_path / "a")
    another_machine()
    with pytest.raises(BadInput, match=ALL_HIDDEN):
        release_data(tmp_path / "b", data, test=0, extras=NO_SECRET)


def test_hidden_labels_in_another_folder_do_not_count(tmp_path, another_machine):
    release_data(tmp_path / "a")
    another_machine()
    (tmp_path / "elsewhere").mkdir()
    assert release_data(tmp_path / "elsewhere" / "b", test=0, extras=NO_SECRET)


def test_without_their_release_exact_copies_are_known_by_their_ids(tmp_path, another_machine):
    shutil.rmtree(release_data(tmp_path / "a").folder)
    another_machine()
    with pytest.raises(BadInput, match=ALL_HIDDEN):
        release_data(tmp_path / "b", test=0, extras=NO_SECRET)


def test_without_their_release_a_note_says_that_only_exact_copies_are_found(tmp_path, another_machine):
    shutil.rmtree(release_data(tmp_path / "a").folder)
    another_machine()
    second = release_data(tmp_path / "b", rewritten_data("other spaces and marks"))
    note = find_note(second.notes, "its release is not beside it")
    assert note.startswith(f"{tmp_path / 'a.hidden'}: ")


def test_hidden_labels_that_have_lost_their_release_are_not_passed_over(tmp_path, another_machine):
    hidden = release_data(tmp_path / "a").hidden
    (hidden / "release.json").unlink()
    another_machine()
    with pytest.raises(BadInput, match=r"a\.hidden: hidden labels without release\.json"):
        release_data(tmp_path / "b")


def test_a_folder_of_something_else_called_hidden_is_passed_over(tmp_path):
    (tmp_path / "notes.hidden").mkdir()
    (tmp_path / "notes.hidden" / "labels.jsonl").write_text("mine")
    assert release_data(tmp_path / "a").hidden


# Versions.


def test_a_next_version_is_not_refused_for_the_one_before(tmp_path):
    first = release_data(tmp_path / "v1")
    new = pairs_of(range(200, 230), "new")
    second = evolve(first.folder, out=tmp_path / "v2", model=["random"], version="2.0", test=40, new=new)
    assert len(registered_tests()) == 2
    assert ids_of_test(first) <= ids_of_test(second)
    with pytest.raises(BadInput, match=r"that mine 2\.0 keeps hidden"):
        release_data(tmp_path / "b", test=0, extras=NO_SECRET)


def able_predictions(release: Release) -> list[dict]:
    """Rows of a model that solves three groups of four, and chooses the first candidate in the fourth."""
    unsolved_groups = set(list(private_data().groups)[::4])
    rows_by_id = {}
    for data in release.contents.files.values():
        for problem in data:
            prediction = 0 if problem.group in unsolved_groups else problem.answer
            row = {"id": problem.id, "variant": "original", "model": "able", "scoring": "x", "scores": None}
            rows_by_id[problem.id] = row | {"answer": problem.answer, "prediction": prediction}
    return list(rows_by_id.values())


def test_a_retired_problem_that_is_brought_back_on_purpose_is_revealed(tmp_path):
    first = release_data(tmp_path / "v1", test=64)
    path = tmp_path / "able.jsonl"
    small.write_lines(path, able_predictions(first))
    second = evolve(first.folder, out=tmp_path / "v2", predictions=[path], version="2.0", test=64)
    retired_ids = ids_of_test(first) - second.contents.where.keys()
    assert len(retired_ids) > 10
    data = private_data()
    third = evolve(second.folder, out=tmp_path / "v3", model=["random"], version="3.0", new=data, bring_back=True)
    training_ids = {problem.id for problem in third.contents.training}
    assert retired_ids & training_ids
    assert any(note.startswith("revealed, published here") for note in third.notes)


# The parts of the rules.


IDS = {problem.id for problem in private_data()}
BY_OTHERS = Revealing("o", "other", (0,))
BY_THIS_RELEASE = Revealing("m", "own", (0,))


@pytest.mark.parametrize(
    ("rules", "revealings", "fate"),
    [
        (DisclosureRules("own"), (), "refused"),
        (DisclosureRules("own", reveal=True), (), "revealed"),
        (DisclosureRules("own", public_ids=IDS, reveal=True), (), "public"),
        (DisclosureRules("own", replaced={"x"}, reveal=True), (), "replaced"),
        (DisclosureRules("own", versions={"x"}, returned=IDS), (), "revealed"),
        (DisclosureRules("own", versions={"y"}, returned=IDS), (), "refused"),
        (DisclosureRules("own", versions={"x"}), (), "refused"),
        (DisclosureRules("own"), (BY_OTHERS,), "known"),
        (DisclosureRules("own"), (BY_THIS_RELEASE, BY_OTHERS), "revealed"),
    ],
    ids=[
        "no reason",
        "on purpose",
        "public anyway",
        "of the replaced release",
        "brought back into the next version",
        "brought back into the version of another",
        "not brought back",
        "revealed by another release",
        "revealed by this release",
    ],
)
def test_what_becomes_of_a_disclosure_follows_its_reasons(rules, revealings, fate):
    digests = digests_of(small.twins(0)[0])
    test = HiddenTest("x", "mine 1.0", (), (digests,), revealings=revealings)
    (disclosure, *_) = find_disclosures([test], {"train": private_data()})
    assert list(rules.fates(disclosure)) == [fate]


def test_a_problem_that_occurs_twice_is_one_text():
    problem = Problem("Ann met Bea because ", " was late.", ("Ann", "Bea"), 0, "she")
    again = problem.replace(occurrence=2)
    assert digests_of(problem) == digests_of(again)
