"""What a model reads: the text with an option in its blank, with the option masked, or as it stands.

| input | an option of "Jim yelled at Kevin because he was upset." | what the head looks at |
|---|---|---|
| `SENTENCES` | [CLS] Jim yelled at Kevin because [SEP] Jim was upset. [SEP] | the first token |
| `SPANS` | [CLS] Jim yelled at Kevin because he was upset. [SEP] | the first token, the tokens of "Jim" and of "he" |
| `MASKED` | [CLS] Jim yelled at Kevin because [MASK] was upset. [SEP] | the masks, one a piece of "Jim" |
| `FOLLOWING` | Jim yelled at Kevin because Jim was upset. | the tokens before each of "was upset." |

Both papers print the separator after the option, both code bases put it before (`separator`). RoBERTa's tokenizer
joins two texts by two separators and BERT's by one; Liu et al.'s code takes two for either (`separators=2`). The text
is tokenised whole, and the separator goes between its tokens, so that the option keeps the space before it;
allenai/winogrande tokenises the two parts by themselves, so that RoBERTa reads the option without it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization, Switches
from winokit.methods.formalizations.cases import Case
from winokit.methods.transforms.substitute import Filled, substitute
from winokit.models.base import Continuation, Refusal, TooLong
from winokit.models.boundary import Boundary, EncodedText, moved
from winokit.models.reading import TextReading, read
from winokit.problem import NO_BLANK, Problem
from winokit.text.language import language_of

SUBSTITUTION = {"substitution": ("auto", "literal", "natural", "verbatim")}
"""How an option goes into the blank (`transforms.substitute`); `verbatim` changes nothing: "his" becomes "Bill"."""
SENTENCE_SWITCHES = {
    "separator": ("before", "after"),
    "separators": ("own", "1", "2"),
    **SUBSTITUTION,
    "head": ("linear", "dense"),
}
"""Switches of formalizations that read whole sentences."""
CHUNK = 4096
"""Texts tokenised at a time."""
UNREADABLE = f"{NO_BLANK}; mc-sent reads them"

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Marked:
    """A text, and the characters in it that matter."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class InputRow:
    """Token ids, and where the second segment begins, for models that tell segments apart."""

    ids: tuple[int, ...]
    second: int


Seen: TypeAlias = tuple[InputRow, tuple[tuple[int, ...], ...], tuple[int, ...]]
"""The row of an option, the places in it by span, and the tokens hidden there."""


@dataclass(frozen=True, slots=True)
class InputOption:
    """Where the head looks for one option: a row, positions in it by span, and the tokens hidden there."""

    row: int
    places: tuple[tuple[int, ...], ...] = ()
    tokens: tuple[int, ...] = ()
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A case as a model reads it. Options that leave the same text behind share a row."""

    rows: tuple[InputRow, ...]
    options: tuple[InputOption, ...]

    @property
    def longest(self) -> int:
        """Tokens of its longest row."""
        return max(len(row.ids) for row in self.rows)

    def only(self, index: int) -> "Encoded":
        """One of its options by itself."""
        option = self.options[index]
        return Encoded((self.rows[option.row],), (InputOption(0, option.places, option.tokens, option.right),))


@dataclass(frozen=True)
class InputReader:
    """A tokenizer and what else decides how a text becomes rows."""

    tokenizer: Any
    longest: int
    segments: bool
    """Whether the model tells segments apart."""
    separators: tuple[int, ...]
    """What the tokenizer puts between two texts."""
    boundary: Boundary | None = None
    """Splits what a causal model is given from what it guesses; None for other models."""
    longest_target: int | None = None
    """The most tokens that a decoder writes; None for models without an encoder and a decoder."""

    @classmethod
    def of(cls, tokenizer: Any, config: Any, longest: int) -> "InputReader":
        """The reader of a model."""
        tells = "token_type_ids" in tokenizer.model_input_names and getattr(config, "type_vocab_size", 0) > 1
        joined = tokenizer("a", "b").encodings[0]
        texts = joined.sequence_ids
        between = tuple(joined.ids[len(texts) - texts[::-1].index(0) : texts.index(1)])
        own = () if tokenizer.sep_token_id is None else (tokenizer.sep_token_id,)
        return cls(tokenizer, longest, tells, between or own)


@dataclass(frozen=True)
class Input:
    """One way to read a case: the texts of its options, and what the head is to see of each."""

    texts: Callable[[Case, Switches], tuple[Marked, ...] | str]
    """One marked text an option, or why there is none."""
    row: Callable[[Marked, TextReading, InputReader, Switches], Seen]

    def read(self, marked: Sequence[Marked], reader: InputReader, switches: Switches) -> list[Seen]:
        """A row per text, with the places that the head looks at."""
        texts = list(dict.fromkeys(each.text for each in marked))
        readings = dict(zip(texts, read(reader.tokenizer, texts, reader.longest), strict=True))
        return [self.row(each, readings[each.text], reader, switches) for each in marked]


@dataclass(frozen=True)
class FollowingInput:
    """The text after an option, split into tokens as `partial` and `full` scoring do."""

    texts: Callable[[Case, Switches], tuple[Marked, ...] | str]

    def read(self, marked: Sequence[Marked], reader: InputReader, switches: Switches) -> list[Seen]:
        """A row per text, with the places of its guesses and the tokens to guess."""
        continuations = [_continuation(each, switches) for each in marked]
        if reader.boundary is not None:
            return [_guessed_after(encoded) for encoded in reader.boundary.split(continuations)]
        return _written_after(continuations, reader)


def encode(cases: Sequence[Case], formalization: Formalization, reader: InputReader) -> list[Encoded | str]:
    """Each case as the model reads it, or why it cannot."""
    how = formalization.definition.input
    switches = formalization.switches
    markings = [how.texts(case, switches) for case in cases]
    texts = [*dict.fromkeys(marked for marking in markings if not isinstance(marking, str) for marked in marking)]
    seen_of: dict[Marked, Seen] = {}
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        seen_of |= zip(chunk, how.read(chunk, reader, switches), strict=True)
    return [
        marking if isinstance(marking, str) else _encoded(case, [(each, seen_of[each]) for each in marking], reader)
        for case, marking in zip(cases, markings, strict=True)
    ]


def _encoded(case: Case, texts: Sequence[tuple[Marked, Seen]], reader: InputReader) -> Encoded:
    """Make a case of its marked texts and their rows."""
    rows: dict[InputRow, int] = {}
    options = []
    for (marked, (row, places, tokens)), right in zip(texts, case.right, strict=True):
        if len(row.ids) > reader.longest:
            raise TooLong(marked.text, len(row.ids), reader.longest)
        options.append(InputOption(rows.setdefault(row, len(rows)), places, tokens, right))
    return Encoded(tuple(rows), tuple(options))


def filled(problem: Problem, option: str, switches: Switches) -> Filled:
    """The problem with an option in its blank."""
    if switches["substitution"] == "verbatim":
        return Filled(problem.before, option, problem.after)
    return substitute(problem, option, switches["substitution"])


def _filled_texts(case: Case, switches: Switches) -> tuple[Marked, ...]:
    parts = [filled(case.problem, option, switches) for option in case.options]
    return tuple(Marked(part.text, ((len(part.before), len(part.before) + len(part.candidate)),)) for part in parts)


def _separated(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    option = reading.inside(*marked.spans[0])
    at = option[0] if switches["separator"] == "before" else option[-1] + 1
    between = reader.separators
    if not between:
        raise BadInput("the model's tokenizer has no separator to put beside an option: choose mc-mlm or p-span")
    if switches["separators"] != "own":
        between = between[:1] * int(switches["separators"])
    return InputRow((*reading.ids[:at], *between, *reading.ids[at:]), at + len(between)), (), ()


def _masked(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    places = tuple(reading.inside(*marked.spans[0]))
    row = InputRow(reading.masked(places, reader.tokenizer.mask_token_id), len(reading.ids))
    return row, (places,), tuple(reading.ids[place] for place in places)


def _masked_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    return UNREADABLE if case.problem.is_whole else _filled_texts(case, switches)


def _named_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    problem = case.problem
    if problem.is_whole:
        return UNREADABLE
    blank = len(problem.before), len(problem.sentence) - len(problem.after)
    marked = []
    for index, option in enumerate(case.options):
        place = _named(problem, option, blank, by_index=case.is_judgement and index == 0)
        if place is None:
            return f"{option!r} is not named in the text"
        marked.append(Marked(problem.sentence, (place, blank)))
    return tuple(marked)


def _named(problem: Problem, option: str, blank: Span, *, by_index: bool) -> Span | None:
    """Where an option is first named outside the blank; a query at or after the word the dataset says."""
    text = problem.sentence
    word = problem.labels.get("span1_index")
    language = language_of(problem.language)
    mentions = language.occurrences(text, option.strip()) or language.occurrences(text, language.core(option))
    places = [place for place in mentions if place[1] <= blank[0] or place[0] >= blank[1]]
    if by_index and word is not None:
        starts = [match.start() for match in re.finditer(r"\S+", text)]
        start = starts[min(int(word), len(starts) - 1)]
        places = [place for place in places if place[0] >= start] or places
    return places[0] if places else None


def _pooled(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    places = tuple(tuple(reading.inside(*span)) for span in marked.spans)
    return InputRow(tuple(reading.ids), len(reading.ids)), places, ()


def _followed_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    """The filled texts, if something is there to be guessed."""
    if switches["scored"] == "full":
        return _filled_texts(case, switches)
    if case.problem.is_whole:
        return f"{NO_BLANK}; mc-lm?scored=full reads them"
    if not case.problem.after.strip():
        return "nothing follows the blank; mc-lm?scored=full guesses the whole text"
    return _filled_texts(case, switches)


def _continuation(marked: Marked, switches: Switches) -> Continuation:
    """The text up to the option's end as context, and the rest to be guessed."""
    if switches["scored"] == "full":
        return Continuation("", marked.text)
    option_end = marked.spans[0][1]
    return Continuation(marked.text[:option_end], marked.text[option_end:])


def _guessed_after(encoded: EncodedText | Refusal) -> Seen:
    """A causal model's row, and the place before each guessed token."""
    if isinstance(encoded, Refusal):
        raise BadInput(f"cannot be trained on: {encoded.why}")
    scored = encoded.scored
    places = tuple(range(scored.first - 1, len(scored.tokens) - 1))
    return InputRow(scored.read, len(scored.read)), (places,), scored.tokens[scored.first :]


def _written_after(continuations: Sequence[Continuation], reader: InputReader) -> list[Seen]:
    """The encoder's rows, and what its decoder writes.

    Places count the decoder's tokens. Tokens after the last scored one (`</s>`) are left out.
    """
    sides = [moved(continuation) for continuation in continuations]
    prompts = read(reader.tokenizer, [context for context, _ in sides], reader.longest)
    longest_target = reader.longest_target or reader.longest
    targets = read(reader.tokenizer, [text for _, text in sides], longest_target, as_target=True)
    seen: list[Seen] = []
    for prompt, target in zip(prompts, targets, strict=True):
        target.check()
        places = tuple(target.own())
        written = tuple(target.ids[: places[-1] + 1])
        seen.append((InputRow(tuple(prompt.ids), len(prompt.ids)), (places,), written))
    return seen


SENTENCES = Input(_filled_texts, _separated)
SPANS = Input(_named_texts, _pooled)
MASKED = Input(_masked_texts, _masked)
FOLLOWING = FollowingInput(_followed_texts)
