"""`python -m runs language-head`: an encoder without a language-modelling head is given one."""

import sys
from pathlib import Path

import pytest
import torch

from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.network import load_network

sys.path.insert(0, str(Path(__file__).parents[3]))

from runs import language_head
from runs.__main__ import main

TEXT = "Jim lent the book to Bill because he was glad.\n\nKevin asked for it since he had left home.\n\n"


@pytest.fixture
def script(capsys):
    """Run the command, and hand back its exit code and what it said."""

    def run(*arguments):
        capsys.readouterr()  # what was said before, such as the progress bar of a folder being written
        return main(["language-head", *map(str, arguments)]), capsys.readouterr()

    return run


def test_an_encoder_is_given_a_head_that_guesses_words_and_serves_mc_mlm(script, tiny, tmp_path):
    encoder = tiny.tiny("mpnet", tmp_path / "encoder", head=False, initializer_range=0.1)
    text = tmp_path / "text.txt"
    text.write_text(TEXT * 400, "utf-8")
    with pytest.raises(BadInput, match="no language-modelling head"):
        load_network(f"hf:{encoder}", Formalization.parse("mc-mlm"))
    out = tmp_path / "out"
    options = ("--out", out, "--epochs", 20, "--batch-size", 8, "--learning-rate", 1e-2)
    code, said = script(text, "--model", f"hf:{encoder}", *options)
    assert code == 0, said.err
    before, after = (float(word.strip("%,\n")) for word in said.out.replace("now ", "").split() if "%" in word)
    assert after > before + 30
    load_network(f"hf:{out}", Formalization.parse("mc-mlm"))


def test_words_are_hidden_as_often_as_told_and_marks_never(tiny):
    tokenizer = tiny.tokenizer()
    pieces = language_head.pieces_of(tokenizer, [TEXT] * 2000)
    chance = torch.Generator().manual_seed(0)
    ids, where, words = language_head.masked(pieces, tokenizer, chance)
    special = torch.isin(pieces, torch.tensor(tokenizer.all_special_ids))
    assert not (where & special).any()
    assert where.sum() / (~special).sum() == pytest.approx(0.15, abs=0.01)
    assert torch.equal(words, pieces.long()[where])
    assert torch.equal(ids[~where], pieces.long()[~where])
    assert (ids[where] == tokenizer.mask_token_id).float().mean() == pytest.approx(0.8, abs=0.02)
    assert (ids[where] == words).float().mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("model", "text", "why"), [("builtin", TEXT * 99, "expected hf:DIR"), (None, TEXT, "at least 2")]
)
def test_what_cannot_be_done_is_told_in_one_line(script, tiny, tmp_path, model, text, why):
    path = tmp_path / "text.txt"
    path.write_text(text, "utf-8")
    spec = model or f"hf:{tiny.tiny('mpnet', tmp_path / 'encoder', head=False)}"
    code, said = script(path, "--model", spec, "--out", tmp_path / "out")
    assert code == 2
    assert why in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
