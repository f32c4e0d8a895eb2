"""The candidates taken out of the text: no-cands.

A baseline of Elazar et al., "Back to Square One: Artifact Detection, Training and Commonsense Disentanglement in the
Winograd Schema" (2021), https://arxiv.org/abs/2104.08161.

"The trophy doesn't fit into the suitcase because it is too large" becomes "doesn't fit into because it is too large".
The candidates are still offered; whoever answers better than chance has found something other than the reasoning.

`code` follows the released script: each candidate must occur exactly once, as a substring, as it is, with "The" for
"the" or the other way round, or without "the"; what is left of its surroundings stays ("knows all about 's problems").
The paper says no more than that candidates are removed, so `paper` is `code`. By `default` every mention goes, found as
whole words, with its article and possessive, and the gaps are closed; a problem is refused where a candidate may still
be meant by other words.
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
    """The problem without any mention of its candidates outside the blank, or why not.

    >>> nosy = Problem("Susan knows all about Ann's problems because ", " is nosy.", ("Susan", "Ann"), 0, "she")
    >>> no_cands(nosy).text, no_cands(nosy, style="code").text
    ('knows all about problems because _ is nosy.', " knows all about 's problems because _ is nosy.")
    """
    check_known("style of no-cands", style, STYLES)
    if problem.query is not None:
        return "a yes/no judgement asks about what would be removed"
    if refusal := language_of(problem.language).refusal("no-cands"):
        return refusal
    if style != "default" and language_of(problem.language).name != "English":
        return "not for this language: the published script takes out English names"
    parts = _all_mentions_removed(problem) if style == "default" else _substrings_removed(problem)
    if isinstance(parts, str):
        return parts
    if not any(part.strip() for part in parts):
        return "nothing is left around the blank"
    return problem.replace(before=parts[0], after=parts[1], provenance={"of": problem.id})


def _substrings_removed(problem: Problem) -> tuple[str, str] | str:
    # As the script saw it: a doubled space of WSC parts "the key" from "the  keyhole".
    before, _, after = str(problem.provenance.get("spelled", problem.text)).partition(BLANK)
    if (before.split(), after.split()) != (problem.before.split(), problem.after.split()):
        before = problem.before
        after = problem.after
    spellings = [_only_occurrence(before + BLANK + after, candidate) for candidate in problem.candidates]
    for words in spellings:
        if words is None:
            return "a candidate does not occur exactly once"
        before = before.replace(words, "")
        after = after.replace(words, "")
    return before.replace("  ", " "), after.replace("  ", " ")


def _only_occurrence(text: str, candidate: str) -> str | None:
    """The candidate in the first of its spellings that occurs exactly once, in the script's order."""
    if text.count(candidate) == 1:
        return candidate
    for own, other in THE:
        if candidate.startswith(own) and candidate not in text and text.count(candidate.replace(own, other)) == 1:
            return candidate.replace(own, other)
    for own, _ in THE:
        bare = candidate.replace(f"{own} ", "")
        if candidate.startswith(own) and text.count(bare) == 1:
            return bare
    return None


def _all_mentions_removed(problem: Problem) -> tuple[str, str] | str:
    text = problem.text
    language = language_of(problem.language)
    plain = language.plain_exchange(text, problem.candidates)
    places = _mentioned(problem, text, language) if plain is None else [(start, end) for start, end, _ in plain]
    if isinstance(places, str):
        return places
    removed = []
    for start, end in places:
        article = language.article_before(text, start)
        ending = POSSESSIVE.match(text, end)
        removed.append((article.start() if article else start, ending.end() if ending else end, ""))
    before, after = edited(problem, removed)
    return _closed(before).lstrip(), _closed(after)


def _mentioned(problem: Problem, text: str, language: Language) -> list[tuple[int, int]] | str:
    """Where the candidates are named, or why that is not all that is said of them."""
    mentions = language.mentions(text, problem.candidates)
    named = {mention.candidate for mention in mentions}
    for index, candidate in enumerate(problem.candidates):  # one that is named inside another has no mention of its own
        if index not in named and not language.occurrences(text, language.core(candidate)):
            return "a candidate is not named in the text"
    if any(language.stands_in_another_form(text, core, mentions) for core in map(language.core, problem.candidates)):
        return "a candidate may be meant by other words too"
    return [(mention.start, mention.end) for mention in mentions]


def _closed(text: str) -> str:
    """The text with the gaps closed that words have left: doubled spaces, and spaces before punctuation."""
    while "  " in text:
        text = text.replace("  ", " ")
    return SPACE_BEFORE_A_MARK.sub("", text)


TRANSFORMS.register("no-cands")(one_by_one(no_cands))
PUBLISHED["paper"].register("no-cands")(one_by_one(partial(no_cands, style="paper")))
PUBLISHED["code"].register("no-cands")(one_by_one(partial(no_cands, style="code")))
