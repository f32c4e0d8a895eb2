"""Count the requests, tokens and money that asking costs, before and during calls.

A model behind a server says what it sends (`sends`) and keeps count of what was charged (`usage`); it asks before each
call whether it may (`Usage.may_ask`). Any other model is taken to read the texts of its requests once. Tokens are
estimates from the length of the text unless the model has a tokenizer to count with (`count_tokens`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from winokit.errors import BadInput
from winokit.methods.scoring.replay import Replays
from winokit.models.base import Model, Request, Usage, estimated_tokens
from winokit.settings import Help, Settings

MILLION = 1_000_000


@dataclass(frozen=True)
class Spending(Settings):
    """Limits on requests, tokens and cost, and prices for tokens.

    Prices are for a million tokens, in any currency.
    """

    dry_run: Annotated[bool, Help("Count requests, tokens and cost by variant and protocol; make no calls.")] = False
    price_in: Annotated[
        float | None, Help("Price per million input tokens.", metavar="MONEY", least=0, section="asking")
    ] = None
    price_out: Annotated[
        float | None, Help("Price per million output tokens.", metavar="MONEY", least=0, section="asking")
    ] = None
    max_requests: Annotated[
        int | None, Help("Stop after this many new requests; answers so far are kept.", least=1, section="asking")
    ] = None
    max_tokens_total: Annotated[
        int | None, Help("Stop after this many input and output tokens.", least=1, section="asking")
    ] = None
    max_cost: Annotated[
        float | None, Help("Stop at this cost, by price_in and price_out.", metavar="MONEY", above=0, section="asking")
    ] = None
    forget: Annotated[
        bool, Help("Ask servers anew; their cached answers to these texts are dropped.", section="asking")
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_cost is not None and self.price_in is None and self.price_out is None:
            raise BadInput("--set max_cost needs prices: give --set price_in and --set price_out, per million tokens")

    @property
    def limited(self) -> bool:
        """Whether any limit is set."""
        return any(limit is not None for limit in (self.max_requests, self.max_tokens_total, self.max_cost))

    def cost(self, read: int, written: int) -> float | None:
        """Cost of input and output tokens, or None without prices.

        `read` and `written` are their numbers.
        """
        if self.price_in is None and self.price_out is None:
            return None
        return (read * (self.price_in or 0.0) + written * (self.price_out or 0.0)) / MILLION

    def exhausted(self, usages: Iterable[Usage]) -> str | None:
        """Option whose limit is reached, as the user typed it, or None."""
        used = Usage.total(usages)
        spent_by_limit = {
            "max_requests": used.requests,
            "max_tokens_total": used.read + used.written,
            "max_cost": self.cost(used.read, used.written),
        }
        for name, spent in spent_by_limit.items():
            limit = getattr(self, name)
            if limit is not None and spent is not None and spent >= limit:
                return f"--set {name}={limit:g}"
        return None


@dataclass
class Texts:
    """Texts that requests send to models, each with the model's fingerprint."""

    new: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Tokens read, and written at most."""
    cached: set[tuple[str, str]] = field(default_factory=set)
    again: set[tuple[str, str]] = field(default_factory=set)
    """Texts of kept answers that are sent all the same, to see if the server still says so: both new and cached."""

    def add(self, other: "Texts") -> None:
        """Add the texts of another part of the job.

        A text is sent to a model once.
        """
        self.new |= other.new
        self.again |= other.again
        self.cached = ((self.cached | other.cached) - self.new.keys()) | self.again


class Ledger:
    """Counts requests, tokens and cost of one run, under headings.

    `whole` is the ledger of a larger job, if this is a part of it.
    """

    def __init__(self, spending: Spending, whole: "Ledger | None" = None) -> None:
        self.spending = spending
        self.usages: list[Usage] = [] if whole is None else whole.usages
        """Usage of each model, of all parts of a job together."""
        self._before = Usage.total(self.usages)
        self._parts: list[Ledger] = []
        self.exact = True
        """Whether all tokens were counted with a tokenizer."""
        self._entries: dict[tuple[str, ...], Texts] = {}
        self.heading: tuple[str, ...] = ()
        """Heading under which requests are counted now."""
        self.replays: Replays = Replays() if whole is None else Replays(whole.replays)
        """Counts of answers that came from the cache."""

    def part(self) -> "Ledger":
        """Make a ledger for a part of this job, with common limits."""
        self._parts.append(Ledger(self.spending, self))
        return self._parts[-1]

    @contextmanager
    def under(self, *heading: str) -> Iterator[None]:
        """Count requests inside the context under a heading.

        A heading is model, scoring and variant, or model and protocol.
        """
        self.heading = heading
        yield
        self.heading = ()

    def enter(
        self, model: Model, requests: Sequence[Request], missing: Sequence[Request], again: Sequence[Request] = ()
    ) -> None:
        """Note the texts that a dry run would send.

        `missing` are the requests without a cached answer, `again` those that are asked again in spite of one.
        """
        entry = self._entries.setdefault(self.heading, Texts())
        unknown = set(missing)
        compared = set(again)
        for request in requests:
            for text, written in list_sent_texts(model, request):
                sample = getattr(request, "sample", 0)
                key = (model.fingerprint, f"{text}\n(sample {sample})" if sample else text)
                if request in compared:
                    entry.again.add(key)
                if request in unknown or request in compared:
                    entry.new[key] = (self._count_tokens(model, text), written)
                else:
                    entry.cached.add(key)
        entry.cached -= entry.new.keys()  # a text that is sent for one request is not cached for another
        entry.cached |= entry.again

    @property
    def requests_left(self) -> int | None:
        """Number of requests that may still be made.

        None without a limit.
        """
        most = self.spending.max_requests
        return None if most is None else most - Usage.total(self.usages).requests

    def affordable(self, model: Model, missing: Sequence[Request]) -> Sequence[Request]:
        """Take the first requests that the limits allow, and count them.

        All of them, uncounted, if there is no limit, or if the model counts by itself and asks before each call: such
        a model is given the function to ask (`Usage.may_ask`).
        """
        usage = getattr(model, "usage", None)
        if usage is not None:
            limited = self.spending.limited
            usage.may_ask = (lambda: self.spending.exhausted(self.usages) is None) if limited else None
            if not any(usage is other for other in self.usages):
                self.usages.append(usage)
        if usage is not None or not self.spending.limited:
            return missing
        new_usage = Usage()
        self.usages.append(new_usage)
        for place, request in enumerate(missing):
            if self.spending.exhausted(self.usages):
                return missing[:place]
            new_usage.requests += 1
            texts = [text for text, _ in list_sent_texts(model, request)]
            new_usage.read += sum(self._count_tokens(model, text) for text in texts)
        return missing

    def stopped(self, answered: int, asked: int, kept: Path | None) -> BadInput:
        """Error for a run with unanswered requests.

        It names the limit that was reached, if any. `kept` is the cache's file, or None.
        """
        limit = self.spending.exhausted(self.usages)
        if limit is None:
            return BadInput(f"the model answered {answered:,} of {asked:,} requests and left out the others")
        return BadInput(f"stopped at {limit}: {answered:,} of {asked:,} requests are answered; {self.way_on(kept)}")

    def way_on(self, kept: Path | None) -> str:
        """Advice for a run that ended early: where its answers are kept, and how to go on.

        `kept` is the cache's file, or None.
        """
        if kept is None:
            return "nothing was kept, because of --set cache=off"
        command = "the same command without --set forget=on" if self.spending.forget else "the same command"
        return f"what was answered is kept in {kept}, and {command} continues from there"

    def spent(self) -> dict[str, Any]:
        """Counts of requests, tokens and cost in this run.

        Empty if there were no requests. Requests to a model that does not count by itself are counted only under a
        limit.
        """
        used = Usage.total(self.usages)
        before = self._before
        requests = used.requests - before.requests
        calls = used.calls - before.calls
        tokens_read = used.read - before.read
        tokens_written = used.written - before.written
        if not requests:
            return {}
        counts: dict[str, Any] = {"requests": requests, "calls": calls}
        counts |= {"tokens_in": tokens_read, "tokens_out": tokens_written, "estimated": used.estimated}
        cost = self.spending.cost(tokens_read, tokens_written)
        if cost is not None:
            counts["cost"] = round(cost, 6)
        return counts

    @property
    def notes(self) -> list[str]:
        """Notes for the user on changes of servers, and on spending."""
        changes = self.replays.changes
        spent = self.spent()
        if not spent:
            return [*changes]
        line = f"asked: {spent['requests']:,} requests"
        if 0 < spent["calls"] < spent["requests"]:
            line += f" in {spent['calls']:,} calls"
        tokens_in = spent["tokens_in"]
        tokens_out = spent["tokens_out"]
        if tokens_in or tokens_out:  # A corpus charges none.
            estimate_word = "about " if spent["estimated"] else ""
            line += f", {estimate_word}{tokens_in:,} tokens read and {tokens_out:,} written"
        if "cost" in spent:
            line += f", cost {spent['cost']:,.4f}"
        return [*changes, line]

    def planned(self, protocols: Mapping[str, Iterable[str]]) -> dict[str, Any]:
        """Plan of a dry run: counts in all, by variant and protocol.

        Parameters
        ----------
        protocols
            Of each protocol, the variants it looks at, and its own name where it asks for more.
        """
        by_variant: list[dict[str, Any]] = []
        for heading, texts in self._entries.items():
            names = dict(zip(("model", "scoring", "variant"), heading, strict=False))
            by_variant.append({**names, **self._count_texts([texts])})
        by_protocol: list[dict[str, Any]] = []
        for name, variants in protocols.items():
            wanted_variants = set(variants)
            entries = [texts for heading, texts in self._entries.items() if heading[-1] in wanted_variants]
            by_protocol.append({"protocol": name, **self._count_texts(entries)})
        # What two parts of a whole ask of one model counts once.
        ledgers = (self, *self._parts)
        all_entries = chain.from_iterable(ledger._entries.values() for ledger in ledgers)
        total = self._count_texts(all_entries)
        estimated = not all(ledger.exact for ledger in ledgers)
        return {**total, "estimated": estimated, "by_variant": by_variant, "by_protocol": by_protocol}

    def _count_texts(self, entries: Iterable[Texts]) -> dict[str, Any]:
        """Counts of requests, tokens and cost of some texts."""
        texts = Texts()
        for entry in entries:
            texts.add(entry)
        tokens_read = sum(read for read, _ in texts.new.values())
        tokens_written = sum(written for _, written in texts.new.values())
        requests = len(texts.cached | texts.new.keys())
        counts = {"requests": requests, "cached": len(texts.cached), "new": len(texts.new)}
        if texts.again:
            counts["asked_again"] = len(texts.again)
        counts |= {"tokens_in": tokens_read, "tokens_out_at_most": tokens_written}
        cost = self.spending.cost(tokens_read, tokens_written)
        return counts if cost is None else {**counts, "cost_at_most": round(cost, 6)}

    def _count_tokens(self, model: Model, text: str) -> int:
        """Number of tokens in a text, estimated without a tokenizer."""
        count = getattr(model, "count_tokens", None)
        if count is None:
            self.exact = False
            return estimated_tokens(text)
        return int(count(text))


def list_sent_texts(model: Model, request: Request) -> Sequence[tuple[str, int]]:
    """Texts that a request sends to a model.

    Each has the largest number of tokens that the model may write, which is 0 for a model that does not say what it
    sends: then all texts of the request are one.
    """
    sends = getattr(model, "sends", None)
    if sends is not None:
        texts: Sequence[tuple[str, int]] = sends(request)
        return texts
    fields = (getattr(request, name) for name in request.__slots__)
    return ((" ".join(value for value in fields if isinstance(value, str)), 0),)
