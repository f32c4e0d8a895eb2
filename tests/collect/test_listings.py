"""What requesters look up."""

import pytest
from sqlalchemy import update

from winokit.collect.study import listings
from winokit.collect.study.schema import ProblemRow


@pytest.mark.parametrize(
    ("asked", "found"),
    [("GARDEN gate", 2), ("fetch _ back", 2), ("100%", 0), ("Überfluss", 2), ("den", 2), ("nowhere", 0)],
)
def test_problems_are_found_by_words_of_their_text_in_either_case(study, crew, asked, found):
    crew.write(study, crew.newcomer(study))
    with study.store.write() as session:
        session.execute(update(ProblemRow).values(after=ProblemRow.after + " Überfluss"))
    assert listings.problems(study, text=asked).total == found
