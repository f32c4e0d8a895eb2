"""The notebooks of examples/ run from their first cell to their last, and find what they tell."""

import ast
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def run_cells(notebook: Path) -> dict[str, object]:
    """What the code cells leave behind; a cell's last expression is shown, as a notebook would show it."""
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), notebook.name)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, notebook.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
            html = value._repr_html_() if hasattr(value, "_repr_html_") else None
            assert repr(value)
            assert html is None or "<" in html
    return names


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_no_outputs_stored(notebook):
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_a_score_you_have(in_a_folder):
    names = run_cells(FOLDER / "a_score_you_have.ipynb")
    assert names["accuracy"].low < 0.5 < names["accuracy"].high
    assert names["pairs"].high < names["pairs"].chance


def test_twins_are_built_checked_and_released(in_a_folder):
    names = run_cells(FOLDER / "build_check_release.ipynb")
    assert [finding.message for finding in names["findings"] if finding.warns] == [
        "rule opposite_answers: broken 1 time"
    ]
    assert not [finding for finding in names["verified"].findings if finding.warns]
    assert Path("bench/manifest.json").is_file()


def test_a_table_is_debiased(in_a_folder):
    names = run_cells(FOLDER / "debias_a_table.ipynb")
    assert names["removed_leaky"] > 3 * names["removed_clean"]
    assert names["after"].accuracy < names["baseline"].accuracy - 0.03
    assert names["by_luck"] < (~names["keep"]).sum() / 4
