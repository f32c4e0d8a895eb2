"""A language-modelling head for an encoder that came without one, learned from a corpus: what mc-mlm takes.

    python runs/language_head.py CORPUS/*.txt --model hf:all-mpnet-base-v2 --out DIR

Sentence encoders are saved without the head their first training had. Here one is drawn at random and trained, with
the encoder, to guess masked words. How many it guesses in texts that were held out is told before and after.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trigrams import paragraphs

from winokit.errors import WinokitError


def main() -> None:
    """Train, tell, save; leave with an exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="+", help="text files; an empty line ends a document")
    parser.add_argument("--model", default="hf:all-mpnet-base-v2", metavar="SPEC")
    parser.add_argument("--out", type=Path, default=Path("runs") / "with-head")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256, help="pieces of 64 tokens")
    parser.add_argument("--learning-rate", type=float, default=5e-5, help="the encoder's; the head has five times it")
    given = parser.parse_args()
    try:
        told = with_head(given)
    except (OSError, WinokitError) as error:
        sys.stderr.write(f"language_head: {error}\n")
        sys.exit(2)
    sys.stdout.write(f"{told}\n{given.out}\n")


def with_head(given: argparse.Namespace) -> str:
    """Train and save; how many masked words the model guessed before and after."""
    from masked_words import guessed, headed, held_out, learn, pieces_of

    model, tokenizer = headed(given.model)
    train, held = held_out(pieces_of(tokenizer, paragraphs(given.text)))
    before = guessed(model, tokenizer, held, given.batch_size)
    learn(model, tokenizer, train, given.epochs, given.batch_size, given.learning_rate)
    after = guessed(model, tokenizer, held, given.batch_size)
    model.save_pretrained(given.out)
    tokenizer.save_pretrained(given.out)
    return f"{len(train):,} pieces of text; masked words guessed in {len(held):,} others: {before:.1%}, now {after:.1%}"


if __name__ == "__main__":
    main()
