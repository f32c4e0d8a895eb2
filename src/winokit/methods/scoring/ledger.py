"""What asking costs: requests, tokens and money, counted before a single call, and watched while calls are made.

A model behind a server says what it sends (`sends`) and keeps count of what was charged (`usage`); it asks before each
call whether it may (`Usage.may_ask`). Any other model is taken to read the texts of its requests once. Tokens are
estimates from the length of the text unless the model has a tokenizer to count with (`count_tokens`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from winokit.errors import BadInput
from winokit.methods.scoring.replay import Replays
from winokit.models.base import Model, Request, Usage, estimated_tokens
from winokit.settings import Help, Settings

MILLION = 1_000_000


@dataclass(frozen=True)
class Spending(Settings):
    """What may be asked and what it costs; prices are for a million tokens, in whatever currency."""

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
        """Whether there is an end to it."""
        return any(limit is not None for limit in (self.max_requests, self.max_tokens_total, self.max_cost))

    def cost(self, read: int, written: int) -> float | None:
        """What tokens cost; None without prices."""
        if self.price_in is None and self.price_out is None:
            return None
        return (read * (self.price_in or 0.0) + written * (self.price_out or 0.0)) / MILLION

    def exhausted(self, usages: Iterable[Usage]) -> str | None:
        """The option whose limit is reached, as it was given; None while there is something left."""
        used = Usage.total(usages)
        cost = self.cost(used.read, used.written)
        for name, spent in (
            ("max_requests", used.requests),
            ("max_tokens_total", used.read + used.written),
            ("max_cost", cost),
        ):
            limit = getattr(self, name)
            if limit is not None and spent is not None and spent >= limit:
                return f"--set {name}={limit:g}"
        return None


@dataclass
class Texts:
    """Texts to be sent, each to the model of a fingerprint: new ones with their tokens, and those that are known."""

    new: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Tokens read, and written at most."""
    cached: set[tuple[str, str]] = field(default_factory=set)
    again: set[tuple[str, str]] = field(default_factory=set)
    """Texts of kept answers that are sent all the same, to see if the server still says so: both new and cached."""

    def add(self, other: "Texts") -> None:
        """Take in what was asked elsewhere; a text is sent to a model once."""
        self.new |= other.new
        self.again |= other.again
        self.cached = ((self.cached | other.cached) - self.new.keys()) | self.again


class Ledger:
    """What is asked of models in one run, under which heading, and whether more may be asked."""

    def __init__(self, spending: Spending, whole: "Ledger | None" = None) -> None:
        self.spending = spending
        self.usages: list[Usage] = [] if whole is None else whole.usages
        """Of all parts of a whole together: what one of them spent is spent."""
        self._before = Usage.total(self.usages)
        self._parts: list[Ledger] = []
        self.exact = True
        """Whether all tokens were counted with a tokenizer."""
        self._entries: dict[tuple[str, ...], Texts] = {}
        self.heading: tuple[str, ...] = ()
        """What is asked about at the moment."""
        self.replays: Replays = Replays() if whole is None else Replays(whole.replays)
        """What is not asked, since it is known from before."""

    def part(self) -> "Ledger":
        """A ledger for a part of a job: it says what the part asked, within the limits of the whole."""
        self._parts.append(Ledger(self.spending, self))
        return self._parts[-1]

    @contextmanager
    def under(self, *heading: str) -> Iterator[None]:
        """Enter what is asked meanwhile under a heading: model, scoring and variant, or model and protocol."""
        self.heading = heading
        yield
        self.heading = ()

    def enter(
        self, model: Model, requests: Sequence[Request], missing: Sequence[Request], again: Sequence[Request] = ()
    ) -> None:
        """Note what would be sent for requests: those whose answers are missing, and those that are asked again."""
        entry = self._entries.setdefault(self.heading, Texts())
        unknown = set(missing)
        compared = set(again)
        for request in requests:
            for text, written in sent(model, request):
                sample = getattr(request, "sample", 0)
                key = (model.fingerprint, f"{text}\n(sample {sample})" if sample else text)
                if request in compared:
                    entry.again.add(key)
                if request in unknown or request in compared:
                    entry.new[key] = (self._tokens(model, text), written)
                else:
                    entry.cached.add(key)
        entry.cached -= entry.new.keys()  # a text that is sent for one request is not cached for another
        entry.cached |= entry.again

    @property
    def requests_left(self) -> int | None:
        """How many requests may still be made; None if their number has no limit."""
        most = self.spending.max_requests
        return None if most is None else most - Usage.total(self.usages).requests

    def affordable(self, model: Model, missing: Sequence[Request]) -> Sequence[Request]:
        """The requests that may be asked: all, where the model itself asks before each call."""
        usage = getattr(model, "usage", None)
        if usage is not None:
            limited = self.spending.limited
            usage.may_ask = (lambda: self.spending.exhausted(self.usages) is None) if limited else None
            self.usages += [] if any(usage is known for known in self.usages) else [usage]
        if usage is not None or not self.spending.limited:
            return missing
        own = Usage()
        self.usages.append(own)
        for place, request in enumerate(missing):
            if self.spending.exhausted(self.usages):
                return missing[:place]
            own.requests += 1
            own.read += sum(self._tokens(model, text) for text, _ in sent(model, request))
        return missing

    def stopped(self, answered: int, asked: int, kept: Path | None) -> BadInput:
        """The error of a run that came to its limit, or of a model that left requests unanswered."""
        limit = self.spending.exhausted(self.usages)
        if limit is None:
            return BadInput(f"the model answered {answered:,} of {asked:,} requests and left out the others")
        if kept is None:
            way_on = "nothing was kept, because of --set cache=off"
        else:
            command = "the same command without --set forget=on" if self.spending.forget else "the same command"
            way_on = f"what was answered is kept in {kept}, and {command} continues from there"
        return BadInput(f"stopped at {limit}: {answered:,} of {asked:,} requests are answered; {way_on}")

    def spent(self) -> dict[str, Any]:
        """What servers were asked and charged; empty where none was asked anything."""
        used = Usage.total(self.usages)
        before = self._before
        requests = used.requests - before.requests
        calls = used.calls - before.calls
        read = used.read - before.read
        written = used.written - before.written
        if not requests:
            return {}
        counts = {"requests": requests, "calls": calls, "tokens_in": read, "tokens_out": written}
        cost = self.spending.cost(read, written)
        return {**counts, "estimated": used.estimated} | ({} if cost is None else {"cost": round(cost, 6)})

    @property
    def notes(self) -> list[str]:
        """The same in a sentence, after what servers say of themselves."""
        changes = self.replays.changes
        spent = self.spent()
        if not spent:
            return [*changes]
        about = "about " if spent["estimated"] else ""
        cost = f", cost {spent['cost']:,.4f}" if "cost" in spent else ""
        tokens = f", {about}{spent['tokens_in']:,} tokens read and {spent['tokens_out']:,} written"
        calls = f" in {spent['calls']:,} calls" if 0 < spent["calls"] < spent["requests"] else ""
        if not spent["tokens_in"] and not spent["tokens_out"]:  # a corpus, which charges none
            tokens = ""
        return [*changes, f"asked: {spent['requests']:,} requests{calls}{tokens}{cost}"]

    def planned(self, protocols: Mapping[str, Iterable[str]]) -> dict[str, Any]:
        """The plan: in all, by variant and by protocol.

        Parameters
        ----------
        protocols
            Of each protocol, the variants it looks at, and its own name where it asks for more.
        """
        variants = [
            {**dict(zip(("model", "scoring", "variant"), heading, strict=False)), **self._counts([texts])}
            for heading, texts in self._entries.items()
        ]
        by_protocol = [
            {"protocol": name, **self._counts(t for heading, t in self._entries.items() if heading[-1] in wanted)}
            for name, wanted in ((name, set(variants)) for name, variants in protocols.items())
        ]
        # What two parts of a whole ask of one model counts once.
        ledgers = (self, *self._parts)
        total = self._counts(entry for ledger in ledgers for entry in ledger._entries.values())
        estimated = not all(ledger.exact for ledger in ledgers)
        return {**total, "estimated": estimated, "by_variant": variants, "by_protocol": by_protocol}

    def _counts(self, entries: Iterable[Texts]) -> dict[str, Any]:
        texts = Texts()
        for entry in entries:
            texts.add(entry)
        read, written = (sum(tokens) for tokens in zip(*texts.new.values(), strict=True)) if texts.new else (0, 0)
        requests = len(texts.cached | texts.new.keys())
        counts = {"requests": requests, "cached": len(texts.cached), "new": len(texts.new)}
        if texts.again:
            counts["asked_again"] = len(texts.again)
        counts |= {"tokens_in": read, "tokens_out_at_most": written}
        cost = self.spending.cost(read, written)
        return counts if cost is None else {**counts, "cost_at_most": round(cost, 6)}

    def _tokens(self, model: Model, text: str) -> int:
        count = getattr(model, "count_tokens", None)
        if count is None:
            self.exact = False
            return estimated_tokens(text)
        return int(count(text))


def sent(model: Model, request: Request) -> Sequence[tuple[str, int]]:
    """The texts that a request makes a model read, each with the tokens it may write at most."""
    sends = getattr(model, "sends", None)
    if sends is not None:
        texts: Sequence[tuple[str, int]] = sends(request)
        return texts
    fields = (getattr(request, name) for name in request.__slots__)
    return ((" ".join(value for value in fields if isinstance(value, str)), 0),)
