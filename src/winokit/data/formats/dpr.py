"""Definite Pronoun Resolution (Rahman and Ng, 2012): four lines a problem and a blank one.

    sentence / pronoun / first candidate,second candidate / right candidate

The format does not say *which* "they" is meant where a sentence has two (51 of 1,886). The target is then the first one
after the connective that follows both candidates: in "The workers were told they had been fired by the company, because
they could cut costs" it is the second. Files are latin-1; UTF-8 is read too.

Kocijan et al. (2019) have Winogender in this format (WinoGender.txt), with [MASK] for every pronoun. Its problems come
in fours: the participant's and the occupation's sentence are each followed by the same with "someone". So twins are two
lines of the four apart, and their texts do not tell it.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence

from winokit.data.formats.base import FileHead, WriteOptions, native_format, need_answer, need_pronoun, need_two
from winokit.data.formats.source import Source
from winokit.errors import CannotWrite, Malformed
from winokit.problem import Problem

CONNECTIVE = re.compile(r"(?i)\b(?:because|since|so|but|and|although|though|after|before|when|while|if|as)\b")
MASK = "[MASK]"
"""What stands where the pronoun is not said."""
PARTS = ("sentence", "pronoun", "candidates", "answer")


def parse(block: Sequence[str]) -> Problem:
    """Parse a block of four lines of DPR into a problem.

    The lines are sentence, pronoun, candidates and answer. Raises Malformed if they do not fit together.
    """
    if len(block) != len(PARTS):
        raise Malformed(f"expected four lines ({', '.join(PARTS)}) and a blank one, found {len(block)}")
    sentence, pronoun, pair, right = (line.strip() for line in block)
    candidates = tuple(candidate.strip() for candidate in pair.split(","))
    if len(candidates) != 2:
        raise Malformed(f"expected two candidates with one comma, found {pair!r}", field="candidates")
    folded_candidates = [candidate.casefold() for candidate in candidates]
    if right.casefold() not in folded_candidates:
        raise Malformed(f"expected one of {pair!r}, found {right!r}", field="answer")
    answer = folded_candidates.index(right.casefold())
    start = target(sentence, pronoun, candidates)
    if start is None:
        raise Malformed(f"the pronoun {pronoun!r} does not occur in the sentence", field="pronoun")
    end = start + len(pronoun)
    said = None if pronoun == MASK else sentence[start:end]
    return Problem(sentence[:start], sentence[end:], candidates, answer, pronoun=said)


def with_twins_in_fours(source: Source, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Give the twins of Kocijan et al.'s WinoGender.txt a common group.

    There the first and third of four problems are twins, and so are the second and fourth. Yields all problems. Those
    of other files are unchanged.
    """
    rows = list(problems)
    fours = [rows[at : at + 4] for at in range(0, len(rows), 4)]
    if any(problem.pronoun is not None for problem in rows) or not all(map(_are_two_pairs, fours)):
        yield from rows
        return
    source.note("its problems come in fours, of which the first and third, and the second and fourth, are twins")
    for number, four in enumerate(fours, 1):
        for place, problem in enumerate(four):
            kind = "someone" if place % 2 else "participant"
            yield problem.replace(group=f"{number}-{kind}")


def _are_two_pairs(four: Sequence[Problem]) -> bool:
    """Whether four problems are two pairs of twins.

    The first and third are one, the second and fourth the other. Twins have the same candidates and opposite answers.
    """
    if len(four) != 4:
        return False
    pairs = ((four[0], four[2]), (four[1], four[3]))
    return all(one.candidates == other.candidates and one.answer != other.answer for one, other in pairs)


def target(sentence: str, pronoun: str, candidates: Iterable[str]) -> int | None:
    """Find the start of the pronoun in question, or None.

    If the pronoun occurs several times, the first occurrence after the connective that follows both candidates
    counts. If none is there, it is the first after both candidates, or else the first of all. None if the pronoun
    does not occur as a whole word.
    """
    if not pronoun:
        return None
    matches = re.finditer(rf"(?<!\w){re.escape(pronoun)}(?!\w)", sentence)
    places = [match.start() for match in matches]
    if not places:
        return None
    candidate_ends = [sentence.find(candidate) + len(candidate) for candidate in candidates]
    last_end = max(candidate_ends, default=0)
    connective = CONNECTIVE.search(sentence, last_end)
    thresholds = [last_end, 0]
    if connective:
        thresholds.insert(0, connective.end())
    for threshold in thresholds:
        later_places = [place for place in places if place >= threshold]
        if later_places:
            return later_places[0]
    return places[0]


def render(problem: Problem, options: WriteOptions) -> list[str]:
    """Turn a problem into the four lines of DPR.

    Raises CannotWrite if they would not read back as the same problem.
    """
    candidates = need_two(problem, "dpr")
    pronoun = need_pronoun(problem, "dpr")
    answer = need_answer(problem, "dpr")
    if any("," in candidate for candidate in candidates):
        raise CannotWrite("a candidate has a comma, which dpr uses to separate candidates")
    if any("\n" in text or text != text.strip() for text in (problem.sentence, *candidates)):
        raise CannotWrite("dpr keeps a problem's text and its candidates on one line each, with no space around them")
    if target(problem.sentence, pronoun, candidates) != len(problem.before):
        raise CannotWrite(f"{pronoun!r} occurs more than once, and dpr cannot say which one is meant")
    return [problem.sentence, pronoun, ",".join(candidates), candidates[answer]]


def encode(text: str) -> bytes:
    """Encode the text of a DPR file as latin-1 or UTF-8.

    It is latin-1 like the original, unless a character needs UTF-8, or the latin-1 bytes would be valid UTF-8.
    """
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")
    is_ambiguous = not text.isascii() and _is_utf8(data)
    return text.encode("utf-8") if is_ambiguous else data


def _split_blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Split a text at blank lines into blocks.

    Yields the number of the first line of each block, and its lines.
    """
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _read_records(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the blocks of a file in latin-1 or UTF-8."""
    data = source.raw().removeprefix(BOM_UTF8)
    encoding = "utf-8" if _is_utf8(data) else "latin-1"
    return _split_blocks(data.decode(encoding))


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_dpr(head: FileHead) -> bool:
    """Whether a file's first block has four lines of this format."""
    _, block = next(_split_blocks(head.text), (0, []))
    if len(block) != len(PARTS):
        return False
    sentence, pronoun, candidates, _ = block
    is_one_word = len(pronoun.split()) == 1
    return is_one_word and "," in candidates and pronoun.strip() in sentence


native_format(
    "dpr",
    "text: sentence, pronoun, candidates with a comma, answer; a blank line between problems",
    ".txt",
    _is_dpr,
    _read_records,
    render,
    lambda blocks: "".join("\n".join(block) + "\n\n" for block in blocks),
    encode=encode,
    finish=with_twins_in_fours,
)(parse)
