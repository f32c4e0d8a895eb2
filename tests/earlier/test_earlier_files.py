"""Files that earlier versions wrote are read as before, and what cannot be read is refused in one line.

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
def unpack_files(tmp_path, monkeypatch):
    """Function that unpacks archives into an empty folder and returns it.

    It is the working folder, since runs remember relative names.
    """
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
    """Function that runs a command line and returns what it printed, also as JSON if it was asked for."""

    def run(line: str, *more: str, code: int = 0) -> SimpleNamespace:
        arguments = [*line.split(), *more]
        monkeypatch.setattr(sys, "argv", ["winokit", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        assert stop.value.code == code, err or out
        has_json = "--json" in arguments and code == 0
        return SimpleNamespace(out=out, err=err, json=json.loads(out) if has_json else None)

    return run


@pytest.fixture
def one_thread():
    """Limit torch to one thread, since models this small lose more to a second one than they gain."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def read_json(path: str) -> dict:
    return json.loads(Path(path).read_text("utf-8"))


def read_rows(path: str) -> list[dict]:
    """Rows of a file with a JSON object a line."""
    lines = Path(path).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_scores(path: str) -> list[list[float]]:
    return [row["scores"] for row in read_rows(path)]


def read_choices(path: str) -> list[tuple[str, int | None]]:
    """Id and choice of each row of a file of predictions."""
    return [(row["id"], row["prediction"]) for row in read_rows(path)]


def approximate_scores(path: str):
    """Scores of a file of predictions, to compare with others up to 0.001."""
    return [pytest.approx(row_scores, abs=1e-3) for row_scores in read_scores(path)]


def metric_rows(result: dict, *names: str) -> list[tuple]:
    """Rows of a run's metrics, each with these fields, the name of the metric and its value."""
    fields = (*names, "metric", "value")
    return [tuple(row[name] for name in fields) for row in result["metrics"]]


def without_reached_sizes(metric_values: list[tuple]) -> list[tuple]:
    """Rows of `metric_rows` except the sizes at which a curve reaches a level."""
    return [values for values in metric_values if not values[-2].startswith("n_to_reach")]


def modified_times(folder: str, name: str = "curve.json") -> dict[str, int]:
    """Time in nanoseconds at which each file with this name was written."""
    paths = Path(folder).rglob(name)
    return {str(path): path.stat().st_mtime_ns for path in paths}


def rewrite_json(path: str, **changes) -> None:
    """Change the top of a JSON file."""
    content = read_json(path)
    Path(path).write_text(json.dumps(content | changes), "utf-8")


def execute_sql(path: str, statement: str) -> list[tuple]:
    """Execute an SQL statement and return the rows that it finds."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        return database.execute(statement).fetchall()


def stored_answers() -> list[tuple]:
    return execute_sql("answers.sqlite", "SELECT * FROM answers")


# The files themselves


def test_the_files_are_few_and_small():
    byte_count = sum(path.stat().st_size for path in FILES.iterdir())
    assert byte_count < 250_000


def test_the_files_name_no_folder_of_a_machine(unpack_files):
    names = [path.name.split(".")[0] for path in FILES.iterdir()]
    folder = unpack_files(*names)
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            machine_folders = [name for name in (b"/work", b"/tmp", b"/root", b"/home") if name in content]
            assert not machine_folders, path


# Problems, predictions, audits


def test_problems_are_read_with_their_groups_ids_and_labels(unpack_files):
    unpack_files("data")
    twins = library.load("twins.jsonl")
    assert len(twins) == 12
    assert len(twins.groups) == 6
    assert twins.card.name == "twins"
    assert twins[0].id == "949c1c38ea681d73"
    assert twins[0].right == "the spaniel"
    assert twins[0].labels["special_word"] == "never"


def test_audits_are_compared(unpack_files, winokit):
    unpack_files("audit")
    pairs = winokit("compare audit listed --json").json
    differences = [pair["found"]["difference"] for pair in pairs]
    expected = [-1 / 12, -1 / 6, 4 / 12, 0, 5 / 12, 1 / 6]
    assert differences == pytest.approx(expected)
    assert pairs[0]["first"] == "hf:model · masked-candidate"
    group_counts = [pair["found"]["n"] for pair in pairs[:2]]
    assert group_counts == [12, 6]


def test_an_audit_gets_its_page_anew(unpack_files, winokit):
    unpack_files("audit")
    winokit("report audit")
    page = Path("audit/report/index.html").read_text("utf-8")
    assert "hf:model" in page
    assert "66.7" in page


def test_predictions_of_an_audit_are_audited_to_the_same_numbers(unpack_files, winokit):
    unpack_files("data", "audit")
    before = read_json("audit/results.json")
    now = winokit("audit twins.jsonl --predictions audit/predictions.jsonl --out again --json").json
    names = ("model", "scoring", "protocol", "subset")
    earlier_rows = metric_rows(before, *names)
    rows_now = metric_rows(now, *names)
    protocols = ("accuracy", "groups", "switching", "artifacts")
    expected_rows = [row for row in earlier_rows if row[2] in protocols]
    assert len(expected_rows) > 20
    missing_rows = [row for row in expected_rows if row not in rows_now]
    assert not missing_rows


# Answers


@pytest.mark.parametrize("scoring", ["masked-candidate", "pseudo-likelihood"])
def test_answers_of_a_model_are_found_and_none_is_asked_again(unpack_files, winokit, one_thread, scoring):
    unpack_files("data", "answers")
    answers_before = stored_answers()
    few = "twins.jsonl --limit 4 --set cache=answers.sqlite --out now.jsonl"
    winokit(f"score {few} --model hf:model --scoring {scoring}")
    assert stored_answers() == answers_before
    assert read_scores("now.jsonl") == read_scores(f"answered/{scoring}.jsonl")


def test_features_are_found_and_none_is_asked_again(unpack_files, winokit, one_thread):
    unpack_files("data", "answers")
    answers_before = stored_answers()
    winokit("embed twins.jsonl --limit 4 --set cache=answers.sqlite --model hf:model --out now.npy")
    assert stored_answers() == answers_before
    assert np.array_equal(np.load("now.npy"), np.load("answered/features.npy"))


def test_replies_of_a_server_that_is_gone_are_found(unpack_files, winokit):
    unpack_files("data", "answers")
    winokit("score twins.jsonl --limit 4 --set cache=answers.sqlite --out now.jsonl --model", CHAT)
    assert read_choices("now.jsonl") == read_choices("answered/chat.jsonl")
    places = {choice for _, choice in read_choices("now.jsonl")}
    assert places == {0}


def test_decisions_of_the_hunter_are_found_and_none_is_made_again(unpack_files, winokit):
    unpack_files("data", "answers", "index")
    answers_before = stored_answers()
    winokit("score carried.jsonl --set cache=answers.sqlite --model hunter:index.db?parser=rules --out now.jsonl")
    assert stored_answers() == answers_before
    expected_scores = [[2.0, 0.5], [0.0, 2.5]]
    assert read_scores("now.jsonl") == expected_scores
    assert read_scores("answered/hunter.jsonl") == expected_scores


# Hunting


def test_an_index_answers(unpack_files):
    unpack_files("index")
    hunt = library.hunt("index.db", **CARRY)
    assert hunt.choice == 1
    assert hunt.evidence[0].text == "He could not carry the girl because she was heavy."


def test_an_index_is_added_to(unpack_files, winokit):
    unpack_files("index")
    Path("more.txt").write_text("One more.\n")
    result = winokit("hunt index corpus.txt more.txt --out index.db --json").json
    assert result["added"] == ["more.txt"]
    assert result["unchanged"] == ["corpus.txt"]
    assert result["sentences"] == 3


# Filtering


def test_a_filtering_that_was_stopped_goes_on_to_the_same_result(unpack_files, winokit):
    unpack_files("data", "debias")
    with np.load("stopped-filter/checkpoint.npz") as checkpoint:
        earlier_history = json.loads(str(checkpoint["about"]))["history"]
    winokit(f"{AFLITE} stopped-filter")
    history = read_json("stopped-filter/debias.json")["history"]
    assert len(earlier_history) == 2
    earlier_seconds = [phase["seconds"] for phase in earlier_history]
    first_seconds = [phase["seconds"] for phase in history[:2]]
    assert first_seconds == earlier_seconds  # not done again
    assert len(history) == 9
    for name in ("kept.jsonl", "removed.jsonl"):
        card, *problems = read_rows(f"stopped-filter/{name}")
        earlier_card, *earlier = read_rows(f"debiased/{name}")
        assert problems == earlier
        assert card["card"] == {**earlier_card["card"], "language": "en"}  # cards have said it since


def test_a_filtering_is_released(unpack_files, winokit):
    pytest.importorskip("pyarrow")
    unpack_files("debias")
    result = winokit("release debiased --out made --name made --dev 4 --test 4 --sizes 2,4,6,8,10 --json").json
    splits = result["splits"]
    assert splits["dev"]["problems"] == 4
    assert splits["test"]["problems"] == 4
    assert "aflite" in Path("made/README.md").read_text("utf-8").casefold()


# Releases


def test_a_release_is_verified_with_its_hidden_answers(unpack_files, winokit):
    unpack_files("release")
    output = winokit("verify release").out
    assert "the hidden labels of 12 test problems match the release" in output
    assert "files verified" in output


def test_a_submission_is_graded_as_before_and_not_counted_twice(unpack_files, winokit):
    unpack_files("release")
    grading = winokit(GRADE).json
    score_values = [(score["metric"], score["value"]) for score in grading["scores"]]
    assert score_values == [("accuracy", 0.75), ("group_accuracy", 0.5)]
    assert grading["gradings"]["different"] == 1
    submissions = {row["submission"] for row in read_rows("release.hidden/log.jsonl")}
    assert len(submissions) == 1


def test_a_graded_entry_stands_on_the_leaderboard(unpack_files, winokit):
    unpack_files("release")
    output = winokit("grade release --board graded --out board.html").out
    assert "1 entry" in output
    assert "submission" in Path("board.html").read_text("utf-8")


def test_a_release_is_followed_by_the_next(unpack_files, winokit):
    pytest.importorskip("pyarrow")
    unpack_files("data", "release")
    winokit("evolve release --new released.jsonl --out next --model random --set name=small --version 2.0")
    before = read_json("release/manifest.json")
    now = read_json("next/manifest.json")
    assert before["counts"]["test"] == 12
    assert now["counts"]["test"] == 12
    first_versions = {row["since"] for row in read_rows("next/lineage.jsonl")}
    assert first_versions == {"1.0"}


@pytest.mark.parametrize(("name", "size"), [("train_xl", 20), ("dev", 8), ("test", 12)])
def test_the_sets_of_a_release_are_read(unpack_files, name, size):
    unpack_files("release")
    dataset = library.load(f"release/winogrande/{name}.jsonl")
    assert len(dataset) == size


# Training


def test_a_trained_folder_predicts_as_before(unpack_files, winokit, one_thread):
    unpack_files("data", "train")
    winokit("score test.jsonl --model hf:trained --set cache=off --out now.jsonl")
    assert read_scores("now.jsonl") == approximate_scores("trained/predictions/test.jsonl")
    assert read_choices("now.jsonl") == read_choices("trained/predictions/test.jsonl")


def test_a_trained_folder_loads_in_python(unpack_files, one_thread):
    unpack_files("data", "train")
    dataset = library.load("test.jsonl")
    model = library.load_model("hf:trained")
    scores_now = [prediction.scores for prediction in library.score(dataset, model)]
    assert scores_now == approximate_scores("trained/predictions/test.jsonl")


def test_a_training_that_is_done_is_not_done_again(unpack_files, winokit, one_thread):
    unpack_files("data", "train")
    curves_before = modified_times("trained")
    results_before = modified_times("trained", "results.json")
    result = winokit(f"{TRAIN} trained").json
    assert modified_times("trained") == curves_before
    assert modified_times("trained", "results.json") == results_before
    stored_results = read_json("trained/results.json")
    assert metric_rows(result, "subset") == metric_rows(stored_results, "subset")


def test_a_training_that_was_stopped_goes_on_to_the_same_model(unpack_files, winokit, one_thread):
    unpack_files("data", "train")
    command = f"{TRAIN} stopped-training".replace("--json ", "")
    output = winokit(command).out
    assert "went on from step 4" in output
    scores = read_scores("stopped-training/predictions/test.jsonl")
    assert scores == approximate_scores("trained/predictions/test.jsonl")
    assert not Path("stopped-training/checkpoint.pt").exists()


def test_a_training_run_gets_its_page_anew(unpack_files, winokit):
    unpack_files("train")
    winokit("report trained")
    assert "37.5" in Path("trained/report/index.html").read_text("utf-8")


def test_a_search_goes_on_without_training_again(unpack_files, winokit, one_thread):
    pytest.importorskip("optuna")
    unpack_files("data", "search")
    times_before = modified_times("search/trials")
    lines_before = Path("search/trials.csv").read_text().splitlines()
    result = winokit(f"{SEARCH} 3").json
    times = modified_times("search/trials")
    assert len(times_before) == 2
    assert len(times) == 3
    assert times_before.items() <= times.items()
    lines = Path("search/trials.csv").read_text().splitlines()
    assert lines[:3] == lines_before
    trial_counts = [row["value"] for row in result["metrics"] if row["metric"] == "n_trials"]
    assert trial_counts == [3]


def test_a_curve_is_drawn_anew_without_training_again(unpack_files, winokit, one_thread):
    unpack_files("data", "curve")
    earlier_result = read_json("curve/results.json")
    times_before = modified_times("curve")
    result = winokit(CURVE).json
    assert len(times_before) == 4
    assert modified_times("curve") == times_before
    names = ("protocol", "subset", "size", "restart")
    values = without_reached_sizes(metric_rows(result, *names))
    assert values == without_reached_sizes(metric_rows(earlier_result, *names))


def test_an_earlier_curve_reaches_no_size_beyond_what_its_points_show(unpack_files, winokit, one_thread):
    unpack_files("data", "curve")
    result = winokit(CURVE).json
    reached_sizes = [row["value"] for row in result["metrics"] if row["metric"].startswith("n_to_reach")]
    assert reached_sizes == [None]


def test_a_transfer_is_told_anew_without_training_again(unpack_files, winokit, one_thread):
    unpack_files("data", "transfer")
    earlier_result = read_json("transfer/results.json")
    times_before = modified_times("transfer")
    result = winokit(TRANSFER).json
    assert len(times_before) == 6
    assert modified_times("transfer") == times_before
    names = ("arm", "protocol", "subset")
    assert metric_rows(result, *names) == metric_rows(earlier_result, *names)


# Studies


@pytest.fixture(params=["0001", "0002"], ids=["study-0001", "study-0002"])
def study(request, unpack_files) -> str:
    """Folder of a study that has the tables of a revision."""
    pytest.importorskip("winokit_collect", reason="needs winokit-collect: pip install ./collect")
    folder = f"study-{request.param}"
    unpack_files(folder)
    revisions = execute_sql(f"{folder}/study.db", "SELECT * FROM alembic_version")
    assert revisions == [(request.param,)]
    return folder


def test_a_study_of_either_revision_tells_how_far_it_is_and_stays_as_it_was(study, winokit):
    result = winokit(f"collect status {study} --workers --json").json
    counts_by_kind = [(row["kind"], row["asked"], row["accepted"]) for row in result["kinds"]]
    assert counts_by_kind == [("write", 2, 2), ("validate", 12, 6)]
    assert len(result["people"]) == 5
    revisions = execute_sql(f"{study}/study.db", "SELECT * FROM alembic_version")
    assert revisions == [(study.removeprefix("study-"),)]


def test_a_study_of_either_revision_is_exported(study, winokit):
    result = winokit(f"collect export {study} --out exported --json").json
    expected_counts = {"problems.jsonl": 2, "others.jsonl": 2, "votes.jsonl": 6, "workers.jsonl": 5, "ledger.csv": 8}
    assert expected_counts.items() <= result["files"].items()
    right_candidates = {problem.right for problem in library.load("exported/problems.jsonl")}
    assert right_candidates <= {"the terrier", "the spaniel"}


def test_a_study_of_either_revision_is_brought_up_to_date_and_lets_people_in(study, winokit):
    database = f"{study}/study.db"
    ((invite_count,),) = execute_sql(database, "SELECT count(*) FROM invites")
    Path(study, "consent.md").write_text("# Consent, filled in\n")
    output = winokit(f"collect invite {study}").out
    assert "/join/" in output
    assert execute_sql(database, "SELECT count(*) FROM invites") == [(invite_count + 1,)]
    assert execute_sql(database, "SELECT version_num > '0002' FROM alembic_version") == [(1,)]
    assert execute_sql(database, "SELECT DISTINCT session_version FROM workers") == [(1,)]


# What another version may have written


def change_checkpoint(path: str, **changes) -> None:
    """Change the metadata in a checkpoint of a filtering."""
    with np.load(path) as checkpoint:
        arrays = {name: checkpoint[name] for name in checkpoint.files}
    metadata = json.loads(str(arrays.pop("about"))) | changes
    metadata_array = np.array(json.dumps(metadata))
    np.savez(path, about=metadata_array, **arrays)


def change_training(path: str, **changes) -> None:
    """Change the parts of a checkpoint of a training, of which those that are None are taken out."""
    torch = pytest.importorskip("torch")
    content = torch.load(path, weights_only=True) | changes
    parts = {name: value for name, value in content.items() if value is not None}
    torch.save(parts, path)


def assert_refused(result: SimpleNamespace, *words: str) -> None:
    """Assert that a command ended in one line of error with these words in it."""
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, result.err
    (line,) = lines
    assert line.startswith("winokit: ")
    missing_words = [word for word in words if word not in line]
    assert not missing_words, line


@pytest.mark.parametrize("changes", [{"version": 2}, {"version": 2, "history": None, "identity": None}])
def test_a_filtering_of_another_version_is_refused(unpack_files, winokit, changes):
    unpack_files("data", "debias")
    change_checkpoint("stopped-filter/checkpoint.npz", **changes)
    assert_refused(winokit(f"{AFLITE} stopped-filter", code=2), "stopped-filter/checkpoint.npz", "version 2")


def test_a_filtering_that_has_other_parts_is_refused(unpack_files, winokit):
    unpack_files("data", "debias")
    path = "stopped-filter/checkpoint.npz"
    with np.load(path) as checkpoint:
        arrays = {name: checkpoint[name] for name in checkpoint.files if name != "numbers"}
    np.savez(path, **arrays)
    assert_refused(winokit(f"{AFLITE} stopped-filter", code=2), path)


@pytest.mark.parametrize(
    "changes", [{"state": '{"step": 4, "pace": 2}'}, {"optimiser": None}, {"identity": None}, {"state": "4"}]
)
def test_a_training_that_has_other_parts_is_refused(unpack_files, winokit, one_thread, changes):
    unpack_files("data", "train")
    change_training("stopped-training/checkpoint.pt", **changes)
    assert_refused(winokit(f"{TRAIN} stopped-training", code=2), "stopped-training/checkpoint.pt")


def test_a_training_whose_results_have_other_parts_is_tested_anew(unpack_files, winokit, one_thread):
    unpack_files("data", "train")
    stored_results = read_json("trained/results.json")
    del stored_results["warnings"]
    del stored_results["notes"]
    Path("trained/results.json").write_text(json.dumps(stored_results))
    result = winokit(f"{TRAIN} trained").json
    values = metric_rows(result, "subset")
    stored_values = metric_rows(stored_results, "subset")
    assert [row for row in values if row in stored_values] == stored_values
    metric_names = {name for _, name, _ in values}
    assert metric_names == {"accuracy", "group_accuracy", "told_apart", "right_way_round"}


def test_a_model_trained_under_an_unknown_formalization_is_refused(unpack_files, winokit, one_thread):
    unpack_files("data", "train")
    rewrite_json("trained/winokit.json", formalization="mc-paragraph")
    result = winokit("score test.jsonl --model hf:trained --set cache=off --out now.jsonl", code=2)
    assert_refused(result, "mc-paragraph")


def test_a_model_whose_head_has_other_weights_is_refused(unpack_files, winokit, one_thread):
    unpack_files("data", "train")
    rewrite_json("trained/winokit.json", formalization="p-span")
    result = winokit("score test.jsonl --model hf:trained --set cache=off --out now.jsonl", code=2)
    assert_refused(result, "trained/winokit_head.safetensors", "p-span")


def test_a_search_with_other_notes_on_a_trial_is_refused(unpack_files, winokit, one_thread):
    pytest.importorskip("optuna")
    unpack_files("data", "search")
    pace_change = "json_set(value_json, '$.pace', 2)"
    execute_sql("search/study.db", f"UPDATE trial_user_attributes SET value_json = {pace_change} WHERE key = 'ended'")
    assert_refused(winokit(f"{SEARCH} 2", code=2), "search/study.db")


def test_a_search_with_other_settings_is_refused(unpack_files, winokit, one_thread):
    pytest.importorskip("optuna")
    unpack_files("data", "search")
    patience_change = "json_set(value_json, '$.patience', 7)"
    execute_sql(
        "search/study.db", f"UPDATE study_user_attributes SET value_json = {patience_change} WHERE key = 'identity'"
    )
    assert_refused(winokit(f"{SEARCH} 2", code=2), "another patience (7, here 20)")


def test_a_search_of_another_optuna_is_refused(unpack_files, winokit, one_thread):
    pytest.importorskip("optuna")
    unpack_files("data", "search")
    execute_sql("search/study.db", "UPDATE alembic_version SET version_num = 'v99.0.0.a'")
    execute_sql("search/study.db", "UPDATE version_info SET schema_version = 99")
    assert_refused(winokit(f"{SEARCH} 2", code=2), "search/study.db")


def test_an_index_of_another_version_is_refused(unpack_files, winokit):
    unpack_files("index")
    execute_sql("index.db", "PRAGMA user_version = 2")
    assert_refused(winokit("score open --model hunter:index.db --limit 2", code=2), "index.db: an index of version 2")
    assert_refused(winokit("hunt index corpus.txt --out index.db", code=2), "index.db: an index of version 2")


def test_a_study_of_an_unknown_revision_is_refused_and_left_as_it_is(study, winokit):
    execute_sql(f"{study}/study.db", "UPDATE alembic_version SET version_num = '9999'")
    assert_refused(winokit(f"collect status {study}", code=2), "study.db", "9999")
    assert execute_sql(f"{study}/study.db", "SELECT * FROM alembic_version") == [("9999",)]


def test_a_study_without_a_revision_is_refused_and_left_as_it_is(study, winokit):
    execute_sql(f"{study}/study.db", "DROP TABLE alembic_version")
    assert_refused(winokit(f"collect status {study}", code=2), "study.db")
    assert execute_sql(f"{study}/study.db", "SELECT count(*) FROM workers") == [(5,)]


def test_a_study_in_a_database_of_something_else_is_refused_and_left_as_it_is(study, unpack_files, winokit):
    unpack_files("answers")
    shutil.copy("answers.sqlite", f"{study}/study.db")
    assert_refused(winokit(f"collect status {study}", code=2), "study.db")
    tables = execute_sql(f"{study}/study.db", "SELECT name FROM sqlite_master WHERE type = 'table'")
    assert tables == [("answers",)]


def test_a_study_with_settings_of_another_version_is_refused(study, winokit):
    path = Path(study) / "study.toml"
    path.write_text(f"pace = 2\n{path.read_text()}")
    assert_refused(winokit(f"collect status {study}", code=2), "study.toml", "pace")


@pytest.mark.parametrize("line", ["verify release", GRADE, "grade release --board graded --out board.html"])
def test_a_release_of_another_version_is_refused(unpack_files, winokit, line):
    unpack_files("release")
    rewrite_json("release/manifest.json", schema=99)
    assert_refused(winokit(line, code=2), "release/manifest.json: schema 99")


def test_a_graded_entry_of_another_version_is_refused(unpack_files, winokit):
    unpack_files("release")
    rewrite_json("graded/submission.json", schema=99)
    assert_refused(winokit("grade release --board graded --out board.html", code=2), "graded/submission.json", "99")


def test_a_grading_logged_by_another_version_counts(unpack_files, winokit):
    unpack_files("release")
    Path("release.hidden/log.jsonl").write_text('{"when": "2026-11-16"}\n')
    grading = winokit(GRADE).json
    assert grading["gradings"]["different"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": [{"value": 0.5}]},
        {"metrics": 1},
        {"left_out": [{"protocol": "groups", "pace": 2}]},
    ],
)
@pytest.mark.parametrize("line", ["compare audit", "report audit"])
def test_an_audit_that_has_other_parts_is_refused_with_the_version_that_wrote_it(unpack_files, winokit, line, changes):
    unpack_files("audit")
    rewrite_json("audit/results.json", run={"winokit": "99.0"}, **changes)
    assert_refused(winokit(line, code=2), "audit: not a run", "99.0")


def test_an_audit_without_a_run_is_refused(unpack_files, winokit):
    unpack_files("audit")
    rewrite_json("audit/results.json", run=None)
    assert_refused(winokit("compare audit", code=2), "audit: not a run")


@pytest.mark.parametrize("change", ["UPDATE answers SET value = X'5A00'", "ALTER TABLE answers RENAME value TO said"])
def test_a_cache_of_another_version_is_refused(unpack_files, winokit, change):
    unpack_files("data", "answers", "index")
    execute_sql("answers.sqlite", change)
    line = "score carried.jsonl --set cache=answers.sqlite --model hunter:index.db?parser=rules --out now.jsonl"
    assert_refused(winokit(line, code=2), "answers.sqlite", "--set cache")


def test_features_that_say_other_things_are_refused(unpack_files, winokit):
    unpack_files("data")
    Path("X.json").write_text('{"schema": 99}')
    assert_refused(winokit(f"{AFLITE} out", code=2), "X.json")


def test_a_filtering_whose_record_has_other_parts_is_released(unpack_files, winokit):
    pytest.importorskip("pyarrow")
    unpack_files("debias")
    Path("debiased/debias.json").write_text('{"schema": 99}')
    line = "release debiased --out made --name made --dev 4 --test 4 --sizes 2,4,6,8,10 --json"
    splits = winokit(line).json["splits"]
    assert splits["dev"]["problems"] == 4
