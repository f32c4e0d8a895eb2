"""A run in which every prediction is an abstention: the reasons, and some replies."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from winokit.data.runs import Run
from winokit.stages.audit.problems import shown_ends

if TYPE_CHECKING:
    from winokit.methods.scoring.transcripts import Transcript

REPLIES = 3
"""Number of replies that are shown."""
REASONS = 5
"""Number of reasons that are listed, the commonest ones."""
NO_REASON = "no reason is stored"
QUOTED = re.compile(r": ['\"]")
"""Text between a reason and the reply that it quotes."""
CONTRADICTORY = "contradictory"
READ_BUT_TIED = (
    "the replies can be read, but name another candidate when the candidates change places: ask a larger model, or one "
    "that gives log-probabilities"
)
FROM_FILES = "No replies can be shown: the predictions were read from files, and files of predictions hold none."
ONLY_SCORES = "No replies can be shown: these models give scores, and are not asked questions."


@dataclass(frozen=True, slots=True)
class UndecidedReply:
    """A question and the unchanged reply to it."""

    model: str
    question: str
    reply: str
    why: str | None


@dataclass(frozen=True, slots=True)
class UndecidedRun:
    """Values that the page shows of a run that decides nothing."""

    predictions: int
    """Number of predictions."""
    models: list[str]
    reasons: list[tuple[str, int]]
    """The commonest reasons, each with how many predictions it explains."""
    replies: list[UndecidedReply]
    without_replies: str
    """Explanation why there are no replies, or empty if there are."""
    way_out: str
    """Advice what to try, or empty if the run has no replies."""


def undecided(run: Run) -> UndecidedRun | None:
    """Describe a run in which every prediction is an abstention.

    None if any prediction is a choice, or if there are none.
    """
    if not run.predictions or any(row.prediction is not None for row in run.predictions):
        return None
    reasons = Counter(_classify_reason(row.why) for row in run.predictions)
    replies = [
        UndecidedReply(row.model, row.prompt.rpartition("\n\n")[2], shown_ends(row.reply), row.why)
        for row in _pick_different_replies(run.transcripts)
    ]
    missing = ONLY_SCORES if run.settings.get("models") else FROM_FILES
    return UndecidedRun(
        predictions=len(run.predictions),
        models=list(dict.fromkeys(row.model for row in run.predictions)),
        reasons=reasons.most_common(REASONS),
        replies=replies,
        without_replies="" if replies else missing,
        way_out=_suggest_way_out(run.transcripts),
    )


def undecided_by(run: Run, model: str, scoring: str) -> UndecidedRun | None:
    """Describe the problems that one scorer leaves undecided.

    None if there are none.
    """
    scorer = (model, scoring)
    abstentions = [row for row in run.predictions if (row.model, row.scoring) == scorer and row.prediction is None]
    undecided_keys = {(*scorer, row.variant, row.id) for row in abstentions}
    transcripts = [row for row in run.transcripts if (row.model, row.scoring, row.variant, row.id) in undecided_keys]
    return undecided(replace(run, predictions=abstentions, transcripts=transcripts))


def _suggest_way_out(transcripts: Iterable["Transcript"]) -> str:
    """Advice on the commonest cause of abstention in replies.

    Empty if there are no replies.
    """
    from winokit.methods.scoring.first_replies import OTHERWISE, WAYS_OUT

    causes = Counter(_find_cause(row) for row in transcripts)
    if not causes:
        return ""
    [(commonest, _)] = causes.most_common(1)
    return READ_BUT_TIED if commonest == CONTRADICTORY else WAYS_OUT.get(commonest, OTHERWISE)


def _find_cause(row: "Transcript") -> str:
    """Cause of abstention in a reply: the stored reason, or a default.

    A reply whose choice could be read contradicts another one: its cause is `CONTRADICTORY`. Without a choice it is the
    stored reason, or `UNREADABLE` if none is stored.
    """
    from winokit.methods.scoring.first_replies import UNREADABLE

    if row.choice is not None:
        return CONTRADICTORY
    return row.why or UNREADABLE


def _classify_reason(why: str | None) -> str:
    """A reason without the reply that it quotes, so that alike reasons can be counted."""
    return NO_REASON if why is None else QUOTED.split(why)[0]


def _pick_different_replies(transcripts: Iterable["Transcript"]) -> Iterator["Transcript"]:
    """Pick the first replies to different problems, from each model in turn.

    There are three at most, of all models together.
    """
    by_model: dict[str, list[Transcript]] = {}
    picked_problems: set[tuple[str, str]] = set()
    for row in transcripts:
        model_replies = by_model.setdefault(row.model, [])
        if len(model_replies) < REPLIES and (row.model, row.id) not in picked_problems:
            picked_problems.add((row.model, row.id))
            model_replies.append(row)
    in_turn: list[Transcript] = []
    for index in range(REPLIES):
        in_turn += [replies[index] for replies in by_model.values() if index < len(replies)]
    yield from in_turn[:REPLIES]
