import pytest

torch = pytest.importorskip("torch")
from dataclasses import fields

from winokit.methods.formalizations.batch import NOWHERE, collate
from winokit.methods.formalizations.inputs import Encoded, InputOption, InputRow

ONE = Encoded(
    (InputRow((0, 11, 12, 2), 4), InputRow((0, 11, 13, 14, 2), 3)),
    (InputOption(0, ((2,),), (12,), True), InputOption(1, ((2, 3),), (13, 14), False)),
)
OTHER = Encoded(
    (InputRow((0, 15, 2), 2),), tuple(InputOption(0, ((1,),), (token,), token == 16) for token in (15, 16, 17))
)


def test_rows_are_filled_up_and_options_know_their_rows_and_cases():
    batch = collate([ONE, OTHER], pad=9, segments=True)
    assert batch.ids.tolist() == [[0, 11, 12, 2, 9], [0, 11, 13, 14, 2], [0, 15, 2, 9, 9]]
    assert batch.attention.tolist() == [[1, 1, 1, 1, 0], [1] * 5, [1, 1, 1, 0, 0]]
    assert batch.segments.tolist() == [[0] * 5, [0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    assert batch.row.tolist() == [0, 1, 2, 2, 2]
    assert batch.case.tolist() == [0, 0, 1, 1, 1]
    assert batch.column.tolist() == [0, 1, 0, 1, 2]
    assert batch.gold.tolist() == [0, 1]
    assert batch.right.tolist() == [1, 0, 0, 1, 0]
    assert batch.tokens.tolist()[:2] == [[12, NOWHERE], [13, 14]]
    assert batch.places[:, 0].tolist() == [[2, NOWHERE], [2, 3], [1, NOWHERE], [1, NOWHERE], [1, NOWHERE]]
    assert batch.widest == 3


def test_another_device_gets_the_same_shapes_and_kinds_of_numbers():
    here = collate([ONE, OTHER], pad=9, segments=True)
    there = here.to(torch.device("meta"))
    for field in fields(here):
        one = getattr(here, field.name)
        other = getattr(there, field.name)
        if isinstance(one, torch.Tensor):
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            assert other.device.type == "meta"
        else:
            assert one == other


def test_without_segments_the_encoder_is_not_told_of_any():
    assert set(collate([ONE], pad=9).texts) == {"input_ids", "attention_mask"}
