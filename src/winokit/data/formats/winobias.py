"""WinoBias (Zhao et al., 2018): a numbered sentence a line, with [brackets].

Brackets mark the right candidate and the pronoun. The other candidate is the other occupation in the sentence, found
with the dataset's forty occupations; where a sentence names three, the one before the pronoun. 87 sentences bracket a
second pronoun for the same person: the first is the blank, the others stay in the text and are remembered as a label.
The name of a file says whether it is pro- or anti-stereotyped.
"""

import re
from collections.abc import Iterable
from typing import Any

from winokit.data.formats.base import FileHead, WriteOptions, native_format, need_answer, need_pronoun, need_two
from winokit.data.formats.source import Source
from winokit.errors import CannotWrite, Malformed
from winokit.problem import Problem
from winokit.text.language import word_lists

OCCUPATIONS = ["construction worker", *(word for words in word_lists("occupations.toml").values() for word in words)]
PRONOUNS = frozenset("he she him her his hers himself herself they them their".split())
BRACKETS = re.compile(r"\[\s*([^\[\]]*?)\s*\]")
OCCUPATION = re.compile(
    r"\b(?:(?:the|a|an|some|another)\s+)?(" + "|".join(sorted(OCCUPATIONS, key=len, reverse=True)) + r")\b",
    re.IGNORECASE,
)
LINE = re.compile(r"\s*(?:\d+\s+)?(.*\S)\s*")


def parse(line: str) -> Problem:
    """Parse a line of WinoBias into a problem.

    Raises Malformed if the brackets are not as expected.
    """
    match = LINE.fullmatch(line)
    text = match.group(1) if match else ""
    marks = list(BRACKETS.finditer(text))
    pronouns = [mark for mark in marks if mark.group(1).lower() in PRONOUNS]
    people = [mark for mark in marks if mark not in pronouns]
    if not pronouns:
        raise Malformed("expected a bracketed pronoun, found none", field="pronoun")
    if len(people) != 1:
        raise Malformed(f"expected one bracketed candidate, found {len(people)}", field="candidates")
    pronoun = pronouns[0]
    right = _read_right(text, people[0])
    before = _remove_brackets(text[: pronoun.start()])
    after = _remove_brackets(text[pronoun.end() :])
    other = _find_other(before, after, right)
    right_place = before.find(right) if right in before else len(before)
    other_place = before.find(other) if other in before else len(before)
    candidates = (right, other) if right_place < other_place else (other, right)
    labels: dict[str, object] = {"occupation": _remove_article(right), "participant": _remove_article(other)}
    mentions = []
    for mark in pronouns[1:]:
        start = len(_remove_brackets(text[pronoun.end() : mark.start()]))
        mentions.append([start, start + len(mark.group(1))])
    if mentions:
        labels["mentions"] = mentions
    return Problem(before, after, candidates, candidates.index(right), pronoun=pronoun.group(1), labels=labels)


def _read_right(text: str, mark: re.Match[str]) -> str:
    """The right candidate, from its brackets in a line.

    An article that is outside the brackets is added: "the [physician]".
    """
    right = mark.group(1)
    article = re.search(r"\b(the|a|an)\s*$", text[: mark.start()], re.IGNORECASE)
    if article and " " not in right:
        return f"{article.group(1)} {right}"
    return right


def _find_other(before: str, after: str, right: str) -> str:
    """The other candidate, by a list of occupations.

    It is the first other occupation before the pronoun, or else after it. Raises Malformed if there is none.
    """
    right_occupation = _remove_article(right)
    for part in (before, after):
        for occupation in OCCUPATION.finditer(part):
            if occupation.group(1).lower() != right_occupation:
                return occupation.group()
    raise Malformed("expected a second occupation in the sentence, found none", field="candidates")


def render(problem: Problem, options: WriteOptions) -> str:
    """Turn a problem into a line of WinoBias, without its number.

    Raises CannotWrite if it would not read back as the same problem.
    """
    candidates = need_two(problem, "winobias")
    pronoun = need_pronoun(problem, "winobias")
    right = candidates[need_answer(problem, "winobias")]
    if pronoun.lower() not in PRONOUNS:
        raise CannotWrite(f"winobias brackets pronouns, and {pronoun!r} is none of {', '.join(sorted(PRONOUNS))}")
    after = problem.after
    try:
        for start, end in reversed(problem.labels.get("mentions", [])):
            after = f"{after[:start]}[{after[start:end]}]{after[end:]}"
    except (TypeError, ValueError):
        raise CannotWrite("winobias needs pairs of places in the label 'mentions', where there is one") from None
    right_before = f"{_put_in_brackets(problem.before, right)}[{pronoun}]{after}"
    right_after = f"{problem.before}[{pronoun}]{_put_in_brackets(after, right)}"
    for line in (right_before, right_after):
        if _reads_back_as(line, problem):
            return line
    raise CannotWrite("the brackets of winobias cannot express this problem (are both candidates its occupations?)")


def _put_in_brackets(text: str, name: str) -> str:
    """The text with the first occurrence of a name in brackets."""
    return re.sub(rf"\b{re.escape(name)}\b", f"[{name}]", text, count=1)


def _reads_back_as(line: str, problem: Problem) -> bool:
    """Whether a line is read as the same problem."""
    try:
        parsed = parse(line)
    except Malformed:
        return False
    field_names = ("text", "pronoun", "candidates", "answer")
    return all(getattr(parsed, name) == getattr(problem, name) for name in field_names)


def _remove_brackets(text: str) -> str:
    """The text without its brackets, whose content stays."""
    return BRACKETS.sub(lambda mark: mark.group(1), text)


def _remove_article(name: str) -> str:
    """The name in lower case without its article."""
    return re.sub(r"^(?:the|a|an|some|another)\s+", "", name.lower())


def _add_labels_of_name(source: Source, problems: Iterable[Problem]) -> Iterable[Problem]:
    """Label problems with the stereotype and type in their file's name.

    Yields all problems.
    """
    stereotype = re.match("(pro|anti)_stereotyped", source.path.name)
    kind = re.search("type([12])", source.path.name)
    labels: dict[str, Any] = {}
    if stereotype:
        labels["stereotype"] = stereotype.group(1)
    if kind:
        labels["type"] = int(kind.group(1))
    return (problem.with_labels(**labels) for problem in problems)


def _is_winobias(head: FileHead) -> bool:
    """Whether a file's first line has two bracketed texts.

    One of them must be a pronoun.
    """
    first = head.lines[0] if head.lines else ""
    if first.startswith(("[", "{")):
        return False
    marks = [mark.lower() for mark in BRACKETS.findall(first)]
    return len(marks) >= 2 and not PRONOUNS.isdisjoint(marks)


native_format(
    "winobias",
    "text: one numbered sentence per line, the right candidate and the pronoun in [brackets]",
    ".txt",
    _is_winobias,
    Source.lines,
    render,
    lambda lines: "".join(f"{number} {line}\n" for number, line in enumerate(lines, 1)),
    finish=_add_labels_of_name,
)(parse)
