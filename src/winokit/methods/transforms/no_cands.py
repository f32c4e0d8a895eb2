"""The candidates taken out of the text: no-cands.

A baseline of Elazar et al., "Back to Square One: Artifact Detection, Training and Commonsense Disentanglement in the
Winograd Schema" (2021), https://arxiv.org/abs/2104.08161.

"The trophy doesn't fit into the suitcase because it is too large" becomes "doesn't fit into because it is too large".
The candidates are still offered. If the answers are better than chance, they do not come from the reasoning.

`code` follows the released script: each candidate must occur exactly once, as a substring, as it is, with "The" for
"the" or the other way round, or without "the". The rest of its surroundings stays ("knows all about 's problems").
The paper says no more than that candidates are removed, so `paper` is `code`. By `default` every mention goes, found as
whole words, with its article and possessive, and the gaps are closed. A problem is refused if other words may still
mean a candidate.
"""

import re
from functools import partial

from winokit.errors import check_known
from winokit.methods.transforms.substitute import edited
from winokit.methods.transforms.variants import PUBLISHED, TRANSFORMS, one_by_one
from winokit.problem import BLANK, Problem
from winokit.text.language import Language, language_of

STYLES = ("default", "paper", "code")
POSSESSIVE = re.compile(r"['’]s?(?!\w)")
SPACE_BEFORE_A_MARK = re.compile(r" +(?=[.,;:?!])")
THE = (("The", "the"), ("the", "The"))


def no_cands(problem: Problem, *, style: str = "default") -> Problem | str:
    """Remove the candidates from a problem's text, but not from its options.

    Returns the reason instead if that is not possible. The style is `default`, `paper` or `code`.

    >>> nosy = Problem("Susan knows all about Ann's problems because ", " is nosy.", ("Susan", "Ann"), 0, "she")
    >>> no_cands(nosy).text, no_cands(nosy, style="code").text
    ('knows all about problems because _ is nosy.', " knows all about 's problems because _ is nosy.")
    """
    check_known("style of no-cands", style, STYLES)
    if problem.query is not None:
        return "a yes/no judgement asks about what would be removed"
    language = language_of(problem.language)
    if refusal := language.refusal("no-cands"):
        return refusal
    is_published = style != "default"
    if is_published and language.name != "English":
        return "not for this language: the published script takes out English names"
    parts = _remove_substrings(problem) if is_published else _remove_mentions(problem)
    if isinstance(parts, str):
        return parts
    before, after = parts
    if not before.strip() and not after.strip():
        return "nothing is left around the blank"
    return problem.replace(before=before, after=after, provenance={"of": problem.id})


def _remove_substrings(problem: Problem) -> tuple[str, str] | str:
    """Remove the candidates around the blank as the script does.

    Returns the two parts, or the reason why that is not possible.
    """
    # The script read the original spelling: WSC's doubled space distinguishes "the key" from "the  keyhole".
    original = str(problem.provenance.get("spelled", problem.text))
    before, _, after = original.partition(BLANK)
    has_same_words = before.split() == problem.before.split() and after.split() == problem.after.split()
    if not has_same_words:
        before = problem.before
        after = problem.after
    text = before + BLANK + after
    spellings = [_find_only_occurrence(text, candidate) for candidate in problem.candidates]
    for spelling in spellings:
        if spelling is None:
            return "a candidate does not occur exactly once"
        before = before.replace(spelling, "")
        after = after.replace(spelling, "")
    return before.replace("  ", " "), after.replace("  ", " ")


def _find_only_occurrence(text: str, candidate: str) -> str | None:
    """Return a spelling of a candidate that occurs exactly once.

    It is the first such spelling, or None if no spelling occurs exactly once in the text. The spellings are tried in
    the script's order.
    """
    if text.count(candidate) == 1:
        return candidate
    for article, other_article in THE:
        if candidate.startswith(article) and candidate not in text:
            spelling = candidate.replace(article, other_article)
            if text.count(spelling) == 1:
                return spelling
    for article, _ in THE:
        spelling = candidate.replace(f"{article} ", "")
        if candidate.startswith(article) and text.count(spelling) == 1:
            return spelling
    return None


def _remove_mentions(problem: Problem) -> tuple[str, str] | str:
    """Remove every mention of a candidate, with its article and possessive.

    Returns the text before and after the blank, or the reason why that is not possible.
    """
    text = problem.text
    language = language_of(problem.language)
    plain_edits = language.plain_exchange(text, problem.candidates)
    if plain_edits is None:
        mentions = _find_mentions(problem, text, language)
    else:
        mentions = [(start, end) for start, end, _ in plain_edits]
    if isinstance(mentions, str):
        return mentions
    edits = []
    for start, end in mentions:
        article = language.article_before(text, start)
        possessive = POSSESSIVE.match(text, end)
        edit_start = article.start() if article else start
        edit_end = possessive.end() if possessive else end
        edits.append((edit_start, edit_end, ""))
    before, after = edited(problem, edits)
    return _close_gaps(before).lstrip(), _close_gaps(after)


def _find_mentions(problem: Problem, text: str, language: Language) -> list[tuple[int, int]] | str:
    """Return the start and end of each mention of a candidate.

    Returns the reason instead if a candidate is not mentioned, or if other words may refer to it.
    """
    mentions = language.mentions(text, problem.candidates)
    mentioned_indices = {mention.candidate for mention in mentions}
    cores = [language.core(candidate) for candidate in problem.candidates]
    for index, core in enumerate(cores):
        # A candidate that is named only inside another has no mention of its own.
        if index not in mentioned_indices and not language.occurrences(text, core):
            return "a candidate is not named in the text"
    if any(language.stands_in_another_form(text, core, mentions) for core in cores):
        return "a candidate may be meant by other words too"
    return [(mention.start, mention.end) for mention in mentions]


def _close_gaps(text: str) -> str:
    """Return the text without doubled spaces and without spaces before punctuation."""
    while "  " in text:
        text = text.replace("  ", " ")
    return SPACE_BEFORE_A_MARK.sub("", text)


TRANSFORMS.register("no-cands")(one_by_one(no_cands))
PUBLISHED["paper"].register("no-cands")(one_by_one(partial(no_cands, style="paper")))
PUBLISHED["code"].register("no-cands")(one_by_one(partial(no_cands, style="code")))
