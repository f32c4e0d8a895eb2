"""Write and read files of predictions in tests."""

from winokit.data.predictions.read import ReadPredictions, read_predictions
from winokit.problem import Dataset, Problem


def with_source_ids(dataset: Dataset, key: str, prefix: str) -> Dataset:
    """Problems that have their number, from 0 and after a prefix, as an id of their source."""
    problems = []
    for index, problem in enumerate(dataset):
        problems.append(problem.replace(provenance={key: f"{prefix}{index}"}))
    return dataset.with_problems(problems)


def is_right(index: int, problem: Problem) -> int:
    """1 if `choice_number` is right in this row, else 0."""
    return int(index % 4 != 0)


def choice_number(index: int, problem: Problem) -> int:
    """Number of the chosen candidate, from 1, which is wrong in every fourth row."""
    if is_right(index, problem):
        return 1 + problem.answer
    return 2 - problem.answer


def read_only_part(path, dataset, **options) -> ReadPredictions:
    """Read a file of predictions by one model, with one scoring, of one variant."""
    (part,) = read_predictions(path, dataset, **options)
    return part


def choices_of(part: ReadPredictions) -> list[int | None]:
    """Index of the candidate that each row chooses, or None if it abstains."""
    return [row.prediction for row in part.predictions]


def count_correct(part: ReadPredictions) -> int:
    """Number of rows that choose the answer."""
    return sum(row.prediction == row.answer for row in part.predictions)
