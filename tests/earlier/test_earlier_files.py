"""Files that earlier versions wrote are read as before; what cannot be read is refused in one line.

`files/` was written by winokit 0.1.0 (`make.py` says how). Everything is read through the command line and the names
that `winokit` exports, so that these tests need no change when modules move. An identity that is computed differently,
a key made of a class's new name, a column that changed its name: each fails here.
"""

import json
import shutil
import sqlite3
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import winokit as library
from winokit.cli.main import main

FILES = Path(__file__).parent / "files"
AFLITE = (
    "debias aflite filtered.jsonl --features X.npy --ensemble-size 16 --train-size 24 --cutoff 4 "
    "--set seeds=1&null_runs=0&assess=off --compare none --engine numpy --json --out"
)
TRAINING = "--model hf:model --batch-size 4 --learning-rate 0.01"
SETS = "--dev dev.jsonl --test test.jsonl"
TRAIN = f"train train.jsonl {SETS} {TRAINING} --formalization mc-sent --epochs 2 --set checkpoint_every=2 --json --out"
SEARCH = f"search train.jsonl {SETS} {TRAINING} --epochs 1 --formalization mc-mlm --json --out search --trials"
CURVE = (
    f"curve train.jsonl {SETS} --model hf:model --set batch_size=4 --learning-rate 0.01 --epochs 1 --sizes 0,8,all "
    "--restarts 2 --json --out curve"
)
TRANSFER = (
    "transfer --train train.jsonl --train train>more=train.jsonl --train train>more=more.jsonl "
    f"--test test.jsonl --choose dev.jsonl {TRAINING} --epochs 1 --seed 1 --seed 2 --json --out transfer"
)
GRADE = "grade release submission.lst --formalization mc-sent --training-data train_xl --trials 3 --owner --json"
CHAT = "chat:parrot@http://127.0.0.1:9417/v1?retries=0&concurrency=1"
CARRY = {"text": "Nora could not carry Ines because _ was heavy.", "candidate": ("Nora", "Ines"), "parser": "rules"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Unpacks archives into an empty folder, which is the working folder: runs remember relative names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "cache.sqlite"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WINOKIT_COLLECT_DB"):
        monkeypatch.delenv(name, raising=False)

    def unpack(*names: str) -> Path:
        for name in names:
            with tarfile.open(FILES / f"{name}.tar.gz") as archive:
                archive.extractall(tmp_path, filter="data")
        return tmp_path

    return unpack


@pytest.fixture
def winokit(monkeypatch, capsys):
    """The command, from its line to its exit code."""

    def run(line: str, *more: str, code: int = 0) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["winokit", *line.split(), *more])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        assert stop.value.code == code, err or out
        return SimpleNamespace(out=out, err=err, json=json.loads(out) if "--json" in sys.argv and not code else None)

    return run


@pytest.fixture
def one_thread():
    """Models this small lose more to a second thread than they gain."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def rows(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def scores(path: str) -> list[list[float]]:
    return [row["scores"] for row in rows(path)]


def choices(path: str) -> list[tuple[str, int | None]]:
    return [(row["id"], row["prediction"]) for row in rows(path)]


def near(path: str):
    return [pytest.approx(some, abs=1e-3) for some in scores(path)]


def metrics(told: dict, *names: str) -> list[tuple]:
    """The values of the rows of a run, each with what names it."""
    return [tuple(row[name] for name in (*names, "metric", "value")) for row in told["metrics"]]


def stamps(folder: str, name: str = "curve.json") -> dict[str, int]:
    """When each file of a name was written, to the nanosecond."""
    return {str(path): path.stat().st_mtime_ns for path in Path(folder).rglob(name)}


def rewrite(path: str, **changes) -> None:
    """Change the top of a JSON file."""
    content = json.loads(Path(path).read_text("utf-8"))
    Path(path).write_text(json.dumps(content | changes), "utf-8")


def execute(path: str, *statements: str) -> list[tuple]:
    """What the last of some SQL statements finds."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        return [database.execute(statement).fetchall() for statement in statements][-1]


# The files themselves


def test_the_files_are_few_small_and_name_no_folder_of_a_machine(files):
    assert sum(path.stat().st_size for path in FILES.iterdir()) < 250_000
    folder = files(*(path.name.split(".")[0] for path in FILES.iterdir()))
    for path in (path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert not [name for name in (b"/work", b"/tmp", b"/root", b"/home") if name in content], path


# Problems, predictions, audits


def test_problems_are_read_with_their_groups_ids_and_labels(files):
    files("data")
    twins = library.load("twins.jsonl")
    assert (len(twins), len(twins.groups), twins.card.name) == (12, 6, "twins")
    assert twins[0].id == "949c1c38ea681d73"
    assert twins[0].right == "the spaniel"
    assert twins[0].labels["special_word"] == "never"


def test_audits_are_compared(files, winokit):
    files("audit")
    pairs = winokit("compare audit listed --json").json
    assert [pair["found"]["difference"] for pair in pairs] == pytest.approx([-1 / 12, -1 / 6, 4 / 12, 0, 5 / 12, 1 / 6])
    assert pairs[0]["first"] == "hf:model · masked-candidate"
    assert [pair["found"]["n"] for pair in pairs[:2]] == [12, 6]


def test_an_audit_gets_its_page_anew(files, winokit):
    files("audit")
    winokit("report audit")
    page = Path("audit/report/index.html").read_text("utf-8")
    assert "hf:model" in page
    assert "66.7" in page


def test_predictions_of_an_audit_are_audited_to_the_same_numbers(files, winokit):
    files("data", "audit")
    before = json.loads(Path("audit/results.json").read_text())
    now = winokit("audit twins.jsonl --predictions audit/predictions.jsonl --out again --json").json
    names = ("model", "scoring", "protocol", "subset")
    wanted = [row for row in metrics(before, *names) if row[2] in ("accuracy", "groups", "switching", "artifacts")]
    assert len(wanted) > 20
    assert not [row for row in wanted if row not in metrics(now, *names)]


# Answers


@pytest.mark.parametrize("scoring", ["masked-candidate", "pseudo-likelihood"])
def test_answers_of_a_model_are_found_and_none_is_asked_again(files, winokit, one_thread, scoring):
    files("data", "answers")
    kept = execute("answers.sqlite", "SELECT * FROM answers")
    few = "twins.jsonl --limit 4 --set cache=answers.sqlite --out now.jsonl"
    winokit(f"score {few} --model hf:model --scoring {scoring}")
    assert execute("answers.sqlite", "SELECT * FROM answers") == kept
    assert scores("now.jsonl") == scores(f"answered/{scoring}.jsonl")


def test_features_are_found_and_none_is_asked_again(files, winokit, one_thread):
    files("data", "answers")
    kept = execute("answers.sqlite", "SELECT * FROM answers")
    winokit("embed twins.jsonl --limit 4 --set cache=answers.sqlite --model hf:model --out now.npy")
    assert execute("answers.sqlite", "SELECT * FROM answers") == kept
    assert np.array_equal(np.load("now.npy"), np.load("answered/features.npy"))


def test_replies_of_a_server_that_is_gone_are_found(files, winokit):
    files("data", "answers")
    winokit("score twins.jsonl --limit 4 --set cache=answers.sqlite --out now.jsonl --model", CHAT)
    assert choices("now.jsonl") == choices("answered/chat.jsonl")
    assert {choice for _, choice in choices("now.jsonl")} == {0}


def test_decisions_of_the_hunter_are_found_and_none_is_made_again(files, winokit):
    files("data", "answers", "index")
    kept = execute("answers.sqlite", "SELECT * FROM answers")
    winokit("score carried.jsonl --set cache=answers.sqlite --model hunter:index.db?parser=rules --out now.jsonl")
    assert execute("answers.sqlite", "SELECT * FROM answers") == kept
    assert scores("now.jsonl") == scores("answered/hunter.jsonl") == [[2.0, 0.5], [0.0, 2.5]]


# Hunting


def test_an_index_answers(files):
    files("index")
    hunt = library.hunt("index.db", **CARRY)
    assert hunt.choice == 1
    assert hunt.evidence[0].text == "He could not carry the girl because she was heavy."


def test_an_index_is_added_to(files, winokit):
    files("index")
    Path("more.txt").write_text("One more.\n")
    told = winokit("hunt index corpus.txt more.txt --out index.db --json").json
    assert (told["added"], told["unchanged"], told["sentences"]) == (["more.txt"], ["corpus.txt"], 3)


# Filtering


def test_a_filtering_that_was_stopped_goes_on_to_the_same_result(files, winokit):
    files("data", "debias")
    with np.load("stopped-filter/checkpoint.npz") as held:
        done = json.loads(str(held["about"]))["history"]
    winokit(f"{AFLITE} stopped-filter")
    history = json.loads(Path("stopped-filter/debias.json").read_text())["history"]
    assert len(done) == 2
    assert [phase["seconds"] for phase in history[:2]] == [phase["seconds"] for phase in done]  # not done again
    assert len(history) == 9
    for name in ("kept.jsonl", "removed.jsonl"):
        card, *problems = rows(f"stopped-filter/{name}")
        earlier_card, *earlier = rows(f"debiased/{name}")
        assert problems == earlier
        assert card["card"] == {**earlier_card["card"], "language": "en"}  # cards have said it since


def test_a_filtering_is_released(files, winokit):
    pytest.importorskip("pyarrow")
    files("debias")
    told = winokit("release debiased --out made --name made --dev 4 --test 4 --sizes 2,4,6,8,10 --json").json
    assert [told["splits"][name]["problems"] for name in ("dev", "test")] == [4, 4]
    assert "aflite" in Path("made/README.md").read_text("utf-8").casefold()


# Releases


def test_a_release_is_verified_with_its_hidden_answers(files, winokit):
    files("release")
    told = winokit("verify release").out
    assert "the hidden labels of 12 test problems match the release" in told
    assert "files verified" in told


def test_a_submission_is_graded_as_before_and_not_counted_twice(files, winokit):
    files("release")
    told = winokit(GRADE)
    assert [(score["metric"], score["value"]) for score in told.json["scores"]] == [
        ("accuracy", 0.75),
        ("group_accuracy", 0.5),
    ]
    assert told.json["gradings"]["different"] == 1
    assert len({row["submission"] for row in rows("release.hidden/log.jsonl")}) == 1


def test_a_graded_entry_stands_on_the_leaderboard(files, winokit):
    files("release")
    assert "1 entry" in winokit("grade release --board graded --out board.html").out
    assert "submission" in Path("board.html").read_text("utf-8")


def test_a_release_is_followed_by_the_next(files, winokit):
    pytest.importorskip("pyarrow")
    files("data", "release")
    winokit("evolve release --new released.jsonl --out next --model random --set name=small --version 2.0")
    before, now = (json.loads(Path(f"{name}/manifest.json").read_text()) for name in ("release", "next"))
    assert now["counts"]["test"] == before["counts"]["test"] == 12
    assert {row["since"] for row in rows("next/lineage.jsonl")} == {"1.0"}


def test_the_sets_of_a_release_are_read(files):
    files("release")
    assert [len(library.load(f"release/winogrande/{name}.jsonl")) for name in ("train_xl", "dev", "test")] == [
        20,
        8,
        12,
    ]


# Training


def test_a_trained_folder_predicts_as_before(files, winokit, one_thread):
    files("data", "train")
    winokit("score test.jsonl --model hf:trained --set cache=off --out now.jsonl")
    assert scores("now.jsonl") == near("trained/predictions/test.jsonl")
    assert choices("now.jsonl") == choices("trained/predictions/test.jsonl")


def test_a_trained_folder_loads_in_python(files, one_thread):
    files("data", "train")
    found = library.score(library.load("test.jsonl"), library.load_model("hf:trained"))
    assert [one.scores for one in found] == [
        pytest.approx(some, abs=1e-3) for some in scores("trained/predictions/test.jsonl")
    ]


def test_a_training_that_is_done_is_not_done_again(files, winokit, one_thread):
    files("data", "train")
    before = stamps("trained"), stamps("trained", "results.json")
    told = winokit(f"{TRAIN} trained").json
    assert (stamps("trained"), stamps("trained", "results.json")) == before
    assert metrics(told, "subset") == metrics(json.loads(Path("trained/results.json").read_text()), "subset")


def test_a_training_that_was_stopped_goes_on_to_the_same_model(files, winokit, one_thread):
    files("data", "train")
    told = winokit(f"{TRAIN} stopped-training".replace("--json ", "")).out
    assert "went on from step 4" in told
    assert scores("stopped-training/predictions/test.jsonl") == near("trained/predictions/test.jsonl")
    assert not Path("stopped-training/checkpoint.pt").exists()


def test_a_training_run_gets_its_page_anew(files, winokit):
    files("train")
    winokit("report trained")
    assert "37.5" in Path("trained/report/index.html").read_text("utf-8")


def test_a_search_goes_on_without_training_again(files, winokit, one_thread):
    pytest.importorskip("optuna")
    files("data", "search")
    before = stamps("search/trials")
    old = Path("search/trials.csv").read_text().splitlines()
    told = winokit(f"{SEARCH} 3").json
    now = stamps("search/trials")
    assert len(before) == 2
    assert len(now) == 3
    assert {path: now[path] for path in before} == before
    assert Path("search/trials.csv").read_text().splitlines()[:3] == old
    assert [row["value"] for row in told["metrics"] if row["metric"] == "n_trials"] == [3]


def test_a_curve_is_drawn_anew_without_training_again(files, winokit, one_thread):
    files("data", "curve")
    old = json.loads(Path("curve/results.json").read_text())
    before = stamps("curve")
    told = winokit(CURVE).json
    assert len(before) == 4
    assert stamps("curve") == before
    names = ("protocol", "subset", "size", "restart")
    measured = [row for row in metrics(told, *names) if not row[-2].startswith("n_to_reach")]
    assert measured == [row for row in metrics(old, *names) if not row[-2].startswith("n_to_reach")]


def test_an_earlier_curve_reaches_no_size_beyond_what_its_points_show(files, winokit, one_thread):
    files("data", "curve")
    told = winokit(CURVE).json
    reached = [row["value"] for row in told["metrics"] if row["metric"].startswith("n_to_reach")]
    assert reached == [None]


def test_a_transfer_is_told_anew_without_training_again(files, winokit, one_thread):
    files("data", "transfer")
    old = json.loads(Path("transfer/results.json").read_text())
    before = stamps("transfer")
    told = winokit(TRANSFER).json
    assert len(before) == 6
    assert stamps("transfer") == before
    assert metrics(told, "arm", "protocol", "subset") == metrics(old, "arm", "protocol", "subset")


# Studies


@pytest.fixture(params=["study-0001", "study-0002"])
def study(request, files) -> str:
    pytest.importorskip("winokit_collect", reason="needs winokit-collect: pip install ./collect")
    files(request.param)
    assert execute(f"{request.param}/study.db", "SELECT * FROM alembic_version") == [(request.param[-4:],)]
    return request.param


def test_a_study_of_either_revision_tells_how_far_it_is_and_stays_as_it_was(study, winokit):
    told = winokit(f"collect status {study} --workers --json").json
    assert [(row["kind"], row["asked"], row["accepted"]) for row in told["kinds"]] == [
        ("write", 2, 2),
        ("validate", 12, 6),
    ]
    assert len(told["people"]) == 5
    assert execute(f"{study}/study.db", "SELECT * FROM alembic_version") == [(study[-4:],)]


def test_a_study_of_either_revision_is_exported(study, winokit):
    told = winokit(f"collect export {study} --out exported --json").json
    expected = {"problems.jsonl": 2, "others.jsonl": 2, "votes.jsonl": 6, "workers.jsonl": 5, "ledger.csv": 8}
    assert expected.items() <= told["files"].items()
    assert {problem.right for problem in library.load("exported/problems.jsonl")} <= {"the terrier", "the spaniel"}


def test_a_study_of_either_revision_is_brought_up_to_date_and_lets_people_in(study, winokit):
    consent = Path(study) / "consent.md"
    consent.write_text(consent.read_text().replace("FILL IN", "filled in"))
    before = execute(f"{study}/study.db", "SELECT count(*) FROM invites")
    Path(study, "consent.md").write_text("# Consent, filled in\n")
    assert "/join/" in winokit(f"collect invite {study}").out
    assert execute(f"{study}/study.db", "SELECT count(*) FROM invites") == [(before[0][0] + 1,)]
    assert execute(f"{study}/study.db", "SELECT version_num > '0002' FROM alembic_version") == [(1,)]
    assert execute(f"{study}/study.db", "SELECT DISTINCT session_version FROM workers") == [(1,)]


# What another version may have written


def change_checkpoint(path: str, **changes) -> None:
    """Change what a checkpoint of a filtering says of itself."""
    with np.load(path) as held:
        arrays = {name: held[name] for name in held.files}
    about = json.loads(str(arrays.pop("about"))) | changes
    np.savez(path, about=np.array(json.dumps(about)), **arrays)


def change_training(path: str, **changes) -> None:
    """Change a checkpoint of a training; a value of None takes a part out."""
    torch = pytest.importorskip("torch")
    content = torch.load(path, weights_only=True) | changes
    torch.save({name: value for name, value in content.items() if value is not None}, path)


def refused(told: SimpleNamespace, *words: str) -> None:
    """It was one line, with these words in it."""
    lines = [line for line in told.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, told.err
    assert lines[0].startswith("winokit: ")
    assert not [word for word in words if word not in lines[0]], lines[0]


@pytest.mark.parametrize("changes", [{"version": 2}, {"version": 2, "history": None, "identity": None}])
def test_a_filtering_of_another_version_is_refused(files, winokit, changes):
    files("data", "debias")
    change_checkpoint("stopped-filter/checkpoint.npz", **changes)
    refused(winokit(f"{AFLITE} stopped-filter", code=2), "stopped-filter/checkpoint.npz", "version 2")


def test_a_filtering_that_has_other_parts_is_refused(files, winokit):
    files("data", "debias")
    path = "stopped-filter/checkpoint.npz"
    with np.load(path) as held:
        arrays = {name: held[name] for name in held.files if name != "numbers"}
    np.savez(path, **arrays)
    refused(winokit(f"{AFLITE} stopped-filter", code=2), path)


@pytest.mark.parametrize(
    "changes", [{"state": '{"step": 4, "pace": 2}'}, {"optimiser": None}, {"identity": None}, {"state": "4"}]
)
def test_a_training_that_has_other_parts_is_refused(files, winokit, one_thread, changes):
    files("data", "train")
    change_training("stopped-training/checkpoint.pt", **changes)
    refused(winokit(f"{TRAIN} stopped-training", code=2), "stopped-training/checkpoint.pt")


def test_a_training_whose_results_have_other_parts_is_tested_anew(files, winokit, one_thread):
    files("data", "train")
    told = json.loads(Path("trained/results.json").read_text())
    del told["warnings"], told["notes"]
    Path("trained/results.json").write_text(json.dumps(told))
    rows = metrics(winokit(f"{TRAIN} trained").json, "subset")
    assert [row for row in rows if row in metrics(told, "subset")] == metrics(told, "subset")
    assert {name for _, name, _ in rows} == {"accuracy", "group_accuracy", "told_apart", "right_way_round"}


def test_a_model_trained_under_an_unknown_formalization_is_refused(files, winokit, one_thread):
    files("data", "train")
    rewrite("trained/winokit.json", formalization="mc-paragraph")
    refused(winokit("score test.jsonl --model hf:trained --set cache=off --out now.jsonl", code=2), "mc-paragraph")


def test_a_model_whose_head_has_other_weights_is_refused(files, winokit, one_thread):
    files("data", "train")
    rewrite("trained/winokit.json", formalization="p-span")
    told = winokit("score test.jsonl --model hf:trained --set cache=off --out now.jsonl", code=2)
    refused(told, "trained/winokit_head.safetensors", "p-span")


def test_a_search_with_other_notes_on_a_trial_is_refused(files, winokit, one_thread):
    pytest.importorskip("optuna")
    files("data", "search")
    more = "json_set(value_json, '$.pace', 2)"
    execute("search/study.db", f"UPDATE trial_user_attributes SET value_json = {more} WHERE key = 'ended'")
    refused(winokit(f"{SEARCH} 2", code=2), "search/study.db")


def test_a_search_with_other_settings_is_refused(files, winokit, one_thread):
    pytest.importorskip("optuna")
    files("data", "search")
    other = "json_set(value_json, '$.patience', 7)"
    execute("search/study.db", f"UPDATE study_user_attributes SET value_json = {other} WHERE key = 'identity'")
    refused(winokit(f"{SEARCH} 2", code=2), "another patience (7, here 20)")


def test_a_search_of_another_optuna_is_refused(files, winokit, one_thread):
    pytest.importorskip("optuna")
    files("data", "search")
    execute("search/study.db", "UPDATE alembic_version SET version_num = 'v99.0.0.a'")
    execute("search/study.db", "UPDATE version_info SET schema_version = 99")
    refused(winokit(f"{SEARCH} 2", code=2), "search/study.db")


def test_an_index_of_another_version_is_refused(files, winokit):
    files("index")
    execute("index.db", "PRAGMA user_version = 2")
    refused(winokit("score open --model hunter:index.db --limit 2", code=2), "index.db: an index of version 2")
    refused(winokit("hunt index corpus.txt --out index.db", code=2), "index.db: an index of version 2")


def test_a_study_of_an_unknown_revision_is_refused_and_left_as_it_is(study, winokit):
    execute(f"{study}/study.db", "UPDATE alembic_version SET version_num = '9999'")
    refused(winokit(f"collect status {study}", code=2), "study.db", "9999")
    assert execute(f"{study}/study.db", "SELECT * FROM alembic_version") == [("9999",)]


def test_a_study_without_a_revision_is_refused_and_left_as_it_is(study, winokit):
    execute(f"{study}/study.db", "DROP TABLE alembic_version")
    refused(winokit(f"collect status {study}", code=2), "study.db")
    assert execute(f"{study}/study.db", "SELECT count(*) FROM workers") == [(5,)]


def test_a_study_in_a_database_of_something_else_is_refused_and_left_as_it_is(study, files, winokit):
    files("answers")
    shutil.copy("answers.sqlite", f"{study}/study.db")
    refused(winokit(f"collect status {study}", code=2), "study.db")
    assert execute(f"{study}/study.db", "SELECT name FROM sqlite_master WHERE type = 'table'") == [("answers",)]


def test_a_study_with_settings_of_another_version_is_refused(study, winokit):
    path = Path(study) / "study.toml"
    path.write_text(f"pace = 2\n{path.read_text()}")
    refused(winokit(f"collect status {study}", code=2), "study.toml", "pace")


@pytest.mark.parametrize("line", ["verify release", GRADE, "grade release --board graded --out board.html"])
def test_a_release_of_another_version_is_refused(files, winokit, line):
    files("release")
    rewrite("release/manifest.json", schema=99)
    refused(winokit(line, code=2), "release/manifest.json: schema 99")


def test_a_graded_entry_of_another_version_is_refused(files, winokit):
    files("release")
    rewrite("graded/submission.json", schema=99)
    refused(winokit("grade release --board graded --out board.html", code=2), "graded/submission.json", "99")


def test_a_grading_logged_by_another_version_counts(files, winokit):
    files("release")
    Path("release.hidden/log.jsonl").write_text('{"when": "2026-11-16"}\n')
    assert winokit(GRADE).json["gradings"]["different"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": [{"value": 0.5}]},
        {"metrics": 1},
        {"left_out": [{"protocol": "groups", "pace": 2}]},
    ],
)
@pytest.mark.parametrize("line", ["compare audit", "report audit"])
def test_an_audit_that_has_other_parts_is_refused_with_the_version_that_wrote_it(files, winokit, line, changes):
    files("audit")
    rewrite("audit/results.json", run={"winokit": "99.0"}, **changes)
    refused(winokit(line, code=2), "audit: not a run", "99.0")


def test_an_audit_without_a_run_is_refused(files, winokit):
    files("audit")
    rewrite("audit/results.json", run=None)
    refused(winokit("compare audit", code=2), "audit: not a run")


@pytest.mark.parametrize("change", ["UPDATE answers SET value = X'5A00'", "ALTER TABLE answers RENAME value TO said"])
def test_a_cache_of_another_version_is_refused(files, winokit, change):
    files("data", "answers", "index")
    execute("answers.sqlite", change)
    line = "score carried.jsonl --set cache=answers.sqlite --model hunter:index.db?parser=rules --out now.jsonl"
    refused(winokit(line, code=2), "answers.sqlite", "--set cache")


def test_features_that_say_other_things_are_refused(files, winokit):
    files("data")
    Path("X.json").write_text('{"schema": 99}')
    refused(winokit(f"{AFLITE} out", code=2), "X.json")


def test_a_filtering_whose_record_has_other_parts_is_released(files, winokit):
    pytest.importorskip("pyarrow")
    files("debias")
    Path("debiased/debias.json").write_text('{"schema": 99}')
    line = "release debiased --out made --name made --dev 4 --test 4 --sizes 2,4,6,8,10 --json"
    assert winokit(line).json["splits"]["dev"]["problems"] == 4
