"""The value of items, on the terminal and for scripts."""

from collections.abc import Iterator
from typing import Any

from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import plural, probability
from winokit.stages.items.records import items_json
from winokit.stages.items.run import ItemsRun

SHOWN_SINGERS = 5
"""Families of which the terminal says what they give back."""


def lines(result: ItemsRun) -> Lines:
    """The witnesses, the suspects in order, the canaries and the paths of the files."""
    yield from item_sentences(result)
    suspects = result.judged.suspects[: result.top]
    if suspects:
        yield table(
            ("", "suspect", "why"), [_describe_suspect(result, place) for place in range(len(suspects))], left=3
        )
    yield from canary_sentences(result)
    for name, path in (("queue", result.queue), ("errata", result.errata), ("page", result.page)):
        if path is not None:
            yield f"{name}: {path}"


def item_sentences(result: ItemsRun) -> Iterator[str]:
    """The numbers of items, families and suspects."""
    judged = result.judged
    models = plural(len(judged.matrix.scorers), "model")
    families = plural(judged.family_count, "family", "families")
    pairs = plural(len(judged.pairs), "pair")
    yield f"{plural(len(judged.items), 'item')}, {pairs} among them, by {models} in {families}"
    negative = sum(item.rest is not None and item.rest.high < 0 for item in judged.items)
    yield (
        f"{plural(len(judged.suspects), 'suspect')}; {plural(negative, 'item')} with a negative item-rest correlation. "
        "A suspect is to be read by people; nothing is changed"
    )


def canary_sentences(result: ItemsRun) -> Iterator[str]:
    """The models that give wrong labels back, or how few such labels there are."""
    found = result.canaries
    if found is None:
        return
    count = len(found.canaries)
    if not count:
        yield "canaries: nobody was asked a problem whose label people found wrong"
        return
    many = "canary" if count == 1 else "canaries"
    few = ""
    if found.least_p >= 0.05:
        few = f"; so few can show nothing: the least p that is possible is {probability(found.least_p)}"
    yield f"{count:,} {many}: labels that people found wrong{few}"
    for singer in found.singers[:SHOWN_SINGERS]:
        name = result.judged.matrix.scorers[singer.scorer].model
        members = "" if singer.members == 1 else f", the most of {singer.members:,} in its family"
        yield (
            f"  {name}{members}: {singer.given_back} of {singer.canaries} given back, {singer.expected:.2f} "
            f"expected of its strength; p {probability(singer.p_family)}, corrected {probability(singer.p_corrected)}"
        )
    if len(found.singers) > SHOWN_SINGERS:
        yield f"  and {plural(len(found.singers) - SHOWN_SINGERS, 'family', 'families')} with a larger p"


def _describe_suspect(result: ItemsRun, place: int) -> tuple[str, ...]:
    """One suspect: its place, its text with the label, and the reasons."""
    suspect = result.judged.suspects[place]
    problem = result.judged.asked.problems[suspect.rows[0]]
    twin = " (and its twin)" if len(suspect.rows) > 1 else ""
    return (str(place + 1), f"{problem.text} → {problem.right}{twin}", "; ".join(suspect.reasons.values()))


def as_json(result: ItemsRun) -> dict[str, Any]:
    """Every judgement, and where the files are."""
    paths = {"queue": result.queue, "errata": result.errata, "page": result.page}
    return {**items_json(result), **{name: path and str(path) for name, path in paths.items()}}
