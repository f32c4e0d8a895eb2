"""Inputs: the text with an option in its blank, with the option masked, or unchanged.

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
from itertools import chain
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
    """A text and the spans in it that matter."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class InputRow:
    """Token ids, and the start of the second segment for models that have segments."""

    ids: tuple[int, ...]
    second: int


Seen: TypeAlias = tuple[InputRow, tuple[tuple[int, ...], ...], tuple[int, ...]]
"""The row of an option, the places in it by span, and the tokens hidden there."""


@dataclass(frozen=True, slots=True)
class InputOption:
    """One option: its row, its token positions by span, and the tokens hidden there."""

    row: int
    places: tuple[tuple[int, ...], ...] = ()
    tokens: tuple[int, ...] = ()
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A case as a model reads it.

    Options that leave the same text share a row.
    """

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
    """A tokenizer, and what else determines how a text becomes rows."""

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
        has_segments = "token_type_ids" in tokenizer.model_input_names and getattr(config, "type_vocab_size", 0) > 1
        joined = tokenizer("a", "b").encodings[0]
        texts = joined.sequence_ids
        first_end = len(texts) - texts[::-1].index(0)
        second_start = texts.index(1)
        between = tuple(joined.ids[first_end:second_start])
        own_separator = () if tokenizer.sep_token_id is None else (tokenizer.sep_token_id,)
        return cls(tokenizer, longest, has_segments, between or own_separator)


@dataclass(frozen=True)
class Input:
    """One way to read a case: the texts of its options, and a row for each."""

    texts: Callable[[Case, Switches], tuple[Marked, ...] | str]
    """One marked text an option, or why there is none."""
    row: Callable[[Marked, TextReading, InputReader, Switches], Seen]

    def read(self, marked: Sequence[Marked], reader: InputReader, switches: Switches) -> list[Seen]:
        """Return a row per text, with the token positions for the head."""
        texts = list(dict.fromkeys(each.text for each in marked))
        readings = dict(zip(texts, read(reader.tokenizer, texts, reader.longest), strict=True))
        return [self.row(each, readings[each.text], reader, switches) for each in marked]


@dataclass(frozen=True)
class FollowingInput:
    """The text after an option, split into tokens as in `partial` and `full` scoring."""

    texts: Callable[[Case, Switches], tuple[Marked, ...] | str]

    def read(self, marked: Sequence[Marked], reader: InputReader, switches: Switches) -> list[Seen]:
        """Return a row per text, with the guessed tokens and their positions."""
        continuations = [_make_continuation(each, switches) for each in marked]
        if reader.boundary is not None:
            return [_read_guessed(encoded) for encoded in reader.boundary.split(continuations)]
        return _read_written(continuations, reader)


def encode(cases: Sequence[Case], formalization: Formalization, reader: InputReader) -> list[Encoded | str]:
    """Return each case as the model reads it, or the reason why it cannot."""
    input_kind = formalization.definition.input
    switches = formalization.switches
    markings = [input_kind.texts(case, switches) for case in cases]
    readable = [marking for marking in markings if not isinstance(marking, str)]
    texts = list(dict.fromkeys(chain.from_iterable(readable)))
    inputs_of: dict[Marked, Seen] = {}
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        inputs_of |= zip(chunk, input_kind.read(chunk, reader, switches), strict=True)
    encoded: list[Encoded | str] = []
    for case, marking in zip(cases, markings, strict=True):
        if isinstance(marking, str):
            encoded.append(marking)
        else:
            inputs = [(marked, inputs_of[marked]) for marked in marking]
            encoded.append(_encode_case(case, inputs, reader))
    return encoded


def _encode_case(case: Case, texts: Sequence[tuple[Marked, Seen]], reader: InputReader) -> Encoded:
    """Encode a case from its marked texts and their rows."""
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


def _fill_texts(case: Case, switches: Switches) -> tuple[Marked, ...]:
    return tuple(_mark_option(filled(case.problem, option, switches)) for option in case.options)


def _mark_option(text: Filled) -> Marked:
    """A filled text with the option as its span."""
    start = len(text.before)
    return Marked(text.text, ((start, start + len(text.candidate)),))


def _insert_separators(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    option = reading.inside(*marked.spans[0])
    at = option[0] if switches["separator"] == "before" else option[-1] + 1
    between = reader.separators
    if not between:
        raise BadInput("the model's tokenizer has no separator to put beside an option: choose mc-mlm or p-span")
    if switches["separators"] != "own":
        between = between[:1] * int(switches["separators"])
    ids = (*reading.ids[:at], *between, *reading.ids[at:])
    return InputRow(ids, at + len(between)), (), ()


def _read_masked(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    places = tuple(reading.inside(*marked.spans[0]))
    masked_ids = reading.masked(places, reader.tokenizer.mask_token_id)
    hidden_ids = tuple(reading.ids[place] for place in places)
    return InputRow(masked_ids, len(reading.ids)), (places,), hidden_ids


def _fill_masked_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    return UNREADABLE if case.problem.is_whole else _fill_texts(case, switches)


def _mark_named_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    problem = case.problem
    if problem.is_whole:
        return UNREADABLE
    blank = len(problem.before), len(problem.sentence) - len(problem.after)
    marked_texts = []
    for index, option in enumerate(case.options):
        is_query = case.is_judgement and index == 0
        mention = _find_mention(problem, option, blank, by_index=is_query)
        if mention is None:
            return f"{option!r} is not named in the text"
        marked_texts.append(Marked(problem.sentence, (mention, blank)))
    return tuple(marked_texts)


def _find_mention(problem: Problem, option: str, blank: Span, *, by_index: bool) -> Span | None:
    """First mention of an option outside the blank; None if there is none.

    A query is looked for from the word on that the dataset names.
    """
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


def _read_spans(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    places = tuple(tuple(reading.inside(*span)) for span in marked.spans)
    return InputRow(tuple(reading.ids), len(reading.ids)), places, ()


def _fill_followed_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    """Return the filled texts if something follows the blank."""
    if switches["scored"] == "full":
        return _fill_texts(case, switches)
    if case.problem.is_whole:
        return f"{NO_BLANK}; mc-lm?scored=full reads them"
    if not case.problem.after.strip():
        return "nothing follows the blank; mc-lm?scored=full guesses the whole text"
    return _fill_texts(case, switches)


def _make_continuation(marked: Marked, switches: Switches) -> Continuation:
    """Return the text up to the option's end as context, and the rest to be guessed."""
    if switches["scored"] == "full":
        return Continuation("", marked.text)
    option_end = marked.spans[0][1]
    return Continuation(marked.text[:option_end], marked.text[option_end:])


def _read_guessed(encoded: EncodedText | Refusal) -> Seen:
    """Return a causal model's row, and the position before each guessed token."""
    if isinstance(encoded, Refusal):
        raise BadInput(f"cannot be trained on: {encoded.why}")
    scored = encoded.scored
    places = tuple(range(scored.first - 1, len(scored.tokens) - 1))
    return InputRow(scored.read, len(scored.read)), (places,), scored.tokens[scored.first :]


def _read_written(continuations: Sequence[Continuation], reader: InputReader) -> list[Seen]:
    """Return the encoder's rows, and the tokens that its decoder writes.

    Places count the decoder's tokens. Tokens after the last scored one (`</s>`) are left out.
    """
    sides = [moved(continuation) for continuation in continuations]
    prompts = read(reader.tokenizer, [context for context, _ in sides], reader.longest)
    longest_target = reader.longest_target or reader.longest
    targets = read(reader.tokenizer, [text for _, text in sides], longest_target, as_target=True)
    inputs: list[Seen] = []
    for prompt, target in zip(prompts, targets, strict=True):
        target.check()
        places = tuple(target.own())
        target_tokens = tuple(target.ids[: places[-1] + 1])
        inputs.append((InputRow(tuple(prompt.ids), len(prompt.ids)), (places,), target_tokens))
    return inputs


SENTENCES = Input(_fill_texts, _insert_separators)
SPANS = Input(_mark_named_texts, _read_spans)
MASKED = Input(_fill_masked_texts, _read_masked)
FOLLOWING = FollowingInput(_fill_followed_texts)
