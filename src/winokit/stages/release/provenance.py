"""How the problems came to be, for the card: what a study, a filtering and an audit say of themselves.

Sums and shares only: who wrote or judged a problem, and how they voted, stays where it is (votes would give the hidden
answers away).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.data.runs import Run
from winokit.drawing.decision import Verdict
from winokit.drawing.wording import percent, plural
from winokit.errors import BadInput
from winokit.files import read_object
from winokit.problem import Problem
from winokit.results import Metric
from winokit.stages.audit.verdict import verdict

STUDY = "study.json"


@dataclass(frozen=True)
class Audited:
    """What an audit found about one scorer."""

    model: str
    scoring: str
    problems: int
    shared: dict[str, int]
    """Problems it shares with each split of the release."""
    verdict: Verdict


def study_facts(folder: Path) -> Iterator[str]:
    """What an export of `winokit collect` says about its study, a sentence each."""
    path = folder / STUDY if folder.is_dir() else folder.with_name(STUDY)
    if not path.exists():
        raise BadInput(f"{folder}: an export of winokit collect expected; there is no {STUDY}")
    study = read_object(path)
    settings, problems = _object(study, "settings"), _object(study, "problems")
    tasks = ", ".join(map(str, _object(settings, "tasks").get("kinds", ())))
    yield f"Collected with winokit collect in the study “{study.get('title', 'untitled')}”; tasks: {tasks or 'none'}."
    if problems:
        counts = ", ".join(f"{count:,} {name}" for name, count in problems.items() if isinstance(count, int))
        yield f"Problems: {counts}."
    workers = sum(count for count in _object(study, "workers").values() if isinstance(count, int))
    if workers:
        yield f"Workers: {workers:,}."
    rule = _object(settings, "validity").get("rule")
    if rule:
        yield f"A problem is valid where its votes say so by the rule “{rule}”."
    for row in study.get("agreement") or ():
        if isinstance(row, dict) and row.get("problems"):
            kappa = f"Fleiss' κ {row['kappa']:.2f}" if isinstance(row.get("kappa"), float) else "no κ"
            yield (
                f"Agreement, {row.get('kind')}, {row.get('question')}: all said the same on "
                f"{row.get('unanimous', 0):,} of {row['problems']:,}; {kappa}."
            )
    pay = _object(settings, "pay")
    if pay:
        amounts = ", ".join(f"{kind} {pay[kind]}" for kind in ("write", "validate") if kind in pay)
        yield f"Paid, in {pay.get('currency', '?')}: {amounts}."


def problem_facts(problems: Sequence[Problem]) -> Iterator[str]:
    """What the provenance of the problems says in sum, where they came straight out of a study."""
    studies = Counter(str(p.provenance["study"]) for p in problems if p.provenance.get("study"))
    if not studies:
        return
    authors = {p.provenance["author"] for p in problems if p.provenance.get("author")}
    votes = [len(p.provenance["votes"]) for p in problems if isinstance(p.provenance.get("votes"), list)]
    agreement = Counter(str(p.provenance["agreement"]) for p in problems if p.provenance.get("agreement"))
    for name, count in studies.most_common():
        yield f"{count:,} problems come from the study “{name}”."
    if authors:
        yield f"They were written by {plural(len(authors), 'person', 'people')}."
    if sum(votes):
        yield f"{sum(votes):,} votes were cast on them, {sum(votes) / len(votes):.1f} a problem."
    if agreement:
        yield "Agreement: " + ", ".join(f"{name} {count:,}" for name, count in agreement.most_common()) + "."


def debias_facts(record: Mapping[str, Any]) -> Iterator[str]:
    """What the record of a filtering says, a sentence each."""
    method = str(record.get("method", "?"))
    kept, problems = record.get("kept"), record.get("problems")
    if isinstance(kept, int) and isinstance(problems, int):
        yield f"Filtered by {method}: {kept:,} of {problems:,} problems kept, {problems - kept:,} removed."
    parts = {"Settings": _object(_object(record, "methods"), method), "Features": _object(record, "features")}
    for title, part in parts.items():
        if part:
            values = (f"{name} {value}" for name, value in part.items() if isinstance(value, (int, float, str)))
            yield f"{title}: {', '.join(values)}."
    rows = [row for row in record.get("metrics") or () if isinstance(row, dict)]
    probes = {row.get("subset"): row.get("value") for row in reversed(rows) if row.get("metric") == "probe_accuracy"}
    before, after = probes.get("all"), probes.get(method)
    if isinstance(before, (int, float)) and isinstance(after, (int, float)):
        yield (
            f"A linear probe of the features is right on {percent(before)} of all problems and {percent(after)} of the "
            "kept."
        )
    null = _object(record, "null")
    if isinstance(null.get("removed"), int) and isinstance(null.get("expected"), (int, float)):
        yield f"Relabelled at random, the same filter removes {plural(round(null['expected']), 'problem')} on average."
    for warning in record.get("warnings") or ():
        yield f"Warning of the run: {warning}."


def audited(run: Run, splits: Mapping[str, frozenset[str]]) -> list[Audited]:
    """What a run says of each of its scorers, and how many of the release's problems it is about."""
    ids = {problem.id for problem in run.dataset}
    shared = {name: len(ids & own) for name, own in splits.items()}
    if not any(shared.values()):
        raise BadInput(f"--audit {run.dataset.card.name}: the run is about none of the release's problems")
    by_scorer: dict[tuple[str, str], list[Metric]] = {}
    for row in run.metrics:
        by_scorer.setdefault((row.model, row.scoring), []).append(row)
    return [Audited(*scorer, len(ids), shared, verdict(rows)) for scorer, rows in by_scorer.items()]


def _object(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of a file that is an object, empty where it is not."""
    part = content.get(key)
    return part if isinstance(part, dict) else {}
