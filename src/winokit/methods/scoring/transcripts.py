"""Keep prompt and reply of every `Ask`, whether new or replayed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from winokit.models.base import Answer, Ask, Reply, Request


@dataclass(frozen=True, slots=True)
class Transcript:
    """One question about a problem, and the model's reply.

    Several may make one prediction.
    """

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
    """Log-probability of each option; None if the model gives none."""
    why: str | None = None
    """Why it chose nothing, where that is known."""
    sample: int | None = None
    """Number of the sample, from 0; None if there is only one answer."""

    def to_json(self) -> dict[str, Any]:
        """Row of transcripts.jsonl.gz."""
        row = asdict(self)
        if self.sample is None:
            del row["sample"]
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Transcript":
        """Make a transcript from a row of the file."""
        fields = dict(row)
        fields["options"] = tuple(row["options"])
        if row["logprobs"]:
            fields["logprobs"] = tuple(row["logprobs"])
        return cls(**fields)


def transcripts_of(
    named: tuple[str, str, str, str],
    requests: Iterable[Request],
    answers: Mapping[Request, Answer],
    sample: int | None = None,
) -> Iterator[Transcript]:
    """Yield the transcripts of one problem's questions.

    `named` is its id, variant, model and scoring. Requests that are not questions, and questions without a reply,
    have none.
    """
    for request in requests:
        answer = answers[request]
        if isinstance(request, Ask) and isinstance(answer, Reply):
            choice = answer.choice
            logprobs = answer.logprobs
            if choice is None and logprobs:
                choice = max(range(len(logprobs)), key=logprobs.__getitem__)
            yield Transcript(*named, request.prompt, request.options, answer.text, choice, logprobs, answer.why, sample)


def reply_notes(transcripts: Iterable[Transcript]) -> list[str]:
    """Notes for the user on how each scorer's replies were read.

    None for a scorer whose replies were all read by log-probabilities. Questions with the same prompt are one request,
    and each of them counts as a reply.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    requests: dict[tuple[str, str], set[tuple[str, int | None]]] = {}
    for row in transcripts:
        by = f"read by {'log-probabilities' if row.logprobs else 'their text'}"
        way = by if row.choice is not None else f"without a choice ({row.why or 'not readable'})"
        scorer = (row.model, row.scoring)
        counts.setdefault(scorer, Counter())[way] += 1
        requests.setdefault(scorer, set()).add((row.prompt, row.sample))
    notes: list[str] = []
    for (model, scoring), ways in counts.items():
        if ways.keys() == {"read by log-probabilities"}:
            continue
        total = ways.total()
        shares = [f"{count:,} ({100 * count / total:.1f} %) {way}" for way, count in ways.most_common()]
        replies = f"{total:,} replies"
        request_count = len(requests[model, scoring])
        if request_count < total:
            replies += f" (to {request_count:,} requests: questions with the same text are asked once)"
        notes.append(f"{model} ({scoring}): of {replies} {', '.join(shares)}")
    return notes
