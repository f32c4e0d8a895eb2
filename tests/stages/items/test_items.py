"""`winokit items` reads boards and gives a page, a queue for people, errata and canaries."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import winokit
from winokit.errors import BadInput
from winokit.stages.items.board import board_of
from winokit.stages.items.table import as_json, lines

SHARED = Path(__file__).parents[4] / "shared"
BOARDS = Path(os.environ.get("WINOKIT_BOARDS") or SHARED / "boards")
DATA = Path(os.environ.get("WINOKIT_DATA") or SHARED / "data")
MODELS = 24
BANK_COLUMNS = ("row", "a1", "d", "g", "u")


@pytest.fixture(scope="module")
def data():
    return winokit.load("open")


def write_table(path, rows):
    """Write rows as lines of cells with commas between, and return the path."""
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def board(tmp_path, data):
    """A board of models from weak to strong, to whom the labels of the first pair are swapped."""
    rng = np.random.default_rng(0)
    skills = np.linspace(0.5, 0.95, MODELS)
    is_right = rng.random((MODELS, len(data))) < skills[:, None]
    group = data[0].group
    swapped_rows = [row for row, problem in enumerate(data) if problem.group == group]
    is_right[:, swapped_rows] ^= True
    table = [["model", *range(len(data))]]
    for number, marks in enumerate(is_right.astype(int).tolist()):
        table.append([f"org/model-{number}", *marks])
    return write_table(tmp_path / "board.csv", table)


@pytest.fixture
def run_of_board(tmp_path, board):
    """Run of `items` on the board, with a queue for people and a folder."""
    return winokit.items("open", board, queue=tmp_path / "suspects.jsonl", out=tmp_path / "items")


def test_the_most_suspect_item_is_on_the_page_and_first_in_the_queue(tmp_path, run_of_board):
    judged = run_of_board.judged
    problems = judged.asked.problems
    suspect_ids = [problems[row].id for row in judged.suspects[0].rows]
    swapped = problems[judged.suspects[0].rows[0]]
    page = run_of_board.page.read_text()
    queue = winokit.load(tmp_path / "suspects.jsonl")
    assert swapped.group == run_of_board.dataset[0].group
    assert swapped.after in page
    assert 'id="suspect-1"' in page
    assert [problem.id for problem in queue[:2]] == suspect_ids
    assert queue[0].labels["suspect"] == 1


def test_a_board_becomes_lines_and_a_table(tmp_path, run_of_board):
    first_line = str(next(iter(lines(run_of_board))))
    content = json.loads((tmp_path / "items" / "items.json").read_text())
    suspects = json.dumps(as_json(run_of_board)["suspects"])
    assert first_line.endswith(f"by {MODELS} models in {run_of_board.judged.family_count} families")
    assert content["suspects"] == json.loads(suspects)
    assert len(content["items"]) == len(run_of_board.dataset)


def test_the_queue_does_not_overwrite_what_is_read(tmp_path, board):
    data_path = tmp_path / "data.jsonl"
    winokit.convert("open", data_path)
    for path in (data_path, board):
        content = path.read_bytes()
        with pytest.raises(BadInput, match="is an input, and would be overwritten"):
            winokit.items(data_path, board, queue=path)
        assert path.read_bytes() == content


def test_no_queue_is_written_without_suspects_and_that_is_said(tmp_path, data):
    board = write_table(tmp_path / "board.csv", [["model", *range(len(data))], ["org/model", *[1] * len(data)]])
    queue = tmp_path / "suspects.jsonl"
    run = winokit.items("open", board, queue=queue)
    assert not run.judged.suspects
    assert not queue.exists()
    assert as_json(run)["queue"] is None
    assert f"{queue}: not written, since there are no suspects for people to judge" in run.notes
    assert not any(str(line).startswith("queue:") for line in lines(run))


def test_one_family_is_not_called_1_families(tmp_path, data):
    board = write_table(tmp_path / "board.csv", [["model", *range(len(data))], ["org/model", *[1] * len(data)]])
    run = winokit.items("open", board)
    assert any(note.startswith("1 family: an item-rest correlation needs four") for note in run.notes)


def write_erratum(path, problem):
    """Write errata by which one person found the label of a problem wrong, and return the path."""
    path.write_text(f'[[erratum]]\nid = "{problem.id}"\nverdict = "wrong label"\npeople = 1\nagreed = 1\n')
    return path


def test_errata_are_canaries_and_how_few_is_said(tmp_path, board, data):
    errata = write_erratum(tmp_path / "errata.toml", data[0])
    run = winokit.items("open", predictions=board, errata=errata)
    text = "\n".join(map(str, lines(run)))
    assert "1 canary: labels that people found wrong; so few can show nothing" in text


def test_families_come_from_a_file_a_mapping_or_names(tmp_path, board):
    family_of = {f"org/model-{number}": str(number % 5) for number in range(MODELS)}
    table = write_table(tmp_path / "families.csv", [("model", "family"), *family_of.items()])
    by_file = winokit.items("open", predictions=board, families=table)
    by_mapping = winokit.items("open", predictions=board, families=family_of)
    by_name = winokit.items("open", predictions=board, families="name")
    assert by_file.judged.family_count == by_mapping.judged.family_count == 5
    assert by_name.judged.family_count == 1


@pytest.mark.parametrize(
    ("families", "reason"),
    [("nmae", "expected agreement, name, or a csv file"), ({"x": "y"}, "no family of org/model-0")],
)
def test_families_that_nobody_knows_are_refused(board, families, reason):
    with pytest.raises(BadInput, match=reason):
        winokit.items("open", predictions=board, families=families)


def test_files_of_predictions_are_read_beside_boards(tmp_path, board, data):
    labels = [[problem.answer + 1] for problem in data]
    path = write_table(tmp_path / "one.txt", labels)
    run = winokit.items("open", predictions=[board, path])
    matrix = run.judged.matrix
    assert len(matrix.scorers) == MODELS + 1
    assert matrix.right[-1].all()


def test_no_predictions_are_refused():
    with pytest.raises(BadInput, match="no predictions"):
        winokit.items("open")


def test_other_peoples_pages_stay(tmp_path, board):
    folder = tmp_path / "items"
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    with pytest.raises(BadInput, match="is not part of a run of items"):
        winokit.items("open", predictions=board, out=folder)


def test_peoples_votes_come_back_as_errata(tmp_path, board, data):
    problem = data[0]
    wrong_answer = 1 - problem.answer
    vote = {"variant": "original", "choice": wrong_answer, "counted": True}
    row = {
        "text": problem.text,
        "candidates": list(problem.candidates),
        "answer": problem.answer,
        "pronoun": problem.pronoun,
        "provenance": {"study": "readers", "votes": [vote, vote, vote]},
    }
    path = tmp_path / "evaluated.jsonl"
    path.write_text(json.dumps(row) + "\n")
    run = winokit.items("open", predictions=board, votes=path, out=tmp_path / "items")
    corrected_problem = winokit.load("open", errata=run.errata)[0]
    assert corrected_problem.labels["erratum"] == "wrong label (3 of 3 people)"


def test_a_card_shows_the_twin_that_nobody_was_asked(tmp_path, board, data):
    board_lines = board.read_text().splitlines()
    heading, *rows = [line.split(",") for line in board_lines]
    without_twin = [[heading[0], heading[1], *heading[3:]]]
    for row in rows:
        without_twin.append([row[0], "0", *row[3:]])
    write_table(board, without_twin)
    run = winokit.items("open", board, out=tmp_path / "items")
    _, _, after_start = run.page.read_text().partition('id="suspect-1"')
    card, _, _ = after_start.partition("</li>")
    assert data[0].after in card
    assert f"Its twin: {data[1].before}" in card
    assert "not asked" in card


def test_choices_joined_to_other_problems_are_told_by_a_coins_score(tmp_path, data):
    rng = np.random.default_rng(0)
    choices = rng.integers(1, 3, (len(data), MODELS))
    names = [f"model-{number}" for number in range(MODELS)]
    table = [["row", *names]]
    for row, row_choices in enumerate(choices.tolist()):
        table.append([row, *row_choices])
    path = write_table(tmp_path / "board.csv", table)
    run = winokit.items("open", path)
    (note,) = [note for note in run.notes if "coin" in note]
    assert "no better than a coin: expected items named by their ids, or by their rows" in note


def write_bank(path, intercepts):
    """Write a bank of items of one slope, and return its path."""
    items = [(row, 1, intercept, 0, 1) for row, intercept in enumerate(intercepts)]
    return write_table(path, [BANK_COLUMNS, *items])


def estimate_intercepts(board):
    """The intercept of each item of a board, from the share of models that have it right."""
    _, *lines_of_models = board.read_text().splitlines()
    marks = [line.split(",")[1:] for line in lines_of_models]
    is_right = np.array(marks, dtype=int)
    shares = is_right.mean(axis=0).clip(0.05, 0.95)
    odds = shares / (1 - shares)
    return np.log(odds)


@pytest.mark.parametrize("is_wrong_join", [False, True])
def test_a_bank_tells_a_wrong_join_and_is_no_board(tmp_path, board, is_wrong_join):
    intercepts = estimate_intercepts(board)
    if is_wrong_join:
        intercepts = intercepts[::-1]
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "board.csv").write_text(board.read_text())
    bank = write_bank(folder / "bank.csv", intercepts)
    run = winokit.items("open", folder, bank=bank)
    note = next(note for note in run.notes if "bank and answers" in note)
    warning = "one of the two is about other problems, since a wrong join gives about 0"
    assert (warning in note) == is_wrong_join
    assert ("one of the two is about other problems" in note) == is_wrong_join


@pytest.mark.skipif(not BOARDS.is_dir() or not DATA.is_dir(), reason="no real boards: set WINOKIT_BOARDS")
def test_a_wrong_label_leads_the_real_board_and_the_contaminated_model_gives_it_back(tmp_path):
    path = BOARDS / "winogrande_dev_metabench_5476x106.csv.gz"
    winogrande = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    errata = write_erratum(tmp_path / "errata.toml", winogrande[681])
    run = winokit.items(winogrande, predictions=path, errata=errata)
    scorers = run.judged.matrix.scorers
    singers = run.canaries.singers[:5]
    names = [scorers[singer.scorer].model for singer in singers]
    assert run.judged.suspects[0].rows == (681,)
    assert any("contaminated_proof" in name for name in names)


def test_a_bank_bounds_pairs_on_the_board(tmp_path, board, data):
    intercepts = [row % 7 - 3 for row in range(len(data))]
    bank = write_bank(tmp_path / "bank.csv", intercepts)
    run = winokit.items("open", board, bank=bank)
    row = board_of(run).families[0].rows[0]
    low, high = row.bounds
    least_pair_score = 2 * row.single - 1
    assert least_pair_score - 1e-6 < low < high < row.single + 1e-6


@pytest.mark.parametrize(
    ("columns", "item", "message"),
    [
        pytest.param(("row", "a1"), (0, 1), "expected columns row", id="columns"),
        pytest.param(BANK_COLUMNS, (0, 1, "x", 0, 1), "line 2: expected numbers", id="numbers"),
    ],
)
def test_a_broken_bank_is_refused(tmp_path, board, columns, item, message):
    bank = write_table(tmp_path / "bank.csv", [columns, item])
    with pytest.raises(BadInput, match=message):
        winokit.items("open", board, bank=bank)
