"""Count and date the cached answers that a run uses.

A number that rests on answers of last month says so wherever it is shown: `results.json` has the counts and dates for
each model (`replayed`), and `replay_sentence` makes the line that the terminal, the notes and the pages show.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from winokit.models.base import Answer, Model

if TYPE_CHECKING:
    from winokit.models.identity import ServerIdentity

ASKED_AGAIN = "asked again"
SAME_MODEL = "same model"
SAMPLED = "sampled"
UNREACHED = "not reached"
"""Ways in which cached answers of a server were checked: some were asked again and the same; the server names the same
model; not at all, since its replies vary by themselves; not at all, since it was not there."""
CHECKS = {
    SAME_MODEL: "the server names the same model as then",
    SAMPLED: "not checked, since replies at a temperature above 0 vary by themselves (--set forget=on asks anew)",
    UNREACHED: "not checked, since the server could not be reached",
}
"""The end of a sentence on each."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A cached answer with its key and date."""

    key: bytes
    answer: Answer
    asked_at: int | None
    """Seconds since 1970; None if nobody wrote it down."""
    sure: bool = True
    """Whether the model of its key is known to be the one that would be asked now."""


@dataclass
class ModelReplay:
    """Answers of one model in a run: new ones and cached ones."""

    asked: set[bytes] = field(default_factory=set)
    """Keys of answers given now."""
    replayed: dict[bytes, int | None] = field(default_factory=dict)
    """Keys of answers given before, each with its time."""
    checked: set[bytes] = field(default_factory=set)
    """Keys of those that were asked again, and were the same."""
    check: str | None = None
    """Way in which they were checked, one of the names above; None for a model without a server."""

    def to_json(self) -> dict[str, Any]:
        """Counts and dates, as in `results.json`."""
        times = [time for time in self.replayed.values() if time is not None]
        first = _format_time(min(times)) if times else None
        last = _format_time(max(times)) if times else None
        return {
            "answers": len(self.asked | self.replayed.keys()),
            "replayed": len(self.replayed),
            "first": first,
            "last": last,
            "of_unknown_date": len(self.replayed) - len(times),
            "check": self.check,
            "asked_again": len(self.checked),
        }


class Replays:
    """Counts of new and cached answers of a run, by model.

    What a part of a suite counts is counted for the suite too (`whole`).
    """

    def __init__(self, whole: "Replays | None" = None) -> None:
        self._whole = whole
        self._models: dict[str, ModelReplay] = {}
        self._canary_counts: Counter[Hashable] = Counter()
        self.asked_now: set[bytes] = set() if whole is None else whole.asked_now
        """Keys of answers given in this run: they are used again, not replayed."""
        self._accepted: set[bytes] = set() if whole is None else whole._accepted
        self._identities: dict[str, ServerIdentity] = {} if whole is None else whole._identities
        self.changes: list[str] = []
        """Notes on servers that name another model than the last time."""

    def identity_of(self, model: Model, ask: Callable[[], "ServerIdentity"]) -> "ServerIdentity":
        """Identity of a model's server, asked once in a run.

        `ask` is the function that asks for it.
        """
        if model.fingerprint not in self._identities:
            self._identities[model.fingerprint] = ask()
        return self._identities[model.fingerprint]

    def note_asked(self, model: Model, key: bytes) -> None:
        """Note that a model gave the answer of a key now."""
        self.asked_now.add(key)
        for replay in self._find_entries(model):
            replay.asked.add(key)

    def note_kept(self, model: Model, kept: Collection[KeptAnswer]) -> None:
        """Note that cached answers of a model are used.

        Those that were asked earlier in this run do not count as replayed.
        """
        if not kept:
            return
        times = {each.key: each.asked_at for each in kept}
        asked_keys = times.keys() & self.asked_now
        replayed_times = {key: time for key, time in times.items() if key not in asked_keys}
        for replay in self._find_entries(model):
            replay.asked |= asked_keys
            replay.replayed |= replayed_times

    def note_check(self, model: Model, check: str, checked: Iterable[KeptAnswer] = ()) -> None:
        """Note how cached answers of a server were checked.

        `check` is one of ASKED_AGAIN, SAME_MODEL, SAMPLED and UNREACHED; `checked` are the answers that were asked
        again.
        """
        keys = {each.key for each in checked}
        for replay in self._find_entries(model):
            replay.check = check
            replay.checked |= keys

    def accept(self, kept: Iterable[KeptAnswer]) -> None:
        """Allow cached answers to be used in this run without further checks."""
        self._accepted.update(each.key for each in kept)

    def is_accepted(self, kept: KeptAnswer) -> bool:
        """Whether a cached answer needs no further check in this run."""
        return kept.key in self._accepted or kept.key in self.asked_now

    def canaries_left(self, heading: Hashable, most: int) -> int:
        """Number of cached answers that may still be repeated under a heading.

        A heading is a model and a scoring, and `most` is its limit.
        """
        return most - self._canary_counts[heading]

    def note_canaries(self, heading: Hashable, count: int) -> None:
        """Note that some cached answers are repeated under a heading."""
        self._canary_counts[heading] += count

    def to_json(self) -> dict[str, dict[str, Any]]:
        """Counts and dates of cached answers, by model.

        Models without any are missing.
        """
        return {spec: replay.to_json() for spec, replay in self._models.items() if replay.replayed}

    @property
    def notes(self) -> list[str]:
        """One sentence for each model with cached answers."""
        return replay_sentences(self.to_json())

    def _find_entries(self, model: Model) -> list[ModelReplay]:
        """Entries of a model in this run and in the whole job."""
        entry = self._models.setdefault(model.spec, ModelReplay())
        return [entry] if self._whole is None else [entry, *self._whole._find_entries(model)]


def replay_sentences(replayed: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One sentence for each model in a run's `replayed`."""
    return [replay_sentence(spec, row) for spec, row in replayed.items()]


def replay_sentence(spec: str, row: Mapping[str, Any]) -> str:
    """Sentence on a model's cached answers: how many, from when, how checked.

    >>> row = {"answers": 60, "replayed": 40, "first": "2026-03-01T09:30:00+00:00", "last": "2026-03-01T09:30:59+00:00"}
    >>> replay_sentence("builtin", {**row, "of_unknown_date": 0, "check": None, "asked_again": 0})
    'builtin: 40 of 60 answers are replayed from the cache, of 2026-03-01 09:30 UTC'
    """
    counted = f"{row['replayed']:,} of {row['answers']:,} answers are replayed from the cache"
    check = row["check"]
    if check == ASKED_AGAIN:
        ending = f"; {row['asked_again']:,} of them, asked again, were the same"
    else:
        ending = f"; {CHECKS[check]}" if check else ""
    dates = date_words(row["first"], row["last"], row["of_unknown_date"])
    return f"{spec}: {counted}, {dates}{ending}"


def date_words(first: str | None, last: str | None, unknown_count: int = 0) -> str:
    """Write the dates of cached answers in words, from ISO times.

    `first` and `last` are None if no date is known; `unknown_count` is the number of answers without a date.

    >>> date_words("2026-03-01T09:30:00+00:00", "2026-03-04T10:00:00+00:00", 3)
    'of 2026-03-01 09:30 to 2026-03-04 10:00 UTC, 3 of unknown date'
    """
    if first is None or last is None:
        return "of unknown date"
    begin = minute_words(first)
    end = minute_words(last)
    dates = f"of {begin} UTC" if begin == end else f"of {begin} to {end} UTC"
    return f"{dates}, {unknown_count:,} of unknown date" if unknown_count else dates


def kept_date_words(kept: Iterable[KeptAnswer]) -> str:
    """Write the dates of some cached answers in words."""
    counts = ModelReplay(replayed={each.key: each.asked_at for each in kept}).to_json()
    return date_words(counts["first"], counts["last"], counts["of_unknown_date"])


def minute_words(iso_time: str) -> str:
    """Write an ISO time to the minute, as people do.

    >>> minute_words("2026-03-01T09:30:59+00:00")
    '2026-03-01 09:30'
    """
    return iso_time[:16].replace("T", " ")


def _format_time(seconds: int) -> str:
    """ISO time of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
