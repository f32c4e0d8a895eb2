"""Inputs: the text with an option in its blank, with that option masked, or unchanged.

| input | an option of "Jim yelled at Kevin because he was upset." | what the head looks at |
|---|---|---|
| `SENTENCES` | [CLS] Jim yelled at Kevin because [SEP] Jim was upset. [SEP] | the first token |
| `SPANS` | [CLS] Jim yelled at Kevin because he was upset. [SEP] | the first token, the tokens of "Jim" and of "he" |
| `MASKED` | [CLS] Jim yelled at Kevin because [MASK] was upset. [SEP] | the masks, one for each token of "Jim" |
| `FOLLOWING` | Jim yelled at Kevin because Jim was upset. | the tokens before each of "was upset." |

Both papers print the separator after the option, both code bases put it before (`separator`). RoBERTa's tokenizer
joins two texts by two separators and BERT's by one. Liu et al.'s code takes two for both (`separators=2`). The text is
tokenised as a whole, and the separator goes between its tokens, so that the option keeps the space before it.
allenai/winogrande tokenises the two parts separately, so that RoBERTa reads the option without that space.
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
"""Ways to put an option into the blank (`transforms.substitute`). `verbatim` adapts nothing: "his" becomes "Bill"."""
SENTENCE_SWITCHES = {
    "separator": ("before", "after"),
    "separators": ("own", "1", "2"),
    **SUBSTITUTION,
    "head": ("linear", "dense"),
}
"""Switches of formalizations that read whole sentences."""
CHUNK = 4096
"""Number of texts to tokenise at a time."""
UNREADABLE = f"{NO_BLANK}; mc-sent reads them"

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with marked spans, such as the option in its blank."""

    text: str
    spans: tuple[Span, ...]
    """Start and end of each span, in characters."""


@dataclass(frozen=True, slots=True)
class InputRow:
    """A text as the model reads it."""

    ids: tuple[int, ...]
    """Token ids."""
    second: int
    """Position at which the second segment starts, for models that have segments."""


Seen: TypeAlias = tuple[InputRow, tuple[tuple[int, ...], ...], tuple[int, ...]]
"""The row of an option, the token positions of each of its spans, and the ids of the hidden tokens."""


@dataclass(frozen=True, slots=True)
class InputOption:
    """One option of a case, as the model reads it."""

    row: int
    """Index of its row in the case."""
    places: tuple[tuple[int, ...], ...] = ()
    """Token positions of each of its spans."""
    tokens: tuple[int, ...] = ()
    """Ids of the tokens that the model must guess, if any."""
    right: bool | None = None
    """Whether it is right; None if that is unknown."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A case as a model reads it.

    Options with the same text share a row.
    """

    rows: tuple[InputRow, ...]
    options: tuple[InputOption, ...]

    @property
    def longest(self) -> int:
        """Number of tokens of its longest row."""
        return max(len(row.ids) for row in self.rows)

    def only(self, index: int) -> "Encoded":
        """Return a case with only the option of this index."""
        option = self.options[index]
        row = self.rows[option.row]
        sole_option = InputOption(0, option.places, option.tokens, option.right)
        return Encoded((row,), (sole_option,))


@dataclass(frozen=True)
class InputReader:
    """A tokenizer, and the model's properties that determine how texts become rows."""

    tokenizer: Any
    longest: int
    """Maximum number of tokens of a row."""
    segments: bool
    """Whether the model distinguishes segments."""
    separators: tuple[int, ...]
    """Ids of the tokens that the tokenizer puts between two texts."""
    boundary: Boundary | None = None
    """Splits the context of a causal model from the text to be guessed; None for other models."""
    longest_target: int | None = None
    """Maximum number of tokens that a decoder writes; None for models other than encoder-decoders."""

    @classmethod
    def of(cls, tokenizer: Any, config: Any, longest: int) -> "InputReader":
        """Return the reader of an encoder with this tokenizer and configuration."""
        takes_segments = "token_type_ids" in tokenizer.model_input_names
        has_segments = takes_segments and getattr(config, "type_vocab_size", 0) > 1
        encoding = tokenizer("a", "b").encodings[0]
        text_of_token = encoding.sequence_ids
        first_end = len(text_of_token) - text_of_token[::-1].index(0)
        second_start = text_of_token.index(1)
        separators = tuple(encoding.ids[first_end:second_start])
        if not separators and tokenizer.sep_token_id is not None:
            separators = (tokenizer.sep_token_id,)
        return cls(tokenizer, longest, has_segments, separators)


@dataclass(frozen=True)
class Input:
    """A way to read cases: the texts of the options, and a row for each text."""

    texts: Callable[[Case, Switches], tuple[Marked, ...] | str]
    """From a case to a marked text for each option, or the reason why there are none."""
    row: Callable[[Marked, TextReading, InputReader, Switches], Seen]
    """From a marked text and its tokens to its row."""

    def read(self, marked: Sequence[Marked], reader: InputReader, switches: Switches) -> list[Seen]:
        """Return for each text its row, with the token positions that the head needs."""
        texts = list(dict.fromkeys(marked_text.text for marked_text in marked))
        text_readings = read(reader.tokenizer, texts, reader.longest)
        reading_of = dict(zip(texts, text_readings, strict=True))
        rows = []
        for marked_text in marked:
            reading = reading_of[marked_text.text]
            rows.append(self.row(marked_text, reading, reader, switches))
        return rows


@dataclass(frozen=True)
class FollowingInput:
    """A way to read cases for models that write: the text after an option is guessed.

    It is split into tokens as in `partial` and `full` scoring.
    """

    texts: Callable[[Case, Switches], tuple[Marked, ...] | str]
    """From a case to a marked text for each option, or the reason why there are none."""

    def read(self, marked: Sequence[Marked], reader: InputReader, switches: Switches) -> list[Seen]:
        """Return for each text its row, with the guessed tokens and their positions."""
        continuations = [_make_continuation(marked_text, switches) for marked_text in marked]
        if reader.boundary is None:
            return _read_written(continuations, reader)
        encoded_texts = reader.boundary.split(continuations)
        return [_read_guessed(encoded_text) for encoded_text in encoded_texts]


def encode(cases: Sequence[Case], formalization: Formalization, reader: InputReader) -> list[Encoded | str]:
    """Return each case as the model reads it, or why it cannot.

    Raises TooLong if a text does not fit into the model.
    """
    input_kind = formalization.definition.input
    switches = formalization.switches
    markings = [input_kind.texts(case, switches) for case in cases]
    readable = [marking for marking in markings if not isinstance(marking, str)]
    texts = list(dict.fromkeys(chain.from_iterable(readable)))
    inputs_of: dict[Marked, Seen] = {}
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        chunk_inputs = input_kind.read(chunk, reader, switches)
        inputs_of |= zip(chunk, chunk_inputs, strict=True)
    encoded: list[Encoded | str] = []
    for case, marking in zip(cases, markings, strict=True):
        if isinstance(marking, str):
            encoded.append(marking)
        else:
            inputs = [(marked, inputs_of[marked]) for marked in marking]
            encoded.append(_encode_case(case, inputs, reader))
    return encoded


def _encode_case(case: Case, texts: Sequence[tuple[Marked, Seen]], reader: InputReader) -> Encoded:
    """Encode a case from the marked text and the input of each of its options."""
    rows: dict[InputRow, int] = {}
    options = []
    for (marked, (row, places, tokens)), right in zip(texts, case.right, strict=True):
        if len(row.ids) > reader.longest:
            raise TooLong(marked.text, len(row.ids), reader.longest)
        row_index = rows.setdefault(row, len(rows))
        options.append(InputOption(row_index, places, tokens, right))
    return Encoded(tuple(rows), tuple(options))


def filled(problem: Problem, option: str, switches: Switches) -> Filled:
    """Return a problem's text with an option in its blank.

    The switch `substitution` says how the option is adapted to the text.
    """
    if switches["substitution"] == "verbatim":
        return Filled(problem.before, option, problem.after)
    return substitute(problem, option, switches["substitution"])


def _fill_texts(case: Case, switches: Switches) -> tuple[Marked, ...]:
    """Return the text with each option in its blank, and the option marked."""
    filled_texts = [filled(case.problem, option, switches) for option in case.options]
    return tuple(_mark_option(text) for text in filled_texts)


def _mark_option(text: Filled) -> Marked:
    """Return a filled text with its option as the marked span."""
    start = len(text.before)
    end = start + len(text.candidate)
    return Marked(text.text, ((start, end),))


def _insert_separators(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    """Return the row of a text with separators before or after its option."""
    option_places = reading.inside(*marked.spans[0])
    position = option_places[0] if switches["separator"] == "before" else option_places[-1] + 1
    separators = reader.separators
    if not separators:
        raise BadInput("the model's tokenizer has no separator to put beside an option: choose mc-mlm or p-span")
    if switches["separators"] != "own":
        separators = separators[:1] * int(switches["separators"])
    ids = (*reading.ids[:position], *separators, *reading.ids[position:])
    second_start = position + len(separators)
    return InputRow(ids, second_start), (), ()


def _read_masked(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    """Return the row of a text with its option masked, and the masked tokens."""
    places = tuple(reading.inside(*marked.spans[0]))
    masked_ids = reading.masked(places, reader.tokenizer.mask_token_id)
    hidden_ids = tuple(reading.ids[place] for place in places)
    return InputRow(masked_ids, len(reading.ids)), (places,), hidden_ids


def _fill_masked_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    """Return the filled texts of a case, or the reason if there is no blank to mask."""
    return UNREADABLE if case.problem.is_whole else _fill_texts(case, switches)


def _mark_named_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    """Return the unchanged text for each option, with two marked spans.

    These are the first mention of the option, and the pronoun. The reason is returned if an option is not mentioned.
    """
    problem = case.problem
    if problem.is_whole:
        return UNREADABLE
    blank_start = len(problem.before)
    blank_end = len(problem.sentence) - len(problem.after)
    blank = (blank_start, blank_end)
    marked_texts = []
    for index, option in enumerate(case.options):
        is_query = case.is_judgement and index == 0
        mention = _find_mention(problem, option, blank, by_index=is_query)
        if mention is None:
            return f"{option!r} is not named in the text"
        marked_texts.append(Marked(problem.sentence, (mention, blank)))
    return tuple(marked_texts)


def _find_mention(problem: Problem, option: str, blank: Span, *, by_index: bool) -> Span | None:
    """Return the first mention of an option outside the blank, or None.

    With `by_index`, a mention from the word on that the dataset's label `span1_index` names is preferred.
    """
    text = problem.sentence
    word_index = problem.labels.get("span1_index")
    language = language_of(problem.language)
    mentions = language.occurrences(text, option.strip()) or language.occurrences(text, language.core(option))
    blank_start, blank_end = blank
    mentions = [(start, end) for start, end in mentions if end <= blank_start or start >= blank_end]
    if by_index and word_index is not None:
        word_starts = [match.start() for match in re.finditer(r"\S+", text)]
        last_index = len(word_starts) - 1
        word_start = word_starts[min(int(word_index), last_index)]
        mentions = [mention for mention in mentions if mention[0] >= word_start] or mentions
    return mentions[0] if mentions else None


def _read_spans(marked: Marked, reading: TextReading, reader: InputReader, switches: Switches) -> Seen:
    """Return the row of a text, and the token positions of its marked spans."""
    places = tuple(tuple(reading.inside(*span)) for span in marked.spans)
    row = InputRow(tuple(reading.ids), len(reading.ids))
    return row, places, ()


def _fill_followed_texts(case: Case, switches: Switches) -> tuple[Marked, ...] | str:
    """Return the filled texts, or the reason if nothing follows the blank.

    With `scored=full` no text needs to follow.
    """
    if switches["scored"] == "full":
        return _fill_texts(case, switches)
    if case.problem.is_whole:
        return f"{NO_BLANK}; mc-lm?scored=full reads them"
    if not case.problem.after.strip():
        return "nothing follows the blank; mc-lm?scored=full guesses the whole text"
    return _fill_texts(case, switches)


def _make_continuation(marked: Marked, switches: Switches) -> Continuation:
    """Split a filled text after its option into context and text to be guessed.

    With `scored=full` the whole text is guessed.
    """
    if switches["scored"] == "full":
        return Continuation("", marked.text)
    option_end = marked.spans[0][1]
    context = marked.text[:option_end]
    guessed_text = marked.text[option_end:]
    return Continuation(context, guessed_text)


def _read_guessed(encoded: EncodedText | Refusal) -> Seen:
    """Return a causal model's row, and the position before each guessed token.

    Raises BadInput for a text that the model cannot read.
    """
    if isinstance(encoded, Refusal):
        raise BadInput(f"cannot be trained on: {encoded.why}")
    scored = encoded.scored
    places = tuple(range(scored.first - 1, len(scored.tokens) - 1))
    guessed_ids = scored.tokens[scored.first :]
    row = InputRow(scored.read, len(scored.read))
    return row, (places,), guessed_ids


def _read_written(continuations: Sequence[Continuation], reader: InputReader) -> list[Seen]:
    """Return for each text the encoder's row, and the tokens that the decoder writes.

    Positions are those of the decoder's tokens. Tokens after the last scored one (`</s>`) are left out.
    """
    sides = [moved(continuation) for continuation in continuations]
    contexts = [context for context, _ in sides]
    target_texts = [text for _, text in sides]
    longest_target = reader.longest_target or reader.longest
    prompts = read(reader.tokenizer, contexts, reader.longest)
    targets = read(reader.tokenizer, target_texts, longest_target, as_target=True)
    inputs: list[Seen] = []
    for prompt, target in zip(prompts, targets, strict=True):
        target.check()
        places = tuple(target.own())
        target_end = places[-1] + 1
        target_ids = tuple(target.ids[:target_end])
        row = InputRow(tuple(prompt.ids), len(prompt.ids))
        inputs.append((row, (places,), target_ids))
    return inputs


SENTENCES = Input(_fill_texts, _insert_separators)
SPANS = Input(_mark_named_texts, _read_spans)
MASKED = Input(_fill_masked_texts, _read_masked)
FOLLOWING = FollowingInput(_fill_followed_texts)
