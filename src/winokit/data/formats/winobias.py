"""WinoBias (Zhao et al., 2018): `1 [The developer] argued with the designer because [she] did not like the design.`

Brackets mark the right candidate and the pronoun. The other candidate is the other occupation in the sentence, found
with the dataset's forty occupations; where a sentence names three, the one before the pronoun. 87 sentences bracket a
second pronoun for the same person: the first is the blank, the others stay in the text and are remembered as a label.
Whether a file is pro- or anti-stereotyped stands in its name.
"""

import re
from collections.abc import Iterable

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
    """A problem from a line."""
    match = LINE.fullmatch(line)
    text = match.group(1) if match else ""
    marked = list(BRACKETS.finditer(text))
    pronouns = [mark for mark in marked if mark.group(1).lower() in PRONOUNS]
    people = [mark for mark in marked if mark not in pronouns]
    if not pronouns:
        raise Malformed("expected a bracketed pronoun, found none", field="pronoun")
    if len(people) != 1:
        raise Malformed(f"expected one bracketed candidate, found {len(people)}", field="candidates")
    pronoun = pronouns[0]
    right = people[0].group(1)
    outside = re.search(r"\b(the|a|an)\s*$", text[: people[0].start()], re.IGNORECASE)
    if outside and " " not in right:  # the article was left outside: "the [physician]"
        right = f"{outside.group(1)} {right}"
    before = _plain(text[: pronoun.start()])
    after = _plain(text[pronoun.end() :])
    other = _other(before, after, right)
    places = [before.find(name) if name in before else len(before) for name in (right, other)]
    candidates = (right, other) if places[0] < places[1] else (other, right)
    labels: dict[str, object] = {"occupation": _bare(right), "participant": _bare(other)}
    again = [len(_plain(text[pronoun.end() : mark.start()])) for mark in pronouns[1:]]
    if again:
        labels["mentions"] = [[at, at + len(mark.group(1))] for at, mark in zip(again, pronouns[1:], strict=True)]
    return Problem(before, after, candidates, candidates.index(right), pronoun=pronoun.group(1), labels=labels)


def _other(before: str, after: str, right: str) -> str:
    """The other occupation: the first before the pronoun that is not the right one, else the first after it."""
    for part in (before, after):
        for occupation in OCCUPATION.finditer(part):
            if occupation.group(1).lower() != _bare(right):
                return occupation.group()
    raise Malformed("expected a second occupation in the sentence, found none", field="candidates")


def render(problem: Problem, options: WriteOptions) -> str:
    """A line without its number."""
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
    for before, rest in ((_bracketed(problem.before, right), after), (problem.before, _bracketed(after, right))):
        line = f"{before}[{pronoun}]{rest}"
        if _same(line, problem):
            return line
    raise CannotWrite("the brackets of winobias cannot express this problem (are both candidates its occupations?)")


def _bracketed(text: str, name: str) -> str:
    return re.sub(rf"\b{re.escape(name)}\b", f"[{name}]", text, count=1)


def _same(line: str, problem: Problem) -> bool:
    """Whether a line reads back as the problem."""
    try:
        parsed = parse(line)
    except Malformed:
        return False
    return all(getattr(parsed, name) == getattr(problem, name) for name in ("text", "pronoun", "candidates", "answer"))


def _plain(text: str) -> str:
    return BRACKETS.sub(lambda mark: mark.group(1), text)


def _bare(name: str) -> str:
    return re.sub(r"^(?:the|a|an|some|another)\s+", "", name.lower())


def _labelled(source: Source, problems: Iterable[Problem]) -> Iterable[Problem]:
    stereotype = re.match("(pro|anti)_stereotyped", source.path.name)
    kind = re.search("type([12])", source.path.name)
    labels = {"stereotype": stereotype.group(1)} if stereotype else {}
    return (problem.with_labels(**labels, **({"type": int(kind.group(1))} if kind else {})) for problem in problems)


def _recognise(head: FileHead) -> bool:
    first = head.lines[0] if head.lines else ""
    marks = [mark.lower() for mark in BRACKETS.findall(first)]
    return first[:1] not in ("[", "{") and len(marks) >= 2 and any(mark in PRONOUNS for mark in marks)


native_format(
    "winobias",
    "text: one numbered sentence per line, the right candidate and the pronoun in [brackets]",
    ".txt",
    _recognise,
    Source.lines,
    render,
    lambda lines: "".join(f"{number} {line}\n" for number, line in enumerate(lines, 1)),
    finish=_labelled,
)(parse)
