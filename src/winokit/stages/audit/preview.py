"""A preview: the first ten prompts and replies of a model, and the cost of the rest.

The replies are stored in the cache, so that the audit does not ask for them again, unless none of them can be read.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from winokit.drawing.wording import plural
from winokit.methods.scoring.base import default_scoring
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.ledger import Ledger, Spending
from winokit.methods.scoring.replay import KeptAnswer
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants
from winokit.methods.scoring.shelf import is_served
from winokit.models.base import Answer, Model
from winokit.problem import ORIGINAL, Dataset, Problem

if TYPE_CHECKING:
    from winokit.methods.scoring.transcripts import Transcript

SHOWN = 10
"""Number of prompts and replies that are shown."""
STEP = 5
"""Number of problems that are asked at a time until there are enough replies. Each may make two prompts."""
MOST_UNSEEN = 100
"""A server gets at most this number of requests before a person at a terminal sees the first replies."""
KEPT = "Replies that could be read are in the cache, and are not asked for again."
LONGEST = 600
"""Number of characters of a reply that are shown."""


@dataclass(frozen=True)
class Exchange:
    """A prompt, its reply, and the choice read from the reply."""

    prompt: str
    reply: str
    choice: str | None
    """The letter or the candidate, or None if the reply has no choice that can be read."""


@dataclass(frozen=True)
class Preview:
    """The first exchanges with a model, and the cost of the rest."""

    model: str
    scoring: str
    exchanges: Sequence[Exchange]
    seconds: float
    """Time that the exchanges took. It is near 0 if they were in the cache."""
    asked: int
    """Number of requests that were made, and not found in the cache."""
    is_served: bool = True
    """Whether the model is behind a server, which may cost money."""
    rest: Mapping[str, Any] = field(default_factory=dict)
    """Requests, tokens and cost that are left, as a dry run counts them."""

    def to_json(self) -> dict[str, Any]:
        """The preview as JSON-ready values, for the settings of a run.

        Of `rest` only the totals are in it, without the counts by variant and the like.
        """
        rest_totals = {name: value for name, value in self.rest.items() if not name.startswith("by_")}
        return {**asdict(self), "rest": rest_totals}

    def lines(self) -> Iterator[str]:
        """Lines for the terminal: the exchanges, and the cost of the rest.

        Of a long reply they have the first 600 characters.
        """
        yield f"The first {len(self.exchanges)} prompts and replies of {self.model} ({self.scoring}):"
        for number, exchange in enumerate(self.exchanges, 1):
            yield ""
            yield f"--- {number} of {len(self.exchanges)}"
            yield exchange.prompt
            reply = exchange.reply.strip()
            shown_reply = reply if len(reply) <= LONGEST else f"{reply[:LONGEST]} […]"
            yield f">>> {shown_reply}"
            yield f"    read as: {exchange.choice or 'no choice'}"
        yield ""
        yield f"{self.count_unread} of {len(self.exchanges)} have no choice that can be read. {self.said_rest}"

    @property
    def said_rest(self) -> str:
        """Sentence on the requests that are left, and their cost."""
        new = self.rest["new"]
        if not new:
            return "Nothing else is left to ask: all other answers are in the cache."
        tokens = f"{self.rest['tokens_in']:,} tokens to read and at most {self.rest['tokens_out_at_most']:,} to write"
        parts = [plural(new, "request"), f"about {tokens}"]
        if "cost_at_most" in self.rest:
            parts.append(f"a cost of {self.rest['cost_at_most']:,.2f} at most")
        if self.asked:
            parts.append(f"{say_duration(self.seconds / self.asked * new)} at the pace of these")
        text = f"Left to ask: {', '.join(parts)}."
        if "cost_at_most" in self.rest or not self.is_served:
            return text
        return f"{text} With --set price_in=… and --set price_out=…, it says the cost."

    @property
    def question(self) -> str:
        """Question whether to ask the rest, for the person at the terminal."""
        cost = f" for {self.rest['cost_at_most']:,.2f} at most" if "cost_at_most" in self.rest else ""
        return f"Ask the other {plural(self.rest['new'], 'request')}{cost}?"

    @property
    def count_unread(self) -> int:
        """Number of replies without a choice that can be read."""
        return sum(exchange.choice is None for exchange in self.exchanges)


def preview_lines(settings: Mapping[str, Any]) -> Iterator[str]:
    """Lines for the terminal on a run that stopped after its preview.

    `settings` are those of the run. They have no replies if the user declined the rest, since the replies were shown
    before.
    """
    if settings.get("declined"):
        yield "Stopped after the first replies; nothing else was asked."
        yield f"To go on: the same command. {KEPT}"
        return
    for fields in settings["preview"]:
        exchanges = [Exchange(**exchange) for exchange in fields["exchanges"]]
        yield from Preview(**{**fields, "exchanges": exchanges}).lines()
    yield f"To go on: the same command without --preview. {KEPT}"


def preview_model(dataset: Dataset, model: Model, plan: ScoringPlan, cache: Cache) -> Preview:
    """Ask a model the first problems, until there are ten replies.

    It asks ten problems at most, five at a time, since each may make two prompts. With fewer problems there are fewer
    replies. The replies are stored in the cache, unless none of them can be read.
    """
    scoring = plan.scoring or default_scoring(model, dataset)
    watched = WatchedCache(cache)
    start_time = time.monotonic()
    exchanges: list[Exchange] = []
    for start in range(0, min(len(dataset), SHOWN), STEP):
        if len(exchanges) < SHOWN:
            part = dataset[start : start + STEP]
            exchanges += _ask_part(part, model, plan, watched, scoring)
    watched.forget_if(all(exchange.choice is None for exchange in exchanges))
    seconds = time.monotonic() - start_time
    return Preview(
        model.spec,
        scoring,
        exchanges[:SHOWN],
        seconds=round(seconds, 3),
        asked=len(watched.new_keys),
        is_served=is_served(model),
    )


def _ask_part(part: Dataset, model: Model, plan: ScoringPlan, cache: Cache, scoring: str) -> list[Exchange]:
    """Ask a model some problems and return the exchanges.

    A problem has two if it is asked in both orders of its candidates. If the model gives scores and no replies, there
    is one for each problem.
    """
    transcripts: list[Transcript] = []
    with cache.ledger.under(model.spec, scoring, ORIGINAL):
        rows = score_variants({ORIGINAL: part}, model, plan, cache=cache, transcripts=transcripts)
    if transcripts:
        return [Exchange(row.prompt, row.reply, _read_option(row)) for row in transcripts]
    return [_show_scores(problem, row) for problem, row in zip(part, rows, strict=True)]


def _read_option(row: "Transcript") -> str | None:
    """The option that was read from a reply, or None."""
    return None if row.choice is None else row.options[row.choice]


def _show_scores(problem: Problem, row: Prediction) -> Exchange:
    """Make the exchange of a model that gives scores and no replies.

    The prompt is the problem's text, the reply the scores of its candidates.
    """
    if row.scores is None:
        return Exchange(problem.text, row.why or "no scores", None)
    pairs = zip(problem.candidates, row.scores, strict=True)
    scores = ", ".join(f"{candidate} {score:.2f}" for candidate, score in pairs)
    choice = None if row.prediction is None else problem.candidates[row.prediction]
    return Exchange(problem.text, scores, choice)


class WatchedCache(Cache):
    """A cache that records which answers are added.

    They can then be removed again. The answers are stored in the cache that it wraps.
    """

    def __init__(self, whole: Cache) -> None:
        super().__init__()
        self.path = whole.path
        self.ledger = whole.ledger
        self.whole_cache = whole
        self.new_keys: list[bytes] = []

    def find(self, keys: Iterable[bytes]) -> dict[bytes, KeptAnswer]:
        """Find stored answers, by their keys."""
        return self.whole_cache.find(keys)

    def keep(self, key: bytes, answer: Answer) -> None:
        """Store an answer, and record its key."""
        self.new_keys.append(key)
        self.whole_cache.keep(key, answer)

    def forget(self, keys: Iterable[bytes]) -> None:
        """Remove stored answers."""
        self.whole_cache.forget(keys)

    def forget_if(self, is_useless: bool) -> None:
        """Remove the answers that were added, if `is_useless`."""
        if is_useless:
            self.forget(self.new_keys)

    def last_identity(self, fingerprint: str) -> str:
        """The last identity that a model's server reported."""
        return self.whole_cache.last_identity(fingerprint)

    def keep_identity(self, fingerprint: str, identity: str) -> None:
        """Store the identity that a model's server reports."""
        self.whole_cache.keep_identity(fingerprint, identity)


@contextmanager
def plan_quietly(cache: Cache, spending: Spending) -> Iterator[Ledger]:
    """Count requests through a cache instead of making them, within the context.

    Yields the ledger that counts, which replaces the cache's own meanwhile. The prices are those of `spending`.
    """
    real_ledger = cache.ledger
    counting = Spending(dry_run=True, price_in=spending.price_in, price_out=spending.price_out)
    cache.ledger = Ledger(counting)
    cache.ledger.replays.asked_now = set(real_ledger.replays.asked_now)
    try:
        yield cache.ledger
    finally:
        cache.ledger = real_ledger


def say_duration(seconds: float) -> str:
    """Duration in rounded words, from its seconds.

    It is in minutes up to an hour and a half, and then in hours.

    >>> say_duration(5), say_duration(400), say_duration(9000)
    ('less than a minute', 'about 7 minutes', 'about 2.5 hours')
    """
    if seconds < 60:
        return "less than a minute"
    if seconds < 5400:
        return f"about {plural(round(seconds / 60), 'minute')}"
    return f"about {seconds / 3600:.1f} hours"
