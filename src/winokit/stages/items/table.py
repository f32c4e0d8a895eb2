"""The value of items, on the terminal and for scripts."""

from collections.abc import Iterator
from typing import Any

from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import plural, probability
from winokit.methods.metrics.judge_canaries import CanarySinger
from winokit.methods.metrics.judge_items import Suspect
from winokit.stages.items.records import items_json
from winokit.stages.items.run import ItemsRun

SHOWN_SINGERS = 5
"""How many families that give canaries back the terminal lists."""


def lines(result: ItemsRun) -> Lines:
    """Yield terminal output: counts, first suspects, canaries and paths."""
    yield from item_sentences(result)
    suspects = result.judged.suspects[: result.top]
    if suspects:
        rows = [_describe_suspect(result, place, suspect) for place, suspect in enumerate(suspects, 1)]
        yield table(("", "suspect", "why"), rows, left=3)
    yield from canary_sentences(result)
    for name, path in (("queue", result.queue), ("errata", result.errata), ("page", result.page)):
        if path is not None:
            yield f"{name}: {path}"


def item_sentences(result: ItemsRun) -> Iterator[str]:
    """Yield sentences that count items, models, families and suspects.

    The second one counts negative correlations too.
    """
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
    """Yield sentences on canaries and models that give them back.

    Canaries are labels that people found wrong. There are no sentences if no label is known to be wrong.
    """
    canaries = result.canaries
    if canaries is None:
        return
    count = len(canaries.canaries)
    if not count:
        yield "canaries: nobody was asked a problem whose label people found wrong"
        return
    many = "canary" if count == 1 else "canaries"
    few = ""
    if canaries.least_p >= 0.05:
        few = f"; so few can show nothing: the least p that is possible is {probability(canaries.least_p)}"
    yield f"{count:,} {many}: labels that people found wrong{few}"
    for singer in canaries.singers[:SHOWN_SINGERS]:
        name = result.judged.matrix.scorers[singer.scorer].model
        yield f"  {name}{_describe_singer(singer)}"
    unlisted_count = len(canaries.singers) - SHOWN_SINGERS
    if unlisted_count > 0:
        yield f"  and {plural(unlisted_count, 'family', 'families')} with a larger p"


def _describe_singer(singer: CanarySinger) -> str:
    """End of a sentence on a model that gives canaries back.

    After the model's name, it has the counts, the expected number and p.
    """
    members = "" if singer.members == 1 else f", the most of {singer.members:,} in its family"
    given_back = f"{singer.given_back} of {singer.canaries} given back, {singer.expected:.2f} expected of its strength"
    p_values = f"p {probability(singer.p_family)}, corrected {probability(singer.p_corrected)}"
    return f"{members}: {given_back}; {p_values}"


def _describe_suspect(result: ItemsRun, place: int, suspect: Suspect) -> tuple[str, ...]:
    """Table row of a suspect: rank, text with label, and reasons.

    `place` is the rank in the queue, from 1.
    """
    problem = result.judged.asked.problems[suspect.rows[0]]
    twin = " (and its twin)" if len(suspect.rows) > 1 else ""
    return (str(place), f"{problem.text} → {problem.right}{twin}", "; ".join(suspect.reasons.values()))


def as_json(result: ItemsRun) -> dict[str, Any]:
    """JSON output of the command: items.json, and paths of files.

    A path is None if the file was not written.
    """
    content = items_json(result)
    paths = {"queue": result.queue, "errata": result.errata, "page": result.page}
    for name, path in paths.items():
        content[name] = None if path is None else str(path)
    return content
