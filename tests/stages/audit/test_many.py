"""An audit of more scorers than a page can draw ranks all, draws the best and shows any that is asked for."""

import re
import shutil

import pytest

import winokit
from winokit.errors import UnknownName
from winokit.stages.audit.figures import figures_of
from winokit.stages.audit.page import MANY, SHOWN, AuditPage, judge
from winokit.stages.audit.table import lines

SCORER_COUNT = MANY + 3


def name_scorer(number: int) -> str:
    return f"wrong{number:02}"


def write_labels(path, data, wrong_count):
    """Write labels of which the first ones are wrong."""
    labels = []
    for index, problem in enumerate(data):
        is_wrong = index < wrong_count
        choice = 1 - problem.answer if is_wrong else problem.answer
        labels.append(f"{choice + 1}\n")
    path.write_text("".join(labels))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Audit of scorers that get 0, 3, 6 … problems wrong, named worst first."""
    folder = tmp_path_factory.mktemp("many")
    data = winokit.load("open")
    for number in range(SCORER_COUNT):
        write_labels(folder / f"{name_scorer(number)}.lst", data, 3 * number)
    worst_first = sorted(folder.glob("*.lst"), reverse=True)
    return winokit.audit("open", predictions=worst_first, out=folder / "run")


def test_scorers_are_ranked_by_accuracy_whatever_the_order_of_files(many):
    names = [judged_scorer.scorer.name for judged_scorer in judge(many)]
    assert names == [name_scorer(number) for number in range(SCORER_COUNT)]


def test_every_scorer_is_listed_and_only_the_best_are_drawn(many):
    html = many.report.read_text("utf-8")
    page = AuditPage(many)
    names_in_html = re.findall(r'<th scope="row" class="who">(\w+)</th>', html)
    names_drawn = [scorer.name for scorer in page.scorers]
    assert names_in_html == [judged_scorer.scorer.name for judged_scorer in page.judged]
    assert names_drawn == [name_scorer(number) for number in range(SHOWN)]
    assert {row.model for row in page.numbers} == set(names_drawn)
    assert all(len(line.marks) <= SHOWN for line in page.forest.lines)
    assert html.count("<article") == 0
    assert "ranking" in figures_of(page)


def test_the_terminal_has_a_line_for_a_scorer_and_not_a_column(many):
    _, table, *_ = lines(many)
    headers = [str(column.header) for column in table.columns]
    assert headers[:3] == ["", "Accuracy", "Pairs right"]
    assert table.row_count == SCORER_COUNT + 1  # and what a coin gets


def test_a_report_of_chosen_models_is_one_of_few(many, tmp_path):
    folder = shutil.copytree(many.report.parent.parent, tmp_path / "run")  # other tests read the whole report
    names = [name_scorer(SCORER_COUNT - 1), name_scorer(SCORER_COUNT - 2)]
    html = winokit.report(folder, of=names).read_text("utf-8")
    assert re.findall(r'<th scope="row" class="who">(\w+) ', html) == names
    assert html.count('class="headline"') == 2
    before_settings = html.split("<script")[0].split('id="run"')[0]
    assert "wrong00" not in before_settings
    with pytest.raises(UnknownName, match="No model named 'wrong99'"):
        winokit.report(folder, of="wrong99")


def test_what_is_noted_of_every_file_is_said_once(tmp_path):
    problem = winokit.load("open")[0]
    first, second = problem.candidates
    header = "sentence,option1,option2,prediction\n"
    rows = f'"{problem.text}",{first},{second},1\n,,,2\n'
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text(header + rows)
    run = winokit.audit("open", predictions=sorted(tmp_path.glob("*.csv")))
    notes_of_lines = [note for note in run.notes if "names no problem" in note]
    notes_of_missing = [note for note in run.notes if "no prediction for" in note]
    assert notes_of_lines == [f"a: {tmp_path / 'a.csv'}: line 3 names no problem; skipped (2 more like this)"]
    assert len(notes_of_missing) == 1
