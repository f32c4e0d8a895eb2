"""A language-modelling head for an encoder that came without one, learned from a corpus: what mc-mlm takes.

    python -m runs language-head CORPUS/*.txt --model hf:all-mpnet-base-v2 --out DIR

Sentence encoders are saved without the head their first training had. Here one is drawn at random and trained, with
the encoder, to guess masked words. How many it guesses in texts that were held out is told before and after. Of the
words 15 % are hidden: four in five behind the mask, one in ten behind another word, one in ten not at all.
"""

from __future__ import annotations

import argparse
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

PIECE, HIDDEN, HELD_OUT = 64, 0.15, 100
HEAD_FASTER = 5
"""The head begins at random, the encoder does not: it is given that many times the learning rate."""


class Masked(NamedTuple):
    """Texts with some of their words hidden, and what stood there."""

    ids: Tensor
    where: Tensor
    words: Tensor


def main(arguments: Sequence[str]) -> None:
    """Train, save, and say how many words it guesses."""
    parser = argparse.ArgumentParser(
        "python -m runs language-head", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, nargs="+", help="text files; an empty line ends a document")
    parser.add_argument("--model", default="hf:all-mpnet-base-v2", metavar="SPEC")
    parser.add_argument("--out", type=Path, default=Path("runs", "with-head"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256, help="pieces of 64 tokens")
    parser.add_argument("--learning-rate", type=float, default=5e-5, help="the encoder's; the head has five times it")
    given = parser.parse_args(arguments)
    sys.stdout.write(f"{with_head(given)}\n{given.out}\n")


def with_head(given: argparse.Namespace) -> str:
    """Train and save; how many masked words the model guessed before and after."""
    model, tokenizer = headed(given.model)
    train, held = held_out(pieces_of(tokenizer, paragraphs(given.text)))
    before = guessed(model, tokenizer, held, given.batch_size)
    learn(model, tokenizer, train, given.epochs, given.batch_size, given.learning_rate)
    after = guessed(model, tokenizer, held, given.batch_size)
    model.save_pretrained(given.out)
    tokenizer.save_pretrained(given.out)
    return f"{len(train):,} pieces of text; masked words guessed in {len(held):,} others: {before:.1%}, now {after:.1%}"


def headed(spec: str) -> tuple[Any, Any]:
    """A model with a language-modelling head, a random one where it has none, and its tokenizer."""
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
    """All texts in one row of tokens, cut into pieces, each between the marks of a beginning and an end."""
    first, last = tokenizer("")["input_ids"]
    row = [token for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"] for token in (*ids, last)]
    own = PIECE - 2
    cut = torch.tensor(row[: len(row) // own * own], dtype=torch.int32).view(-1, own)
    return pad(pad(cut, (1, 0), value=first), (0, 1), value=last)


def held_out(pieces: Tensor) -> tuple[Tensor, Tensor]:
    """Pieces to train on, and one in a hundred to ask."""
    if len(pieces) < 2:
        raise BadInput(f"the texts make {len(pieces)} pieces of {PIECE} tokens; at least 2 are needed")
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(0))
    asked = -(-len(pieces) // HELD_OUT)
    return pieces[order[asked:]], pieces[order[:asked]]


def learn(model: Any, tokenizer: Any, pieces: Tensor, epochs: int, size: int, rate: float) -> None:
    """Some epochs of AdamW, with a warm-up and a linear decline."""
    optimiser = torch.optim.AdamW(_groups(model, rate), weight_decay=0.01, fused=model.device.type == "cuda")
    chance = torch.Generator().manual_seed(1)
    steps = epochs * -(-len(pieces) // size)
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, steps // 20, steps)  # type: ignore[no-untyped-call]
    model.train()
    with progress_bar("masked words") as progress:
        for done, batch in enumerate(_batches(pieces, epochs, size, chance), 1):
            logits, words = _logits(model, masked(batch, tokenizer, chance))
            cross_entropy(logits, words).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            if progress is not None:
                progress(done, steps)


def _groups(model: Any, rate: float) -> list[dict[str, Any]]:
    """The weights with their learning rates; what the head shares with the encoder is the encoder's."""
    body = list(model.base_model.parameters())
    shared = {id(weight) for weight in body}
    head = [weight for weight in model.parameters() if id(weight) not in shared]
    return [{"params": body, "lr": rate}, {"params": head, "lr": HEAD_FASTER * rate}]


def _batches(pieces: Tensor, epochs: int, size: int, chance: torch.Generator) -> Iterator[Tensor]:
    """Batches, in another order every epoch."""
    for _ in range(epochs):
        yield from torch.split(pieces[torch.randperm(len(pieces), generator=chance)], size)


def guessed(model: Any, tokenizer: Any, pieces: Tensor, size: int) -> float:
    """The share of masked words whose likeliest guess is right; the same words whenever it is asked."""
    chance = torch.Generator().manual_seed(2)
    model.eval()
    right = asked = 0
    with torch.inference_mode():
        for batch in torch.split(pieces, size):
            logits, words = _logits(model, masked(batch, tokenizer, chance, always=True))
            right, asked = right + int((logits.argmax(-1) == words).sum()), asked + len(words)
    return right / asked


def masked(pieces: Tensor, tokenizer: Any, chance: torch.Generator, *, always: bool = False) -> Masked:
    """Hide some words; `always` behind the mask, never behind another word."""
    ids = pieces.long()
    drawn = torch.rand(ids.shape, generator=chance)
    drawn[torch.isin(ids, torch.tensor(tokenizer.all_special_ids))] = 1.0
    where, how = drawn < HIDDEN, drawn / HIDDEN
    hidden = ids.masked_fill(where if always else how < 0.8, tokenizer.mask_token_id)
    if not always:
        other = (how >= 0.8) & (how < 0.9)
        hidden[other] = torch.randint(len(tokenizer), (int(other.sum()),), generator=chance)
    return Masked(hidden, where, ids[where])


def _logits(model: Any, batch: Masked) -> tuple[Tensor, Tensor]:
    """What the model says where words are hidden, and the words."""
    device = model.device
    rows, columns = batch.where.to(device).nonzero(as_tuple=True)
    precision = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    with precision, only_at(model.base_model, rows, columns):
        logits = model(batch.ids.to(device)).logits[0]
    return logits.float(), batch.words.to(device)
