"""Batches fill rows up and say which option belongs to which row and case."""

import pytest

torch = pytest.importorskip("torch")
from dataclasses import fields

from winokit.methods.formalizations.batch import NOWHERE, collate
from winokit.methods.formalizations.inputs import Encoded, InputOption, InputRow

SHORT_ROW = InputRow((0, 11, 12, 2), 4)
LONG_ROW = InputRow((0, 11, 13, 14, 2), 3)
SHORT_OPTION = InputOption(0, ((2,),), (12,), True)
LONG_OPTION = InputOption(1, ((2, 3),), (13, 14), False)
TWO_ROWS = Encoded((SHORT_ROW, LONG_ROW), (SHORT_OPTION, LONG_OPTION))
THREE_OPTIONS = tuple(InputOption(0, ((1,),), (token,), token == 16) for token in (15, 16, 17))
SINGLE_ROW = Encoded((InputRow((0, 15, 2), 2),), THREE_OPTIONS)


def test_rows_are_filled_up_and_options_know_their_rows_and_cases():
    batch = collate([TWO_ROWS, SINGLE_ROW], pad=9, segments=True)
    assert batch.ids.tolist() == [[0, 11, 12, 2, 9], [0, 11, 13, 14, 2], [0, 15, 2, 9, 9]]
    assert batch.attention.tolist() == [[1, 1, 1, 1, 0], [1] * 5, [1, 1, 1, 0, 0]]
    assert batch.segments.tolist() == [[0] * 5, [0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    assert batch.row.tolist() == [0, 1, 2, 2, 2]
    assert batch.case.tolist() == [0, 0, 1, 1, 1]
    assert batch.column.tolist() == [0, 1, 0, 1, 2]
    assert batch.gold.tolist() == [0, 1]
    assert batch.right.tolist() == [1, 0, 0, 1, 0]
    first_tokens, second_tokens = batch.tokens.tolist()[:2]
    assert first_tokens == [12, NOWHERE]
    assert second_tokens == [13, 14]
    first_places, second_places, *other_places = batch.places[:, 0].tolist()
    assert first_places == [2, NOWHERE]
    assert second_places == [2, 3]
    assert other_places == [[1, NOWHERE]] * 3
    assert batch.widest == 3


def test_another_device_gets_the_same_shapes_and_kinds_of_numbers():
    here = collate([TWO_ROWS, SINGLE_ROW], pad=9, segments=True)
    there = here.to(torch.device("meta"))
    for field in fields(here):
        value = getattr(here, field.name)
        moved = getattr(there, field.name)
        if isinstance(value, torch.Tensor):
            assert value.shape == moved.shape
            assert value.dtype == moved.dtype
            assert moved.device.type == "meta"
        else:
            assert value == moved


def test_without_segments_the_encoder_is_not_told_of_any():
    batch = collate([TWO_ROWS], pad=9)
    assert set(batch.texts) == {"input_ids", "attention_mask"}
