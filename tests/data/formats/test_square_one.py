"""Square One's zero-shot pairs and Kocijan et al.'s Winogender are read, here rebuilt from the bundled twins."""

import pytest
from support.json_rows import json_lines

from winokit import load
from winokit.errors import Malformed


@pytest.fixture(scope="module")
def pairs():
    """Twenty complete pairs of the bundled twins."""
    problems = list(load("open"))[:40]
    return list(zip(problems[::2], problems[1::2], strict=True))


def special_word(problem):
    return problem.labels["special_word"]


def mask_special_word(problem):
    """Text of a problem with the answer in its blank and its special word masked."""
    solved_text = f"{problem.before}{problem.right}{problem.after}"
    return solved_text.replace(special_word(problem), "[MASK]", 1)


@pytest.fixture
def zero_shot(pairs, tmp_path):
    """Path and rows of a file in which the special word of solved twins is the blank."""
    path = tmp_path / "zero_shot.jsonl"
    rows = []
    for first, second in pairs:
        texts = [mask_special_word(first), mask_special_word(second)]
        if all(text.count("[MASK]") == 1 for text in texts):
            rows.append({"s1": texts[0], "s2": texts[1], "ans1": special_word(first), "ans2": special_word(second)})
    path.write_text(json_lines(rows))
    return path, rows


def test_a_line_of_the_zero_shot_file_is_two_twins_with_the_special_words_as_candidates(zero_shot):
    path, rows = zero_shot
    data = load(path)
    assert len(rows) > 5
    assert len(data) == 2 * len(rows)
    for row, first, second in zip(rows, data[::2], data[1::2], strict=True):
        assert first.right == row["ans1"]
        assert second.right == row["ans2"]
        assert first.text == row["s1"].replace("[MASK]", "_")
        assert second.text == row["s2"].replace("[MASK]", "_")
        assert first.group is not None
        assert first.group == second.group
    groups = {problem.group for problem in data}
    assert len(groups) == len(rows)


def test_a_text_without_its_mask_is_refused_with_its_line(zero_shot):
    path, rows = zero_shot
    wrong_row = {**rows[0], "s2": "nothing is blank"}
    path.write_text(json_lines([wrong_row]))
    with pytest.raises(Malformed, match=r"zero_shot\.jsonl:1: field 's2': expected one \[MASK\], found 0"):
        load(path)


FOURS = [
    ("cook", "guest", "the guest", "was late"),
    ("cook", "guest", "someone", "was late"),
    ("cook", "guest", "the guest", "had a key"),
    ("cook", "guest", "someone", "had a key"),
    ("clerk", "caller", "the caller", "was late"),
    ("clerk", "caller", "someone", "was late"),
    ("clerk", "caller", "the caller", "had a key"),
    ("clerk", "caller", "someone", "had a key"),
]
"""Occupation, participant, other person named in the sentence and end of the sentence."""


@pytest.fixture
def write_fours(tmp_path):
    """Function that writes two made-up templates as WinoGender.txt has them, with these answers for the first."""

    def write(*, answers=("guest", "someone", "cook", "cook")):
        blocks = []
        for index, (occupation, participant, person, end) in enumerate(FOURS):
            answer = answers[index % 4].replace("guest", participant).replace("cook", occupation)
            candidates = f"{occupation},{person.removeprefix('the ')}"
            sentence = f"The {occupation} told {person} that [MASK] {end} ."
            blocks.append(f"{sentence}\n[MASK]\n{candidates}\n{answer}\n")
        path = tmp_path / "WinoGender.txt"
        path.write_text("\n".join(blocks))
        return path

    return write


def test_winogender_in_fours_has_all_its_twins_and_no_pronoun(write_fours):
    data = load(write_fours())
    groups = [problem.group for problem in data]
    assert groups[0] == groups[2]
    assert groups[1] == groups[3]
    assert groups[0] != groups[1]
    assert len(set(groups)) == 4
    pronouns = {problem.pronoun for problem in data}
    assert pronouns == {None}
    assert any("its problems come in fours" in note for note in data.notes)


def test_other_masked_problems_are_not_taken_for_fours(write_fours):
    path = write_fours(answers=("cook", "cook", "cook", "cook"))
    data = load(path)
    assert not any("fours" in note for note in data.notes)
