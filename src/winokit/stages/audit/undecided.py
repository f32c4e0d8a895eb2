"""A run in which nothing was decided: why, and some replies as they came. There is nothing else to say of it."""

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
"""How many are shown."""
REASONS = 5
"""The commonest reasons that are listed."""
NO_REASON = "no reason is stored"
QUOTED = re.compile(r": ['\"]")
"""What stands between a reason and the reply that it quotes."""
CONTRADICTORY = "contradictory"
READ_BUT_TIED = (
    "the replies can be read, but name another candidate when the candidates change places: ask a larger model, or one "
    "that gives log-probabilities"
)
FROM_FILES = "No replies can be shown: the predictions were read from files, and files of predictions hold none."
ONLY_SCORES = "No replies can be shown: these models give scores, and are not asked questions."


@dataclass(frozen=True, slots=True)
class UndecidedReply:
    """A question and the reply to it, as it came."""

    model: str
    question: str
    reply: str
    why: str | None


@dataclass(frozen=True, slots=True)
class UndecidedRun:
    """Values that the page shows of a run that decides nothing."""

    predictions: int
    models: list[str]
    reasons: list[tuple[str, int]]
    """The commonest reasons, each with how many predictions it explains."""
    replies: list[UndecidedReply]
    without_replies: str
    """Why there are no replies; empty if there are."""
    way_out: str
    """What to try; empty if nothing is known of replies."""


def undecided(run: Run) -> UndecidedRun | None:
    """Describe a run whose every prediction is an abstention, or None."""
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
    """Describe the problems that one scorer leaves undecided, or None."""
    scorer = model, scoring
    abstentions = [row for row in run.predictions if (row.model, row.scoring) == scorer and row.prediction is None]
    names = {(row.variant, row.id) for row in abstentions}
    transcripts = [
        row for row in run.transcripts if (row.model, row.scoring) == scorer and (row.variant, row.id) in names
    ]
    return undecided(replace(run, predictions=abstentions, transcripts=transcripts))


def _suggest_way_out(transcripts: Iterable["Transcript"]) -> str:
    """Advice by the commonest kind of reply. Empty if there are none."""
    from winokit.methods.scoring.first_replies import OTHERWISE, UNREADABLE, WAYS_OUT

    causes = Counter(CONTRADICTORY if row.choice is not None else row.why or UNREADABLE for row in transcripts)
    if not causes:
        return ""
    commonest = causes.most_common(1)[0][0]
    return READ_BUT_TIED if commonest == CONTRADICTORY else WAYS_OUT.get(commonest, OTHERWISE)


def _classify_reason(why: str | None) -> str:
    """A reason without what the model said."""
    return NO_REASON if why is None else QUOTED.split(why)[0]


def _pick_different_replies(transcripts: Iterable["Transcript"]) -> Iterator["Transcript"]:
    """The first replies to different problems, and by different models where there are several."""
    by_model: dict[str, list[Transcript]] = {}
    problems: set[tuple[str, str]] = set()
    for row in transcripts:
        model_replies = by_model.setdefault(row.model, [])
        if len(model_replies) < REPLIES and (row.model, row.id) not in problems:
            problems.add((row.model, row.id))
            model_replies.append(row)
    in_turn = [
        model_replies[place]
        for place in range(REPLIES)
        for model_replies in by_model.values()
        if place < len(model_replies)
    ]
    yield from in_turn[:REPLIES]
