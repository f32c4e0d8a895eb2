"""The nearest fact of training is found for each fact that the problems say."""

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.data.checks.checkup import check
from winokit.data.checks.nearest_fact import fact_pairs, fact_text, nearest_facts
from winokit.data.formats import write
from winokit.errors import BadInput
from winokit.problem import Card, Dataset, Problem


def ball_twins(words=("steel", "foam"), answers=(0, 1)):
    """Problem of each word, of which the ball or the table was made."""
    start = "The ball crashed through the table because "
    candidates = ("the ball", "the table")
    twins = []
    for word, answer in zip(words, answers, strict=True):
        twins.append(Problem(start, f" was made of {word}.", candidates, answer, "it", group="ball"))
    return twins


def training_data():
    """Two pairs of twins, one of which says of a hammer what `ball_twins` say of a ball."""
    hammer = {"before": "The hammer broke the plate since ", "candidates": ("the hammer", "the plate")}
    thanks = {"before": "Nora thanked Ines because ", "candidates": ("Nora", "Ines")}
    problems = [
        Problem(**hammer, after=" was made of steel.", answer=0, pronoun="it", group="hammer"),
        Problem(**hammer, after=" was made of china.", answer=1, pronoun="it", group="hammer"),
        Problem(**thanks, after=" had been helped.", answer=0, pronoun="she", group="thank"),
        Problem(**thanks, after=" had been helpful.", answer=1, pronoun="she", group="thank"),
    ]
    return Dataset(problems, Card("train"))


def test_the_nearest_fact_says_the_same_of_another_thing():
    facts = nearest_facts(Dataset(ball_twins()), [training_data()])
    assert facts[0].fact == "the ball was made of steel"
    assert facts[0].training_fact == "the hammer was made of steel"
    assert facts[0].place == (0, 0)
    assert 0.5 < facts[0].similarity < 1
    assert facts[1].similarity < facts[0].similarity


def test_a_fact_that_training_says_word_for_word_is_as_near_as_can_be():
    empty_and_same = [Dataset([]), Dataset(ball_twins())]
    facts = nearest_facts(Dataset(ball_twins()), empty_and_same)
    similarities = [fact.similarity for fact in facts]
    assert similarities == [1.0, 1.0]
    places = [fact.place for fact in facts]
    assert places == [(1, 0), (1, 1)]
    assert all(fact.shares_pair for fact in facts)


def test_the_special_word_counts_more_than_another():
    problems = [p.replace(after=p.after.replace("made", "forged")) for p in ball_twins()]
    forged_tin = Problem("We saw that ", " was forged.", ("the tin", "the lid"), 0)
    steel = Problem("So ", " steel.", ("it", "she"), 0)
    training = Dataset([forged_tin, steel])
    facts = nearest_facts(Dataset(problems), [training])
    assert facts[0].place == (0, 1)


def test_a_pair_is_a_special_word_with_either_candidate():
    expected_pairs = {("steel", "ball"), ("steel", "table"), ("foam", "ball"), ("foam", "table")}
    assert fact_pairs(ball_twins()) == expected_pairs
    assert fact_pairs(ball_twins()[:1]) == set()
    first_twin = ball_twins()[0]
    labelled = first_twin.replace(group=None).with_labels(special_word="Steel")
    assert fact_pairs([labelled]) == {("steel", "ball"), ("steel", "table")}


def test_sharing_a_pair_is_not_sharing_a_word():
    facts = nearest_facts(Dataset(ball_twins()), [training_data()])
    assert not any(fact.shares_pair for fact in facts)


def test_people_are_nobody_in_particular():
    problem = training_data()[2]
    assert fact_text(problem, "Nora") == "someone had been helped"
    thanks = list(training_data())[2:]
    people = Dataset([p.replace(before="Lea paid Zoe because ", candidates=("Lea", "Zoe")) for p in thanks])
    similarities = [fact.similarity for fact in nearest_facts(people, [training_data()])]
    assert similarities == [1.0, 1.0]


def test_without_an_answer_each_candidate_is_tried():
    swapped = ball_twins(answers=(1, 0))
    hidden = Dataset([p.replace(answer=None) for p in swapped])
    training = Dataset(ball_twins())
    similarities = [fact.similarity for fact in nearest_facts(hidden, [training])]
    assert similarities == [1.0, 1.0]


def test_no_training_says_nothing():
    facts = nearest_facts(Dataset(ball_twins()), [Dataset([])])
    nearest = [(fact.place, fact.training_fact, fact.similarity) for fact in facts]
    assert nearest == [(None, "", 0.0)] * 2


def test_check_gives_each_problem_its_nearest_fact_and_does_not_warn():
    test_data = [Dataset(ball_twins(), Card("test"))]
    (finding,) = check(test_data, ["facts"], train=[training_data()])
    assert not finding.warns
    assert len(finding.details["facts"]) == 2
    assert len(finding.examples) == 2
    assert finding.examples[0].startswith("row 1: the ball was made of steel / the hammer was made of steel (0.")


def test_the_check_needs_training_data():
    with pytest.raises(BadInput, match="--train"):
        check([Dataset(ball_twins())], ["facts"])


def test_the_command_takes_training_data(tmp_path):
    write(Dataset(ball_twins(), Card("test")), tmp_path / "test.jsonl")
    write(training_data(), tmp_path / "train.jsonl")
    train_path = str(tmp_path / "train.jsonl")
    test_path = str(tmp_path / "test.jsonl")
    arguments = ["check", test_path, "--train", train_path, "--only", "facts"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "the ball was made of steel / the hammer was made of steel" in result.output


def test_winogrande_says_in_training_what_it_asks_in_dev(real_file):
    from winokit.data.loading import load

    dev = load(real_file("winogrande/dev.jsonl"))
    train = load(real_file("winogrande/train_l.jsonl"))
    facts = nearest_facts(dev, [train])
    assert len(facts) == 1267
    near_count = sum(fact.similarity > 0.99 for fact in facts)
    assert near_count >= 5
