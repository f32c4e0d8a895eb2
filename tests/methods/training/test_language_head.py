"""`python -m runs language-head` gives an encoder a language-modelling head."""

import re
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
    """Make a function that runs the command, and returns its exit code and the text it wrote."""

    def run_command(*arguments):
        capsys.readouterr()  # forgets what was written before, such as the progress bar of saving a folder
        code = main(["language-head", *map(str, arguments)])
        return code, capsys.readouterr()

    return run_command


def percentages_in(text):
    """Numbers before percent signs, in order."""
    return [float(number) for number in re.findall(r"([\d.]+) ?%", text)]


def test_an_encoder_is_given_a_head_that_guesses_words_and_serves_mc_mlm(script, tiny, tmp_path):
    encoder = tiny.tiny("mpnet", tmp_path / "encoder", head=False, initializer_range=0.1)
    text = tmp_path / "text.txt"
    text.write_text(TEXT * 400, "utf-8")
    with pytest.raises(BadInput, match="no language-modelling head"):
        load_network(f"hf:{encoder}", Formalization.parse("mc-mlm"))
    out = tmp_path / "out"
    options = ("--out", out, "--epochs", 20, "--batch-size", 8, "--learning-rate", 1e-2)
    code, output = script(text, "--model", f"hf:{encoder}", *options)
    assert code == 0, output.err
    before, after = percentages_in(output.out)
    assert after > before + 30
    load_network(f"hf:{out}", Formalization.parse("mc-mlm"))


def test_words_are_hidden_as_often_as_told_and_marks_never(tiny):
    tokenizer = tiny.tokenizer()
    pieces = language_head.pieces_of(tokenizer, [TEXT] * 2000)
    chance = torch.Generator().manual_seed(0)
    ids, where, words = language_head.masked(pieces, tokenizer, chance)
    special = torch.isin(pieces, torch.tensor(tokenizer.all_special_ids))
    assert not (where & special).any()
    hidden_share = where.sum() / (~special).sum()
    all_words = pieces.long()
    ids_where_hidden = ids[where]
    mask_share = (ids_where_hidden == tokenizer.mask_token_id).float().mean()
    unchanged_share = (ids_where_hidden == words).float().mean()
    assert hidden_share == pytest.approx(0.15, abs=0.01)
    assert torch.equal(words, all_words[where])
    assert torch.equal(ids[~where], all_words[~where])
    assert mask_share == pytest.approx(0.8, abs=0.02)
    assert unchanged_share == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("model", "text", "why"), [("builtin", TEXT * 99, "expected hf:DIR"), (None, TEXT, "at least 2")]
)
def test_what_cannot_be_done_is_told_in_one_line(script, tiny, tmp_path, model, text, why):
    path = tmp_path / "text.txt"
    path.write_text(text, "utf-8")
    encoder = tiny.tiny("mpnet", tmp_path / "encoder", head=False)
    spec = model or f"hf:{encoder}"
    code, output = script(path, "--model", spec, "--out", tmp_path / "out")
    assert code == 2
    assert why in output.err
    assert output.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
