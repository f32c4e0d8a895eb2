"""Square One's zero-shot pairs, and Winogender as Kocijan et al. have it: rebuilt from the bundled twins."""

import json

import pytest

from winokit import load
from winokit.errors import Malformed


@pytest.fixture(scope="module")
def pairs():
    """Twenty complete pairs of the bundled twins."""
    problems = list(load("open"))[:40]
    return [(problems[at], problems[at + 1]) for at in range(0, 40, 2)]


def special_word(problem):
    return problem.labels["special_word"]


@pytest.fixture
def zero_shot(pairs, tmp_path):
    """A file in which the special word of solved twins is the blank."""
    path = tmp_path / "zero_shot.jsonl"
    rows = []
    for one, other in pairs:
        solved = [f"{each.before}{each.right}{each.after}" for each in (one, other)]
        words = special_word(one), special_word(other)
        masked = [text.replace(word, "[MASK]", 1) for text, word in zip(solved, words, strict=True)]
        if all(text.count("[MASK]") == 1 for text in masked):
            rows.append({"s1": masked[0], "s2": masked[1], "ans1": words[0], "ans2": words[1]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, rows


def test_a_line_of_the_zero_shot_file_is_two_twins_with_the_special_words_as_candidates(zero_shot):
    path, rows = zero_shot
    data = load(path)
    assert len(rows) > 5
    assert len(data) == 2 * len(rows)
    assert [problem.right for problem in data] == [row[key] for row in rows for key in ("ans1", "ans2")]
    assert [problem.text for problem in data] == [
        row[key].replace("[MASK]", "_") for row in rows for key in ("s1", "s2")
    ]
    for at in range(0, len(data), 2):
        assert data[at].group == data[at + 1].group is not None
    assert len({problem.group for problem in data}) == len(rows)


def test_a_text_without_its_mask_is_refused_with_its_line(zero_shot):
    path, rows = zero_shot
    path.write_text(json.dumps({**rows[0], "s2": "nothing is blank"}) + "\n")
    with pytest.raises(Malformed, match=r"zero_shot\.jsonl:1: field 's2': expected one \[MASK\], found 0"):
        load(path)


@pytest.fixture
def fours(tmp_path):
    """Two templates as WinoGender.txt has them, made up."""

    def write(*, answers=("guest", "someone", "cook", "cook")):
        blocks = []
        for job, person in (("cook", "guest"), ("clerk", "caller")):
            for at, (other, end) in enumerate(
                [
                    (f"the {person}", "was late"),
                    ("someone", "was late"),
                    (f"the {person}", "had a key"),
                    ("someone", "had a key"),
                ]
            ):
                bare = other.removeprefix("the ")
                right = answers[at].replace("guest", person).replace("cook", job)
                blocks.append(f"The {job} told {other} that [MASK] {end} .\n[MASK]\n{job},{bare}\n{right}\n")
        path = tmp_path / "WinoGender.txt"
        path.write_text("\n".join(blocks))
        return path

    return write


def test_winogender_in_fours_has_all_its_twins_and_no_pronoun(fours):
    data = load(fours())
    groups = [problem.group for problem in data]
    assert [groups[0] == groups[2], groups[1] == groups[3], groups[0] == groups[1]] == [True, True, False]
    assert len(set(groups)) == 4
    assert {problem.pronoun for problem in data} == {None}
    assert any("its problems come in fours" in note for note in data.notes)


def test_other_masked_problems_are_not_taken_for_fours(fours):
    data = load(fours(answers=("cook", "cook", "cook", "cook")))
    assert not any("fours" in note for note in data.notes)
