"""Write a study as files that every other verb reads, without personal data.

| file | what |
|---|---|
| `problems.jsonl` | the valid problems (all that were written, where the study does not validate) |
| `others.jsonl` | the rest: not valid, split, not decided yet, discarded |
| `evaluated.jsonl`, `predictions.jsonl` | what people were asked to solve, and their answers by majority |
| `labels.jsonl` | what people were asked to judge, with what they said as labels: `--labels` joins them to the data |
| `votes.jsonl`, `workers.jsonl`, `ledger.csv` | every vote, worker (by code) and payment |
| `remarks.jsonl` | what workers said is wrong with an item |
| `consents.jsonl`, `consent/` | who agreed to which text and when, and these texts |
| `settings.jsonl` | the settings of each time, to which problems refer by number |
| `study.json` | the settings, the counts and the agreement |

What somebody wrote or said who has withdrawn is in none of them; that they were paid is in the ledger. Workers appear
by their code alone; who they are on a platform stays in the database. People's answers are predictions, so that
`winokit audit --predictions` runs every protocol on them: Sakaguchi et al. (2019) take human performance from the
majority of three workers for each question.
"""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from shutil import make_archive
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import selectinload

import winokit
from winokit import Card, Dataset, Problem, write
from winokit.extend import (
    Prediction,
    WriteOptions,
    decide,
    group_name,
    grouped,
    owner_only,
    result_bytes,
    write_predictions,
    write_whole,
)
from winokit_collect.study import ledger, progress, quality, schema
from winokit_collect.study.listings import IN_DETAIL
from winokit_collect.study.new_tasks import imported_dataset
from winokit_collect.study.schema import (
    Consent,
    ConsentText,
    ProblemRow,
    Remark,
    Submission,
    Vote,
    Worker,
    to_problem,
)
from winokit_collect.study.settings import rule_of, versions_of
from winokit_collect.study.study import Study
from winokit_collect.study.validity import UNANIMOUS_YES, agreement_of, find_decisive, judge, judgements
from winokit_collect.study.verdicts import Rule, Verdicts, complete_votes, decide_under, deciding_votes
from winokit_collect.study.voting import SHOWN_AS

VALID = "valid"
LEFT_OUT = {"database", "platform", "contact", "server"}
"""Settings that are not exported."""


@dataclass
class Exported:
    """Exported files with their numbers of rows, and notes."""

    files: dict[str, int] = field(default_factory=dict)
    """Rows by file name."""
    notes: list[str] = field(default_factory=list)


@owner_only()
def export(study: Study, folder: Path, rule: Rule | None = None) -> Exported:
    """Write all data of a study into a folder.

    Each file is written completely or not at all. With a `rule`, the validity of every problem is decided again by that
    rule. Without one, it is as decided by the rule in force when the problem was made.
    """
    done = Exported()
    rows, kept_rules = _read_problems(study)
    verdicts = decide_under(rule, rows, kept_rules)
    if schema.WRITE in study.config.tasks.kinds:
        _write_problems(study, rows, verdicts, folder, done)
    if schema.EVALUATE in study.config.tasks.kinds:
        _write_evaluation(study, rows, folder, done)
    if study.config.judge.data:
        imported = [row for row in rows if row.origin == schema.IMPORTED]
        _write_labels(study, imported, verdicts, folder, done)
    _write_rows(folder / "votes.jsonl", _list_votes(rows), done)
    _write_rows(folder / "remarks.jsonl", _list_remarks(rows), done)
    people = [vars(worker) for worker in quality.workers(study) if worker.state != schema.WITHDRAWN]
    _write_rows(folder / "workers.jsonl", people, done)
    _write_ledger(study, folder / "ledger.csv", done)
    _write_consents(study, folder, done)
    _write_settings(study, folder / "settings.jsonl", done)
    _write_summary(study, folder / "study.json", rule, done)
    return done


def _read_problems(study: Study) -> tuple[Sequence[ProblemRow], dict[int | None, str]]:
    """Read all problems, except those of authors who have withdrawn.

    Also returns the rule of validity by number of the settings version.
    """
    has_withdrawn = ProblemRow.author_id.in_(select(Worker.id).where(Worker.state == schema.WITHDRAWN))
    is_exported = or_(ProblemRow.author_id.is_(None), ~has_withdrawn)
    query = select(ProblemRow).where(is_exported).order_by(ProblemRow.id)
    with study.store.read(steady=True) as session:
        rows = session.scalars(query.options(*IN_DETAIL, selectinload(ProblemRow.tasks))).all()
        numbers = {None, *(row.settings_id for row in rows)}
        kept_rules = {number: rule_of(session, study, number) for number in numbers}
    return rows, kept_rules


def _write_problems(study: Study, rows: Sequence[ProblemRow], verdicts: Verdicts, folder: Path, done: Exported) -> None:
    """Write the problems that workers wrote, valid ones and others apart.

    Without votes on validity, all count as valid that no requester has turned down. Withdrawn ones are among the
    others.
    """
    card_name = re.sub(r"\W+", "-", study.config.title.casefold()).strip("-") or "study"
    card = Card(card_name, title=study.config.title, language=study.config.language)
    chosen = []
    others = []
    accepted_verdicts = (True,) if schema.VALIDATE in study.config.tasks.kinds else (True, None)
    written = [row for row in rows if row.origin == schema.WRITTEN]
    for row in written:
        is_accepted = verdicts.find_valid(row) in accepted_verdicts
        if is_accepted and not row.withdrawn:
            chosen.append(row)
        else:
            others.append(row)
    exported: list[Problem] = []
    for name, file_rows in (("problems.jsonl", chosen), ("others.jsonl", others)):
        problems = with_group_names(study, file_rows, verdicts)
        exported += problems
        write(Dataset(problems, card), folder / name, "jsonl", WriteOptions(source_ids=True))
        done.files[name] = len(problems)
    _add_blocked_note(written, exported, done)
    _add_rule_notes(written, verdicts, done)


def _list_votes(rows: Sequence[ProblemRow]) -> Iterator[dict[str, Any]]:
    """Yield every vote as exported, with its problem's id."""
    for row in rows:
        for vote in row.votes:
            yield {"problem": row.family, "variant": row.variant, **vote_row(vote)}


def _list_remarks(rows: Sequence[ProblemRow]) -> Iterator[dict[str, Any]]:
    """Yield every remark as exported, with its problem's id."""
    for row in rows:
        for remark in row.remarks:
            yield {"problem": row.family, "variant": row.variant, **remark_row(remark)}


def _write_summary(study: Study, path: Path, rule: Rule | None, done: Exported) -> None:
    """Write the study's settings, counts and agreement as JSON."""
    # The database and the codes and addresses of a platform are private.
    settings = study.config.model_dump(mode="json", by_alias=True, exclude=LEFT_OUT)
    counts = progress.snapshot(study).to_json()
    summary = {"winokit": winokit.__version__, "rule": rule, "settings": settings, **counts}
    write_whole(path, result_bytes(summary, default=str))
    done.files[path.name] = 1


def _write_consents(study: Study, folder: Path, done: Exported) -> None:
    """Write which worker agreed to which text and when.

    Each text is a file of its own, named after its hash. A worker who agreed before texts were stored has null instead
    of a hash.
    """
    is_present = Worker.state != schema.WITHDRAWN
    agreed = select(Consent).join(Worker, Worker.id == Consent.worker_id).where(is_present)
    agreed = agreed.options(selectinload(Consent.worker)).order_by(Consent.id)
    unknown = select(Worker).where(Worker.consented_at.is_not(None), Worker.consent_sha256.is_(None))
    unknown = unknown.where(is_present).order_by(Worker.id)
    kept_texts = select(ConsentText).order_by(ConsentText.at, ConsentText.sha256)
    with study.store.read(steady=True) as session:
        consents = session.scalars(agreed).all()
        before = session.scalars(unknown).all()
        texts = session.scalars(kept_texts).all()
    rows: list[dict[str, Any]] = []
    for worker in before:  # They agreed before texts were kept.
        at = worker.consented_at and moment(worker.consented_at)
        rows.append({"worker": worker.code, "sha256": None, "text": None, "at": at})
    for consent in consents:
        code = consent.worker.code
        text_name = f"consent/{consent.sha256}.md"
        rows.append({"worker": code, "sha256": consent.sha256, "text": text_name, "at": moment(consent.at)})
    _write_rows(folder / "consents.jsonl", rows, done)
    for text in texts:
        write_whole(folder / f"consent/{text.sha256}.md", text.text.encode())


def _write_settings(study: Study, path: Path, done: Exported) -> None:
    """Write every version of the settings, with its number and its changes.

    Problems refer to the version by that number. Private settings are left out.
    """
    rows = []
    for version in versions_of(study):
        settings = {}
        for name, value in version.settings.items():
            section = name.split(".")[0]
            if section not in LEFT_OUT:
                settings[name] = value
        changes = {name: change for name, change in version.changes.items() if name in settings}
        rows.append({"settings": version.id, "at": moment(version.at), "changes": changes, "values": settings})
    _write_rows(path, rows, done)


def archive(study: Study) -> bytes:
    """Return the whole export as the bytes of a zip file."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "export"
        export(study, folder)
        archive_path = make_archive(str(folder), "zip", str(folder))
        return Path(archive_path).read_bytes()


def with_group_names(study: Study, rows: Sequence[ProblemRow], verdicts: Verdicts) -> list[Problem]:
    """Export problems, with a group name for each complete pair.

    A problem without its twin has no group. Both must be among `rows`.
    """
    problems = {row.id: exported_problem(study, row, verdicts) for row in rows}
    groups = grouped((row.group_id, row.id) for row in rows)
    for group_id, members in groups.items():
        if group_id is None or len(members) == 1:
            continue
        name = group_name(problems[member] for member in members)
        for member in members:
            problems[member] = problems[member].replace(group=name)
    return list(problems.values())


def _write_evaluation(study: Study, rows: Sequence[ProblemRow], folder: Path, done: Exported) -> None:
    """Write the dataset that people solved, and their majority answers as predictions.

    Votes are listed under the id of the original problem. Problems with missing votes have no prediction, and a note
    counts them.
    """
    votes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    predictions = []
    waiting = 0
    for row in rows:
        for vote in row.votes:
            if vote.kind == schema.EVALUATE and not vote.gold:
                votes[row.family].append({"variant": row.variant, **vote_row(vote)})
        if row.origin != schema.IMPORTED:
            continue
        complete = complete_votes(row, schema.EVALUATE)
        if complete:
            predictions.append(majority(row, complete, study.config.tasks.votes))
        else:
            waiting += 1
    if waiting:
        done.notes.append(f"{waiting:,} problems are left out: they do not have all their votes yet")
    dataset = imported_dataset(study.folder, study.config)
    problems = []
    for problem in dataset:
        provenance = {"study": study.config.title, "votes": votes.get(problem.id, [])}
        problems.append(problem.replace(provenance=provenance))
    evaluated = dataset.with_problems(problems)
    write(evaluated, folder / "evaluated.jsonl", "jsonl", WriteOptions(source_ids=True))
    write_predictions(predictions, folder / "predictions.jsonl")
    done.files |= {"evaluated.jsonl": len(problems), "predictions.jsonl": len(predictions)}


def _write_labels(study: Study, rows: Sequence[ProblemRow], verdicts: Verdicts, folder: Path, done: Exported) -> None:
    """Write the dataset that people judged, with their judgements as labels.

    The dataset's own labels for the same questions are kept as `reference` in the provenance, and notes say how many
    agree.
    """
    dataset = imported_dataset(study.folder, study.config)
    groups = {problem.id: problem.group for problem in dataset}
    problems = []
    for row in rows:
        problem = exported_problem(study, row, verdicts)
        problems.append(problem.replace(group=groups.get(row.public_id)))
    labelled = dataset.with_problems(problems)
    write(labelled, folder / "labels.jsonl", "jsonl", WriteOptions(source_ids=True))
    done.files["labels.jsonl"] = len(problems)
    for kind in study.config.tasks.kinds:
        name = _get_label_name(kind)
        lacking = sum(name not in problem.labels for problem in problems)
        if lacking:
            done.notes.append(f"{name}: {lacking:,} problems have no label: missing votes, or no fitting question")
        compared = 0
        same = 0
        for problem in problems:
            reference = problem.provenance.get("reference", {})
            if name in problem.labels and name in reference:
                compared += 1
                same += problem.labels[name] == reference[name]
        if compared:
            done.notes.append(f"{name}: {same:,} of {compared:,} labels agree with those already in the data")


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]], done: Exported) -> None:
    """Write rows as JSON lines, and count them in `done`."""
    lines = [f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows]
    text = "".join(lines)
    write_whole(path, text.encode())
    done.files[path.name] = len(lines)


def _write_ledger(study: Study, path: Path, done: Exported) -> None:
    """Write every line of the ledger as CSV."""
    entries = ledger.entries(study)
    table: list[Sequence[object]] = [
        ("worker", "reason", "amount", "currency", "submission", "note", "at", "settled_at")
    ]
    for entry in entries:
        amount = f"{entry.cents / 100:.2f}"
        settled = entry.settled_at and moment(entry.settled_at)
        row = [entry.worker.code, entry.reason, amount, study.config.pay.currency, entry.submission_id, entry.note]
        table.append([*row, moment(entry.at), settled])
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(table)
    write_whole(path, text.getvalue().encode())
    done.files[path.name] = len(entries)


def exported_problem(study: Study, row: ProblemRow, verdicts: Verdicts) -> Problem:
    """Make a stored problem ready for export, with labels and provenance.

    An imported problem's own labels for the questions that were asked are moved to `reference` in the provenance.
    """
    problem = to_problem(row, study.config.language)
    provenance: dict[str, Any] = {"study": study.config.title}
    if row.author is not None and row.submission is not None:
        provenance |= _describe_submission(row.author, row.submission)
    judged = _collect_labels(study, row, problem, provenance)
    labels = dict(problem.labels)
    if row.origin == schema.IMPORTED:  # The data's own labels for these questions are not people's judgements.
        label_names = {_get_label_name(kind) for kind in study.config.tasks.kinds}
        provenance["reference"] = {name: value for name, value in problem.labels.items() if name in label_names}
        valid = verdicts.find_valid(row)
        if valid is not None:
            judged[VALID] = valid
        labels = {name: value for name, value in problem.labels.items() if name not in label_names}
    labels |= judged
    provenance |= _describe_verdict(row, verdicts)
    if row.settings_id is not None:
        provenance["settings"] = row.settings_id
    provenance["votes"] = [vote_row(vote) for vote in row.votes]
    if row.remarks:
        provenance["remarks"] = [remark_row(remark) for remark in row.remarks]
    return problem.replace(labels=labels, provenance=provenance)


def _describe_submission(author: Worker, submission: Submission) -> dict[str, Any]:
    """Provenance of a written problem: author, time and earlier versions."""
    provenance: dict[str, Any] = {
        "author": author.code,
        "written_at": moment(submission.submitted_at),
        "seconds": round(submission.seconds, 1),
        "pasted": submission.pasted,
    }
    if author.pilot:
        provenance["pilot"] = True
    if submission.adversary is not None:
        provenance["adversary"] = submission.adversary
    if submission.fields.get("meant"):
        rules = submission.fields["meant"].split(",")
        reason = submission.fields.get("meant_why", "")
        provenance["warnings"] = {"rules": rules, "meant": reason}
    if submission.history:
        provenance["earlier"] = submission.history
    return provenance


def _get_label_name(kind: str) -> str:
    """Name of the label that votes of a kind of task decide."""
    return VALID if kind == schema.VALIDATE else kind


def _collect_labels(study: Study, row: ProblemRow, problem: Problem, provenance: dict[str, Any]) -> dict[str, bool]:
    """Labels `switchable` and `associative` of a problem, after Trichelair et al. (2018).

    A label is true if all votes say yes, and missing as long as votes are missing. The agreement is added to
    `provenance`.
    """
    labels: dict[str, bool] = {}
    for kind, shown in SHOWN_AS.items():
        if kind not in study.config.tasks.kinds:
            continue
        votes = complete_votes(row, kind)
        if votes:
            agreement = agreement_of([vote.choice == 1 for vote in votes])
            labels[kind] = agreement == UNANIMOUS_YES
            provenance[kind] = agreement
        elif shown(problem) is None:
            provenance[kind] = "not asked: the question does not fit"
            if kind == schema.SWITCHABLE and row.origin == schema.WRITTEN:
                labels[kind] = False  # candidates that cannot change places are not switchable
    return labels


def _describe_verdict(row: ProblemRow, verdicts: Verdicts) -> dict[str, Any]:
    """Provenance of a verdict on validity.

    It has the verdict, its rule and the workers whose single vote decides it.
    """
    decided: dict[str, Any] = {"withdrawn": True} if row.withdrawn else {}
    valid = verdicts.find_valid(row)
    if valid is not None:
        decided["valid"] = valid
    votes = deciding_votes(complete_votes(row, schema.VALIDATE))
    if votes and row.answer is not None:
        setting = verdicts.name_setting(row)
        judged = judgements(votes, row.answer)
        verdict = judge(judged, setting)
        decided |= {"agreement": verdict.agreement, "rule": verdicts.name_rule(row)}
        decisive_indexes = find_decisive(judged, setting)
        decisive = [votes[index].worker.code for index in decisive_indexes]
        if decisive:
            decided["hangs_on"] = decisive
        if verdict.failed:
            decided["failed"] = list(verdict.failed)
    if row.decisions and row.decisions[0].valid is not None:
        decided["decided_by"] = "requester"
    return decided


def _add_rule_notes(rows: Sequence[ProblemRow], verdicts: Verdicts, done: Exported) -> None:
    """Add notes on the rules of validity that were used.

    There is a note if problems were decided by several rules, or if the rule of this export changes verdicts.
    """
    rules = sorted({verdicts.kept_rules[row.settings_id] for row in rows})
    if verdicts.rule is None and len(rules) > 1:
        done.notes.append(f"problems are valid by the rules they were made under: {', '.join(rules)}")
    if verdicts.rule is not None:
        changed = sum(verdicts.find_valid(row) != row.valid for row in rows)
        done.notes.append(f"{changed:,} of {len(rows):,} verdicts are other by the rule {verdicts.rule}")


def _add_blocked_note(rows: Sequence[ProblemRow], problems: Sequence[Problem], done: Exported) -> None:
    """Add a note on verdicts that a blocked worker's vote decides."""
    blocked = set()
    for row in rows:
        blocked |= {vote.worker.code for vote in row.votes if vote.worker.state == schema.BLOCKED}
    count = 0
    for problem in problems:
        decisive = problem.provenance.get("hangs_on", ())
        if not blocked.isdisjoint(decisive):
            count += 1
    if count:
        done.notes.append(f"{count:,} verdicts hang on the vote of a blocked worker; discard their votes to ask others")


def vote_row(vote: Vote) -> dict[str, Any]:
    """A vote as an exported row.

    Questions that this kind of task does not ask are left out.
    """
    choice = bool(vote.choice) if vote.kind in SHOWN_AS else vote.choice
    exported: dict[str, Any] = {"worker": vote.worker.code, "kind": vote.kind, "choice": choice}
    answers = {"equally_plausible": vote.equally_plausible, "local_decides": vote.local_decides}
    exported |= {name: value for name, value in answers.items() if value is not None}
    exported |= {"at": moment(vote.at), "seconds": round(vote.submission.seconds, 1), "counted": vote.counted}
    if vote.worker.pilot:
        exported["pilot"] = True
    if vote.worker.state == schema.BLOCKED:
        exported["blocked"] = True
    if vote.doubted:
        exported["doubted"] = True
    if vote.gold:
        exported |= {"gold": True, "right": vote.is_right}
    if vote.submission.history:
        history = vote.submission.history
        exported["earlier"] = [{**past["fields"], "until": past["until"]} for past in history]
    return exported


def remark_row(remark: Remark) -> dict[str, Any]:
    """A worker's remark on a problem as an exported row."""
    columns = {name: getattr(remark, name) for name in ("kind", "reason", "text")}
    return {"worker": remark.worker.code, **columns, "at": moment(remark.at)}


def moment(at: datetime) -> str:
    """Format a moment as ISO 8601, to the second."""
    return at.isoformat(timespec="seconds")


def majority(row: ProblemRow, votes: list[Vote], asked: int) -> Prediction:
    """The majority choice of votes as a prediction.

    Its scores are shares of the votes for a candidate. `asked` is the number of votes that were asked for, and only
    named in the prediction. A tie is an abstention, and so are votes that all say "cannot tell".
    """
    cast = [vote.choice for vote in votes if vote.choice is not None]
    identity = (row.family, row.variant, "people", f"majority-of-{asked}")
    if not cast:
        return Prediction(*identity, None, None, row.answer, "nobody could tell")
    shares = tuple(cast.count(index) / len(cast) for index in range(len(row.candidates)))
    choice, why_not = decide(shares)
    return Prediction(*identity, shares, choice, row.answer, why_not)
