"""A language-modelling head for an encoder that came without one, learned from a corpus: what mc-mlm takes.

    python runs/language_head.py CORPUS/*.txt --model hf:all-mpnet-base-v2 --out DIR

Sentence encoders are saved without the head their first training had. Here one is drawn at random and trained with the
encoder to guess masked words: 15 % of them, of which four in five are masked, one in ten is another word and one in
ten is left. Texts follow one another in pieces of 64 tokens; one piece in a hundred is held out, and how many of its
masked words are guessed is told before and after.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor
from trigrams import paragraphs

from winokit.cli.common import progress_bar
from winokit.models.hf_masked import only_at

PIECE, HIDDEN, HELD_OUT = 64, 0.15, 100
HEAD_FASTER = 5
"""The head begins at random, the encoder does not: it is given that many times the learning rate."""


class Masked(NamedTuple):
    """Texts with some of their words hidden, and what stood there."""

    ids: Tensor
    where: Tensor
    words: Tensor


def main() -> None:
    """Train, tell, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="+", help="text files; an empty line ends a document")
    parser.add_argument("--model", default="hf:all-mpnet-base-v2", help="hf:DIR")
    parser.add_argument("--out", type=Path, default=Path("runs") / "with-head")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256, help="pieces of 64 tokens")
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--steps", type=int, help="at most")
    given = parser.parse_args()
    folder = given.model.removeprefix("hf:")
    torch.manual_seed(0)
    transformers.utils.logging.set_verbosity_error()  # it would tell at length that the head is new
    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    pieces = pieces_of(tokenizer, paragraphs(given.text))
    pieces = pieces[torch.randperm(len(pieces), generator=torch.Generator().manual_seed(0))]
    held, train = pieces[: len(pieces) // HELD_OUT + 1], pieces[len(pieces) // HELD_OUT + 1 :]
    sys.stdout.write(f"{len(train):,} pieces of {PIECE} tokens, {len(held):,} held out\n")
    sys.stdout.write(f"masked words guessed: {guessed(model, tokenizer, held, given.batch_size):.1%}\n")
    learn(model, tokenizer, train, given)
    sys.stdout.write(f"masked words guessed: {guessed(model, tokenizer, held, given.batch_size):.1%}\n")
    model.save_pretrained(given.out)
    tokenizer.save_pretrained(given.out)
    sys.stdout.write(f"{given.out}\n")


def pieces_of(tokenizer: Any, texts: Iterable[str]) -> Tensor:
    """All texts in one row of tokens, cut into pieces, each between the marks of a beginning and an end."""
    first, last = tokenizer("")["input_ids"]
    row = [token for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"] for token in (*ids, last)]
    own = PIECE - 2
    cut = torch.tensor(row[: len(row) // own * own], dtype=torch.int32).view(-1, own)
    return torch.nn.functional.pad(torch.nn.functional.pad(cut, (1, 0), value=first), (0, 1), value=last)


def learn(model: Any, tokenizer: Any, pieces: Tensor, given: argparse.Namespace) -> None:
    """Some epochs of AdamW, with a warm-up and a linear decline."""
    body = {id(weight) for weight in model.base_model.parameters()}
    head = [weight for weight in model.parameters() if id(weight) not in body]
    groups = [
        {"params": list(model.base_model.parameters()), "lr": given.learning_rate},
        {"params": head, "lr": HEAD_FASTER * given.learning_rate},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=model.device.type == "cuda")
    steps = given.epochs * (len(pieces) // given.batch_size)
    steps = min(steps, given.steps or steps)
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, steps // 20, steps)
    chance = torch.Generator().manual_seed(1)
    model.train()
    with progress_bar("masked words") as told:
        for done, batch in zip(range(1, steps + 1), _batches(pieces, given.batch_size, chance), strict=False):
            logits, words = _logits(model, masked(batch, tokenizer, chance))
            torch.nn.functional.cross_entropy(logits, words).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            if told is not None:
                told(done, steps)


def guessed(model: Any, tokenizer: Any, pieces: Tensor, size: int) -> float:
    """The share of masked words whose likeliest guess is right; the same words whenever it is asked."""
    chance = torch.Generator().manual_seed(2)
    model.eval()
    right = asked = 0
    with torch.inference_mode():
        for batch in pieces.split(size):
            logits, words = _logits(model, masked(batch, tokenizer, chance, always=True))
            right, asked = right + int((logits.argmax(-1) == words).sum()), asked + len(words)
    return right / asked


def masked(pieces: Tensor, tokenizer: Any, chance: torch.Generator, *, always: bool = False) -> Masked:
    """Hide some words of some pieces; `always` behind the mask, and not sometimes behind another word."""
    ids = pieces.long()
    drawn = torch.rand(ids.shape, generator=chance)
    drawn[torch.isin(ids, torch.tensor(tokenizer.all_special_ids))] = 1.0
    where = drawn < HIDDEN
    words = ids[where]
    how = drawn / HIDDEN
    hidden = ids.masked_fill(where if always else how < 0.8, tokenizer.mask_token_id)
    if not always:
        other = (how >= 0.8) & (how < 0.9)
        hidden[other] = torch.randint(len(tokenizer), (int(other.sum()),), generator=chance)
    return Masked(hidden, where, words)


def _logits(model: Any, some: Masked) -> tuple[Tensor, Tensor]:
    """What the model says where words are hidden, and the words."""
    device = model.device
    rows, columns = some.where.to(device).nonzero(as_tuple=True)
    precision = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    with precision, only_at(model.base_model, rows, columns):
        logits = model(some.ids.to(device)).logits[0]
    return logits.float(), some.words.to(device)


def _batches(pieces: Tensor, size: int, chance: torch.Generator) -> Iterator[Tensor]:
    """Batches without end, in another order every time through."""
    while True:
        order = torch.randperm(len(pieces), generator=chance)
        yield from (pieces[indices] for indices in order.split(size) if len(indices) == size)


if __name__ == "__main__":
    main()
