"""The card of a release: a datasheet in Markdown with front matter for the hub.

It states what training data reveals about dev and test, and what their problems reveal by themselves. Splits are drawn
so that nothing crosses them; here the finished files are checked, as `winokit check` checks any data. The card also
states where the problems come from, in sums and shares only. Who wrote or judged a problem, and how they voted, is not
in it: votes would reveal hidden answers.
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
from winokit.data.loading import DataLike, path_of
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
    """Repeated texts, groups and facts that two splits have in common."""

    one: str
    other: str
    repeated: dict[str, int]
    """Number of pairs of problems, one in each split, by kind of repetition."""
    groups: int
    """Number of groups with members in both splits."""
    pairs: int
    """Number of (special word, candidate) pairs that both splits have."""


@dataclass(frozen=True)
class Audited:
    """The verdict of an audit on one scorer."""

    model: str
    scoring: str
    problems: int
    """Number of audited problems."""
    shared: dict[str, int]
    """Number of audited problems in each split of the release."""
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
    """Leaks that were found in train_debiased and dev, by name of the file."""
    test_leaks: Sequence[Leak]
    """Leaks that were found in the hidden test. The card may only state whether there are any."""
    study: Mapping[str, Any] | None = None
    """The record of an export of `winokit collect`. None without one."""
    collection: Sequence[str] = ()
    """Sentences on the studies that problems come from."""
    debiasing: Mapping[str, Any] | None = None
    """The record that `winokit debias` wrote. None without one."""
    audits: Sequence[Audited] = ()
    about: str = ""
    """The authors' text in Markdown."""
    revealed: Sequence[Disclosure] = ()
    """Hidden problems of other releases that this one publishes on purpose."""


def card_facts(
    kept: DataLike,
    inputs: ReleaseInputs,
    contents: ReleaseContents,
    settings: ReleaseSettings,
    extras: ReleaseExtras,
    title: str,
    revealed: Sequence[Disclosure] = (),
) -> CardFacts:
    """Collect the facts of a card: checks, audits, and origins of problems.

    Splits are compared without the answers of the test. Otherwise the card would state that a test problem has the
    opposite answer of a similar public one, and so reveal it.

    Parameters
    ----------
    kept
        The kept problems as the user gave them. A study is looked for beside their file.
    inputs
        The problems that the release is made from.
    contents
        The problems of each file.
    settings
        Settings of the release, with its name.
    extras
        Further content for the card: audits, a study, the authors' text.
    title
        The title of the card. If it is empty, the name of the release.
    revealed
        Hidden problems of other releases that this one publishes on purpose.
    """
    card = inputs.problems.card
    splits = {TRAIN: contents.training, DEV: contents.files[DEV]}
    test = contents.files.get(TEST)
    test_leaks: list[Leak] = []
    if test is not None:
        splits[TEST] = test.with_problems(problem.replace(answer=None) for problem in test)
        test_leaks = _find_leaks(test)
    audits = _summarise_runs(extras.audit, splits)
    source = [card.title or card.name, card.version, card.source]
    return CardFacts(
        settings=settings,
        licence=settings.licence or card.licence or NOT_STATED,
        title=title or str(settings.name),
        source=", ".join(part for part in source if part),
        crossings=_find_crossings(splits),
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
    """Read study.json of an export of `winokit collect`.

    `collection` is the export that the user named. If it is None, the file is looked for beside the kept problems,
    and the result is None without one.
    """
    if collection is None:
        if kept_path is None or not kept_path.is_file():
            return None
        path = kept_path.with_name(STUDY)
        return read_object(path) if path.is_file() else None
    path = collection / STUDY if collection.is_dir() else collection.with_name(STUDY)
    if not path.exists():
        raise BadInput(f"{collection}: expected an export of winokit collect; there is no {STUDY}")
    return read_object(path)


def _find_leaks(data: Dataset) -> list[Leak]:
    """Return the features that predict a file's answers without reading."""
    return [leak for leak in find_leaks(data) if leak.found]


def _summarise_provenance(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield sentences on the studies, authors and votes that problems come from.

    There are none if no problem comes from a study.
    """
    origins = [problem.provenance for problem in problems]
    study_counts = _count_values(origins, "study")
    if not study_counts:
        return
    for name, count in study_counts.most_common():
        yield f"{count:,} problems come from the study “{name}”."
    authors = {origin["author"] for origin in origins if origin.get("author")}
    if authors:
        yield f"They were written by {plural(len(authors), 'person', 'people')}."
    vote_counts = [len(origin["votes"]) for origin in origins if isinstance(origin.get("votes"), list)]
    votes = sum(vote_counts)
    if votes:
        yield f"{votes:,} votes were cast on them, {votes / len(vote_counts):.1f} per problem."
    agreement_counts = _count_values(origins, "agreement")
    if agreement_counts:
        levels = [f"{name} {count:,}" for name, count in agreement_counts.most_common()]
        yield f"Agreement: {', '.join(levels)}."


def _count_values(origins: Sequence[Mapping[str, Any]], key: str) -> Counter[str]:
    """Count the values that provenances have under a key, without empty ones."""
    return Counter(str(origin[key]) for origin in origins if origin.get(key))


def _summarise_runs(folders: Sequence[Path], splits: Mapping[str, Dataset]) -> list[Audited]:
    """Return the verdict on each scorer of some runs of `winokit audit`.

    `splits` are those of the release. Raises BadInput if a run has none of their problems.
    """
    ids_by_split = {name: frozenset(problem.id for problem in data) for name, data in splits.items()}
    audits = []
    for folder in folders:
        audits += _summarise_run(Run.load(folder), ids_by_split)
    return audits


def _summarise_run(run: Run, splits: Mapping[str, frozenset[str]]) -> list[Audited]:
    """Return the verdict on each scorer of a run.

    `splits` has the ids of the problems in each split of the release.
    """
    ids = {problem.id for problem in run.dataset}
    shared = {name: len(ids & split_ids) for name, split_ids in splits.items()}
    if not any(shared.values()):
        raise BadInput(f"--set audit={run.dataset.card.name}: the run has none of the release's problems")
    by_scorer = grouped(((row.model, row.scoring), row) for row in run.metrics)
    return [Audited(*scorer, len(ids), shared, verdict(rows)) for scorer, rows in by_scorer.items()]


def _find_crossings(splits: Mapping[str, Dataset]) -> list[Crossing]:
    """Compare every two splits by their texts, groups and facts."""
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
        counts_by_kind = dict(sorted(kinds.items()))
        crossings.append(Crossing(one, other, counts_by_kind, len(shared_groups), len(shared_pairs)))
    return crossings


def card_bytes(contents: ReleaseContents, facts: CardFacts) -> bytes:
    """Return the content of README.md, the card of a release."""
    settings = facts.settings
    training = contents.training
    dev = contents.files[DEV]
    scoring = scoring_of(dev)
    formalization, _, _ = settings.formalization.partition("?")
    return rendered_plain(
        "stages/release/templates/card.md.j2",
        facts=facts,
        settings=settings,
        task=slug(settings.name or ""),
        licence=facts.licence,
        hub_licence=hub_licence(facts.licence),
        licence_stated=facts.licence != NOT_STATED,
        size_category=_get_size_category(len(training)),
        configs=_make_hub_configs(contents),
        rows=[(statistics(data), contents.count_kept(data)) for data in contents.shown.values()],
        structure=Structure(training),
        contents=contents,
        has_test=TEST in contents.files,
        has_removed=contents.count_kept(training) < len(training),
        unscored=_count_unscored(dev, scoring),
        whole=all_whole(dev),
        columns=COLUMNS,
        formalization=FORMALIZATIONS[formalization],
        scoring=scoring,
        reading=" ".join(READINGS[scoring]),
        first_answers={name: first_answers(contents.files[name]) for name in (DEBIASED, DEV)},
    )


def _make_hub_configs(contents: ReleaseContents) -> list[dict[str, Any]]:
    """Return the configurations of `load_dataset`, one for each training file.

    All have the same dev and test.
    """
    evaluation = {VALIDATION: str(parquet_path(DEV))}
    if TEST in contents.files:
        evaluation[TEST] = str(parquet_path(TEST))
    configs: list[dict[str, Any]] = []
    for name in (DEBIASED, *contents.sizes):
        files = {"train": str(parquet_path(name)), **evaluation}
        configs.append({"name": name.removeprefix("train_"), "files": files})
    return configs


def _count_unscored(dev: Dataset, scoring: str) -> int:
    """Count the dev problems that the lm_eval task leaves out.

    Partial scoring needs text after the blank; full scoring leaves out none.
    """
    if scoring == "full":
        return 0
    return sum(not problem.after.strip() for problem in dev)


def _get_size_category(problem_count: int) -> str:
    """Return the hub's size category of a dataset, such as "1K<n<10K"."""
    digits_beyond_hundreds = int(log10(max(problem_count, 1))) - 2
    index = min(max(digits_beyond_hundreds, 0), len(SIZE_CATEGORIES) - 1)
    return SIZE_CATEGORIES[index]


def first_answers(data: Dataset) -> float:
    """Share of problems whose answer is the first candidate."""
    return sum(problem.answer == 0 for problem in data) / len(data)
