"""`winokit items`: the worth of items, by the answers of many models."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from winokit.data.errata import errata_of_votes, has_wrong_label, write_errata
from winokit.data.loading import Data, Judged, Loading, load_one, paths_of
from winokit.data.predictions.board import ItemNames
from winokit.data.predictions.in_memory import Predictions, columns_of_frame, file_paths
from winokit.data.predictions.item_bank import read_bank
from winokit.drawing.wording import plural
from winokit.errors import BadInput
from winokit.files import check_own_folder, refuse_overwriting
from winokit.methods.metrics.item_bank import ItemBank
from winokit.methods.metrics.judge_canaries import CanaryTest, judge_canaries
from winokit.methods.metrics.judge_items import JudgedItems, judge_items
from winokit.problem import Dataset
from winokit.progress import tell
from winokit.results import Brief
from winokit.settings import Help, verb
from winokit.stages.items.inputs import families_of, read_answers
from winokit.stages.items.settings import ItemSettings

PAGE = "index.html"
BOARD_PAGE = "board.html"
RESULT = "items.json"
ERRATA = "errata.toml"
"""Files in the folder of a run."""


@dataclass(frozen=True)
class FamilyRow:
    """One family of models: its size, strength and shares right.

    Families are numbered from 0.
    """

    number: int
    name: str
    """The name of the strongest member."""
    members: int
    """How many models it has."""
    right: float
    """The mean share right over members."""
    best: float
    """The share right of the strongest member."""
    strength: float
    """Its share right less the average of all families, over the items it was asked."""


@dataclass(frozen=True, repr=False)
class ItemsRun(Brief):
    """The judgement of items, pairs and labels, with canaries, families and paths."""

    dataset: Dataset
    judged: JudgedItems
    canaries: CanaryTest | None
    """The test of which models give wrong labels back. None if no label is known to be wrong."""
    top: int
    """How many suspects are listed."""
    bank: ItemBank | None = None
    """The parameters of items, from which shares of pairs are bounded. None if none were given."""
    notes: tuple[str, ...] = ()
    page: Path | None = None
    queue: Path | None = None
    errata: Path | None = None
    """The files that were written. None for those that were not."""

    @cached_property
    def families(self) -> list[FamilyRow]:
        """The families of models, the strongest first.

        Families of equal strength are in the order of their numbers.
        """
        matrix = self.judged.matrix
        answer_counts = np.maximum(matrix.is_asked.sum(axis=1), 1)
        rights = matrix.right.sum(axis=1) / answer_counts
        strengths = self.judged.shares.strengths
        rows = []
        for number in range(self.judged.family_count):
            members = np.flatnonzero(self.judged.families == number)
            best = int(members[rights[members].argmax()])
            row = FamilyRow(
                number=number,
                name=matrix.scorers[best].model,
                members=len(members),
                right=float(rights[members].mean()),
                best=float(rights[best]),
                strength=float(strengths[number]),
            )
            rows.append(row)
        return sorted(rows, key=lambda row: (-row.strength, row.number))


@verb
def items(
    data: Data,
    predictions: Annotated[
        Predictions,
        Help(
            "Answers of many models: boards (a row per model, a column per item), or any predictions that audit "
            "reads; a folder is all of its files; repeatable.",
            metavar="FILE",
            typed=list[str],
            option=True,
        ),
    ] = (),
    *,
    settings: ItemSettings = ItemSettings(),
    loading: Judged = Loading(),
    queue: Annotated[
        str | Path | None,
        Help("Write the suspects as a dataset for people (collect init --judge, or --evaluate).", "FILE"),
    ] = None,
    votes: Annotated[
        str | Path | None,
        Help("evaluated.jsonl or labels.jsonl of collect export: write what people say as errata.toml.", "FILE"),
    ] = None,
    out: Annotated[str | Path | None, Help("The folder of the page.", otherwise=Path("items"))] = None,
) -> ItemsRun:
    """Find out what items are worth: wrong labels, canaries, families.

    Items are judged by the answers of many models, and families of models are the witnesses. A suspect is a problem, or
    a pair of twins, whose label is to be doubted; it is never changed. With --errata, labels that people found wrong
    are canaries: who gives them back may have seen the test.

    Parameters
    ----------
    predictions
        Boards and files of predictions, folders of them, or predictions in memory.
    queue
        Where the suspects are written, in the order in which a person should look. Reasons are in their labels. No
        file is written if there are no suspects, and a note says so.
    out
        The folder of the page and of items.json; None writes none.
    """
    if queue is not None:
        refuse_overwriting(Path(queue), [*paths_of(data), *map(Path, file_paths(predictions))])
    dataset = loading.one(data)
    answers_read = read_answers(dataset, columns_of_frame(predictions, data))
    families, family_notes = families_of(answers_read, settings.families)
    judged = judge_items(answers_read.answers, families, answers_read.languages)
    wrong_rows = [row for row, problem in enumerate(judged.asked.problems) if has_wrong_label(problem)]
    canaries = judge_canaries(judged.matrix, families, wrong_rows) if wrong_rows else None
    notes = [*answers_read.notes, *family_notes, *_describe_witnesses(judged)]
    bank = None if settings.bank is None else read_bank(Path(settings.bank), ItemNames(dataset))
    notes += _compare_with_labels(judged) + _compare_with_bank(judged, bank)
    has_queue = queue is not None and bool(judged.suspects)
    if queue is not None and not has_queue:
        notes.append(f"{queue}: not written, since there are no suspects for people to judge")
    run = ItemsRun(dataset, judged, canaries, settings.top, bank, tuple(notes))
    tell(notes)
    if votes is not None:
        run = replace(run, errata=_write_votes(votes, out))
    if queue is not None and has_queue:
        from winokit.stages.items.records import write_queue

        run = replace(run, queue=write_queue(run, Path(queue)))
    if out is not None:
        from winokit.stages.items.page import write_items

        folder = Path(out)
        ours = (folder / PAGE).is_file() and b" winokit items</title>" in (folder / PAGE).read_bytes()
        check_own_folder(folder, [PAGE, RESULT, BOARD_PAGE], ours=ours, of="a run of items")
        run = replace(run, page=write_items(run, folder))
    return run


def _describe_witnesses(judged: JudgedItems) -> list[str]:
    """Note that there are too few families to doubt a label.

    Empty if there are four or more.
    """
    count = judged.family_count
    if count < 4:
        families = plural(count, "family", "families")
        return [f"{families}: an item-rest correlation needs four, and a label is hardly doubted by fewer"]
    return []


def _compare_with_labels(judged: JudgedItems) -> list[str]:
    """Note that answers fit the labels no better than a coin.

    Empty if they fit better: the whole interval of the share right is above chance.
    """
    right = judged.right
    if right.low > judged.chance:
        return []
    return [
        f"{100 * right.value:.0f} % right, no better than a coin: expected items named by their ids, or by their rows "
        "in the dataset counted from 0; a leaderboard's order may be another"
    ]


def _compare_with_bank(judged: JudgedItems, bank: ItemBank | None) -> list[str]:
    """Note on the correlation of the answers with the bank.

    Shares right are compared with those that follow from the bank's item parameters. Empty without a bank, or if there
    is no correlation to compute.
    """
    if bank is None:
        return []
    rights = {item.row: item.right.value for item in judged.items}
    fit = bank.correlation_with(rights)
    if fit is None:
        return []
    shared_rows = rights.keys() & set(bank.rows)
    doubt = "" if fit > 0.5 else ": one of the two is about other problems, since a wrong join gives about 0"
    return [f"bank and answers: shares right correlate {fit:.2f} on {plural(len(shared_rows), 'item')}{doubt}"]


def _write_votes(votes: str | Path, out: str | Path | None) -> Path:
    """Write errata.toml from a file of people's votes.

    Returns its path. It goes into the folder `out`, or into the current one if that is None. A note counts the errata
    on the terminal. Raises BadInput if there are no votes.
    """
    dataset = load_one(votes)
    errata, judged_count = errata_of_votes(dataset, f"people of {dataset.card.name}")
    if not judged_count:
        raise BadInput(f"{votes}: no votes in it; expected evaluated.jsonl or labels.jsonl of `winokit collect export`")
    path = Path(out or ".") / ERRATA
    write_errata(errata, path)
    tell([f"{path}: {len(errata):,} errata from the votes on {judged_count:,} problems"])
    return path
