"""The clauses of a problem: its text as pieces, cut at punctuation and connectives.

A connective cuts where something that can open a clause follows: "so he left" is cut, "so heavy" is not; "after the
police arrived" is, "after the police" is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from winokit.problem import BLANK, Problem
from winokit.text import grammar
from winokit.text.english import ENGLISH
from winokit.text.language import Mention

ALWAYS_CUT = grammar.WORDS["always_cut"]
PREPOSITIONS_TOO = frozenset("after before since until till as once".split())
"""Connectives before a clause, prepositions before a name alone: "arrived after the police"."""


@dataclass(frozen=True, slots=True)
class ClausePiece:
    """A token of a problem's text, a whole mention of a candidate, or the blank."""

    word: str
    start: int
    end: int
    capital: bool = False
    candidate: int | None = None
    blank: bool = False


def take_apart(problem: Problem) -> list[ClausePiece]:
    """The tokens of the text, with mentions of candidates and the blank as one piece each."""
    named = ENGLISH.mentions(problem.text, problem.candidates)
    blank = len(problem.before)
    before = _pieces(problem.before, 0, named)
    after = _pieces(problem.after, blank + 1, named)
    return [*before, ClausePiece(BLANK, blank, blank + 1, blank=True), *after]


def _pieces(text: str, offset: int, named: Sequence[Mention]) -> list[ClausePiece]:
    pieces: list[ClausePiece] = []
    for token in grammar.tokenise(text):
        start = token.start + offset
        end = token.end + offset
        inside = next((m for m in named if m.start <= start and end <= m.end), None)
        if inside is None:
            pieces.append(ClausePiece(token.word, start, end, token.capital))
        elif start == inside.start:
            pieces.append(ClausePiece("", inside.start, inside.end, token.capital, inside.candidate))
    return pieces


def find_cuts(pieces: Sequence[ClausePiece]) -> list[int]:
    """The pieces at which a clause ends or begins."""
    return [i for i in range(len(pieces)) if _is_cut(pieces, i)]


def _is_cut(pieces: Sequence[ClausePiece], at: int) -> bool:
    """Whether a clause ends or begins at a piece."""
    piece = pieces[at]
    if piece.candidate is not None or piece.blank:
        return False
    if piece.word in grammar.MARKS or piece.word in ALWAYS_CUT:
        return True
    if piece.word not in grammar.CONNECTIVES:
        return False
    following = pieces[at + 1] if at + 1 < len(pieces) else piece
    named = following.candidate is not None or following.blank or following.capital
    if not named and following.word not in grammar.DETERMINERS and following.word not in grammar.PRONOUNS:
        return False
    if piece.word == "that" and following.word == "" and not following.capital:
        return False
    return piece.word not in PREPOSITIONS_TOO or _has_a_verb(pieces[at + 1 :])


def _has_a_verb(pieces: Sequence[ClausePiece]) -> bool:
    """Whether a verb, or the blank that some verb goes with, comes before the next sure cut."""
    for piece in pieces:
        if piece.word in grammar.MARKS or piece.word in ALWAYS_CUT:
            return False
        if piece.blank or piece.word in grammar.AUXILIARIES or grammar.is_verb_like(piece.word):
            return True
    return False


def clause_around(cuts: Sequence[int], at: int, end: int) -> tuple[int, int]:
    """Where the clause of a piece begins and ends."""
    return max((cut + 1 for cut in cuts if cut < at), default=0), min((cut for cut in cuts if cut > at), default=end)


def is_content(piece: ClausePiece) -> bool:
    """Whether a piece is a word with a meaning of its own, and no candidate."""
    word = piece.word
    return bool(word) and not (piece.blank or word in grammar.EMPTY or grammar.is_adverb(word))
