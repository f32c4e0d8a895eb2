"""The boards of a large suite: on each dataset, all entrants ranked.

Families are folded: their best member shows, and the others when somebody opens it. A row opens a model's audit.
"""

from collections.abc import Sequence
from urllib.parse import quote

import numpy as np

from winokit.answers import Answers, AskedProblems, Scorer, choice_numbers
from winokit.drawing.board import DrawnBoard, drawn_board
from winokit.methods.metrics.families import families_by_agreement
from winokit.methods.metrics.judge_board import rank_scorers
from winokit.methods.metrics.judge_items import AnswerMatrix
from winokit.methods.scoring.majority import refuse_samples
from winokit.stages.items.board import board_row
from winokit.stages.suite.matrix import SuiteCell, SuiteMatrix


def boards_of(matrix: SuiteMatrix) -> list[DrawnBoard]:
    """Make a board for each dataset of a large suite.

    A suite is large from 27 entrants on. Datasets without results have none. Empty for a small suite, whose page
    compares every two models.
    """
    if not matrix.is_large:
        return []
    boards = []
    for dataset in matrix.datasets:
        cells = [cell for cell in matrix.cells.values() if cell.dataset == dataset and cell.run is not None]
        if cells:
            boards.append(_draw_board(dataset, cells))
    return boards


def _draw_board(dataset: str, cells: Sequence[SuiteCell]) -> DrawnBoard:
    """Make the board of a dataset from cells that have results.

    Models without a stated family get one by the agreement of their answers.
    """
    answers = AnswerMatrix.of(_collect_answers(cells))
    family_numbers = families_by_agreement(answers.right, answers.is_asked)
    rows = []
    for ranked in rank_scorers(answers):
        cell = cells[ranked.scorer]
        assert cell.run is not None
        family = cell.entrant.model.family or str(family_numbers[ranked.scorer])
        switched = cell.run.find_or_none("switching", "switchable", "switched_accuracy")
        link = None if cell.folder_link is None else f"{quote(cell.folder_link)}/report/index.html"
        value = None if switched is None else switched.value
        rows.append(board_row(ranked, cell.entrant.name, family, value, link))
    return drawn_board(dataset, rows)


def _collect_answers(cells: Sequence[SuiteCell]) -> Answers:
    """Collect the answers of all cells, a scorer per cell.

    The cells are of one dataset. Raises BadInput if a problem has several samples.
    """
    asked_problems = AskedProblems.of(cells[0].data.asked)
    row_of = {name: row for row, name in enumerate(asked_problems.ids)}
    problem_index: list[int] = []
    choices: list[int | None] = []
    counts = []
    for cell in cells:
        assert cell.run is not None
        predictions = [row for row in cell.run.predictions if row.id in row_of]
        refuse_samples(predictions, "suite")
        problem_index += [row_of[row.id] for row in predictions]
        choices += [row.prediction for row in predictions]
        counts.append(len(predictions))
    scorers = tuple(Scorer(cell.entrant.name) for cell in cells)
    scorer_index = np.repeat(np.arange(len(cells)), counts)
    return Answers(
        asked_problems, np.array(problem_index, np.int64), choice_numbers(choices), scorers, scorer_index=scorer_index
    )
