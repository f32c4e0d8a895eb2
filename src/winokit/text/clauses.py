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
    """A token of a problem's text, a candidate's mention, or the blank.

    `start` and `end` are offsets in the text. A mention has an empty `word`, and `candidate` is None for anything
    else.
    """

    word: str
    start: int
    end: int
    capital: bool = False
    candidate: int | None = None
    blank: bool = False


def take_apart(problem: Problem) -> list[ClausePiece]:
    """Split a problem's text into tokens, mentions of candidates, and the blank."""
    mentions = ENGLISH.mentions(problem.text, problem.candidates)
    blank_start = len(problem.before)
    before = _make_pieces(problem.before, 0, mentions)
    after = _make_pieces(problem.after, blank_start + 1, mentions)
    blank = ClausePiece(BLANK, blank_start, blank_start + 1, blank=True)
    return [*before, blank, *after]


def _make_pieces(text: str, offset: int, mentions: Sequence[Mention]) -> list[ClausePiece]:
    """The pieces of the text on one side of the blank.

    `offset` is where this side begins in the whole text, in which pieces and mentions are counted.
    """
    pieces: list[ClausePiece] = []
    for token in grammar.tokenise(text):
        start = token.start + offset
        end = token.end + offset
        mention = next((m for m in mentions if m.start <= start and end <= m.end), None)
        if mention is None:
            pieces.append(ClausePiece(token.word, start, end, token.capital))
        elif start == mention.start:
            pieces.append(ClausePiece("", start, mention.end, token.capital, mention.candidate))
    return pieces


def find_cuts(pieces: Sequence[ClausePiece]) -> list[int]:
    """Indices of the pieces at which a clause ends or begins."""
    return [index for index in range(len(pieces)) if _is_cut(pieces, index)]


def _is_cut(pieces: Sequence[ClausePiece], index: int) -> bool:
    """Whether a clause ends or begins at the piece with an index.

    Marks always cut, and so do some words. Another connective cuts if something that can open a clause follows, with
    a verb after it if the connective may be a preposition.
    """
    piece = pieces[index]
    if piece.candidate is not None or piece.blank:
        return False
    if _is_certain_cut(piece):
        return True
    if piece.word not in grammar.CONNECTIVES:
        return False
    is_last = index + 1 == len(pieces)
    following = piece if is_last else pieces[index + 1]
    if not _can_open_clause(following):
        return False
    if piece.word == "that" and following.word == "" and not following.capital:
        return False
    return piece.word not in PREPOSITIONS_TOO or _has_verb(pieces[index + 1 :])


def _is_certain_cut(piece: ClausePiece) -> bool:
    """Whether a clause ends or begins at a piece, whatever follows it."""
    return piece.word in grammar.MARKS or piece.word in ALWAYS_CUT


def _can_open_clause(piece: ClausePiece) -> bool:
    """Whether a piece can begin a noun phrase, and so a clause.

    A candidate, the blank, a determiner, a pronoun and any word with a capital can.
    """
    if piece.candidate is not None or piece.blank or piece.capital:
        return True
    return piece.word in grammar.DETERMINERS or piece.word in grammar.PRONOUNS


def _has_verb(pieces: Sequence[ClausePiece]) -> bool:
    """Whether a verb comes before the next certain end of clause.

    The blank counts as one, because some verb belongs to it.
    """
    for piece in pieces:
        if _is_certain_cut(piece):
            return False
        if piece.blank or piece.word in grammar.AUXILIARIES or grammar.is_verb_like(piece.word):
            return True
    return False


def clause_around(cuts: Sequence[int], index: int, end: int) -> tuple[int, int]:
    """The range of pieces in the clause that contains a piece.

    It begins with the first index and ends before the second.

    Parameters
    ----------
    cuts
        Indices of the pieces at which clauses end or begin.
    index
        Index of the piece.
    end
        Number of pieces in the text.
    """
    starts = [cut + 1 for cut in cuts if cut < index]
    ends = [cut for cut in cuts if cut > index]
    return max(starts, default=0), min(ends, default=end)


def is_content(piece: ClausePiece) -> bool:
    """Whether a piece is a content word, and no candidate or blank."""
    if not piece.word or piece.blank:
        return False
    return not (piece.word in grammar.EMPTY or grammar.is_adverb(piece.word))
