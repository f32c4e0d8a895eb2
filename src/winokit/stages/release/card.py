"""The card: a datasheet in Markdown, with the front matter by which Hugging Face `datasets` finds the files.

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
    """What an audit found about one scorer."""

    model: str
    scoring: str
    problems: int
    shared: dict[str, int]
    """Problems it shares with each split of the release."""
    verdict: Verdict


@dataclass(frozen=True)
class CardFacts:
    """Everything a card says that is not counted from the problems themselves."""

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
    """What the card says: checks of the finished splits, and all that is known about where problems come from.

    Of the test it sees what is public: whether a text nearly repeats another *with the other answer* is an answer.
    """
    collection = extras.collection
    source = path_of(kept)
    if collection is None and source is not None and source.is_file() and (source.parent / STUDY).is_file():
        collection = source.parent  # an export lies beside what it exported
    study = None
    if collection is not None:
        path = collection / STUDY if collection.is_dir() else collection.with_name(STUDY)
        if not path.exists():
            raise BadInput(f"{collection}: expected an export of winokit collect; there is no {STUDY}")
        study = read_object(path)
    card = inputs.problems.card
    test = contents.files.get(TEST)
    sides = {TRAIN: contents.training, DEV: contents.files[DEV]}
    if test is not None:
        sides[TEST] = test.with_problems(problem.replace(answer=None) for problem in test)
    ids = {name: frozenset(problem.id for problem in data) for name, data in sides.items()}

    def leaks_of(data: Dataset) -> list[Leak]:
        return [leak for leak in find_leaks(data) if leak.found]

    return CardFacts(
        settings=settings,
        licence=settings.licence or card.licence or NOT_STATED,
        title=title or str(settings.name),
        source=", ".join(part for part in (card.title or card.name, card.version, card.source) if part),
        crossings=_crossings(sides),
        leaks={name: leaks_of(contents.files[name]) for name in (DEBIASED, DEV)},
        test_leaks=leaks_of(test) if test is not None else (),
        study=study,
        collection=list(_problem_facts(inputs.problems.problems)),
        debiasing=inputs.debias,
        audits=[audit for run in extras.audit for audit in _audited(Run.load(run), ids)],
        about=read_text(extras.about) if extras.about else "",
        revealed=revealed,
    )


def _problem_facts(problems: Sequence[Problem]) -> Iterator[str]:
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
        yield f"{sum(votes):,} votes were cast on them, {sum(votes) / len(votes):.1f} per problem."
    if agreement:
        yield "Agreement: " + ", ".join(f"{name} {count:,}" for name, count in agreement.most_common()) + "."


def _audited(run: Run, splits: Mapping[str, frozenset[str]]) -> list[Audited]:
    """What a run says of each of its scorers, and how many of the release's problems it is about."""
    ids = {problem.id for problem in run.dataset}
    shared = {name: len(ids & own) for name, own in splits.items()}
    if not any(shared.values()):
        raise BadInput(f"--set audit={run.dataset.card.name}: the run has none of the release's problems")
    by_scorer = grouped(((row.model, row.scoring), row) for row in run.metrics)
    return [Audited(*scorer, len(ids), shared, verdict(rows)) for scorer, rows in by_scorer.items()]


def _crossings(splits: Mapping[str, Dataset]) -> list[Crossing]:
    """Every two of train, dev and test, looked at together."""
    names = list(splits)
    repeated: dict[tuple[str, str], Counter[str]] = {both: Counter() for both in combinations(names, 2)}
    for duplicate in find_duplicates(list(splits.values())):
        if duplicate.across:
            repeated[names[duplicate.first[0]], names[duplicate.second[0]]][duplicate.kind] += 1
    pairs = {name: set().union(*map(fact_pairs, data.groups.values())) for name, data in splits.items()}
    return [
        Crossing(
            one,
            other,
            dict(sorted(kinds.items())),
            len(splits[one].groups.keys() & splits[other].groups.keys()),
            len(pairs[one] & pairs[other]),
        )
        for (one, other), kinds in repeated.items()
    ]


def card_bytes(contents: ReleaseContents, facts: CardFacts) -> bytes:
    """The card of a release."""
    problems = len(contents.training)
    evaluation = {VALIDATION: str(parquet_path(DEV))}
    if TEST in contents.files:
        evaluation[TEST] = str(parquet_path(TEST))
    configs = [  # of `load_dataset`: one for each training file, each with the same dev and test
        {"name": name.removeprefix("train_"), "files": {"train": str(parquet_path(name)), **evaluation}}
        for name in (DEBIASED, *contents.sizes)
    ]
    scoring = scoring_of(contents.files[DEV])
    category = min(max(int(log10(max(problems, 1))) - 2, 0), len(SIZE_CATEGORIES) - 1)
    return rendered_plain(
        "stages/release/templates/card.md.j2",
        facts=facts,
        settings=facts.settings,
        task=slug(facts.settings.name or ""),
        licence=facts.licence,
        hub_licence=hub_licence(facts.licence),
        licence_stated=facts.licence != NOT_STATED,
        size_category=SIZE_CATEGORIES[category],
        configs=configs,
        rows=[(statistics(data), contents.count_kept(data)) for data in contents.shown.values()],
        structure=Structure(contents.training),
        contents=contents,
        has_test=TEST in contents.files,
        has_removed=contents.count_kept(contents.training) < problems,
        unscored=0 if scoring == "full" else sum(not problem.after.strip() for problem in contents.files[DEV]),
        whole=all_whole(contents.files[DEV]),
        columns=COLUMNS,
        formalization=FORMALIZATIONS[facts.settings.formalization.partition("?")[0]],
        scoring=scoring,
        reading=" ".join(READINGS[scoring]),
        first_answers={name: first_answers(contents.files[name]) for name in (DEBIASED, DEV)},
    )


def first_answers(data: Dataset) -> float:
    """How often the first candidate is the answer."""
    return sum(problem.answer == 0 for problem in data) / len(data)
