"""The part of the text that has the blank: part-sent.

A baseline of Elazar et al., "Back to Square One: Artifact Detection, Training and Commonsense Disentanglement in the
Winograd Schema" (2021), https://arxiv.org/abs/2104.08161.

"The trophy doesn't fit into the suitcase because it is too large" becomes "because it is too large". The text is cut at
the last marker before the blank, a connective or a punctuation mark, and everything after it is kept, later sentences
included. Paper and released script disagree, and we differ from both:

| style | markers besides the eight connectives and `,` `;` `?` | the connective | refused |
|---|---|---|---|
| `paper` | `:` | stays, as in the paper's example | no marker |
| `code` | `.` | goes | no marker |
| `default` | `.` `:` `!` `…`, and connectives with a capital | stays | no marker, or a candidate is still named |

The default keeps the connective, since "because" and "although" belong to the clause and the paper shows them. It also
cuts at every end of a sentence, and refuses a problem in which a candidate is still named.
"""

import re
from functools import cache, partial

from winokit.errors import check_known
from winokit.methods.transforms.variants import PUBLISHED, TRANSFORMS, one_by_one
from winokit.problem import BLANK, Problem
from winokit.text.language import Language, language_of

STYLES = ("default", "paper", "code")
MARKS = {"default": frozenset(".:,;?!…"), "paper": frozenset(":,;?"), "code": frozenset(".,;?")}
NEAR = 40
"""Number of characters before the blank that are searched first."""
# Tokens as spaCy finds them: the period of an abbreviation, an initial or a number is no mark, nor are dots in a row,
# and a hyphen ends a word ("so-called" has a "so").
TOKEN = re.compile(
    r"(?:Mrs?|Ms|Dr|St|Prof|Jr|Sr|vs|Inc|Ltd|Co|etc|[A-Z]|[ap]\.m)\.(?=\s)|(?:[A-Z]\.){2,}"
    r"|\d+(?:[.,:]\d+)*|\.{2,}|\w+|[^\w\s]"
)


def part_sent(problem: Problem, *, style: str = "default") -> Problem | str:
    """Cut a problem's text at the last marker before its blank.

    Markers are connectives and punctuation marks. Returns the reason instead if that is not possible. The style is
    `default`, `paper` or `code`.

    >>> cup = Problem("I left, and the cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0, "it")
    >>> part_sent(cup).text, part_sent(cup, style="code").text
    ('because _ was loose.', '_ was loose.')
    """
    check_known("style of part-sent", style, STYLES)
    if problem.query is not None:
        return "a yes/no judgement asks about what would be cut"
    language = language_of(problem.language)
    if refusal := language.refusal("part-sent"):
        return refusal
    marker = _find_last_marker(problem.before, language, style)
    if marker is None:
        return "no connective or punctuation before the blank"
    before = _cut_before_marker(problem.before, marker, style)
    if before == problem.before:
        return "the part with the blank is the whole text"
    if not (before.strip() or problem.after.strip()):
        return "nothing is left around the blank"
    if style == "default" and _is_any_named(problem, language, f"{before}{BLANK}{problem.after}"):
        return "a candidate is still named"
    return problem.replace(before=before, provenance={"of": problem.id})


def _is_any_named(problem: Problem, language: Language, text: str) -> bool:
    """Whether a text names a candidate of the problem."""
    return any(language.occurrences(text, language.core(name)) for name in problem.candidates)


def _find_last_marker(text: str, language: Language, style: str) -> re.Match[str] | None:
    """Return the last connective or punctuation mark of a text, or None."""
    token_pattern = _make_token_pattern(language.abbreviations)
    marks = MARKS[style]
    fold = str.lower if style == "default" else str

    def find_from(start: int) -> re.Match[str] | None:
        """Return the last marker at or after a position."""
        for token in reversed([*token_pattern.finditer(text, start)]):
            if token[0] in marks or fold(token[0]) in language.cutting:
                return token
        return None

    # The marker is usually near the end. No token has a space inside, except abbreviations such as "z. B.".
    has_spaced_abbreviations = re.search(r"\\s| ", language.abbreviations)
    start_near_end = 0 if has_spaced_abbreviations else text.find(" ", -NEAR) + 1
    return find_from(start_near_end) or find_from(0)


@cache
def _make_token_pattern(abbreviations: str) -> re.Pattern[str]:
    """Return the pattern of a token, with a language's abbreviations as alternatives."""
    return re.compile(rf"\b(?:{abbreviations})\.(?=\s)|{TOKEN.pattern}")


def _cut_before_marker(before: str, marker: re.Match[str], style: str) -> str:
    """Return the text from a marker on.

    The marker is kept if it is a connective, except in the style `code`.
    """
    is_connective = marker.group().isalpha()
    if style != "code" and is_connective:
        return before[marker.start() :]
    after_marker = before[marker.end() :]
    if style == "code":
        # spaCy's tokens include one space after them, and further spaces are tokens of their own.
        return after_marker.removeprefix(" ")
    return after_marker.lstrip()


TRANSFORMS.register("part-sent")(one_by_one(part_sent))
PUBLISHED["paper"].register("part-sent")(one_by_one(partial(part_sent, style="paper")))
PUBLISHED["code"].register("part-sent")(one_by_one(partial(part_sent, style="code")))
