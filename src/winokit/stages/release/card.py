"""The card of a release: a datasheet in Markdown with front matter for the hub.

It says what training could tell about dev and test, and what they give away by themselves. Splits are drawn so that
nothing crosses; here the finished files are looked at, by the checks that `winokit check` runs on anybody's. And it
says how the problems came to be, in sums and shares only: who wrote or judged a problem, and how they voted, stays
where it is (votes would give the hidden answers away).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log10
from pathlib import Path
from typing import Any

from winokit.data.checks.checkup import find_duplicates
from winokit.data.checks.leaks import Leak, find_leaks
from winokit.data.checks.nearest_fact import fact_pairs
from winokit.data.checks.statistics import Structure, statistics
from winokit.data.loading import path_of
from winokit.data.predictions.documents import scoring_of, slug
from winokit.data.runs import Run
from winokit.drawing.decision import Verdict
from winokit.drawing.page import rendered_plain
from winokit.drawing.wording import plural
from winokit.errors import BadInput
from winokit.files import read_object, read_text
from winokit.methods.scoring.base import all_whole
from winokit.problem import Dataset, Problem, grouped
from winokit.stages.audit.verdict import verdict
from winokit.stages.release.contents import ReleaseContents, ReleaseInputs
from winokit.stages.release.disclosure import Disclosure
from winokit.stages.release.formats import COLUMNS, VALIDATION, parquet_path
from winokit.stages.release.manifest import DEBIASED, DEV, TEST, TRAIN
from winokit.stages.release.settings import (
    FORMALIZATIONS,
    NOT_STATED,
    READINGS,
    ReleaseExtras,
    ReleaseSettings,
    hub_licence,
)

STUDY = "study.json"
SIZE_CATEGORIES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M")


@dataclass(frozen=True)
class Crossing:
    """Repetitions and shared facts between two splits."""

    one: str
    other: str
    repeated: dict[str, int]
    """Pairs of problems by kind of repetition."""
    groups: int
    """Groups with members on both sides."""
    pairs: int
    """(special word, candidate) pairs that both have."""


@dataclass(frozen=True)
class Audited:
    """The verdict of an audit on one scorer."""

    model: str
    scoring: str
    problems: int
    shared: dict[str, int]
    """Problems it shares with each split of the release."""
    verdict: Verdict


@dataclass(frozen=True)
class CardFacts:
    """Facts of a card that are not counted from the problems."""

    settings: ReleaseSettings
    licence: str
    title: str
    source: str
    crossings: Sequence[Crossing]
    leaks: Mapping[str, Sequence[Leak]]
    """Of what is public; those of a hidden test are with its answers."""
    test_leaks: Sequence[Leak]
    """What predicts the test's answers without reading. Whether anything does is all that may be said of it."""
    study: Mapping[str, Any] | None = None
    """What an export of `winokit collect` says."""
    collection: Sequence[str] = ()
    debiasing: Mapping[str, Any] | None = None
    """The record of a filtering."""
    audits: Sequence[Audited] = ()
    about: str = ""
    """The authors' own words."""
    revealed: Sequence[Disclosure] = ()
    """What other releases kept hidden, and this one publishes on purpose."""


def card_facts(
    kept: str | Path | Dataset,
    inputs: ReleaseInputs,
    contents: ReleaseContents,
    settings: ReleaseSettings,
    extras: ReleaseExtras,
    title: str,
    revealed: Sequence[Disclosure] = (),
) -> CardFacts:
    """Collect the facts of a card: checks of the splits, and origins of problems.

    Of the test it sees what is public: whether a text nearly repeats another *with the other answer* is an answer.
    """
    card = inputs.problems.card
    test = contents.files.get(TEST)
    sides = {TRAIN: contents.training, DEV: contents.files[DEV]}
    test_leaks: list[Leak] = []
    if test is not None:
        sides[TEST] = test.with_problems(problem.replace(answer=None) for problem in test)
        test_leaks = _find_leaks(test)
    ids = {name: frozenset(problem.id for problem in data) for name, data in sides.items()}
    audits: list[Audited] = []
    for run in extras.audit:
        audits += _summarise_run(Run.load(run), ids)
    source = [card.title or card.name, card.version, card.source]
    return CardFacts(
        settings=settings,
        licence=settings.licence or card.licence or NOT_STATED,
        title=title or str(settings.name),
        source=", ".join(part for part in source if part),
        crossings=_find_crossings(sides),
        leaks={name: _find_leaks(contents.files[name]) for name in (DEBIASED, DEV)},
        test_leaks=test_leaks,
        study=_read_study(extras.collection, path_of(kept)),
        collection=list(_summarise_provenance(inputs.problems.problems)),
        debiasing=inputs.debias,
        audits=audits,
        about=read_text(extras.about) if extras.about else "",
        revealed=revealed,
    )


def _read_study(collection: Path | None, kept_path: Path | None) -> dict[str, Any] | None:
    """The record of an export of `winokit collect`, as given or beside the kept problems."""
    if collection is None:
        if kept_path is None or not kept_path.is_file() or not (kept_path.parent / STUDY).is_file():
            return None
        collection = kept_path.parent
    path = collection / STUDY if collection.is_dir() else collection.with_name(STUDY)
    if not path.exists():
        raise BadInput(f"{collection}: expected an export of winokit collect; there is no {STUDY}")
    return read_object(path)


def _find_leaks(data: Dataset) -> list[Leak]:
    """The leaks that were found in a file."""
    return [leak for leak in find_leaks(data) if leak.found]


def _summarise_provenance(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield sentences on the provenance of problems that come from a study."""
    origins = [problem.provenance for problem in problems]
    studies = Counter(str(origin["study"]) for origin in origins if origin.get("study"))
    if not studies:
        return
    authors = {origin["author"] for origin in origins if origin.get("author")}
    vote_counts = [len(origin["votes"]) for origin in origins if isinstance(origin.get("votes"), list)]
    agreement = Counter(str(origin["agreement"]) for origin in origins if origin.get("agreement"))
    for name, count in studies.most_common():
        yield f"{count:,} problems come from the study “{name}”."
    if authors:
        yield f"They were written by {plural(len(authors), 'person', 'people')}."
    votes = sum(vote_counts)
    if votes:
        yield f"{votes:,} votes were cast on them, {votes / len(vote_counts):.1f} per problem."
    if agreement:
        levels = [f"{name} {count:,}" for name, count in agreement.most_common()]
        yield f"Agreement: {', '.join(levels)}."


def _summarise_run(run: Run, splits: Mapping[str, frozenset[str]]) -> list[Audited]:
    """Return each scorer of a run with its verdict and shared problems."""
    ids = {problem.id for problem in run.dataset}
    shared = {name: len(ids & split_ids) for name, split_ids in splits.items()}
    if not any(shared.values()):
        raise BadInput(f"--set audit={run.dataset.card.name}: the run has none of the release's problems")
    by_scorer = grouped(((row.model, row.scoring), row) for row in run.metrics)
    return [Audited(*scorer, len(ids), shared, verdict(rows)) for scorer, rows in by_scorer.items()]


def _find_crossings(splits: Mapping[str, Dataset]) -> list[Crossing]:
    """Compare every two of train, dev and test."""
    names = list(splits)
    repeated: dict[tuple[str, str], Counter[str]] = {both: Counter() for both in combinations(names, 2)}
    for duplicate in find_duplicates(list(splits.values())):
        if duplicate.across:
            first_name = names[duplicate.first[0]]
            second_name = names[duplicate.second[0]]
            repeated[first_name, second_name][duplicate.kind] += 1
    pairs = {name: set().union(*map(fact_pairs, data.groups.values())) for name, data in splits.items()}
    crossings = []
    for (one, other), kinds in repeated.items():
        shared_groups = splits[one].groups.keys() & splits[other].groups.keys()
        shared_pairs = pairs[one] & pairs[other]
        crossings.append(Crossing(one, other, dict(sorted(kinds.items())), len(shared_groups), len(shared_pairs)))
    return crossings


def card_bytes(contents: ReleaseContents, facts: CardFacts) -> bytes:
    """The card of a release."""
    problems = len(contents.training)
    evaluation = {VALIDATION: str(parquet_path(DEV))}
    if TEST in contents.files:
        evaluation[TEST] = str(parquet_path(TEST))
    # Configurations of `load_dataset`: one for each training file, each with the same dev and test.
    configs = []
    for name in (DEBIASED, *contents.sizes):
        files = {"train": str(parquet_path(name)), **evaluation}
        configs.append({"name": name.removeprefix("train_"), "files": files})
    dev = contents.files[DEV]
    scoring = scoring_of(dev)
    unscored_count = 0
    if scoring != "full":
        unscored_count = sum(not problem.after.strip() for problem in dev)
    formalization, _, _ = facts.settings.formalization.partition("?")
    return rendered_plain(
        "stages/release/templates/card.md.j2",
        facts=facts,
        settings=facts.settings,
        task=slug(facts.settings.name or ""),
        licence=facts.licence,
        hub_licence=hub_licence(facts.licence),
        licence_stated=facts.licence != NOT_STATED,
        size_category=_size_category(problems),
        configs=configs,
        rows=[(statistics(data), contents.count_kept(data)) for data in contents.shown.values()],
        structure=Structure(contents.training),
        contents=contents,
        has_test=TEST in contents.files,
        has_removed=contents.count_kept(contents.training) < problems,
        unscored=unscored_count,
        whole=all_whole(dev),
        columns=COLUMNS,
        formalization=FORMALIZATIONS[formalization],
        scoring=scoring,
        reading=" ".join(READINGS[scoring]),
        first_answers={name: first_answers(contents.files[name]) for name in (DEBIASED, DEV)},
    )


def _size_category(problem_count: int) -> str:
    """The hub's size category for a number of problems."""
    digits_beyond_hundreds = int(log10(max(problem_count, 1))) - 2
    index = min(max(digits_beyond_hundreds, 0), len(SIZE_CATEGORIES) - 1)
    return SIZE_CATEGORIES[index]


def first_answers(data: Dataset) -> float:
    """Share of problems whose answer is the first candidate."""
    return sum(problem.answer == 0 for problem in data) / len(data)
