"""Failed pairs are shown with the words marked in which their twins differ, and with no others."""

from winokit.data.runs import Run
from winokit.drawing.plots import scorers
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem
from winokit.stages.audit.failures import find_failures


def test_a_word_that_only_one_twin_has_is_marked_there_alone():
    candidates = ("Ann", "Eve")
    shorter = Problem("Ann met Eve before ", " said that she was big.", candidates, 0, group="a")
    longer = Problem("Ann met Eve before ", " said that she was not big.", candidates, 1, group="a")
    rows = [Prediction(twin.id, "original", "m", "own", None, 0, twin.answer) for twin in (shorter, longer)]
    run = Run({}, [], rows, Dataset([shorter, longer]))
    (failure,) = find_failures(run, scorers(run), 1)
    marked_words = []
    for text in failure.texts:
        marked_words.append([part for part, is_marked in text.parts if is_marked])
    assert marked_words == [[], [" not"]]
