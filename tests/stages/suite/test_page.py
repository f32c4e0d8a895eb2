"""The page and the tables of a suite: every cell linked, names escaped, and the best in bold."""

import csv
import re

import numpy as np
import pytest

from winokit.data.loading import load
from winokit.stages.suite.boards import boards_of
from winokit.stages.suite.matrix import SuiteMatrix, tex
from winokit.stages.suite.run import suite
from winokit.stages.suite.settings import SuiteModel

from .conftest import QUICK, Skilled

NAMES = ["50% & <more>_1", "other · model"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder of a suite of two models with a size and one that fails, on two datasets."""
    out = tmp_path_factory.mktemp("suite")
    open_data = load("open")
    synthetic = load("synthetic-30")
    problems = [*open_data, *synthetic]
    good = Skilled(NAMES[0], 0.95, problems)
    poor = Skilled(NAMES[1], 0.1, problems, 1)
    models = [
        SuiteModel(good, family="f", parameters=1e9),
        SuiteModel(poor, family="f", parameters=1.35e8),
        Skilled("half", 0.3, open_data, 2),
    ]
    suite(model=models, data=[open_data, synthetic], protocol=QUICK, out=out, cache="off")
    return out


def lines_of(path):
    return path.read_text().splitlines()


def test_the_page_links_each_cell_and_says_what_failed(folder):
    page = (folder / "index.html").read_text()
    links = set(re.findall(r'href="(cells/[^"]+)"', page))
    assert len(links) == 5
    assert all((folder / link).exists() for link in links)
    assert "5 of 6 cells have a result; 1 failed" in page
    assert "KeyError" in page


def test_a_value_is_held_against_a_coin_where_it_has_no_null(open_data, tmp_path):
    """Whether answers follow a switch is no number of right answers, so no exchange of these says what chance gets."""
    suite(model=["random"], data=[open_data], protocol=("accuracy", "switching"), out=tmp_path, cache="off")
    page = (tmp_path / "index.html").read_text()
    references = re.findall(r'title="(?:above|below|indistinguishable from) ([^(]+) \(', page)
    assert set(references) == {"a coin", "what its own choices would get if right answers changed places"}


def test_the_page_has_a_switch_for_the_views_there_are(folder):
    page = (folder / "index.html").read_text()
    assert re.findall(r'id="show-(\w+)"', page) == ["accuracy", "group_accuracy"]


def test_the_page_draws_sizes_and_twins_and_escapes_names(folder):
    page = (folder / "index.html").read_text()
    assert "1 B parameters" in page
    assert "135 M parameters" in page
    assert 'class="family"' in page
    assert "<more>" not in page
    assert 'id="twins"' in page


def test_latex_is_escaped_and_bold_where_told_from_the_rest(folder):
    table = (folder / "suite.tex").read_text()
    assert r"\textbf{" in table
    assert r"50\% \& \textless{}more\textgreater{}\_1" in table
    assert table.count(r"\toprule") == table.count(r"\bottomrule") == 2
    separator_counts = set()
    for line in table.splitlines():
        if line.rstrip().endswith(r"\\"):
            separator_counts.add(line.replace(r"\&", "").count("&"))
    assert separator_counts == {2}


def test_every_sign_of_latex_is_escaped():
    assert tex(r"a\b{c}$^~#") == r"a\textbackslash{}b\{c\}\$\textasciicircum{}\textasciitilde{}\#"


def test_markdown_has_a_column_for_each_dataset(folder):
    lines = [line for line in lines_of(folder / "suite.md") if line.startswith("|")]
    assert {line.count("|") for line in lines} == {4}
    assert any("failed" in line for line in lines)


def test_csv_has_the_flat_rows(folder):
    with (folder / "suite.csv").open() as file:
        rows = list(csv.DictReader(file))
    accuracies = [row for row in rows if row["protocol"] == row["metric"] == "accuracy"]
    assert len(accuracies) == 5
    assert accuracies[0]["letters"] == "a"


def store_labels(path, data, is_right):
    """Write labels of the problems that are right where `is_right` is true."""
    labels = []
    for problem, right in zip(data, is_right, strict=True):
        choice = problem.answer if right else 1 - problem.answer
        labels.append(f"{choice + 1}\n")
    path.write_text("".join(labels))


def test_a_suite_of_many_models_is_ranked_on_a_board_instead_of_letters(open_data, tmp_path):
    data = open_data[:40]
    rng = np.random.default_rng(0)
    models = []
    for number in range(30):
        path = tmp_path / f"m{number}.txt"
        is_right = rng.random(len(data)) < 0.5 + number / 60
        store_labels(path, data, is_right)
        family = "twins" if number in (3, 29) else None
        models.append(SuiteModel(name=f"model {number}", predictions={data.card.name: path}, family=family))
    out = tmp_path / "suite"
    run = suite(model=models, data=[data], protocol=["accuracy", "groups"], out=out)
    matrix = SuiteMatrix(run)
    board = boards_of(matrix)[0]
    first = board.families[0].rows[0]
    seconds_of_twins = [family.rows[1].name for family in board.families if family.name == "twins"]
    assert board.row_count == 30
    assert first.rank == 1
    assert "to" in first.ranks
    assert seconds_of_twins == ["model 3"]
    assert matrix.pairs == []

    page = (out / "index.html").read_text()
    assert 'class="suite"' not in page
    assert f'href="{first.link}"' in page
    assert (out / first.link).is_file()
