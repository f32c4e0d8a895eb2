import pytest

from winokit.text.words import LONGEST, sentences


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("It rained. She left.", ["It rained.", "She left."]),
        ("Mr. and Mrs. Hale met Dr. Ray. They spoke.", ["Mr. and Mrs. Hale met Dr. Ray.", "They spoke."]),
        ("J. R. Moss paid 3.50 in the U.S. for it.", ["J. R. Moss paid 3.50 in the U.S. for it."]),
        ("“Why not?” she asked. “Because.”", ["“Why not?” she asked.", "“Because.”"]),
        ("It was late . he left . why", ["It was late .", "he left .", "why"]),
        ("A line\nwrapped here.  And\tmore…\nThe end", ["A line wrapped here.", "And more…", "The end"]),
        ("One (really.) Two! 3 of them? Yes", ["One (really.)", "Two!", "3 of them?", "Yes"]),
        ("* * *", []),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text, split):
    assert sentences(text) == split


def test_nothing_is_lost_and_nothing_is_too_long():
    table = "\n".join(f"row {number} without an end" for number in range(200))
    unbroken = " ".join(["word"] * 1000)
    for text in (table, unbroken):
        parts = sentences(text)
        assert " ".join(parts).split() == text.split()
        assert max(len(part) for part in parts) <= LONGEST
    assert sentences(table)[0] == "row 0 without an end"
