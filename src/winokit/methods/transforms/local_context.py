"""The words next to the blank: local-context.

A baseline of Sakaguchi et al., "WinoGrande: An Adversarial Winograd Schema Challenge at Scale" (2019),
https://arxiv.org/abs/1907.10641.

The input is w[t-2] to the end: two words before the blank, the blank, and all that follows. A word is a text between
spaces. No code was released. `paper` keeps every problem. `default` refuses a problem with the blank among the first
words: nothing would be cut, and the whole problem would count as local context.
"""

from functools import partial

from winokit.errors import check_known
from winokit.methods.transforms.variants import PUBLISHED, TRANSFORMS, one_by_one
from winokit.problem import Problem
from winokit.text.language import language_of

STYLES = ("default", "paper")


def local_context(problem: Problem, *, style: str = "default") -> Problem | str:
    """Cut a problem's text two words before its blank.

    Returns the reason instead if that is not possible. The style is `default` or `paper`.

    >>> cup = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0, "it")
    >>> local_context(cup).text
    'tray because _ was loose.'
    """
    check_known("style of local context", style, STYLES)
    if problem.query is not None:
        return "a yes/no judgement asks about what would be cut"
    language = language_of(problem.language)
    if refusal := language.refusal("local-context"):
        return refusal
    if language.unit(problem.before) != "words":
        return "not for this language: there are no spaces between its words"
    before = _keep_two_words(problem.before)
    if style == "default" and before == problem.before.lstrip():
        return "the blank is among the first words, so nothing would be cut"
    return problem.replace(before=before, provenance={"of": problem.id})


def _keep_two_words(text: str) -> str:
    """Return the last two words of a text."""
    words = text.rsplit(None, 2)
    if len(words) < 2:
        return text
    if len(words) == 2:
        return text.lstrip()
    beginning_length = len(words[0])
    return text[beginning_length:].lstrip()


TRANSFORMS.register("local-context")(one_by_one(local_context))
PUBLISHED["paper"].register("local-context")(one_by_one(partial(local_context, style="paper")))
