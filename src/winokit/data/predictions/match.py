"""Texts matched to problems: which problem a row of somebody's log is about, and which candidate it speaks of.

Ids get lost between a dataset and a log, texts rarely do. A text is looked up to the letter, then by its words alone
(case, punctuation and spacing forgotten), then as the sentence with its pronoun. What fits two different problems, or
none, is refused with a reason: a wrong match would go into a score unseen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from winokit.problem import Dataset, Problem
from winokit.text.words import bare

BLANKS = re.compile(r"\[(?:blank|mask)\]|<(?:blank|mask)>|_+", re.IGNORECASE)
TOKEN = re.compile(r"_|[^\W_]+")
POSSESSIVE = re.compile(r"['’]s?$")
START = 4
"""Words by which a problem is looked for inside a longer text, before the whole of it is compared."""


class Unmatched(Exception):
    """A row that is about no problem, or about nobody knows which; the message is the reason."""


def tokens(text: str) -> list[str]:
    """The words of a text, case and punctuation forgotten; whatever stands for the blank becomes `_`.

    >>> tokens("Tom's dog bit [BLANK] -- twice!"), tokens("tom ’s dog bit ____ twice")
    (['tom', 's', 'dog', 'bit', '_', 'twice'], ['tom', 's', 'dog', 'bit', '_', 'twice'])
    """
    return TOKEN.findall(BLANKS.sub(" _ ", unicodedata.normalize("NFKC", text)).casefold())


def align(offered: Sequence[str], candidates: Sequence[str]) -> tuple[int, ...] | None:
    """For each name offered the place of its candidate, or None unless they are the same candidates in some order.

    >>> align(["The cup", "jug"], ["the jug", "the cup"]), align(["the cup", "Nora"], ["the jug", "the cup"])
    ((1, 0), None)
    """
    if len(offered) != len(candidates):
        return None
    places = [which(name, candidates) for name in offered]
    found = tuple(place for place in places if place is not None)
    return found if len(set(found)) == len(candidates) else None


def which(name: str, candidates: Sequence[str]) -> int | None:
    """The place of the one candidate that a name means, whatever its case, article, punctuation or possessive."""
    for key in (_folded, _worded, _owner):
        wanted = key(name)
        places = [place for place, candidate in enumerate(candidates) if key(candidate) == wanted]
        if places:
            return places[0] if len(places) == 1 and wanted else None
    return None


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _worded(name: str) -> str:
    return " ".join(tokens(bare(name)))


def _owner(name: str) -> str:
    """The name without the possessive that lm-evaluation-harness gives it where "his" stood."""
    return _worded(POSSESSIVE.sub("", name.strip()))


def align_difference(texts: Sequence[str], candidates: Sequence[str]) -> tuple[int, ...] | None:
    """For each of several long texts the place of the candidate that it has and the others have not.

    What is left of the texts without their common start and end must be what is left of the candidates.

    >>> align_difference(["hid the green car.", "hid the black car."], ["black car", "green car"])
    (1, 0)
    """
    if len(texts) != len(candidates):
        return None
    differing = _without_common([tokens(text) for text in texts])
    for names in ([tokens(name) for name in candidates], [tokens(bare(name)) for name in candidates]):
        kept = _without_common(names)
        if len(set(kept)) == len(kept) and sorted(kept) == sorted(differing):
            return tuple(kept.index(part) for part in differing)
    return align([" ".join(part) for part in differing], candidates)


def _without_common(lists: list[list[str]]) -> list[tuple[str, ...]]:
    """Each list without the start and the end that all have in common."""
    shortest = min(len(words) for words in lists)
    start = 0
    while start < shortest and len({words[start] for words in lists}) == 1:
        start += 1
    end = 0
    while end < shortest - start and len({words[-1 - end] for words in lists}) == 1:
        end += 1
    return [tuple(words[start : len(words) - end]) for words in lists]


def option_behind(label: str, prompt: str) -> str | None:
    r"""What a prompt lists behind a letter or number; with solved examples before it, the last list counts.

    >>> option_behind("B", "Who is she?\nA) Nora\nB) Ines\nAnswer:")
    'Ines'
    """
    pattern = rf"^[ \t]*\(?{re.escape(label.strip())}[).:][ \t]*(\S.*)$"
    options = re.findall(pattern, prompt, re.MULTILINE | re.IGNORECASE) if label.strip() else []
    return options[-1].strip() if options else None


@dataclass(frozen=True, slots=True)
class Clues:
    """What a row knows of its problem besides the text; None where it is silent."""

    candidates: Sequence[str] | None = None
    query: str | None = None
    pronoun: str | None = None

    def fit(self, problem: Problem) -> bool:
        """Whether nothing speaks against this problem."""
        return not self.difference(problem)

    def difference(self, problem: Problem) -> str:
        """What speaks against this problem, in words; empty where nothing does."""
        if self.candidates is not None and align(self.candidates, problem.candidates) is None:
            return f"the candidates {listed(problem.candidates)}, not {listed(self.candidates)}"
        for name, mine, its in (("query", self.query, problem.query), ("pronoun", self.pronoun, problem.pronoun)):
            if mine is not None and its is not None and bare(mine) != bare(its):
                return f"the {name} {its!r}, not {mine!r}"
        return ""


class Matcher:
    """The problems of a dataset, to be found by id, by text, or inside a longer text."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    @cached_property
    def ids(self) -> list[str]:
        """The public id of each problem; each is a hash, so they are made once."""
        return [problem.id for problem in self.dataset]

    @cached_property
    def by_id(self) -> dict[str, int]:
        """Places by public id."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def by_source_id(self) -> dict[str, list[int]]:
        """Places by WinoGrande's qID."""
        return _index((str(p.provenance["qID"]), i) for i, p in enumerate(self.dataset) if p.provenance.get("qID"))

    @cached_property
    def _exact(self) -> dict[str, list[int]]:
        return _index((problem.text, place) for place, problem in enumerate(self.dataset))

    @cached_property
    def _by_words(self) -> dict[str, list[int]]:
        return _index((" ".join(tokens(problem.text)), place) for place, problem in enumerate(self.dataset))

    @cached_property
    def _by_sentence(self) -> dict[str, list[int]]:
        named = ((place, problem) for place, problem in enumerate(self.dataset) if problem.pronoun is not None)
        return _index((" ".join(tokens(problem.sentence)), place) for place, problem in named)

    @cached_property
    def _starts(self) -> dict[tuple[str, ...], list[tuple[list[str], int]]]:
        """Words and place of each problem, in both forms, by its first words."""
        starts: dict[tuple[str, ...], list[tuple[list[str], int]]] = {}
        for place, problem in enumerate(self.dataset):
            for text in {problem.text, problem.sentence}:
                words = tokens(text)
                starts.setdefault(tuple(words[:START]), []).append((words, place))
        return starts

    def find_problem(self, problem: Problem) -> tuple[int, ...]:
        """The places of a problem that another file states, in whatever order of candidates."""
        return self._find(problem.text, Clues(problem.candidates, problem.query, problem.pronoun))

    def find(self, text: str, candidates: Sequence[str] | None = None) -> tuple[int, ...]:
        """The place of the one problem with this text, or of its exact repetitions; else raises Unmatched."""
        return self._find(text, Clues(candidates))

    def find_inside(self, text: str, candidates: Sequence[str] | None = None) -> tuple[int, ...]:
        """The place of the one problem whose whole text stands inside a longer one; else raises Unmatched.

        A problem whose text is part of another's that stands there too is not meant.
        """
        words = tokens(text)
        spans: dict[int, tuple[int, int]] = {}
        for at in range(len(words)):
            for size in range(1, START + 1):
                for known, place in self._starts.get(tuple(words[at : at + size]), ()):
                    if words[at : at + len(known)] == known:
                        spans[place] = (at, at + len(known))
        if not spans:
            raise Unmatched(f"no problem's text stands in {shown(text)}")
        return self._told_apart([place for place in sorted(spans) if _is_whole(place, spans)], Clues(candidates))

    def _find(self, text: str, clues: Clues) -> tuple[int, ...]:
        words = " ".join(tokens(text))
        refused: Unmatched | None = None
        for hits in (self._exact.get(text), self._by_words.get(words), self._by_sentence.get(words)):
            if hits and words:
                try:
                    return self._told_apart(hits, clues)
                except Unmatched as reason:
                    refused = refused or reason
        raise refused or Unmatched(f"no problem has the text {shown(text)}")

    def _told_apart(self, hits: Sequence[int], clues: Clues) -> tuple[int, ...]:
        """Those hits that the clues fit, if they are one problem, repeated or not."""
        fitting = [hit for hit in hits if clues.fit(self.dataset[hit])]
        if not fitting:
            raise Unmatched(f"a problem has its text, and {clues.difference(self.dataset[hits[0]])}")
        # Repetitions share an id up to the number of their occurrence.
        if len(fitting) > 1 and len({self.ids[hit].partition(".")[0] for hit in fitting}) > 1:
            some = ", ".join(self.ids[hit] for hit in fitting[:3])
            raise Unmatched(f"{len(fitting)} problems fit it, among them {some}")
        return tuple(fitting)


def _is_whole(place: int, spans: Mapping[int, tuple[int, int]]) -> bool:
    """Whether what was found at a span is no mere part of what was found at a longer one."""
    start, end = spans[place]
    return not any(a <= start and end <= b and (a, b) != (start, end) for a, b in spans.values())


def listed(names: Iterable[str]) -> str:
    """Candidates for a message, on one line."""
    return " / ".join(" ".join(name.split()) for name in names)


def shown(text: str) -> str:
    """A text for a message: its beginning, on one line."""
    line = " ".join(text.split())
    return f"'{line[:60]}…'" if len(line) > 60 else f"'{line}'"


def _index(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for key, place in pairs:
        index.setdefault(key, []).append(place)
    return index
