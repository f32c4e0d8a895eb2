"""A language-modelling head for an encoder that came without one, learned from a corpus: what mc-mlm takes.

    python -m runs language-head CORPUS/*.txt --model hf:all-mpnet-base-v2 --out DIR

Sentence encoders are saved without the head their first training had. Here one is drawn at random and trained, with
the encoder, to guess masked words. How many it guesses in texts that were held out is told before and after. Of the
words 15 % are hidden: four in five behind the mask, one in ten behind another word, one in ten not at all.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from runs.trigrams import paragraphs
from winokit.drawing.tables import progress_bar
from winokit.errors import BadInput
from winokit.models.hf import HfSettings, load_tokenizer
from winokit.models.hf_masked import only_at
from winokit.models.registry import Spec

PIECE = 64
"""Tokens of a piece of text, its two marks counted."""
HIDDEN = 0.15
"""Share of the words that are hidden."""
HELD_OUT = 100
"""One piece in so many is held out."""
HEAD_FASTER = 5
"""The head's learning rate in multiples of the encoder's, since only the head begins at random."""


class Masked(NamedTuple):
    """Pieces of text with some of their words hidden, and these words."""

    ids: Tensor
    """Token ids with some words hidden, a row per piece."""
    where: Tensor
    """Whether a word is to be guessed, in the shape of `ids`."""
    words: Tensor
    """The original ids of these words, one dimension."""


def main(arguments: Sequence[str]) -> None:
    """Train a model with a head, save it, and print how many words it guesses."""
    parser = argparse.ArgumentParser(
        "python -m runs language-head", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, nargs="+", help="text files; an empty line ends a document")
    parser.add_argument("--model", default="hf:all-mpnet-base-v2", metavar="SPEC")
    parser.add_argument("--out", type=Path, default=Path("runs", "with-head"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256, help="pieces of 64 tokens")
    parser.add_argument("--learning-rate", type=float, default=5e-5, help="the encoder's; the head has five times it")
    options = parser.parse_args(arguments)
    sys.stdout.write(f"{with_head(options)}\n{options.out}\n")


def with_head(options: argparse.Namespace) -> str:
    """Train and save a model, and say how many masked words it guessed before and after."""
    model, tokenizer = headed(options.model)
    train, held_out_pieces = held_out(pieces_of(tokenizer, paragraphs(options.text)))
    before = guessed(model, tokenizer, held_out_pieces, options.batch_size)
    learn(model, tokenizer, train, options.epochs, options.batch_size, options.learning_rate)
    after = guessed(model, tokenizer, held_out_pieces, options.batch_size)
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    shares = f"masked words guessed in {len(held_out_pieces):,} others: {before:.1%}, now {after:.1%}"
    return f"{len(train):,} pieces of text; {shares}"


def headed(spec: str) -> tuple[Any, Any]:
    """Load a model and its tokenizer, with a random language-modelling head if it has none.

    Raises BadInput unless the SPEC begins with `hf:`.
    """
    parsed = Spec.parse(spec)
    if parsed.prefix != "hf":
        raise BadInput(f"{spec}: expected hf:DIR")
    settings = replace(HfSettings.of(parsed), kind="masked")
    tokenizer = load_tokenizer(settings)
    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()  # it would tell at length that the head is new
    logging.disable_progress_bar()
    torch.manual_seed(0)
    model = transformers.AutoModelForMaskedLM.from_pretrained(settings.place, dtype=torch.float32)
    return model.to(settings.device), tokenizer


def pieces_of(tokenizer: Any, texts: Iterable[str]) -> Tensor:
    """Join all texts and cut them into pieces of `PIECE` tokens, each between the marks of a beginning and an end.

    A row of token ids per piece. The rest that fills no piece is left out.
    """
    first, last = tokenizer("")["input_ids"]
    tokens: list[int] = []
    for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]:
        tokens += [*ids, last]
    inner_length = PIECE - 2
    used_length = len(tokens) // inner_length * inner_length
    inner = torch.tensor(tokens[:used_length], dtype=torch.int32).view(-1, inner_length)
    with_first = pad(inner, (1, 0), value=first)
    return pad(with_first, (0, 1), value=last)


def held_out(pieces: Tensor) -> tuple[Tensor, Tensor]:
    """Split pieces at random into those to train on and one in a hundred to ask.

    Raises BadInput for fewer than two pieces.
    """
    if len(pieces) < 2:
        raise BadInput(f"the texts make {len(pieces)} pieces of {PIECE} tokens; at least 2 are needed")
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(0))
    held_out_count = math.ceil(len(pieces) / HELD_OUT)
    return pieces[order[held_out_count:]], pieces[order[:held_out_count]]


def learn(model: Any, tokenizer: Any, pieces: Tensor, epochs: int, batch_size: int, rate: float) -> None:
    """Train a model in place for some epochs of AdamW, with a warm-up and a linear decline.

    `rate` is the encoder's learning rate.
    """
    parameter_groups = split_weights(model, rate)
    optimiser = torch.optim.AdamW(parameter_groups, weight_decay=0.01, fused=model.device.type == "cuda")
    generator = torch.Generator().manual_seed(1)
    steps = epochs * math.ceil(len(pieces) / batch_size)
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, steps // 20, steps)  # type: ignore[no-untyped-call]
    model.train()
    with progress_bar("masked words") as progress:
        for done, batch in enumerate(iterate_batches(pieces, epochs, batch_size, generator), 1):
            logits, words = predict_hidden(model, masked(batch, tokenizer, generator))
            cross_entropy(logits, words).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            if progress is not None:
                progress(done, steps)


def split_weights(model: Any, rate: float) -> list[dict[str, Any]]:
    """Split the weights into the encoder's and the head's, each with its learning rate.

    Weights that both share are the encoder's.
    """
    encoder_weights = list(model.base_model.parameters())
    encoder_ids = set(map(id, encoder_weights))
    head_weights = [weight for weight in model.parameters() if id(weight) not in encoder_ids]
    return [{"params": encoder_weights, "lr": rate}, {"params": head_weights, "lr": HEAD_FASTER * rate}]


def iterate_batches(pieces: Tensor, epochs: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield batches of pieces, in another random order every epoch."""
    for _ in range(epochs):
        order = torch.randperm(len(pieces), generator=generator)
        yield from torch.split(pieces[order], batch_size)


def guessed(model: Any, tokenizer: Any, pieces: Tensor, batch_size: int) -> float:
    """Share of masked words whose likeliest guess is right. Every call masks the same words."""
    generator = torch.Generator().manual_seed(2)
    model.eval()
    right_count = 0
    word_count = 0
    with torch.inference_mode():
        for batch in torch.split(pieces, batch_size):
            logits, words = predict_hidden(model, masked(batch, tokenizer, generator, always=True))
            right_count += int((logits.argmax(-1) == words).sum())
            word_count += len(words)
    return right_count / word_count


def masked(pieces: Tensor, tokenizer: Any, generator: torch.Generator, *, always: bool = False) -> Masked:
    """Hide some words of pieces of token ids, drawn at random.

    Of the words to guess four in five become the mask, one in ten another word, and one in ten stays. With `always` all
    become the mask.
    """
    ids = pieces.long()
    random_numbers = torch.rand(ids.shape, generator=generator)
    random_numbers[torch.isin(ids, torch.tensor(tokenizer.all_special_ids))] = 1.0
    is_guessed = random_numbers < HIDDEN
    fraction = random_numbers / HIDDEN
    is_masked = is_guessed if always else fraction < 0.8
    hidden = ids.masked_fill(is_masked, tokenizer.mask_token_id)
    if not always:
        is_replaced = (fraction >= 0.8) & (fraction < 0.9)
        replaced_count = int(is_replaced.sum())
        hidden[is_replaced] = torch.randint(len(tokenizer), (replaced_count,), generator=generator)
    return Masked(hidden, is_guessed, ids[is_guessed])


def predict_hidden(model: Any, batch: Masked) -> tuple[Tensor, Tensor]:
    """Return the model's logits for the hidden words, and the words, on the model's device."""
    device = model.device
    rows, columns = batch.where.to(device).nonzero(as_tuple=True)
    precision = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    with precision, only_at(model.base_model, rows, columns):
        logits = model(batch.ids.to(device)).logits[0]
    return logits.float(), batch.words.to(device)
