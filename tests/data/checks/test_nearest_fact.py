import pytest
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.data.checks.checkup import check
from winokit.data.checks.nearest_fact import fact_pairs, fact_text, nearest_facts
from winokit.data.formats import write
from winokit.errors import BadInput
from winokit.problem import Card, Dataset, Problem


def ball(word="steel", other="foam", answers=(0, 1)):
    start = "The ball crashed through the table because "
    things = ("the ball", "the table")
    return [
        Problem(start, f" was made of {w}.", things, a, "it", group="ball")
        for w, a in zip((word, other), answers, strict=True)
    ]


def training():
    start = "The hammer broke the plate since "
    things = ("the hammer", "the plate")
    return Dataset(
        [
            Problem(start, " was made of steel.", things, 0, "it", group="hammer"),
            Problem(start, " was made of china.", things, 1, "it", group="hammer"),
            Problem("Nora thanked Ines because ", " had been helped.", ("Nora", "Ines"), 0, "she", group="thank"),
            Problem("Nora thanked Ines because ", " had been helpful.", ("Nora", "Ines"), 1, "she", group="thank"),
        ],
        Card("train"),
    )


def test_the_nearest_fact_says_the_same_of_another_thing():
    facts = nearest_facts(Dataset(ball()), [training()])
    assert facts[0].fact == "the ball was made of steel"
    assert facts[0].training_fact == "the hammer was made of steel"
    assert facts[0].place == (0, 0)
    assert 0.5 < facts[0].similarity < 1
    assert facts[1].similarity < facts[0].similarity


def test_a_fact_that_training_says_word_for_word_is_as_near_as_can_be():
    facts = nearest_facts(Dataset(ball()), [Dataset([]), Dataset(ball())])
    assert [fact.similarity for fact in facts] == [1.0, 1.0]
    assert [fact.place for fact in facts] == [(1, 0), (1, 1)]
    assert all(fact.shares_pair for fact in facts)


def test_the_special_word_counts_more_than_another():
    asked = [p.replace(after=p.after.replace("made", "forged")) for p in ball()]
    known = Dataset(
        [
            Problem("We saw that ", " was forged.", ("the tin", "the lid"), 0),
            Problem("So ", " steel.", ("it", "she"), 0),
        ]
    )
    assert nearest_facts(Dataset(asked), [known])[0].place == (0, 1)


def test_a_pair_is_a_special_word_with_either_candidate():
    assert fact_pairs(ball()) == {("steel", "ball"), ("steel", "table"), ("foam", "ball"), ("foam", "table")}
    assert fact_pairs(ball()[:1]) == set()
    labelled = ball()[0].replace(group=None).with_labels(special_word="Steel")
    assert fact_pairs([labelled]) == {("steel", "ball"), ("steel", "table")}


def test_sharing_a_pair_is_not_sharing_a_word():
    facts = nearest_facts(Dataset(ball()), [training()])
    assert not any(fact.shares_pair for fact in facts)


def test_people_are_nobody_in_particular():
    problem = training()[2]
    assert fact_text(problem, "Nora") == "someone had been helped"
    people = Dataset(
        [p.replace(before="Lea paid Zoe because ", candidates=("Lea", "Zoe")) for p in list(training())[2:]]
    )
    assert [fact.similarity for fact in nearest_facts(people, [training()])] == [1.0, 1.0]


def test_without_an_answer_each_candidate_is_tried():
    hidden = Dataset([p.replace(answer=None) for p in ball(answers=(1, 0))])
    known = Dataset(ball())
    assert [fact.similarity for fact in nearest_facts(hidden, [known])] == [1.0, 1.0]


def test_no_training_says_nothing():
    facts = nearest_facts(Dataset(ball()), [Dataset([])])
    assert [(fact.place, fact.training_fact, fact.similarity) for fact in facts] == [(None, "", 0.0)] * 2


def test_check_gives_each_problem_its_nearest_fact_and_does_not_warn():
    (finding,) = check([Dataset(ball(), Card("test"))], ["facts"], train=[training()])
    assert not finding.warns
    assert len(finding.details["facts"]) == len(finding.examples) == 2
    assert finding.examples[0].startswith("row 1: the ball was made of steel / the hammer was made of steel (0.")


def test_the_check_needs_training_data():
    with pytest.raises(BadInput, match="--train"):
        check([Dataset(ball())], ["facts"])


def test_the_command_takes_training_data(tmp_path):
    write(Dataset(ball(), Card("test")), tmp_path / "test.jsonl")
    write(training(), tmp_path / "train.jsonl")
    arguments = ["check", str(tmp_path / "test.jsonl"), "--train", str(tmp_path / "train.jsonl"), "--only", "facts"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "the ball was made of steel / the hammer was made of steel" in result.output


def test_winogrande_says_in_training_what_it_asks_in_dev(real_file):
    from winokit.data.loading import load

    dev = load(real_file("winogrande/dev.jsonl"))
    train = load(real_file("winogrande/train_l.jsonl"))
    facts = nearest_facts(dev, [train])
    assert len(facts) == 1267
    assert sum(fact.similarity > 0.99 for fact in facts) >= 5
