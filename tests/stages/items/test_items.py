"""`winokit items`: from boards to a page, a queue for people, errata and canaries."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import winokit
from winokit.errors import BadInput
from winokit.stages.items.board import board_of
from winokit.stages.items.table import as_json, lines

BOARDS = Path(os.environ.get("WINOKIT_BOARDS") or Path(__file__).parents[4] / "shared" / "boards")
DATA = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[4] / "shared" / "data")
MODELS = 24


@pytest.fixture
def board(tmp_path):
    """A board of models from weak to strong, to whom the labels of the first pair are swapped."""
    data = winokit.load("open")
    rng = np.random.default_rng(0)
    right = rng.random((MODELS, len(data))) < np.linspace(0.5, 0.95, MODELS)[:, None]
    rows = [row for row, problem in enumerate(data) if problem.group == data[0].group]
    right[:, rows] ^= True
    text = ["model," + ",".join(map(str, range(len(data))))]
    for number, flags in enumerate(right.astype(int).tolist()):
        text.append(f"org/model-{number}," + ",".join(map(str, flags)))
    path = tmp_path / "board.csv"
    path.write_text("\n".join(text) + "\n")
    return path


def test_a_board_becomes_a_page_a_queue_and_a_table(tmp_path, board):
    run = winokit.items("open", board, queue=tmp_path / "suspects.jsonl", out=tmp_path / "items")
    first = run.judged.suspects[0]
    swapped = run.judged.asked.problems[first.rows[0]]
    assert swapped.group == run.dataset[0].group
    page = run.page.read_text()
    assert swapped.after in page
    assert 'id="suspect-1"' in page
    queue = winokit.load(tmp_path / "suspects.jsonl")
    assert [problem.id for problem in queue[:2]] == [run.judged.asked.problems[row].id for row in first.rows]
    assert queue[0].labels["suspect"] == 1
    said = list(map(str, lines(run)))
    assert said[0].endswith(f"by {MODELS} models in {run.judged.family_count} families")
    content = json.loads((tmp_path / "items" / "items.json").read_text())
    assert content["suspects"] == json.loads(json.dumps(as_json(run)["suspects"]))
    assert len(content["items"]) == len(run.dataset)


def test_the_queue_does_not_overwrite_what_is_read(tmp_path, board):
    data = tmp_path / "data.jsonl"
    winokit.convert("open", data)
    for path in (data, board):
        before = path.read_bytes()
        with pytest.raises(BadInput, match="is an input, and would be overwritten"):
            winokit.items(data, board, queue=path)
        assert path.read_bytes() == before


def test_errata_are_canaries_and_how_few_is_said(tmp_path, board):
    data = winokit.load("open")
    errata = tmp_path / "errata.toml"
    errata.write_text(f'[[erratum]]\nid = "{data[0].id}"\nverdict = "wrong label"\npeople = 1\nagreed = 1\n')
    run = winokit.items("open", predictions=board, errata=errata)
    said = "\n".join(map(str, lines(run)))
    assert "1 canary: labels that people found wrong; so few can show nothing" in said


def test_families_come_from_a_file_a_mapping_or_names(tmp_path, board):
    table = tmp_path / "families.csv"
    table.write_text("model,family\n" + "".join(f"org/model-{n},{n % 5}\n" for n in range(MODELS)))
    by_file = winokit.items("open", predictions=board, families=table)
    by_mapping = winokit.items(
        "open", predictions=board, families={f"org/model-{n}": str(n % 5) for n in range(MODELS)}
    )
    assert by_file.judged.family_count == by_mapping.judged.family_count == 5
    assert winokit.items("open", predictions=board, families="name").judged.family_count == 1


@pytest.mark.parametrize(
    ("families", "reason"),
    [("nmae", "expected agreement, name, or a csv file"), ({"x": "y"}, "no family of org/model-0")],
)
def test_families_that_nobody_knows_are_refused(board, families, reason):
    with pytest.raises(BadInput, match=reason):
        winokit.items("open", predictions=board, families=families)


def test_files_of_predictions_are_read_beside_boards(tmp_path, board):
    labels = tmp_path / "one.txt"
    labels.write_text("\n".join(str(problem.answer + 1) for problem in winokit.load("open")) + "\n")
    run = winokit.items("open", predictions=[board, labels])
    assert len(run.judged.matrix.scorers) == MODELS + 1
    assert run.judged.matrix.right[-1].all()


def test_no_predictions_are_refused_and_other_peoples_pages_stay(tmp_path, board):
    with pytest.raises(BadInput, match="no predictions"):
        winokit.items("open")
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "index.html").write_text("mine")
    with pytest.raises(BadInput, match="is not part of a run of items"):
        winokit.items("open", predictions=board, out=tmp_path / "items")


def test_peoples_votes_come_back_as_errata(tmp_path, board):
    data = winokit.load("open")
    votes = [{"variant": "original", "choice": 1 - data[0].answer, "counted": True}] * 3
    row = {"text": data[0].text, "candidates": list(data[0].candidates), "answer": data[0].answer}
    row |= {"pronoun": data[0].pronoun, "provenance": {"study": "readers", "votes": votes}}
    path = tmp_path / "evaluated.jsonl"
    path.write_text(json.dumps(row) + "\n")
    run = winokit.items("open", predictions=board, votes=path, out=tmp_path / "items")
    assert winokit.load("open", errata=run.errata)[0].labels["erratum"] == "wrong label (3 of 3 people)"


def test_a_card_shows_the_twin_that_nobody_was_asked(tmp_path, board):
    data = winokit.load("open")
    head, *rows = (line.split(",") for line in board.read_text().splitlines())
    without_twin = [[head[0], head[1], *head[3:]], *([row[0], "0", *row[3:]] for row in rows)]
    board.write_text("\n".join(map(",".join, without_twin)) + "\n")
    page = winokit.items("open", board, out=tmp_path / "items").page.read_text()
    card = page.partition('id="suspect-1"')[2].partition("</li>")[0]
    assert data[0].after in card
    assert f"Its twin: {data[1].before}" in card
    assert "not asked" in card


def test_choices_joined_to_other_problems_are_told_by_a_coins_score(tmp_path):
    data = winokit.load("open")
    rng = np.random.default_rng(0)
    choices = rng.integers(1, 3, (len(data), MODELS))
    heading = ["row", *(f"model-{number}" for number in range(MODELS))]
    lines_of_table = [heading, *([row, *own] for row, own in enumerate(choices.tolist()))]
    path = tmp_path / "board.csv"
    path.write_text("\n".join(",".join(map(str, line)) for line in lines_of_table) + "\n")
    (note,) = (note for note in winokit.items("open", path).notes if "coin" in note)
    assert "no better than a coin: expected items named by their ids, or by their rows" in note


def test_a_bank_tells_a_wrong_join_and_is_no_board(tmp_path, board):
    _, *rows = board.read_text().splitlines()
    rights = np.array([list(map(int, row.split(",")[1:])) for row in rows]).mean(axis=0).clip(0.05, 0.95)
    intercepts = np.log(rights / (1 - rights))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "board.csv").write_text(board.read_text())
    write_bank(folder / "bank.csv", intercepts)
    fitting, other = (
        next(note for note in winokit.items("open", folder, bank=bank).notes if "bank and answers" in note)
        for bank in (folder / "bank.csv", write_bank(tmp_path / "other.csv", intercepts[::-1]))
    )
    assert "one of the two is about other problems" not in fitting
    assert "one of the two is about other problems, since a wrong join gives about 0" in other


def write_bank(path, intercepts):
    """A bank of items of one slope."""
    path.write_text("row,a1,d,g,u\n" + "".join(f"{row},1,{d},0,1\n" for row, d in enumerate(intercepts)))
    return path


@pytest.mark.skipif(not BOARDS.is_dir() or not DATA.is_dir(), reason="no real boards: set WINOKIT_BOARDS")
def test_a_wrong_label_leads_the_real_board_and_the_contaminated_model_gives_it_back(tmp_path):
    path = BOARDS / "winogrande_dev_metabench_5476x106.csv.gz"
    data = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    errata = tmp_path / "errata.toml"
    errata.write_text(f'[[erratum]]\nid = "{data[681].id}"\nverdict = "wrong label"\npeople = 1\nagreed = 1\n')
    run = winokit.items(data, predictions=path, errata=errata)
    assert run.judged.suspects[0].rows == (681,)
    singers = [run.judged.matrix.scorers[singer.scorer].model for singer in run.canaries.singers[:5]]
    assert any("contaminated_proof" in name for name in singers)


def test_a_bank_bounds_pairs_on_the_board_and_a_broken_one_is_refused(tmp_path, board):
    data = winokit.load("open")
    bank = tmp_path / "bank.csv"
    bank.write_text("row,a1,d,g,u\n" + "".join(f"{row},1.0,{row % 7 - 3},0.0,1.0\n" for row in range(len(data))))
    run = winokit.items("open", board, bank=bank)
    row = board_of(run).families[0].rows[0]
    low, high = row.bounds
    assert 2 * row.single - 1 - 1e-6 < low < high < row.single + 1e-6
    bank.write_text("row,a1\n0,1\n")
    with pytest.raises(BadInput, match="expected columns row"):
        winokit.items("open", board, bank=bank)
    bank.write_text("row,a1,d,g,u\n0,1,x,0,1\n")
    with pytest.raises(BadInput, match="line 2: expected numbers"):
        winokit.items("open", board, bank=bank)
