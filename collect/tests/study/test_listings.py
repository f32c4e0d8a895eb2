"""Requesters find problems by words of their text."""

import pytest
from sqlalchemy import update

from winokit_collect.study import listings
from winokit_collect.study.schema import ProblemRow


@pytest.fixture
def about_plenty(study, crew):
    """A study with one pair, whose texts end with a word that is not plain ASCII."""
    crew.write(study, crew.newcomer(study))
    with study.store.write() as session:
        session.execute(update(ProblemRow).values(after=ProblemRow.after + " Überfluss"))
    return study


@pytest.mark.parametrize(
    ("words", "count"),
    [("GARDEN gate", 2), ("fetch _ back", 2), ("100%", 0), ("Überfluss", 2), ("den", 2), ("nowhere", 0)],
)
def test_problems_are_found_by_words_of_their_text_in_either_case(about_plenty, words, count):
    assert listings.problems(about_plenty, text=words).total == count


def test_postgresql_knows_either_case_of_letters_beyond_ascii_and_sqlite_does_not(about_plenty):
    count = listings.problems(about_plenty, text="überFLUSS").total
    expected_count = 0 if about_plenty.store.is_sqlite else 2
    assert count == expected_count
