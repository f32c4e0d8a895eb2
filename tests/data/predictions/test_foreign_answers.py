"""Answers in other languages are read by the rules of the problem's own."""

import csv

import pytest

import winokit
from winokit.data.predictions.answers import AnswerReading, named_in
from winokit.data.predictions.match import align, which

CANDIDATES = ("der Pokal", "der Koffer")


@pytest.mark.parametrize(
    ("said", "names", "language", "place"),
    [
        ("den Koffer", CANDIDATES, "de", 1),
        ("Der Koffer.", CANDIDATES, "de", 1),
        ("„des Koffers“", CANDIDATES, "de", 1),
        ("dem Studenten", ("der Student", "der Lehrer"), "de", 0),
        ("der Kofferraum", CANDIDATES, "de", None),
        ("den Leiter", ("der Leiter", "die Leiter"), "de", None),
        ("valise", ("la coupe", "la valise"), "fr", 1),
        ("na mala", ("a taça", "a mala"), "pt", 1),
        ("чемодане", ("кубок", "чемодан"), "ru", 1),
        ("the cup", ("the jug", "the cup"), "nl", 1),
        ("cup", ("the jug", "the cup"), "nl", None),
        ("den Koffer", CANDIDATES, "en", None),
    ],
)
def test_a_name_is_matched_by_the_rules_of_its_language(said, names, language, place):
    assert which(said, names, language) == place


def test_candidates_in_another_case_are_the_same_candidates():
    assert align(["den Koffer", "den Pokal"], CANDIDATES, "de") == (1, 0)


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("Die richtige Antwort lautet: den Koffer", 1),
        ("Gemeint ist die Größe des Koffers, denn nur das passt.", 1),
        ("Es ist nicht der Koffer.", None),
        ("Das ist unklar, vielleicht der Koffer", None),
    ],
)
def test_a_reply_in_words_is_read_by_the_rules_of_its_language(said, place):
    assert named_in(said, CANDIDATES, "de") == place


def test_a_logged_completion_mentions_a_candidate_in_its_case():
    assert AnswerReading(CANDIDATES, False, "", "de").read_words("in den Koffer passt er nicht") == 1


def test_predictions_in_german_are_counted(tmp_path):
    problems = [
        ("text", "option1", "option2", "answer"),
        ("Der Pokal passt nicht in den Koffer, weil _ zu groß ist.", *CANDIDATES, "der Pokal"),
        ("Der Pokal passt nicht in den Koffer, weil _ zu klein ist.", *CANDIDATES, "der Koffer"),
    ]
    predictions = [
        ("text", "prediction"),
        ("Der Pokal passt nicht in den Koffer, weil _ zu groß ist.", "den Pokal"),
        ("Der Pokal passt nicht in den Koffer, weil _ zu klein ist.", "In den Koffer."),
    ]
    problems_path = write_table(tmp_path / "satz.csv", problems)
    answers_path = write_table(tmp_path / "antworten.csv", predictions)
    columns = "text=text,option1=option1,option2=option2,answer=answer"
    run = winokit.audit(problems_path, predictions=[answers_path], columns=columns)
    answer_pairs = [(row.prediction, row.answer) for row in run.predictions]
    assert answer_pairs == [(0, 0), (1, 1)]


def write_table(path, rows):
    """Write rows with semicolons between their cells."""
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    return path
