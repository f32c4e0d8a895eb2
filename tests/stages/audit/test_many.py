"""An audit of more scorers than a page can draw: all are ranked, the best are drawn, any can be asked for."""

import re
import shutil

import pytest

import winokit
from winokit.errors import UnknownName
from winokit.stages.audit.figures import figures_of
from winokit.stages.audit.page import MANY, SHOWN, AuditPage, judge
from winokit.stages.audit.table import lines

COUNT = MANY + 3


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Scorers that get 0, 3, 6 … problems wrong, named worst first."""
    folder = tmp_path_factory.mktemp("many")
    data = winokit.load("open")
    for wrong in range(COUNT):
        labels = [1 + ((problem.answer or 0) ^ (place < 3 * wrong)) for place, problem in enumerate(data)]
        (folder / f"wrong{wrong:02}.lst").write_text("".join(f"{label}\n" for label in labels))
    return winokit.audit("open", predictions=sorted(folder.glob("*.lst"))[::-1], out=folder / "run")


def test_scorers_are_ranked_by_accuracy_whatever_the_order_of_files(many):
    ranked = [each.scorer.name for each in judge(many)]
    assert ranked == [f"wrong{wrong:02}" for wrong in range(COUNT)]


def test_every_scorer_is_listed_and_only_the_best_are_drawn(many):
    html = many.report.read_text("utf-8")
    page = AuditPage(many)
    assert re.findall(r'<th scope="row" class="who">(\w+)</th>', html) == [each.scorer.name for each in page.judged]
    assert [scorer.name for scorer in page.scorers] == [f"wrong{wrong:02}" for wrong in range(SHOWN)]
    assert {row.model for row in page.numbers} == {scorer.name for scorer in page.scorers}
    assert all(len(line.marks) <= SHOWN for line in page.forest.lines)
    assert html.count("<article") == 0
    assert "ranking" in figures_of(page)


def test_the_terminal_has_a_line_for_a_scorer_and_not_a_column(many):
    _, table, *_ = lines(many)
    assert [str(column.header) for column in table.columns][:3] == ["", "Accuracy", "Pairs right"]
    assert table.row_count == COUNT + 1  # and what a coin gets


def test_a_report_of_chosen_models_is_one_of_few(many, tmp_path):
    folder = shutil.copytree(many.report.parent.parent, tmp_path / "run")  # other tests read the whole report
    names = [f"wrong{wrong:02}" for wrong in (COUNT - 1, COUNT - 2)]
    html = winokit.report(folder, model=names).read_text("utf-8")
    assert re.findall(r'<th scope="row" class="who">(\w+) ', html) == names
    assert html.count('class="headline"') == 2
    assert "wrong00" not in html.split("<script")[0].split('id="run"')[0]
    with pytest.raises(UnknownName, match="No model named 'wrong99'"):
        winokit.report(folder, model="wrong99")


def test_what_is_noted_of_every_file_is_said_once(tmp_path):
    head = "sentence,option1,option2,prediction\n"
    first = winokit.load("open")[0]
    row = f'"{first.text}",{first.candidates[0]},{first.candidates[1]},1\n,,,2\n'
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text(head + row)
    run = winokit.audit("open", predictions=sorted(tmp_path.glob("*.csv")))
    assert [note for note in run.notes if "names no problem" in note] == [
        f"a: {tmp_path / 'a.csv'}: line 3 names no problem; skipped (2 more like this)"
    ]
    assert sum("no prediction for" in note for note in run.notes) == 1
