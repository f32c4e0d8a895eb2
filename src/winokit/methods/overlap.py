"""Find problems that give each other away: same, near or twin.

- *same*: the letters and digits around the blank are the same, whatever is asked about it. "Ann 's" is "Ann's", and a
  yes/no judgement (SuperGLUE-WSC) is the same as the choice (WSC) it was made from.
- *near*: four fifths of the words stand in the same order, it is the same sentence with another blank, or one text
  stands in the other, its blank kept or filled: a test problem behind an instruction. Reworded copies change two or
  three words of twenty; below four fifths WinoGrande's texts mostly share a way of speaking. Short texts must have a
  candidate in common too: COPA's "The man fainted because _" and "The man cursed because _".
- Whole texts to choose from are compared as one text with a blank between them, in alphabetical order.
- *near* or *twin*: the same candidates, and a text that differs in one stretch (start and end alike make two fifths of
  it) or has three fifths of its words in order, whatever the pronoun. With the same answer it is near, with another or
  a hidden one a twin; so is a member of the same group. Whoever knows one twin's answer knows the other's.

Of WinoGrande's 20,199 pairs all are found when one twin stands here and the other there, of DPR's 943 pairs 926.
Every pair of texts that is near by its words is found, and 40,000 texts take seconds: texts with so many words in
common share one of their rarest pairs of neighbouring words (the prefix filter of Chaudhuri et al., 2006), a text has
its rarest pair also where it stands in another, and only those are compared.

It is made against accidents, not intent: look-alike letters of other alphabets, "l33t" and new names for everybody
pass.
"""

import html
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from rapidfuzz.distance import Levenshtein, Postfix, Prefix

from winokit.problem import Dataset, Problem
from winokit.text.language import UNSPACED, language_of

Place: TypeAlias = tuple[int, int]
"""A dataset's number and a row of it."""
KINDS = ("same", "near", "twin")
NEAR = 0.8
"""Share of the words that near texts have in the same order (one minus edit distance over the longer length)."""
ONE_STRETCH = 0.4
"""Share of the shorter text that problems with the same candidates have in common at start and end together."""
TWIN = 0.6
"""Share of words in order, like `NEAR`, for problems with the same candidates."""
SHORT = 12
"""Words below which such shares say little: of "John chose Bill because _ was hungry" most is anybody's."""
SHORT_UNSPACED = 30
"""Number of characters like `SHORT`, for texts without spaces between words."""
MANY = 400
"""Problems of one dataset with the same candidates beyond which twins are not sought among them; `find_groups` does
so, and templates with two names have millions."""
GAP = 40
"""Letters that may stand in the place of a blank, where a text stands within a longer one: a candidate, "[MASK]"."""
_BLANK = chr(0x10000)
"""The code of the blank, the first of all words."""
_WORD = re.compile(rf"{UNSPACED}|[^\W_{UNSPACED[1:-1]}]+|_")
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Match:
    """Two problems that give each other away.

    `kind` is one of `KINDS`. `first` and `second` are their datasets and rows, from 0. `similarity` is from 0 to 1: one
    minus the edit distance in words over the longer length, or 1 for the same letters.
    """

    kind: str
    first: Place
    second: Place
    similarity: float

    @property
    def across(self) -> bool:
        """Whether the two are in different datasets."""
        return self.first[0] != self.second[0]


@dataclass(frozen=True)
class Overlap:
    """Problems of two datasets that give each other away, by row.

    The first dataset is one to learn or choose from, the second is held out. Each row has the closest kind of match.
    """

    given: dict[int, str]
    """Rows of the first set that give a held-out problem away."""
    held: dict[int, str]
    """Held-out rows that are given away."""

    @property
    def dropped(self) -> dict[str, int]:
        """Number of leaking problems of the first dataset, by kind."""
        return {kind: list(self.given.values()).count(kind) for kind in KINDS}

    @property
    def said(self) -> str:
        """Number of leaked held-out problems by kind, in words.

        Such as "215 same, 4 near, 31 twin".
        """
        return said({kind: list(self.held.values()).count(kind) for kind in KINDS})


def said(counts: Mapping[str, int]) -> str:
    """Write counts by kind in words."""
    phrases = [f"{count:,} {kind}" for kind, count in counts.items()]
    return ", ".join(phrases)


@lru_cache(maxsize=32)  # a search asks again for every trial
def overlap(given: Dataset, held: Dataset) -> Overlap:
    """Find the problems of a dataset that give held-out ones away.

    `given` is the dataset to learn or choose from, `held` the held-out one.
    """
    shared = Overlap({}, {})
    matches = find_matches([given, held])
    for match in sorted(matches, key=lambda match: KINDS.index(match.kind)):
        shared.given.setdefault(match.first[1], match.kind)
        shared.held.setdefault(match.second[1], match.kind)
    return shared


def find_matches(datasets: Sequence[Sequence[Problem]], *, within: bool = False) -> list[Match]:
    """Find all pairs of problems that give each other away.

    Pairs are of different datasets, with `within` also of the same one. They are in the order of datasets and rows.
    """
    sets = _prepare_texts(datasets)
    shelves: dict[Hashable, list[Place]] = defaultdict(list)
    matches = []
    # The last set comes first: a test set is looked up in, a training set is not.
    for set_index in reversed(range(len(sets))):
        for row, text in enumerate(sets[set_index]):
            text_place = (set_index, row)
            rarest = text.rarest()
            for other in _find_candidates(text, rarest, shelves, set_index):
                if not within and other[0] == set_index:
                    continue
                kind, similarity = _compare_texts(text, sets[other[0]][other[1]])
                if kind is not None:
                    first, second = sorted([text_place, other])
                    matches.append(Match(kind, first, second, similarity))
            if within or set_index:
                for key in (*rarest, *text.around(sought=False), *text.kin(sought=False)):
                    shelves[key].append(text_place)
    return sorted(matches, key=lambda match: (match.first, match.second))


def _prepare_texts(datasets: Sequence[Sequence[Problem]]) -> list[list["_Text"]]:
    """Prepare the problems of each dataset for comparison.

    Pairs of neighbouring words are sorted from rare to common over all datasets.
    """
    codes = {"_": _BLANK}
    sets = []
    pair_counts: Counter[str] = Counter()
    for dataset in datasets:
        texts = [_Text(problem, codes) for problem in dataset]
        sets.append(texts)
        for text in texts:
            pair_counts.update(text.pairs)
    for texts in sets:
        for text in texts:
            text.pairs.sort(key=pair_counts.__getitem__)
    return sets


def _find_candidates(
    text: "_Text", rarest: set[str], shelves: Mapping[Hashable, list[Place]], set_index: int
) -> set[Place]:
    """Places of earlier texts that share a key with a text.

    `rarest` are the text's keys for near texts, `shelves` has the places of earlier texts by key.
    """
    places: set[Place] = set()
    for key in (*rarest, *text.around(sought=True)):
        if key in shelves:
            places.update(shelves[key])
    for key in text.kin(sought=True):
        if key not in shelves:
            continue
        shelf = shelves[key]
        if len(shelf) > MANY:
            shelf = [other for other in shelf if other[0] != set_index]
        places.update(shelf)
    return places


def copy_keys(problem: Problem) -> list[str]:
    """Normalised texts that a plain copy of a problem shares with it.

    The first is the text of the problem. A copy has the same text or sentence, whatever its spaces, case, punctuation
    or marks of web pages are; or the same candidates, and a text that differs in one word, as many twins do. Every
    two problems that share a key give each other away. They can be compared by hashes alone; `find_matches` needs
    both texts, and finds copies that are reworded further.

    >>> jug = Problem("Ann filled the cup from the jug until ", " was full.", ("the jug", "the cup"), 1, "it")
    >>> copy = jug.replace(before="ANN filled  the cup from the jug, until ")
    >>> twin = jug.replace(after=" was empty.", answer=0)
    >>> copy_keys(jug) == copy_keys(copy), set(copy_keys(jug)).isdisjoint(copy_keys(twin))
    (True, False)
    """
    codes = {"_": _BLANK}
    text = _Text(problem, codes)
    keys = [f"text {text.letters}", f"sentence {text.sentence}"]
    if text.is_slight:
        return keys
    word_of = {code: word for word, code in codes.items()}
    words = [word_of[code] for code in text.coded]
    places = [place for place, word in enumerate(words) if word != "_"]
    shortened = [words[:place] + words[place + 1 :] for place in places]
    names = " ".join(sorted(text.names))
    for near_words in (words, *shortened):
        near_text = " ".join(near_words)
        keys.append(f"near {names}: {near_text}")
    return keys


class _Text:
    """A problem in the form in which it is compared.

    `codes` maps words to characters, and gets the words that are new.
    """

    __slots__ = ("after", "before", "coded", "letters", "names", "pairs", "problem", "sentence", "short")

    def __init__(self, problem: Problem, codes: dict[str, str]) -> None:
        before, after = _split_sides(problem)
        words = [*before, "_", *after]
        self.problem = problem
        self.short = _find_short_length(problem)
        self.before = "".join(before)
        self.after = "".join(after)
        self.letters = f"{self.before}_{self.after}"
        self.sentence = self.letters if problem.pronoun is None else _get_letters(problem.sentence)
        # One character per word lets rapidfuzz compare strings, its fastest kind. Private planes avoid surrogates.
        for word in words:
            if word not in codes:
                codes[word] = chr(ord(_BLANK) + len(codes))
        self.coded = "".join([codes[word] for word in words])
        # Of neighbouring words, to be sorted from rare to common; those equally rare in the same order everywhere.
        pairs = {self.coded[start : start + 2] for start in range(len(words) - 1)}
        self.pairs = sorted(pairs)
        offered = problem.candidates if problem.query is None else (problem.query,)
        self.names = frozenset(_normalize_name(candidate, problem.language) for candidate in offered)

    @property
    def is_slight(self) -> bool:
        """Whether the candidates are whole texts and short.

        Thousands of such texts come from one template, so they are not compared by most of their words.
        """
        return self.problem.is_whole and len(self.coded) < self.short

    def rarest(self) -> set[str]:
        """Keys that any near text shares at least one of.

        They are its letters and its rarest pairs of words. A near text is at most a quarter longer, so at most a
        quarter of the words are edited, and an edit takes away two pairs: before the rarest pair that both have,
        neither has more than twice as many pairs as edits.
        """
        if self.is_slight:
            return {self.letters}
        edits = len(self.coded) // 4
        return {self.letters, self.sentence, *self.pairs[: 2 * edits + 1]}

    def around(self, *, sought: bool) -> list[Hashable]:
        """Keys to find texts that contain this one, or are inside it.

        `sought` are the keys to look up, otherwise those to be found by. A text that stands in another has its rarest
        pair there, other than those of its blank, which may be filled.
        """
        if self.is_slight:
            return []
        rarest = next((pair for pair in self.pairs if _BLANK not in pair), None)
        return [(sought, rarest), *[(not sought, pair) for pair in self.pairs]]

    def stands_in(self, other: "_Text") -> bool:
        """Whether another text contains this one.

        Up to GAP letters may fill the blank there.
        """
        side = max(self.before, self.after, key=len)
        if side not in other.letters and side not in other.sentence:
            return False  # nearly always, and quickly known
        around = re.compile(f"{self.before}.{{0,{GAP}}}{self.after}")
        return any(around.search(text) for text in (other.letters, other.sentence))

    def kin(self, *, sought: bool) -> list[Hashable]:
        """Keys to find possible twins: the candidates and the group.

        `sought` are the keys to look up, otherwise those to be found by. A choice is also put under each candidate,
        where judgements about it seek, and the other way round; whole texts under each of them.
        """
        judges = self.problem.query is not None
        keys: list[Hashable] = [self.names, *((judges is not sought, name) for name in self.names)]
        if self.problem.is_whole:
            keys += (("whole", name) for name in self.names)
        return keys if self.problem.group is None else [*keys, ("group", self.problem.group)]

    def holds(self, name: str) -> bool | None:
        """Whether this candidate is right by the problem's answer.

        None if the answer is hidden.
        """
        problem = self.problem
        if problem.answer is None or problem.right is None:
            return None
        if problem.query is not None:
            return problem.answer == 1
        return _normalize_name(problem.right, problem.language) == name


def _split_sides(problem: Problem) -> tuple[list[str], list[str]]:
    """Words before and after the blank.

    Of whole texts to choose from, the first in alphabetical order is before the blank, and the others are after it.
    """
    before: list[str] = []
    after: list[str] = []
    if problem.is_whole:
        before, *others = sorted(map(_split_words, problem.candidates))
        for words in others:
            after += words
    return before or _split_words(problem.before), after or _split_words(problem.after)


def _find_short_length(problem: Problem) -> int:
    """Length below which a problem's text is short.

    In words, or in characters for languages without spaces.
    """
    has_words = language_of(problem.language).unit(problem.text) == "words"
    length = SHORT if has_words else SHORT_UNSPACED
    return length * len(problem.candidates) if problem.is_whole else length


def _compare_texts(a: _Text, b: _Text) -> tuple[str | None, float]:
    """Kind of match between two problems, and their similarity.

    The kind is None if they do not match.
    """
    similarity = _compute_similarity(a.coded, b.coded, NEAR)
    inside = a.stands_in(b) or b.stands_in(a)
    if not similarity and not inside and a.names.isdisjoint(b.names) and a.sentence != b.sentence:
        return None, 0.0  # most are nothing to each other: 40,000 problems ask this a million times
    if a.letters == b.letters and _has_one_pronoun(a.problem, b.problem):
        return "same", 1.0
    if a.sentence == b.sentence or a.letters == b.letters:  # another pronoun of it, or "him self" for "himself"
        return "near", similarity or 1.0
    kind = _find_kind(a, b, similarity, inside)
    if kind is None:
        return None, 0.0
    return kind, similarity or _compute_similarity(a.coded, b.coded, 0)


def _has_one_pronoun(problem: Problem, other: Problem) -> bool:
    """Whether two problems ask about the same pronoun.

    True if either has none.
    """
    if problem.pronoun is None or other.pronoun is None:
        return True
    return problem.pronoun.casefold() == other.pronoun.casefold()


def _find_kind(a: _Text, b: _Text, similarity: float, inside: bool) -> str | None:
    """Kind of match between problems with different letters.

    `similarity` is that of their words, 0 if below the threshold; `inside` says whether one contains the other. None
    if they do not match.
    """
    shared = a.names & b.names
    has_query = a.problem.query is not None
    other_has_query = b.problem.query is not None
    is_near = _is_near(a, b, similarity, inside)
    has_same_group = a.problem.group is not None and a.problem.group == b.problem.group
    is_twin = not is_near and bool(shared) and has_same_group
    # A choice, and a judgement about one of its candidates.
    is_choice_and_judgement = bool(shared) and has_query != other_has_query
    is_related = a.names == b.names or is_choice_and_judgement
    if is_related and not is_twin and (is_near or _are_alike(a, b)):
        is_twin = _has_other_answer(a, b, if_hidden=not is_near)
        is_near = True
    if is_twin:
        return "twin"
    return "near" if is_near else None


def _is_near(a: _Text, b: _Text, similarity: float, inside: bool) -> bool:
    """Whether two texts are similar, or one is inside the other.

    Short texts need a candidate in common.
    """
    is_long = min(len(a.coded), len(b.coded)) >= max(a.short, b.short)
    is_telling = is_long or not a.names.isdisjoint(b.names)
    if inside and is_telling:
        return True
    has_query = a.problem.query is not None or b.problem.query is not None
    return similarity > 0 and (is_telling or has_query)


def _has_other_answer(a: _Text, b: _Text, *, if_hidden: bool) -> bool:
    """Whether two answers differ for a candidate of both problems.

    `if_hidden` is returned if one of the answers is hidden.
    """
    differs = False
    for name in a.names & b.names:
        is_right = a.holds(name)
        is_other_right = b.holds(name)
        if is_right is None or is_other_right is None:
            return if_hidden
        differs = differs or is_right != is_other_right
    return differs


def _are_alike(a: _Text, b: _Text) -> bool:
    """Whether problems with the same candidates have similar enough texts.

    They share most of their start and end, or three fifths of their words.
    """
    x = a.coded
    y = b.coded
    shorter = min(len(x), len(y))
    if Prefix.similarity(x, y) + Postfix.similarity(x, y) >= ONE_STRETCH * shorter:
        return True
    return shorter >= SHORT and _compute_similarity(x, y, TWIN) > 0


def _compute_similarity(x: str, y: str, least: float) -> float:
    """One minus the edit distance over the longer length.

    0 if that is below `least`. rapidfuzz's own cut-off leaves out what is just at it, and texts of 15 or 20 words
    often are.
    """
    longer = max(len(x), len(y))
    most = int((1 - least) * longer + 1e-9)
    edits = Levenshtein.distance(x, y, score_cutoff=most)
    return 1 - edits / longer if edits <= most else 0.0


def _get_letters(text: str) -> str:
    """Letters, digits and blanks of a text, without differences of case.

    Width and composition of characters do not matter either.

    >>> _get_letters("Ann ’s cup, _!") == _get_letters("ANN's cup _")
    True
    """
    return "".join(_split_words(text))


def _split_words(text: str) -> list[str]:
    """Normalised words and blanks of a text.

    Marks of web pages, accents and punctuation are dropped.

    >>> _split_words("Na&iuml;ve <b>Zoe&#39;s</b>&nbsp;cup")
    ['naive', 'zoe', 's', 'cup']
    """
    if "&" in text or "<" in text:
        text = _TAG.sub(" ", html.unescape(text))
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(part for part in parts if unicodedata.category(part) != "Mn")
    return _WORD.findall(text.casefold())


@lru_cache(1 << 16)
def _normalize_name(candidate: str, language: str) -> str:
    """Letters of a candidate without its article."""
    return _get_letters(language_of(language).bare(candidate))
