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
        """Build an entry from a table of the catalogue.

        The table has the fields of the entry and those of the card.
        """
        entry_fields: dict[str, Any] = {}
        for known_field in fields(cls):
            if known_field.name in facts:
                value = facts.pop(known_field.name)
                entry_fields[known_field.name] = tuple(value) if isinstance(value, list) else value
        return cls(card=Card(name, **facts), **entry_fields)


CATALOGUE = {name: CatalogueEntry.of(name, facts) for name, facts in our_toml("assets/catalogue.toml").items()}


def named_parts(name: str) -> tuple[CatalogueEntry, tuple[str, ...]] | None:
    """The dataset and the parts that a name means.

    `winogrande/xl` is a part, `winogrande` the default part.

    None where the catalogue has no such dataset. A part may go by the name of its file too: `winogrande/train_xl`.

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


def _find_part(entry: CatalogueEntry, known: str | None) -> str | None:
    """The name of a known part, or of a dataset with one part only."""
    if len(entry.files) == 1:
        return entry.name
    return f"{entry.name}/{known}" if known else None


def dataset_names() -> list[str]:
    """Every name of the catalogue: datasets, and parts if there are several."""
    names = list(CATALOGUE)
    for name, entry in CATALOGUE.items():
        if len(entry.files) > 1:
            names += [f"{name}/{part}" for part in entry.files]
    return names


@dataclass(frozen=True, slots=True)
class KnownSet:
    """One file of a public dataset, with sums of its problems' hashes."""

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
    """The known set that problems come from, and the way they do.

    Whole, part, with other answers, with repeats, or some.
    """

    known: KnownSet
    how: str
    share: float
    """Of the problems at hand, how many are in the known set; estimated where its hashes are sampled."""

    def card(self, problems: int) -> Card | None:
        """The card that is true of the problems.

        None if only some of them are known.
        """
        card = replace(CATALOGUE[self.known.card].card, name=self.known.name)
        if self.how == PART:
            return card.part(problems, self.known.problems)
        if self.how in (OTHER_ANSWERS, REPEATS):
            changed = f"{card.name}, {self.how}"
            return replace(card, name=changed, title=f"{card.title}, {self.how}", human_accuracy=None)
        return card if self.how == WHOLE else None


def identify(problems: Sequence[Problem], prefer: str | None = None, *, unread: int = 0) -> KnownIdentity | None:
    """The known set that problems are, or come from.

    None if no such set is known.

    Text, pronoun and query make a problem here, by letters and digits alone: spaces, case, punctuation and the order of
    candidates and rows do not count.

    Parameters
    ----------
    prefer
        Of sets with the same problems (Trichelair et al.'s labels of WSC273), the dataset whose format they are in.
    unread
        Problems of their file that were not parsed. The beginning of a known set with as many is taken for that set.
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
    """The known sets that have some of these problems, each with the share it has of them.

    Sets of which only a sample of hashes is known need eight problems with such hashes.
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
    """Identify problems that are all those of some known sets.

    `repeated` problems of them are there again.
    """
    with_as_many_repeats = [known_set for known_set in same_sets if known_set.repeated == repeated]
    if not with_as_many_repeats:
        return KnownIdentity(same_sets[0], REPEATS, 1.0)
    whole_set = with_as_many_repeats[0]
    are_answered = all(problem.answer is not None for problem in problems)
    has_other_answers = are_answered and whole_set.answers not in (None, answers_total(keys, problems))
    return KnownIdentity(whole_set, OTHER_ANSWERS if has_other_answers else WHOLE, 1.0)


def are_public(problems: Sequence[Problem]) -> list[bool]:
    """Whether each problem is in a public set or bundled with winokit.

    Its answer can then be found elsewhere.

    Of sets of more than 2,000 problems only the eighth with the smallest hashes is known. Where all problems with such
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
    """Look up hashes in the table of known problems.

    The first bits of each hash, whether the table has them, and a bit for each set they are in.
    """
    import numpy as np

    _, table, members = _read_known_sets()
    short = hashes >> np.uint64(64 - BITS)
    places = np.minimum(np.searchsorted(table, short), len(table) - 1)
    is_listed = table[places] == short
    return short, is_listed, np.where(is_listed, members[places], 0)


def _are_known_questions(problems: Sequence[Problem], keys: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each problem was merged from known yes/no questions.

    The questions are about its candidates.
    """
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
    """The normalised texts of the twins that come with winokit."""
    from winokit.data.formats.jsonl import parse
    from winokit.methods.overlap import copy_keys

    rows = map(json.loads, (ASSETS / "open.jsonl").read_text("utf-8").splitlines())
    return frozenset(copy_keys(parse(row))[0] for row in rows if "card" not in row)


def with_true_card(
    dataset: Dataset, path_name: str, own: Card | None = None, prefer: str | None = None, *, unread: int = 0
) -> Dataset:
    """Give a dataset the card that its content deserves.

    Parameters
    ----------
    path_name
        What it is called where it is no known set.
    own
        The card that came with it. It is believed, unless it claims the name of a known dataset.
    unread
        Problems of its file that were not parsed.
    """
    dataset.card = own or Card(path_name)
    if own is not None:
        claimed_name = own.name.replace(",", "/").split("/")[0]
        claimed = CATALOGUE.get(claimed_name)
        if claimed is None or claimed.bundled:
            return dataset
    identity = identify(dataset.problems, prefer, unread=unread)
    card = identity.card(len(dataset) + unread) if identity else None
    if card is not None:
        dataset.card = card
    elif own is not None:
        own_name = own.name.split(",")[0]
        dataset.card = replace(own, name=f"{own_name}, changed", human_accuracy=None)
    if identity and card is None:
        prefix = "about " if identity.known.sampled else ""
        share = f"{prefix}{100 * identity.share:.1f} %"
        note = f"{path_name}: {share} of its problems are from {identity.known.name}"
        dataset.notes = (*dataset.notes, note)
    return dataset


def problem_key(problem: Problem) -> str:
    """Letters and digits of a problem's text, pronoun and query.

    Problems with the same key are the same.
    """
    if problem.is_whole:
        return "|".join(sorted(map(letters, problem.candidates)))
    parts = (problem.before, problem.after, problem.pronoun or "", problem.query or "")
    return "|".join([part and letters(part) for part in parts])


def hashes_of(keys: Sequence[str]) -> Hashes:
    """64-bit hashes of keys."""
    import numpy as np

    encoded = [key.encode("utf-8", "surrogatepass") for key in keys]
    digests = [hashlib.blake2b(code, digest_size=8).digest() for code in encoded]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def answers_total(keys: Sequence[str], problems: Sequence[Problem]) -> str:
    """One number for the right candidates of problems with these keys."""
    answer_keys = []
    for key, problem in zip(keys, problems, strict=True):
        right = letters(problem.right or "")
        answer_keys.append(f"{key}|{right}")
    return total(hashes_of(answer_keys))


def total(hashes: Hashes) -> str:
    """One number for a set of hashes.

    It is the sum of the distinct ones, so that neither order nor repeats count.
    """
    import numpy as np

    return f"{int(np.unique(hashes).sum(dtype=np.uint64)):016x}"


@cache
def _read_known_sets() -> tuple[tuple[KnownSet, ...], Hashes, Hashes]:
    """The known sets, the sorted hashes of their problems, and a bit per set.

    The bits of a hash say which sets have it.
    """
    import numpy as np

    rows = json.loads((ASSETS / "known.json").read_text("utf-8"))
    known_sets = tuple(KnownSet(**row) for row in rows)
    with as_file(ASSETS / "known.npz") as path, np.load(path) as stored:
        high_bits = stored["high"].astype(np.uint64) << np.uint64(32)
        table = high_bits | stored["low"]
        return known_sets, table, stored["patterns"][stored["pattern"]]
