"""Two releases of the same data: what one keeps hidden, the other does not publish."""

import json
import shutil
import stat
import subprocess
import sys
import threading
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
from winokit.stages.release.disclosure import Disclosure, DisclosureRules, find_disclosures
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


def mine(pairs: int = PAIRS) -> Dataset:
    """Twins that are in no public set."""
    return Dataset([problem for number in range(pairs) for problem in small.twins(number)], Card("mine"))


def made(folder: Path, data: Dataset | None = None, extras: ReleaseExtras = KEY, **changes) -> Release:
    settings = {"name": "mine", "licence": "CC0-1.0", "test": 32, "dev": 16} | changes
    return write_release(data or mine(), folder, settings=ReleaseSettings(**settings), extras=extras)


def registered() -> list[HiddenTest]:
    return HiddenRegistry().tests()


def cli(monkeypatch, capsys, *arguments: object) -> tuple[int, str]:
    """The exit code of a command, and its errors."""
    monkeypatch.setattr(sys, "argv", ["winokit", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0), capsys.readouterr().err


def test_a_second_release_of_the_same_data_with_a_fresh_secret_is_refused(tmp_path, monkeypatch, capsys):
    """Once 163 of 190 hidden problems stood in the other's dev or training, with their answers."""
    monkeypatch.chdir(tmp_path)
    write(mine(), tmp_path / "mine.jsonl")
    command = ("release", "mine.jsonl", "--name", "mine", "--licence", "CC0-1.0", "--test", "32", "--out")
    monkeypatch.setattr(sys, "argv", ["winokit", *command, "a"])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    capsys.readouterr()
    code, error = cli(monkeypatch, capsys, *command, "b")
    assert code == 2
    assert error.count("\n") == 1
    assert "of the 32 problems that mine 1.0 keeps hidden (" in error
    for way in ("--set secret=a.hidden/secret", "--out a", "winokit evolve a", "--set reveal=on"):
        assert f"({way})" in error
    assert not (tmp_path / "b").exists()
    assert not (tmp_path / "b.hidden").exists()
    # A secret hides nothing in a release without a hidden test.
    _, untested = cli(monkeypatch, capsys, *command, "b", "--test", "0", "--set", "secret=a.hidden/secret")
    assert "hide a test here too, without --test 0, with the same secret (--set secret=a.hidden/secret)" in untested
    assert len(registered()) == 1


def test_how_many_would_be_published_is_counted_by_split(tmp_path):
    first = made(tmp_path / "a")
    hidden_ids = {problem.id for problem in first.contents.files["test"]}
    with pytest.raises(BadInput) as refused:
        made(tmp_path / "b", extras=OTHER_KEY)
    (tmp_path / "elsewhere").mkdir()
    second = made(tmp_path / "b", extras=ReleaseExtras(secret=bytes(range(1, 33)), reveal=True))
    trained = len(hidden_ids & {problem.id for problem in second.contents.training})
    in_dev = len(hidden_ids & {problem.id for problem in second.contents.files["dev"]})
    assert trained > 10
    assert f"{trained + in_dev} of the 32 problems that mine 1.0 keeps hidden" in str(refused.value)
    assert f"{trained} in training and {in_dev} in dev" in str(refused.value)


def test_with_the_same_secret_the_same_problems_are_hidden(tmp_path):
    first = made(tmp_path / "a")
    second = made(tmp_path / "b")
    assert second.contents.where == first.contents.where
    (test,) = registered()
    assert sorted(test.folders) == [str(first.hidden.resolve()), str(second.hidden.resolve())]


def test_a_release_in_the_place_of_the_other_may_hide_other_problems_and_says_so(tmp_path):
    made(tmp_path / "a")
    second = made(tmp_path / "a", test=8)
    (note,) = [note for note in second.notes if "by the release that replaces it" in note]
    assert "of the 32 problems that mine 1.0 keeps hidden" in note
    (test,) = registered()
    assert len(test.problems) == 8


def test_a_copy_of_a_replaced_release_keeps_its_place_in_the_registry(tmp_path):
    made(tmp_path / "a")
    made(tmp_path / "b")
    made(tmp_path / "a", test=8)
    assert sorted(len(test.problems) for test in registered()) == [8, 32]


def test_revealing_says_so_in_notes_card_manifest_and_registry(tmp_path):
    first = made(tmp_path / "a")
    extras = ReleaseExtras(secret=bytes(range(1, 33)), reveal=True)
    second = made(tmp_path / "b", extras=extras, name="other")
    (note,) = [note for note in second.notes if note.startswith("revealed, ")]
    assert "of the 32 problems that mine 1.0 keeps hidden" in note
    assert "- Published on purpose, with their answers: " in (second.folder / "README.md").read_text()
    (row,) = json.loads((second.folder / "manifest.json").read_text())["revealed"]
    assert row["release"] == "mine 1.0"
    assert f" {row['problems']} of the 32" in note
    assert release_run.as_json(second)["revealed"] == [row]
    (test,) = [test for test in registered() if test.release == "mine 1.0"]
    (revealing,) = test.revealings
    assert (revealing.release, len(revealing.rows)) == ("other 1.0", row["problems"])
    assert "revealed" not in json.loads((first.folder / "manifest.json").read_text())


def test_a_release_that_revealed_is_made_again_with_the_same_bytes(tmp_path):
    made(tmp_path / "a")
    extras = ReleaseExtras(secret=bytes(range(1, 33)), reveal=True)
    made(tmp_path / "b", extras=extras)
    before = {path: path.read_bytes() for path in (tmp_path / "b").rglob("*") if path.is_file()}
    for again in (extras, OTHER_KEY):  # what is revealed once needs no option any more
        made(tmp_path / "b", extras=again)
        assert {path: path.read_bytes() for path in (tmp_path / "b").rglob("*") if path.is_file()} == before


def test_what_was_revealed_may_be_published_by_others_and_the_rest_may_not(tmp_path):
    first = made(tmp_path / "a")
    revealed = made(tmp_path / "b", test=0, extras=ReleaseExtras(reveal=True))
    assert revealed.hidden is None
    third = made(tmp_path / "c", test=0, dev=20, extras=ReleaseExtras())
    assert any("as in another release that revealed them" in note for note in third.notes)
    (test,) = registered()
    assert len(test.revealings[0].rows) == len(first.contents.files["test"]) == 32
    more = Dataset([p for number in range(200, 240) for p in small.twins(number)], Card("more"))
    made(tmp_path / "d", more)
    with pytest.raises(BadInput, match=r"32 of the 32 problems that mine 1\.0 keeps hidden \([^)]*\); ways out"):
        made(tmp_path / "e", Dataset([*mine(), *more], Card("all")), test=0, extras=ReleaseExtras())


def test_a_release_without_a_hidden_test_must_not_publish_hidden_problems_either(tmp_path):
    made(tmp_path / "a")
    with pytest.raises(BadInput, match=r"32 of the 32 problems that mine 1\.0 keeps hidden"):
        made(tmp_path / "b", test=0, extras=ReleaseExtras())


def test_several_releases_are_counted_in_one_line(tmp_path):
    made(tmp_path / "a")
    made(tmp_path / "b", extras=ReleaseExtras(secret=bytes(32), reveal=True), name="other")
    with pytest.raises(BadInput, match=r"keeps hidden \(.*\), and \d+ of 1 other release; ways out") as refused:
        made(tmp_path / "c", test=0, extras=ReleaseExtras())
    assert "\n" not in str(refused.value)


def test_where_the_folder_is_gone_the_secret_is_asked_for(tmp_path):
    first = made(tmp_path / "a")
    shutil.rmtree(first.folder)
    shutil.rmtree(first.hidden)
    with pytest.raises(BadInput, match=r"find its secret \(it was in .*a\.hidden\), and give that") as refused:
        made(tmp_path / "a", extras=OTHER_KEY)
    assert "--set", "reveal=on" in str(refused.value)
    assert made(tmp_path / "a").contents.where == first.contents.where


# What is the same problem.


REWRITES = {
    "other spaces and marks": lambda p: p.replace(before=p.before.upper().replace(" ", "  "), after=f"{p.after}!"),
    "marks of a web page": lambda p: p.replace(before=f"<p>{p.before.replace(' ', '&nbsp;', 1)}"),
    "no pronoun": lambda p: p.replace(pronoun=None),
    "candidates in the other order": lambda p: p.with_order((1, 0)),
    "one word more": lambda p: p.replace(before=f"Yesterday {p.before}"),
    "one word less": lambda p: p.replace(after=p.after.replace(" all", "").replace(" to", "")),
    "one word changed": lambda p: p.replace(before=p.before.replace("lent", "gave")),
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_plain_copy_is_the_same_problem(tmp_path, name):
    made(tmp_path / "a")
    copies = Dataset([REWRITES[name](problem) for problem in mine()], Card("copies"))
    with pytest.raises(BadInput, match=r"32 of the 32 problems that mine 1\.0 keeps hidden"):
        made(tmp_path / "b", copies, test=0, extras=ReleaseExtras())


def test_other_problems_about_the_same_people_are_not(tmp_path):
    made(tmp_path / "a")
    others = [
        p.replace(before=p.before.replace("lent", "never wished to buy").replace("books", "horses")) for p in mine()
    ]
    released = made(tmp_path / "b", Dataset(others, Card("others")), test=0, extras=ReleaseExtras())
    assert not [note for note in released.notes if "hidden" in note]


def test_a_twin_that_was_removed_and_would_tell_the_answer_is_withheld_too(tmp_path):
    kept = mine().filter(lambda p: p.after == " had read them all.")
    removed = mine().filter(lambda p: p.after != " had read them all.")
    first = write_release(kept, tmp_path / "a", removed=removed, settings=SETTINGS, extras=KEY)
    (test,) = registered()
    assert len(test.withheld) == len(first.contents.withheld) == len(test.problems) == 32
    with pytest.raises(BadInput, match=r"32 of the 64 problems that mine 1\.0 keeps hidden"):
        made(tmp_path / "b", removed, test=0, extras=ReleaseExtras())


# What is public.


def test_a_public_set_is_released_again_with_a_note(tmp_path):
    first = write_release("open", tmp_path / "a")
    second = write_release("open", tmp_path / "b")
    assert second.contents.where != first.contents.where
    (note,) = [note for note in second.notes if "public anyway" in note]
    assert "of the 64 problems that open 1.0 keeps hidden" in note


@pytest.mark.parametrize("kind", ["jsonl", "winogrande"])
def test_a_copy_of_the_bundled_twins_under_another_name_is_public_by_its_texts(tmp_path, kind):
    write_release("open", tmp_path / "a")
    write(Dataset(load("open"), Card("my own")), tmp_path / "own.jsonl", kind)
    own = write_release(tmp_path / "own.jsonl", tmp_path / "b", settings=ReleaseSettings(name="own"))
    assert any("public anyway" in note for note in own.notes)


def test_own_problems_under_the_name_of_a_public_set_are_not_public(tmp_path):
    data = Dataset(mine(), Card("open"))
    made(tmp_path / "a", data)
    with pytest.raises(BadInput, match="keeps hidden"):
        made(tmp_path / "b", data, extras=OTHER_KEY)


def test_the_real_winogrande_is_public_and_with_other_words_it_is_not(tmp_path, real_file):
    path = real_file("winogrande/dev.jsonl")
    for name in ("a", "b"):
        public = write_release(path, tmp_path / name, settings=ReleaseSettings(name="w"))
    assert any("public anyway" in note and "of the 190 problems" in note for note in public.notes)
    changed = load(path)
    changed = Dataset([p.replace(before=f"Someone wrote that once {p.before}") for p in changed], Card("own"))
    write_release(changed, tmp_path / "c")
    with pytest.raises(BadInput, match=r"1[3-9]\d of the 190 problems that own 1\.0 keeps hidden"):
        write_release(changed, tmp_path / "d")


# The registry itself.


def test_the_registry_holds_no_text_no_answer_and_no_name(tmp_path):
    first = made(tmp_path / "a")
    (path,) = (HiddenRegistry().folder).glob("*.json")
    content = json.loads(path.read_text())
    assert "answer" not in path.read_text()
    digests = content.pop("problems")
    assert all(set(each) <= set("0123456789abcdef") for each in digests)
    # As many digests whatever the answer is: the same file, but for the salted identity.
    turned = mine().with_problems(p.replace(answer=1 - p.answer) for p in mine())
    assert [digests_of(p) for p in turned] == [digests_of(p) for p in mine()]
    words = {word for p in first.contents.files["test"] for word in p.text.split() if len(word) > 4}
    assert not [word for word in words if word in path.read_text()]


def test_only_the_owner_can_read_the_registry(tmp_path):
    made(tmp_path / "a")
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
    assert registered() == [test]
    assert HiddenRegistry().find("commitment") == test
    assert HiddenRegistry().find("another") is None


BROKEN = {
    "cut short": lambda text: text[: len(text) // 2],
    "no object": lambda text: "[]",
    "another schema": lambda text: text.replace('"schema": 1', '"schema": 99'),
    "no problems": lambda text: text.replace('"problems"', '"others"'),
    "text for digests": lambda text: text.replace('"problems": [\n  "', '"problems": [\n  "the jug'),
    "a number for a name": lambda text: text.replace('"release": "mine 1.0"', '"release": 1'),
    "a row that is none": lambda text: text.replace(
        '"revealings": []', '"revealings": [{"release": "", "content_hash": "", "rows": [99]}]'
    ),
    "no text": lambda text: "\0\ud800",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_registry_that_cannot_be_read_is_one_line_that_names_the_file(tmp_path, monkeypatch, capsys, kind):
    made(tmp_path / "a")
    (path,) = HiddenRegistry().folder.glob("*.json")
    path.write_text(BROKEN[kind](path.read_text()), errors="surrogatepass")
    write(mine(), tmp_path / "mine.jsonl")
    code, error = cli(monkeypatch, capsys, "release", tmp_path / "mine.jsonl", "--name", "b", "--out", tmp_path / "b")
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
        made(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_release_that_fails_registers_nothing(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise BadInput("the disk is full")

    monkeypatch.setattr(release_run.manifest, "write_manifest", fail)
    with pytest.raises(BadInput, match="the disk is full"):
        made(tmp_path / "a")
    assert registered() == []


def test_of_two_releases_made_at_once_one_is_refused(tmp_path):
    barrier = threading.Barrier(2)
    outcomes = []

    def make(name: str, extras: ReleaseExtras) -> None:
        barrier.wait()
        try:
            made(tmp_path / name, extras=extras)
            outcomes.append("made")
        except BadInput as error:
            outcomes.append("refused" if "keeps hidden" in str(error) else str(error))

    threads = [threading.Thread(target=make, args=own) for own in (("a", KEY), ("b", OTHER_KEY))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["made", "refused"]
    assert len(registered()) == 1


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
    (test,) = registered()
    assert len(test.gradings) == 60


# Folders of hidden labels beside the output.


def test_hidden_labels_beside_the_output_count_where_the_registry_does_not_know_them(tmp_path, monkeypatch):
    made(tmp_path / "a")
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "another machine"))
    copies = Dataset([REWRITES["other spaces and marks"](problem) for problem in mine()], Card("copies"))
    for data in (mine(), copies):
        with pytest.raises(BadInput, match=r"32 of the 32 problems that mine 1\.0 keeps hidden"):
            made(tmp_path / "b", data, test=0, extras=ReleaseExtras())
    (tmp_path / "elsewhere").mkdir()
    assert made(tmp_path / "elsewhere" / "b", test=0, extras=ReleaseExtras())


def test_without_their_release_exact_copies_are_known_by_their_ids(tmp_path, monkeypatch):
    shutil.rmtree(made(tmp_path / "a").folder)
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "another machine"))
    with pytest.raises(BadInput, match=r"32 of the 32 problems that mine 1\.0 keeps hidden"):
        made(tmp_path / "b", test=0, extras=ReleaseExtras())


def test_without_their_release_a_note_says_that_only_exact_copies_are_found(tmp_path, monkeypatch):
    shutil.rmtree(made(tmp_path / "a").folder)
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "another machine"))
    copies = Dataset([REWRITES["other spaces and marks"](problem) for problem in mine()], Card("copies"))
    (note,) = [note for note in made(tmp_path / "b", copies).notes if "its release is not beside it" in note]
    assert note.startswith(f"{tmp_path / 'a.hidden'}: ")


def test_hidden_labels_that_have_lost_their_release_are_not_passed_over(tmp_path, monkeypatch):
    (made(tmp_path / "a").hidden / "release.json").unlink()
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "another machine"))
    with pytest.raises(BadInput, match=r"a\.hidden: hidden labels without release\.json"):
        made(tmp_path / "b")


def test_a_folder_of_something_else_called_hidden_is_passed_over(tmp_path):
    (tmp_path / "notes.hidden").mkdir()
    (tmp_path / "notes.hidden" / "labels.jsonl").write_text("mine")
    assert made(tmp_path / "a").hidden


# Versions.


def test_a_next_version_is_not_refused_for_the_one_before(tmp_path):
    first = made(tmp_path / "v1")
    new = Dataset([p for number in range(200, 230) for p in small.twins(number)], Card("new"))
    second = evolve(first.folder, out=tmp_path / "v2", model=["random"], version="2.0", test=40, new=new)
    assert len(registered()) == 2
    assert {p.id for p in first.contents.files["test"]} <= {p.id for p in second.contents.files["test"]}
    with pytest.raises(BadInput, match=r"that mine 2\.0 keeps hidden"):
        made(tmp_path / "b", test=0, extras=ReleaseExtras())


def test_a_retired_problem_that_is_brought_back_on_purpose_is_revealed(tmp_path):
    first = made(tmp_path / "v1", test=64)
    path = tmp_path / "able.jsonl"
    knows = {group for number, group in enumerate(mine().groups) if number % 4}
    rows = [
        {"id": p.id, "variant": "original", "model": "able", "scoring": "x", "scores": None, "answer": p.answer}
        | {"prediction": p.answer if p.group in knows else 0}
        for data in first.contents.files.values()
        for p in data
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in {row["id"]: row for row in rows}.values()))
    second = evolve(first.folder, out=tmp_path / "v2", predictions=[path], version="2.0", test=64)
    gone = {p.id for p in first.contents.files["test"]} - second.contents.where.keys()
    assert len(gone) > 10
    third = evolve(second.folder, out=tmp_path / "v3", model=["random"], version="3.0", new=mine(), bring_back=True)
    assert gone & {problem.id for problem in third.contents.training}
    assert any(note.startswith("revealed, published here") for note in third.notes)


# The parts of the rules.


def given_away(count: int = 1, identity: str = "x", **known) -> Disclosure:
    digests = tuple(digests_of(small.twins(number)[0]) for number in range(count))
    test = HiddenTest(identity, "mine 1.0", (), digests, **known)
    return find_disclosures([test], {"train": mine()})[0]


def test_what_becomes_of_a_disclosure_follows_its_reasons():
    ids = {p.id for p in mine()}
    other = Revealing("o", "other", (0,))
    own = Revealing("m", "own", (0,))
    cases = [
        (DisclosureRules("own"), {}, "refused"),
        (DisclosureRules("own", reveal=True), {}, "revealed"),
        (DisclosureRules("own", public_ids=ids, reveal=True), {}, "public"),
        (DisclosureRules("own", replaced={"x"}, reveal=True), {}, "replaced"),
        (DisclosureRules("own", versions={"x"}, returned=ids), {}, "revealed"),
        (DisclosureRules("own", versions={"y"}, returned=ids), {}, "refused"),
        (DisclosureRules("own", versions={"x"}), {}, "refused"),
        (DisclosureRules("own"), {"revealings": (other,)}, "known"),
        (DisclosureRules("own"), {"revealings": (own, other)}, "revealed"),
    ]
    assert [list(rules.fates(given_away(**known))) for rules, known, _ in cases] == [[fate] for *_, fate in cases]


def test_a_problem_that_occurs_twice_is_one_text():
    problem = Problem("Ann met Bea because ", " was late.", ("Ann", "Bea"), 0, "she")
    again = problem.replace(occurrence=2)
    assert digests_of(problem) == digests_of(again)
