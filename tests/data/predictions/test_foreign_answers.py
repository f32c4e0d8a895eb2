"""Answers in other languages are read by the rules of the problem's own."""

import csv

import pytest

import winokit
from winokit.data.predictions.answers import AnswerReading, named_in
from winokit.data.predictions.match import align, which

CASE = ("der Pokal", "der Koffer")


@pytest.mark.parametrize(
    ("said", "names", "language", "place"),
    [
        ("den Koffer", CASE, "de", 1),
        ("Der Koffer.", CASE, "de", 1),
        ("„des Koffers“", CASE, "de", 1),
        ("dem Studenten", ("der Student", "der Lehrer"), "de", 0),
        ("der Kofferraum", CASE, "de", None),
        ("den Leiter", ("der Leiter", "die Leiter"), "de", None),
        ("valise", ("la coupe", "la valise"), "fr", 1),
        ("na mala", ("a taça", "a mala"), "pt", 1),
        ("чемодане", ("кубок", "чемодан"), "ru", 1),
        ("the cup", ("the jug", "the cup"), "nl", 1),
        ("cup", ("the jug", "the cup"), "nl", None),
        ("den Koffer", CASE, "en", None),
    ],
)
def test_a_name_is_matched_by_the_rules_of_its_language(said, names, language, place):
    assert which(said, names, language) == place


def test_candidates_in_another_case_are_the_same_candidates():
    assert align(["den Koffer", "den Pokal"], CASE, "de") == (1, 0)


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
    assert named_in(said, CASE, "de") == place


def test_a_logged_completion_mentions_a_candidate_in_its_case():
    assert AnswerReading(CASE, False, "", "de").read_words("in den Koffer passt er nicht") == 1


def test_predictions_in_german_are_counted(tmp_path):
    rows = [
        ("Der Pokal passt nicht in den Koffer, weil _ zu groß ist.", "der Pokal", "den Pokal"),
        ("Der Pokal passt nicht in den Koffer, weil _ zu klein ist.", "der Koffer", "In den Koffer."),
    ]
    data = tmp_path / "satz.csv"
    said = tmp_path / "antworten.csv"
    with data.open("w", newline="") as file:
        table = csv.writer(file, delimiter=";")
        table.writerows([("text", "option1", "option2", "answer"), *((text, *CASE, right) for text, right, _ in rows)])
    with said.open("w", newline="") as file:
        table = csv.writer(file, delimiter=";")
        table.writerows([("text", "prediction"), *((text, answer) for text, _, answer in rows)])
    run = winokit.audit(data, predictions=[said], columns="text=text,option1=option1,option2=option2,answer=answer")
    assert [(row.prediction, row.answer) for row in run.predictions] == [(0, 0), (1, 1)]
