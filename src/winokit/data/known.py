"""The public Winograd-style datasets, and which of them some problems are.

`CATALOGUE` has where to get each, under which licence, and how people do on it, and the hashes of its files: facts
with their sources, from `assets/catalogue.toml`; no data.

Which set problems are of is told from their content, never from the name of their file. `assets/known.npz` has, for
every file of the catalogue, 40-bit hashes of its problems: no text can be read from them. Of files with more than 2,000
problems it has the eighth whose hashes are smallest, so that the share of a part is an estimate there. Sums over all
hashes (`assets/known.json`) tell a whole set exactly, whatever the order of its rows. `tools/make_known.py` makes both
files from the public ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winokit.errors import UnknownName
from winokit.files import our_toml
from winokit.problem import Card, Dataset, Problem
from winokit.text.words import letters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

ASSETS = files("winokit") / "assets"
BITS = 40
"""Of a problem's hash: one in 40,000 foreign problems is taken for a known one with a chance of 1 in 1,400."""
SAMPLED_BELOW = 1 << (BITS - 3)
"""Of a large set the table has the hashes below this: one in eight."""
FEWEST_SAMPLED = 8
"""So many problems of a part must be among the hashes of a large set before it is said to be its part."""
WHOLE = "whole"
PART = "part"
OTHER_ANSWERS = "with other answers"
REPEATS = "with repeats"
SOME = "some"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A dataset's card, with the details that `winokit datasets` shows."""

    card: Card
    problems: str
    formats: tuple[str, ...]
    bundled: bool = False
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By part, the file below a folder of datasets, and its SHA-256."""
    home: str = ""
    """The folder, or `archive#folder`, from which its files are downloaded."""
    default: tuple[str, ...] = ()
    """The parts that the name alone means."""
    read_as: str | None = None
    """The format, where the content does not tell."""

    @property
    def name(self) -> str:
        """The name under which the dataset is loaded."""
        return self.card.name

    @classmethod
    def of(cls, name: str, facts: dict[str, Any]) -> CatalogueEntry:
        """Make an entry from its table in the catalogue.

        Parameters
        ----------
        name
            The name of the dataset.
        facts
            Fields of the entry and of its card.
        """
        entry_fields: dict[str, Any] = {}
        for known_field in fields(cls):
            if known_field.name in facts:
                value = facts.pop(known_field.name)
                entry_fields[known_field.name] = tuple(value) if isinstance(value, list) else value
        return cls(card=Card(name, **facts), **entry_fields)


CATALOGUE = {name: CatalogueEntry.of(name, facts) for name, facts in our_toml("assets/catalogue.toml").items()}


def named_parts(name: str) -> tuple[CatalogueEntry, tuple[str, ...]] | None:
    """The dataset that a name means, and the names of its parts.

    `winogrande/xl` means one part, and `winogrande` the default part. A part may be called like its file too:
    `winogrande/train_xl`. None if the catalogue has no such dataset. Raises UnknownName if the dataset has no such
    part.

    >>> named_parts("winogrande")[1], named_parts("winogrande/train_xl")[1], named_parts("my/dev")
    (('dev',), ('xl',), None)
    """
    dataset, slash, part = name.partition("/")
    entry = CATALOGUE.get(dataset)
    if entry is None or not entry.files:
        return None
    if not slash:
        return entry, entry.default
    if part in entry.files:
        return entry, (part,)
    part_of_stem = {}
    for own_part, (path, _) in entry.files.items():
        stem = Path(path).name.partition(".")[0]
        part_of_stem[stem] = own_part
    if part not in part_of_stem:
        kind = f"file or part of {dataset}" if "." in part else f"part of {dataset}"
        part_name = _find_part(entry, part_of_stem.get(part.partition(".")[0]))
        raise UnknownName(kind, part, entry.files, part_name)
    return entry, (part_of_stem[part],)


def _find_part(entry: CatalogueEntry, part: str | None) -> str | None:
    """The name to propose for an unknown part, or None.

    A dataset with one part is proposed by its own name.

    Parameters
    ----------
    part
        The part that is probably meant, or None.
    """
    if len(entry.files) == 1:
        return entry.name
    return f"{entry.name}/{part}" if part else None


def dataset_names() -> list[str]:
    """Every name in the catalogue: datasets, and parts of those with several."""
    names = list(CATALOGUE)
    for name, entry in CATALOGUE.items():
        if len(entry.files) > 1:
            names += [f"{name}/{part}" for part in entry.files]
    return names


@dataclass(frozen=True, slots=True)
class KnownSet:
    """A file of a public dataset, with sums of its problems' hashes.

    `content` is a checksum of all its problems. `sampled` says whether only an eighth of their hashes is stored.
    """

    name: str
    card: str
    """The catalogue's name of the dataset it belongs to."""
    problems: int
    repeated: int
    """Problems that stand there again."""
    content: str
    answers: str | None
    """Over problems with their right candidates; None for a hidden test."""
    sampled: bool


@dataclass(frozen=True, slots=True)
class KnownIdentity:
    """The public set from which problems come, and what changed.

    `how` says whether they are the whole set, a part of it, with other answers, with repeats, or only some from it.
    """

    known: KnownSet
    how: str
    share: float
    """Of the problems at hand, how many are in the known set; estimated where its hashes are sampled."""

    def card(self, problems: int) -> Card | None:
        """The card for these problems, or None.

        None if only some are from the set. `problems` is their number.
        """
        card = replace(CATALOGUE[self.known.card].card, name=self.known.name)
        if self.how == PART:
            return card.part(problems, self.known.problems)
        if self.how in (OTHER_ANSWERS, REPEATS):
            changed = f"{card.name}, {self.how}"
            return replace(card, name=changed, title=f"{card.title}, {self.how}", human_accuracy=None)
        return card if self.how == WHOLE else None


def identify(problems: Sequence[Problem], prefer: str | None = None, *, unread: int = 0) -> KnownIdentity | None:
    """Find the public set from which problems come, by their content.

    None if no such set is known. A problem is recognised by the letters and digits of its text, pronoun and query:
    spaces, case, punctuation and the order of candidates and rows do not count.

    Parameters
    ----------
    prefer
        The dataset to take if several have the same problems, as Trichelair et al.'s labels of WSC273 do.
    unread
        Number of problems in the file that were not parsed. With them, the beginning of a set is taken for the
        whole set.
    """
    keys = [problem_key(problem) for problem in problems]
    hashes = hashes_of(keys)
    known_sets, _, _ = _read_known_sets()
    content = total(hashes)
    repeated = sum(problem.occurrence > 1 for problem in problems)
    same_sets = [known_set for known_set in known_sets if known_set.content == content]
    same_sets.sort(key=lambda known_set: known_set.card != prefer)
    if same_sets:
        return _identify_whole(problems, keys, same_sets, repeated)
    count = len(problems) + unread
    sources: list[tuple[tuple[bool, float, bool, bool, float], KnownSet]] = []
    for source, share in _estimate_shares(hashes):
        is_begun = unread > 0 and source.problems == count
        rank = (share == 1, share, is_begun, source.card == prefer, -source.problems)
        sources.append((rank, source))
    if not sources:
        return None
    (all_in, share, is_begun, *_), best = max(sources, key=lambda entry: entry[0])
    if all_in and is_begun:
        return KnownIdentity(best, WHOLE, share)
    is_part = all_in and count <= best.problems
    return KnownIdentity(best, PART if is_part else SOME, share)


def _estimate_shares(hashes: Hashes) -> Iterator[tuple[KnownSet, float]]:
    """Yield public sets, with the share of the problems in each.

    A share is from 0 to 1, and sets with none of the problems are left out. A set of which only a sample of hashes is
    stored needs eight problems with hashes in the sampled range.

    Parameters
    ----------
    hashes
        The 64-bit hash of each problem.
    """
    import numpy as np

    known_sets, _, _ = _read_known_sets()
    short, _, bits = _look_up_hashes(hashes)
    sampled_count = int((short < SAMPLED_BELOW).sum())
    for set_index, source in enumerate(known_sets):
        set_bits = (bits >> np.uint64(set_index)) & np.uint64(1)
        within_count = int((set_bits == 1).sum())
        tried = sampled_count if source.sampled else len(hashes)
        has_too_few = source.sampled and tried < FEWEST_SAMPLED
        if within_count and not has_too_few:
            yield source, float(within_count) / tried


def _identify_whole(
    problems: Sequence[Problem], keys: Sequence[str], same_sets: Sequence[KnownSet], repeated: int
) -> KnownIdentity:
    """The identity of problems that are exactly those of some public sets.

    Parameters
    ----------
    keys
        The key of each problem, from `problem_key`.
    same_sets
        The sets with these problems, the preferred first.
    repeated
        Number of problems that repeat an earlier one.
    """
    with_as_many_repeats = [known_set for known_set in same_sets if known_set.repeated == repeated]
    if not with_as_many_repeats:
        return KnownIdentity(same_sets[0], REPEATS, 1.0)
    whole_set = with_as_many_repeats[0]
    are_answered = all(problem.answer is not None for problem in problems)
    has_other_answers = are_answered and whole_set.answers not in (None, answers_total(keys, problems))
    return KnownIdentity(whole_set, OTHER_ANSWERS if has_other_answers else WHOLE, 1.0)


def are_public(problems: Sequence[Problem]) -> list[bool]:
    """For each problem, whether its answer can be found in public data.

    It can if the problem is in a public set or bundled with winokit.

    Of sets of more than 2,000 problems only the eighth with the smallest hashes is stored. If all problems with such
    hashes are known, and eight or more are from such a set, those with other hashes are taken for its problems too: a
    few foreign ones among them may pass, one of them with a chance of seven in eight, twenty with one of 1 in 14.
    """
    import numpy as np

    from winokit.methods.overlap import copy_keys

    known_sets, _, _ = _read_known_sets()
    keys = [problem_key(problem) for problem in problems]
    bundled = _read_bundled_texts()
    text_keys = [copy_keys(problem)[0] for problem in problems]
    is_bundled = np.array([key in bundled for key in text_keys], np.bool_)
    short, is_listed, listed_in = _look_up_hashes(hashes_of(keys))
    sets_sampled = sum(1 << set_index for set_index, source in enumerate(known_sets) if source.sampled)
    sampled_bits = listed_in & np.uint64(sets_sampled)
    is_sampled = np.logical_and(is_listed, sampled_bits != 0)
    is_known = is_listed | is_bundled | _are_known_questions(problems, keys)
    is_foreign = np.logical_and(~is_known, short < SAMPLED_BELOW)
    if is_sampled.sum() >= FEWEST_SAMPLED and not is_foreign.any():
        return [True] * len(problems)
    public: list[bool] = is_known.tolist()
    return public


def _look_up_hashes(hashes: Hashes) -> tuple[Hashes, NDArray[np.bool_], Hashes]:
    """Look up hashes in the table of public problems.

    Returns three arrays: the first bits of each hash, whether the table has them, and a bit mask of the sets that
    they are in.
    """
    import numpy as np

    _, table, members = _read_known_sets()
    short = hashes >> np.uint64(64 - BITS)
    places = np.minimum(np.searchsorted(table, short), len(table) - 1)
    is_listed = table[places] == short
    return short, is_listed, np.where(is_listed, members[places], 0)


def _are_known_questions(problems: Sequence[Problem], keys: Sequence[str]) -> NDArray[np.bool_]:
    """For each problem, whether it joins public yes/no questions about its candidates."""
    import numpy as np

    rows = []
    questions = []
    for row, (problem, key) in enumerate(zip(problems, keys, strict=True)):
        if problem.pronoun is not None and problem.query is None:
            rows += [row] * len(problem.candidates)
            questions += [key + letters(name) for name in problem.candidates]
    are_known = np.zeros(len(problems), np.bool_)
    if questions:
        _, is_listed, _ = _look_up_hashes(hashes_of(questions))
        np.logical_or.at(are_known, rows, is_listed)
    return are_known


@cache
def _read_bundled_texts() -> frozenset[str]:
    """Keys of the texts that are bundled with winokit."""
    from winokit.data.formats.jsonl import parse
    from winokit.methods.overlap import copy_keys

    rows = map(json.loads, (ASSETS / "open.jsonl").read_text("utf-8").splitlines())
    return frozenset(copy_keys(parse(row))[0] for row in rows if "card" not in row)


def with_true_card(
    dataset: Dataset, path_name: str, stated_card: Card | None = None, prefer: str | None = None, *, unread: int = 0
) -> Dataset:
    """Set the card of a dataset by its content.

    The dataset is changed in place and returned. If only some of its problems are from a public set, a note says how
    many.

    Parameters
    ----------
    path_name
        The name of the dataset if it is no known set.
    stated_card
        The card in its file, or None. It is used unless it claims the name of a public dataset that the content
        does not confirm.
    prefer
        The dataset to take if several have the same problems.
    unread
        Number of problems in its file that were not parsed.
    """
    dataset.card = stated_card or Card(path_name)
    if stated_card is not None:
        claimed_name = stated_card.name.replace(",", "/").split("/")[0]
        claimed = CATALOGUE.get(claimed_name)
        if claimed is None or claimed.bundled:
            return dataset
    identity = identify(dataset.problems, prefer, unread=unread)
    card = identity.card(len(dataset) + unread) if identity else None
    if card is not None:
        dataset.card = card
    elif stated_card is not None:
        own_name = stated_card.name.split(",")[0]
        dataset.card = replace(stated_card, name=f"{own_name}, changed", human_accuracy=None)
    if identity and card is None:
        prefix = "about " if identity.known.sampled else ""
        share = f"{prefix}{100 * identity.share:.1f} %"
        note = f"{path_name}: {share} of its problems are from {identity.known.name}"
        dataset.notes = (*dataset.notes, note)
    return dataset


def problem_key(problem: Problem) -> str:
    """The letters and digits of a problem's text, pronoun and query.

    Problems with the same key are taken for the same.
    """
    if problem.is_whole:
        return "|".join(sorted(map(letters, problem.candidates)))
    parts = (problem.before, problem.after, problem.pronoun or "", problem.query or "")
    return "|".join([part and letters(part) for part in parts])


def hashes_of(keys: Sequence[str]) -> Hashes:
    """The 64-bit hash of each key, as an array."""
    import numpy as np

    encoded = [key.encode("utf-8", "surrogatepass") for key in keys]
    digests = [hashlib.blake2b(code, digest_size=8).digest() for code in encoded]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def answers_total(keys: Sequence[str], problems: Sequence[Problem]) -> str:
    """A checksum of the problems with their right candidates."""
    answer_keys = []
    for key, problem in zip(keys, problems, strict=True):
        right = letters(problem.right or "")
        answer_keys.append(f"{key}|{right}")
    return total(hashes_of(answer_keys))


def total(hashes: Hashes) -> str:
    """A checksum of hashes, as a hexadecimal number.

    It is the sum of the distinct ones, so that order and repetitions do not count.
    """
    import numpy as np

    return f"{int(np.unique(hashes).sum(dtype=np.uint64)):016x}"


@cache
def _read_known_sets() -> tuple[tuple[KnownSet, ...], Hashes, Hashes]:
    """The public sets, and the table of their problems' hashes.

    Returns the sets, the sorted hashes, and for each hash a bit mask of the sets that have it.
    """
    import numpy as np

    rows = json.loads((ASSETS / "known.json").read_text("utf-8"))
    known_sets = tuple(KnownSet(**row) for row in rows)
    with as_file(ASSETS / "known.npz") as path, np.load(path) as stored:
        high_bits = stored["high"].astype(np.uint64) << np.uint64(32)
        table = high_bits | stored["low"]
        return known_sets, table, stored["patterns"][stored["pattern"]]
