"""A study as files that every other verb reads, with full provenance and no personal data.

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
from collections.abc import Iterable, Mapping, Sequence
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
from winokit_collect.study.schema import Consent, ConsentText, ProblemRow, Remark, Vote, Worker, to_problem
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
    """What was written, and what there was to say about it."""

    files: dict[str, int] = field(default_factory=dict)
    """Rows by file name."""
    notes: list[str] = field(default_factory=list)


@owner_only()
def export(study: Study, folder: Path, rule: Rule | None = None) -> Exported:
    """Write everything that is known into a folder, file by file, each whole.

    A `rule` decides again about every problem; without one, each is valid by the rule it was made under.
    """
    done = Exported()
    gone = ProblemRow.author_id.in_(select(Worker.id).where(Worker.state == schema.WITHDRAWN))
    there = select(ProblemRow).where(or_(ProblemRow.author_id.is_(None), ~gone)).order_by(ProblemRow.id)
    with study.store.read(steady=True) as session:
        rows = session.scalars(there.options(*IN_DETAIL, selectinload(ProblemRow.tasks))).all()
        kept_rules = {number: rule_of(session, study, number) for number in {None, *(row.settings_id for row in rows)}}
    verdicts = decide_under(rule, rows, kept_rules)
    if schema.WRITE in study.config.tasks.kinds:
        name = re.sub(r"\W+", "-", study.config.title.casefold()).strip("-") or "study"
        card = Card(name, title=study.config.title, language=study.config.language)
        written = [row for row in rows if row.origin == schema.WRITTEN]
        good = (True,) if schema.VALIDATE in study.config.tasks.kinds else (True, None)
        is_chosen = {row.id: verdicts.find_valid(row) in good and not row.withdrawn for row in written}
        exported: list[Problem] = []
        for name, wanted in (("problems.jsonl", True), ("others.jsonl", False)):
            problems = with_group_names(study, [row for row in written if is_chosen[row.id] is wanted], verdicts)
            exported += problems
            write(Dataset(problems, card), folder / name, "jsonl", WriteOptions(source_ids=True))
            done.files[name] = len(problems)
        _count_blocked(written, exported, done)
        _count_rules(written, verdicts, done)
    if schema.EVALUATE in study.config.tasks.kinds:
        _write_evaluation(study, rows, folder, done)
    if study.config.judge.data:
        _write_labels(study, [row for row in rows if row.origin == schema.IMPORTED], verdicts, folder, done)
    votes = ({"problem": row.family, "variant": row.variant, **vote_row(vote)} for row in rows for vote in row.votes)
    _write_rows(folder / "votes.jsonl", votes, done)
    remarks = (
        {"problem": row.family, "variant": row.variant, **remark_row(remark)} for row in rows for remark in row.remarks
    )
    _write_rows(folder / "remarks.jsonl", remarks, done)
    people = [vars(worker) for worker in quality.workers(study) if worker.state != schema.WITHDRAWN]
    _write_rows(folder / "workers.jsonl", people, done)
    _write_ledger(study, folder / "ledger.csv", done)
    _write_consents(study, folder, done)
    _write_settings(study, folder / "settings.jsonl", done)
    # Without what is nobody's business: the database, codes and addresses of a platform.
    settings = study.config.model_dump(mode="json", by_alias=True, exclude=LEFT_OUT)
    about = {"winokit": winokit.__version__, "rule": rule, "settings": settings, **progress.snapshot(study).to_json()}
    write_whole(folder / "study.json", result_bytes(about, default=str))
    done.files["study.json"] = 1
    return done


def _write_consents(study: Study, folder: Path, done: Exported) -> None:
    """Write who agreed to which text and when, and each of these texts by its hash."""
    agreed = select(Consent).join(Worker, Worker.id == Consent.worker_id).where(Worker.state != schema.WITHDRAWN)
    unknown = select(Worker).where(Worker.consented_at.is_not(None), Worker.consent_sha256.is_(None))
    with study.store.read(steady=True) as session:
        consents = session.scalars(agreed.options(selectinload(Consent.worker)).order_by(Consent.id)).all()
        before = session.scalars(unknown.where(Worker.state != schema.WITHDRAWN).order_by(Worker.id)).all()
        texts = session.scalars(select(ConsentText).order_by(ConsentText.at, ConsentText.sha256)).all()
    rows: list[dict[str, Any]] = []
    for worker in before:  # who agreed before texts were kept
        at = worker.consented_at and moment(worker.consented_at)
        rows.append({"worker": worker.code, "sha256": None, "text": None, "at": at})
    for consent in consents:
        text_name = f"consent/{consent.sha256}.md"
        rows.append({"worker": consent.worker.code, "sha256": consent.sha256, "text": text_name})
        rows[-1]["at"] = moment(consent.at)
    _write_rows(folder / "consents.jsonl", rows, done)
    for text in texts:
        write_whole(folder / f"consent/{text.sha256}.md", text.text.encode())


def _write_settings(study: Study, path: Path, done: Exported) -> None:
    """Write the settings of each time, to which problems refer by number."""
    rows = []
    for version in versions_of(study):
        is_kept = [name for name in version.settings if name.split(".")[0] not in LEFT_OUT]
        settings = {name: version.settings[name] for name in is_kept}
        changes = {name: change for name, change in version.changes.items() if name in settings}
        rows.append({"settings": version.id, "at": moment(version.at), "changes": changes, "values": settings})
    _write_rows(path, rows, done)


def archive(study: Study) -> bytes:
    """The same as one zip file, for a browser to keep."""
    with TemporaryDirectory() as place:
        export(study, Path(place) / "export")
        return Path(make_archive(f"{place}/export", "zip", f"{place}/export")).read_bytes()


def with_group_names(study: Study, rows: Sequence[ProblemRow], verdicts: Verdicts) -> list[Problem]:
    """The problems of some rows, twins named as a group where both are among them."""
    problems = {row.id: exported_problem(study, row, verdicts) for row in rows}
    for group_id, members in grouped((row.group_id, row.id) for row in rows).items():
        if group_id is not None and len(members) > 1:
            name = group_name(problems[member] for member in members)
            problems |= {member: problems[member].replace(group=name) for member in members}
    return list(problems.values())


def _write_evaluation(study: Study, rows: Sequence[ProblemRow], folder: Path, done: Exported) -> None:
    """The dataset that people were asked about, with their votes by the original's id, and what most of them said."""
    votes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    predictions = []
    waiting = 0
    for row in rows:
        asked = (vote for vote in row.votes if vote.kind == schema.EVALUATE and not vote.gold)
        votes[row.family] += [{"variant": row.variant, **vote_row(vote)} for vote in asked]
        if row.origin == schema.IMPORTED:
            complete = complete_votes(row, schema.EVALUATE)
            waiting += not complete
            predictions += [majority(row, complete, study.config.tasks.votes)] if complete else []
    if waiting:
        done.notes.append(f"{waiting:,} problems are left out: they do not have all their votes yet")
    dataset = imported_dataset(study.folder, study.config)
    problems = [
        problem.replace(provenance={"study": study.config.title, "votes": votes.get(problem.id, [])})
        for problem in dataset
    ]
    write(dataset.with_problems(problems), folder / "evaluated.jsonl", "jsonl", WriteOptions(source_ids=True))
    write_predictions(predictions, folder / "predictions.jsonl")
    done.files |= {"evaluated.jsonl": len(problems), "predictions.jsonl": len(predictions)}


def _write_labels(study: Study, rows: Sequence[ProblemRow], verdicts: Verdicts, folder: Path, done: Exported) -> None:
    """The dataset that people have judged, with their labels; what it said of its own is kept as reference."""
    dataset = imported_dataset(study.folder, study.config)
    groups = {problem.id: problem.group for problem in dataset}
    problems = [exported_problem(study, row, verdicts).replace(group=groups.get(row.public_id)) for row in rows]
    write(dataset.with_problems(problems), folder / "labels.jsonl", "jsonl", WriteOptions(source_ids=True))
    done.files["labels.jsonl"] = len(problems)
    for kind in study.config.tasks.kinds:
        name = VALID if kind == schema.VALIDATE else kind
        lacking = sum(name not in problem.labels for problem in problems)
        if lacking:
            done.notes.append(f"{name}: {lacking:,} problems have no label: missing votes, or no fitting question")
        compared = [p for p in problems if name in p.labels and name in p.provenance.get("reference", {})]
        same = sum(p.labels[name] == p.provenance["reference"][name] for p in compared)
        if compared:
            done.notes.append(f"{name}: {same:,} of {len(compared):,} labels agree with those already in the data")


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]], done: Exported) -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_whole(path, "".join(lines).encode())
    done.files[path.name] = len(lines)


def _write_ledger(study: Study, path: Path, done: Exported) -> None:
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
    """A problem with what people said of it as labels, and everything behind that as provenance."""
    problem = to_problem(row, study.config.language)
    provenance: dict[str, Any] = {"study": study.config.title}
    if row.author is not None and row.submission is not None:
        submission = row.submission
        provenance |= {
            "author": row.author.code,
            "written_at": moment(submission.submitted_at),
            "seconds": round(submission.seconds, 1),
            "pasted": submission.pasted,
            **({"pilot": True} if row.author.pilot else {}),
        }
        if submission.adversary is not None:
            provenance["adversary"] = submission.adversary
        if submission.fields.get("meant"):
            why = submission.fields.get("meant_why", "")
            provenance["warnings"] = {"rules": submission.fields["meant"].split(","), "meant": why}
        if submission.history:
            provenance["earlier"] = submission.history
    judged = _judged_labels(study, row, problem, provenance)
    if row.origin == schema.IMPORTED:  # what the data said itself is no label of ours
        asked = {VALID if kind == schema.VALIDATE else kind for kind in study.config.tasks.kinds}
        provenance["reference"] = {name: value for name, value in problem.labels.items() if name in asked}
        valid = verdicts.find_valid(row)
        judged |= {VALID: valid} if valid is not None else {}
        problem = problem.replace(labels={name: problem.labels[name] for name in problem.labels.keys() - asked})
    labels = {**problem.labels, **judged}
    provenance |= _verdict(row, verdicts)
    if row.settings_id is not None:
        provenance["settings"] = row.settings_id
    provenance["votes"] = [vote_row(vote) for vote in row.votes]
    if row.remarks:
        provenance["remarks"] = [remark_row(remark) for remark in row.remarks]
    return problem.replace(labels=labels, provenance=provenance)


def _judged_labels(study: Study, row: ProblemRow, problem: Problem, provenance: dict[str, Any]) -> dict[str, bool]:
    """`switchable` and `associative` after Trichelair et al.: true if all said so; no label while votes are out."""
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


def _verdict(row: ProblemRow, verdicts: Verdicts) -> dict[str, Any]:
    """What was decided about validity, by whom and why."""
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
        decisive = [votes[place].worker.code for place in find_decisive(judged, setting)]
        if decisive:
            decided["hangs_on"] = decisive
        if verdict.failed:
            decided["failed"] = list(verdict.failed)
    if row.decisions and row.decisions[0].valid is not None:
        decided["decided_by"] = "requester"
    return decided


def _count_rules(rows: Sequence[ProblemRow], verdicts: Verdicts, done: Exported) -> None:
    """Note which rules decided, if there were several; and how many verdicts another rule changes."""
    rules = sorted({verdicts.kept_rules[row.settings_id] for row in rows})
    if verdicts.rule is None and len(rules) > 1:
        done.notes.append(f"problems are valid by the rules they were made under: {', '.join(rules)}")
    if verdicts.rule is not None:
        changed = sum(verdicts.find_valid(row) != row.valid for row in rows)
        done.notes.append(f"{changed:,} of {len(rows):,} verdicts are other by the rule {verdicts.rule}")


def _count_blocked(rows: Sequence[ProblemRow], problems: Sequence[Problem], done: Exported) -> None:
    """Note how many verdicts hang on a blocked worker's vote."""
    votes = (vote for row in rows for vote in row.votes)
    blocked = {vote.worker.code for vote in votes if vote.worker.state == schema.BLOCKED}
    count = sum(not blocked.isdisjoint(problem.provenance.get("hangs_on", ())) for problem in problems)
    if count:
        done.notes.append(f"{count:,} verdicts hang on the vote of a blocked worker; discard their votes to ask others")


def vote_row(vote: Vote) -> dict[str, Any]:
    """A vote as it is exported; what its kind does not ask is left out."""
    choice = bool(vote.choice) if vote.kind in SHOWN_AS else vote.choice
    exported: dict[str, Any] = {"worker": vote.worker.code, "kind": vote.kind, "choice": choice}
    more = {"equally_plausible": vote.equally_plausible, "local_decides": vote.local_decides}
    exported |= {name: value for name, value in more.items() if value is not None}
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
        exported["earlier"] = [{**past["fields"], "until": past["until"]} for past in vote.submission.history]
    return exported


def remark_row(remark: Remark) -> dict[str, Any]:
    """What a worker said about an item beside their vote, or in its place."""
    said = {name: getattr(remark, name) for name in ("kind", "reason", "text")}
    return {"worker": remark.worker.code, **said, "at": moment(remark.at)}


def moment(at: datetime) -> str:
    """A moment, to the second."""
    return at.isoformat(timespec="seconds")


def majority(row: ProblemRow, votes: list[Vote], asked: int) -> Prediction:
    """What most say, with shares of the votes as scores; a tie, or nobody who can tell, is an abstention."""
    cast = [vote.choice for vote in votes if vote.choice is not None]
    named = (row.family, row.variant, "people", f"majority-of-{asked}")
    if not cast:
        return Prediction(*named, None, None, row.answer, "nobody could tell")
    shares = tuple(cast.count(place) / len(cast) for place in range(len(row.candidates)))
    return Prediction(*named, shares, decide(shares)[0], row.answer, decide(shares)[1])
