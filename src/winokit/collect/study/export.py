"""A study as files that every other verb reads, with full provenance and no personal data.

| file | what |
|---|---|
| `problems.jsonl` | the valid problems (all that were written, where the study does not validate) |
| `others.jsonl` | the rest: not valid, split, not decided yet, discarded |
| `evaluated.jsonl`, `predictions.jsonl` | what people were asked to solve, and their answers by majority |
| `votes.jsonl`, `workers.jsonl`, `ledger.csv` | every vote, worker (by code) and payment |
| `study.json` | the settings, the counts and the agreement |

What somebody wrote or said who has withdrawn is in none of them; that they were paid is in the ledger.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import winokit
from winokit.collect.study import ledger, progress, quality
from winokit.collect.study.evaluate import evaluation_dataset
from winokit.collect.study.people import people_predictions
from winokit.collect.study.provenance import Records, exported_problem, moment, vote_rows, votes_on_family
from winokit.collect.study.schema import EVALUATE, VALIDATE, WITHDRAWN, WRITE, WRITTEN, ProblemRow
from winokit.data.checks.groups import group_name
from winokit.data.formats import WriteOptions, write
from winokit.files import write_whole
from winokit.methods.scoring.scorer import write_predictions
from winokit.problem import Card, Dataset, Problem

if TYPE_CHECKING:
    from winokit.collect.study.study import Study


@dataclass
class Exported:
    """What was written, and what there was to say about it."""

    files: dict[str, int] = field(default_factory=dict)
    """Rows by file name."""
    notes: list[str] = field(default_factory=list)


def export(study: Study, folder: Path) -> Exported:
    """Write everything that is known into a folder, file by file, each whole."""
    records = Records.read(study)
    done = Exported()
    if WRITE in study.config.tasks.kinds:
        written = [row for row in records.problems if row.origin == WRITTEN]
        for name, wanted in (("problems.jsonl", True), ("others.jsonl", False)):
            rows = [row for row in written if _is_chosen(study, row) is wanted]
            _write_problems(folder / name, study, with_group_names(study, records, rows), done)
    if EVALUATE in study.config.tasks.kinds:
        _write_evaluation(study, records, folder, done)
    _write_rows(folder / "votes.jsonl", vote_rows(records), done)
    people = [asdict(worker) for worker in quality.workers(study) if worker.state != WITHDRAWN]
    _write_rows(folder / "workers.jsonl", people, done)
    _write_ledger(study, folder / "ledger.csv", done)
    about = {"winokit": winokit.__version__, "settings": _settings(study), **progress.snapshot(study).to_json()}
    write_whole(folder / "study.json", json.dumps(about, ensure_ascii=False, indent=2, default=str).encode())
    done.files["study.json"] = 1
    return done


def archive(study: Study) -> bytes:
    """The same as one zip file, for a browser to keep."""
    with TemporaryDirectory() as folder:
        export(study, Path(folder))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(Path(folder).iterdir()):
                packed.write(path, path.name)
        return out.getvalue()


def with_group_names(study: Study, records: Records, rows: Sequence[ProblemRow]) -> list[Problem]:
    """The problems of some rows, twins named as a group where both are among them."""
    problems = {row.id: exported_problem(study, records, row) for row in rows}
    groups: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        if row.group_id is not None:
            groups[row.group_id].append(row.id)
    for members in groups.values():
        if len(members) > 1:
            name = group_name(problems[member] for member in members)
            for member in members:
                problems[member] = problems[member].replace(group=name)
    return list(problems.values())


def _is_chosen(study: Study, row: ProblemRow) -> bool:
    """Whether a problem goes to `problems.jsonl`."""
    if row.withdrawn:
        return False
    return row.valid is True if VALIDATE in study.config.tasks.kinds else row.valid is not False


def _write_evaluation(study: Study, records: Records, folder: Path, done: Exported) -> None:
    """The dataset that people were asked about, with their votes, and what most of them said."""
    votes = votes_on_family(records)
    dataset = evaluation_dataset(study.folder, study.config)
    asked = [
        problem.replace(provenance={"study": study.config.title, "votes": votes.get(problem.id, [])})
        for problem in dataset
    ]
    write(dataset.with_problems(asked), folder / "evaluated.jsonl", "jsonl", WriteOptions(source_ids=True))
    done.files["evaluated.jsonl"] = len(asked)
    predictions, notes = people_predictions(study, records)
    done.notes += notes
    write_predictions(predictions, folder / "predictions.jsonl")
    done.files["predictions.jsonl"] = len(predictions)


def _write_problems(path: Path, study: Study, problems: Sequence[Problem], done: Exported) -> None:
    card = Card(re.sub(r"\W+", "-", study.config.title.casefold()).strip("-") or "study", title=study.config.title)
    write(Dataset(problems, card), path, "jsonl", WriteOptions(source_ids=True))
    done.files[path.name] = len(problems)


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]], done: Exported) -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_whole(path, "".join(lines).encode())
    done.files[path.name] = len(lines)


def _write_ledger(study: Study, path: Path, done: Exported) -> None:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["worker", "reason", "amount", "currency", "submission", "note", "at", "settled_at"])
    entries = ledger.entries(study)
    for entry in entries:
        amount, settled = f"{entry.cents / 100:.2f}", entry.settled_at and moment(entry.settled_at)
        row = [entry.code, entry.reason, amount, study.config.pay.currency, entry.submission_id, entry.note]
        table.writerow([*row, moment(entry.at), settled])
    write_whole(path, out.getvalue().encode())
    done.files[path.name] = len(entries)


def _settings(study: Study) -> dict[str, Any]:
    """The config without what is nobody's business: the database, codes and addresses of a platform."""
    return study.config.model_dump(mode="json", by_alias=True, exclude={"database", "platform", "contact"})
