"""What was said: prompt and reply of every `Ask`, whether answered now or kept from before."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from winokit.models.base import Answer, Ask, Reply, Request


@dataclass(frozen=True, slots=True)
class Transcript:
    """One question about a problem and the reply to it; several may make one prediction."""

    id: str
    variant: str
    model: str
    scoring: str
    prompt: str
    options: tuple[str, ...]
    reply: str
    """As it came, with the thought before it."""
    choice: int | None
    """The option it names, or that is likeliest; None where there is none."""
    logprobs: tuple[float, ...] | None
    """Of each option, where the model gives them."""
    why: str | None = None
    """Why it chose nothing, where that is known."""
    sample: int | None = None
    """Which of several answers to this question, from 0; None where there is only one."""

    def to_json(self) -> dict[str, Any]:
        """As a row of transcripts.jsonl.gz."""
        row = asdict(self)
        return row if self.sample is not None else {name: row[name] for name in row if name != "sample"}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Transcript":
        """From such a row."""
        logprobs = row["logprobs"]
        return cls(**{**row, "options": tuple(row["options"]), "logprobs": logprobs and tuple(logprobs)})


def transcripts_of(
    named: tuple[str, str, str, str],
    requests: Iterable[Request],
    answers: Mapping[Request, Answer],
    sample: int | None = None,
) -> Iterator[Transcript]:
    """What was said about one problem, by its id, variant, model and scoring; what is no question has no transcript."""
    for request in requests:
        answer = answers[request]
        if isinstance(request, Ask) and isinstance(answer, Reply):
            choice = answer.choice
            logprobs = answer.logprobs
            if choice is None and logprobs:
                choice = max(range(len(logprobs)), key=logprobs.__getitem__)
            yield Transcript(*named, request.prompt, request.options, answer.text, choice, logprobs, answer.why, sample)


def reply_notes(transcripts: Iterable[Transcript]) -> list[str]:
    """For each scorer whose replies had to be read, how that went: what was cut off is told with the way out."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in transcripts:
        by = f"read by {'log-probabilities' if row.logprobs else 'their text'}"
        way = by if row.choice is not None else f"without a choice ({row.why or 'not readable'})"
        counts.setdefault((row.model, row.scoring), Counter())[way] += 1
    return [
        f"{model} ({scoring}): of {own.total():,} replies "
        + ", ".join(f"{n:,} ({100 * n / own.total():.1f} %) {way}" for way, n in own.most_common())
        for (model, scoring), own in counts.items()
        if own.keys() != {"read by log-probabilities"}
    ]
