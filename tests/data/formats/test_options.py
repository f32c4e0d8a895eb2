"""A row in WinoGrande's columns may have more options than its own rows have."""

from winokit.data.formats import winogrande


def test_a_third_option_is_a_third_candidate():
    row = {"sentence": "Ann told Bea that Cat saw _ there.", "option1": "Ann", "option2": "Bea", "option3": "Cat"}
    problem = winogrande.parse({**row, "answer": "3"})
    assert problem.candidates == ("Ann", "Bea", "Cat")
    assert problem.right == "Cat"
