"""Readings: what survives another prompt, another order and another scoring, of stand-ins whose nature is known."""

import hashlib
import json
import re

import numpy as np
import pytest
from support.servers import ChatServer, CoinServer, says

from winokit.answers import Answers, Scorer
from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.judge_readings import AskedReadings, ReadAnswers, lead_rows, reading_rows, wording_rows
from winokit.problem import Dataset, Problem
from winokit.stages.audit.readings import read_readings
from winokit.stages.audit.readings_verdict import ReadingResults
from winokit.stages.audit.run import audit
from winokit.stages.audit.table import lines

THREE = """
[[prompts]]
name = "plain"
text = "Text: {sentence}\\nQuestion: {question}\\n{options}\\nAnswer with {letters} only."

[[prompts]]
name = "loud"
text = "HEY! {sentence}\\nQuestion: {question}\\n{options}\\nWhich?"

[[prompts]]
name = "short"
text = "{sentence}\\nQuestion: {question}\\n{options}"
"""
PROBLEMS = 40


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def three(tmp_path):
    path = tmp_path / "prompts.toml"
    path.write_text(THREE)
    return path


RIGHT = {
    (f"{p.before}*{p.pronoun}*{p.after}" if p.pronoun else p.text).strip(): p.right for p in load("open")[:PROBLEMS]
}
"""The right candidate by the sentence as it is asked."""


def toss(text):
    """A number from 0 to 1 that depends on the text alone."""
    return hashlib.sha256(text.encode()).digest()[0] / 256


def answers_right(share_right):
    """A behaviour that is right on a share of prompts, which depends on the prompt's text."""

    def reply(number, body):
        text = body["messages"][-1]["content"]
        right = next(candidate for sentence, candidate in RIGHT.items() if sentence in text)
        listed = re.findall(r"^([A-Z])\. (.*)$", text, re.MULTILINE)
        wanted = toss(text) < share_right(text)
        return says(next(letter for letter, candidate in listed if (candidate == right) == wanted))

    return reply


def right_in_one_wording():
    return ChatServer(answers_right(lambda text: 1.0 if "HEY!" in text else 0.5))


def says_the_first():
    """Always the candidate that the problem lists first, in whatever order it is shown."""
    firsts = {p.candidates[0] for p in load("open")[:PROBLEMS]}

    def reply(number, body):
        text = body["messages"][-1]["content"]
        listed = re.findall(r"^([A-Z])\. (.*)$", text, re.MULTILINE)
        return says(next(letter for letter, candidate in sorted(listed, key=lambda one: one[1])[:1]))

    assert firsts
    return ChatServer(reply)


def audited(server, three, tmp_path, **more):
    options = {"protocol": ("accuracy", "groups"), "limit": PROBLEMS, "cache": tmp_path / "cache"}
    return audit("open", f"chat:m@{server.url}", readings=three, **(options | more))


def said(run):
    return " ".join(sentence.text for sentence in ReadingResults.of(run.metrics).sentences())


def deviation(run, source):
    return run.find("readings", source, "standard_deviation")


def test_right_in_one_wording_of_three_the_prompt_moves_the_score(three, tmp_path):
    with right_in_one_wording() as server:
        run = audited(server, three, tmp_path)
        assert len(server.bodies) == 3 * 2 * PROBLEMS + 2 * PROBLEMS  # the usual prompt is another, in both orders
    sentences = said(run)
    assert re.search(r"Right on \d\d to 100\s% of problems over 6 readings, above chance in 2 of them", sentences)
    assert "The prompt moves its score: standard deviation" in sentences
    assert "order of the candidates moves" not in sentences
    assert run.find("readings", "ask/loud/given", "accuracy").value == 1
    assert run.find("readings", "ask/loud/given", "group_accuracy").value == 1
    assert deviation(run, "prompts").low > 0.1
    assert deviation(run, "orders").low == 0


def test_always_the_same_letter_depends_on_the_order_and_knows_nothing(three, tmp_path):
    with ChatServer(lambda number, body: says("A")) as server:
        run = audited(server, three, tmp_path)
    sentences = said(run)
    assert "under each of 6 readings, above chance in none of them; both twins right in 0\xa0% of pairs." in sentences
    assert "No reading is shown to be better or worse than another" in sentences
    assert "Which problems it gets right depends on the order of the candidates: 100\xa0%" in sentences
    assert "It chooses the same candidate under all 6 readings for 0\xa0% of problems." in sentences
    assert any("Readings:" in str(line) for line in lines(run))  # although nothing else was decided


def test_always_the_same_candidate_is_the_same_under_every_reading(three, tmp_path):
    with says_the_first() as server:
        run = audited(server, three, tmp_path)
    sentences = said(run)
    assert "It chooses the same candidate under all 6 readings for 100\xa0% of problems." in sentences
    assert "both twins right in 0\xa0% of pairs" in sentences
    assert deviation(run, "problems").value == pytest.approx(0.5, abs=0.05)
    assert deviation(run, "rest").value == 0


def test_a_coin_is_told_from_chance_under_no_reading(three, tmp_path):
    with CoinServer() as server:
        run = audited(server, three, tmp_path)
    sentences = said(run)
    assert "above chance in none of them" in sentences
    assert "No reading is shown to be better or worse than another" in sentences
    assert "moves its score" not in sentences
    assert deviation(run, "rest").details["variance_share"] > 0.8


def test_two_models_are_compared_under_every_reading(three, tmp_path):
    with ChatServer(answers_right(lambda text: 0.95)) as good, CoinServer() as coin:
        models = [f"chat:coin@{coin.url}", f"chat:good@{good.url}"]
        run = audit("open", models, readings=three, protocol="accuracy", limit=PROBLEMS, cache="off")
    sentences = said(run)
    assert re.search(
        r"chat:good is ahead of chat:coin in [56] of 6 readings, by \d\d\.\d to \d\d\.\d points; "
        "under none is chat:coin ahead",
        sentences,
    )
    assert "Over all readings together chat:good is ahead by" in sentences
    assert "The model decides more than the wording" in sentences
    row = run.find("readings", "ask/loud/given", "difference")
    assert (row.model, row.details["other"], row.details["lead"]) == ("chat:coin", "chat:good", -1)
    assert row.low < row.value < row.high < 0


# Rows without asking anybody


def tables(model, right_by_reading, pairs=60):
    """The readings of a model, each from a share right; by the reading's name, prompt and order."""
    data = load("open")[: 2 * pairs]
    answers = np.array([problem.answer for problem in data])
    readings = []
    for number, ((prompt, order), share) in enumerate(right_by_reading.items()):
        is_right = np.random.default_rng([number, len(model)]).random(len(data)) < share
        choices = np.where(is_right, answers, 1 - answers)
        table = Answers.of_choices(data, choices, Scorer(model, "ask"))
        readings.append(ReadAnswers(f"{prompt}/{order}", {"prompts": prompt, "orders": order}, table))
    return AskedReadings(readings)


def test_equal_models_are_left_open():
    shares = {(prompt, "given"): 0.6 for prompt in "abcd"}
    rows = list(lead_rows("open", [tables("A", shares), tables("Bee", shares)]))
    assert {row.details["lead"] for row in rows} == {0}
    (sentence,) = ReadingResults.of(rows).sentences()
    assert sentence.text.startswith("Under none of 4 readings is A or Bee shown to be ahead (differences from ")


def test_ahead_on_both_sides_is_said_of_both():
    first = {("a", "given"): 0.95, ("b", "given"): 0.95, ("c", "given"): 0.5}
    second = {("a", "given"): 0.5, ("b", "given"): 0.5, ("c", "given"): 0.95}
    rows = list(lead_rows("open", [tables("A", first), tables("Bee", second)]))
    text = ReadingResults.of(rows).sentences()[0].text
    assert re.match(r"A is ahead of Bee in 2 of 3 readings, by .*; in 1 Bee is ahead, by .* points\.", text)


def test_the_wording_decides_more_only_where_the_judge_shows_it():
    uneven = {("a", "given"): 0.95, ("b", "given"): 0.5, ("c", "given"): 0.2}
    even = {(prompt, "given"): 0.6 for prompt in "abc"}
    shown = ReadingResults.of(wording_rows("open", [tables("A", uneven), tables("Bee", uneven)])).sentences()
    open_ones = ReadingResults.of(wording_rows("open", [tables("A", even), tables("Bee", even)])).sentences()
    assert [sentence.text.partition(":")[0] for sentence in shown] == ["The wording decides more than the model"]
    assert open_ones == []


def test_samples_are_a_part_of_their_own():
    data = load("open")[:80]
    answers = np.array([problem.answer for problem in data])
    rng = np.random.default_rng(0)
    readings = []
    for prompt in "ab":
        drawn = [np.where(rng.random(80) < 0.7, answers, 1 - answers) for _ in range(4)]
        once = Answers.of_choices(data, drawn[0], Scorer("m", "ask"))
        whole = Answers(
            once.asked,
            np.tile(once.problem_index, 4),
            np.concatenate(drawn),
            once.scorers,
            samples=np.repeat(np.arange(4), 80),
        )
        readings.append(ReadAnswers(prompt, {"prompts": prompt}, whole))
        share = np.mean([choices == answers for choices in drawn])
        row = next(row for row in reading_rows("open", AskedReadings(readings)) if row.subset == prompt)
        assert (row.metric, row.value, row.n) == ("accuracy", pytest.approx(share), 80)
    rows = {row.subset: row for row in reading_rows("open", AskedReadings(readings)) if row.metric[:3] == "sta"}
    assert list(rows) == ["prompts", "problems", "rest", "samples"]
    assert rows["samples"].details["variance_share"] > 0.9
    pairs = [row for row in reading_rows("open", AskedReadings(readings)) if row.metric == "group_accuracy"]
    assert [row.n for row in pairs] == [40, 40]
    assert all(0.3 < row.value < 0.7 for row in pairs)


def test_readings_that_are_not_every_combination_are_one_factor():
    shares = {("a", "given"): 0.6, ("b", "given"): 0.6, ("b", "reversed"): 0.6}
    assert tables("A", shares).factors == ("readings",)
    shares[("a", "reversed")] = 0.6
    assert tables("A", shares).factors == ("prompts", "orders")


# Asking


def test_the_bundled_prompts_are_five_and_the_first_is_the_usual_one():
    from winokit.methods.scoring.prompts import LETTERED

    readings = read_readings("default")
    assert list(readings.prompts) == ["plain", "exam", "chatty", "expert", "terse"]
    assert readings.prompts["plain"].text == LETTERED.text


def test_an_order_asks_half_of_what_both_ask(tmp_path):
    problem = load("open")[:1]
    with ChatServer(lambda number, body: says("A")) as server:
        for order in ("given", "reversed"):
            scoring = f"ask?order={order}"
            run = audit(problem, f"chat:m@{server.url}", scoring=scoring, protocol="accuracy", cache=tmp_path / "c")
            assert run.predictions[0].prediction == int(order == "reversed")
        assert len(server.bodies) == 2
        audit(problem, f"chat:m@{server.url}", scoring="ask", protocol="accuracy", cache=tmp_path / "c")
        with pytest.raises(UnknownName, match=r"order for \?order= named 'upside'"):
            audit(problem, f"chat:m@{server.url}", scoring="ask?order=upside", protocol="accuracy", cache="off")


SCORINGS = ("masked-candidate", "masked-candidate?reduce=sum", "pseudo-likelihood")


def names_of_readings(run):
    return [row.subset for row in run.metrics if row.protocol == "readings" and row.metric == "accuracy"]


def test_a_model_with_log_probabilities_is_read_by_scorings_and_styles():
    ends = (" dog barked at the neighbour.", " dog was admired by the neighbour.")
    problems = [
        Problem("Ana met Ruth when ", end, ("Ana", "Ruth"), answer, group="dog", pronoun="her")
        for answer, end in enumerate(ends)
    ]
    run = audit(Dataset(problems), "builtin", readings="default", protocol="accuracy", cache="off")
    assert names_of_readings(run) == [f"{scoring}/{style}" for scoring in SCORINGS for style in ("literal", "natural")]
    assert {"scorings", "styles"} <= {row.subset for row in run.metrics if row.metric == "standard_deviation"}


def test_styles_that_ask_the_same_are_one_reading(tmp_path):
    run = audit("open", "builtin", readings="default", protocol="accuracy", limit=8, cache="off", out=tmp_path / "run")
    assert names_of_readings(run) == [f"{scoring}/literal" for scoring in SCORINGS]
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert page.count("<circle") == 3 * 2
    assert "<summary>The prompts" not in page  # none was used


def test_a_dry_run_counts_the_readings_and_a_limit_stops_among_them(three, tmp_path):
    with CoinServer() as server:
        plan = audited(server, three, tmp_path, dry_run=True).settings["plan"]
        own = next(row for row in plan["by_protocol"] if row["protocol"] == "readings")
        assert own["new"] == 3 * 2 * PROBLEMS
        with pytest.raises(BadInput, match="stopped at --set max_requests=150"):
            audited(server, three, tmp_path, max_requests=150)
        assert len(server.bodies) == 150
        audited(server, three, tmp_path)
        asked_again = len(server.bodies) - plan["new"]
        assert 0 <= asked_again <= 20  # a few kept answers are asked again, to see whether they are the same


def test_a_run_keeps_its_readings_and_the_next_run_without_them_removes_them(three, tmp_path):
    with CoinServer() as server:
        run = audited(server, three, tmp_path, out=tmp_path / "run")
        rows = [json.loads(line) for line in (tmp_path / "run" / "readings.jsonl").read_text().splitlines()]
        assert len(rows) == 3 * 2 * PROBLEMS
        assert said(Run.load(tmp_path / "run")) == said(run)
        page = (tmp_path / "run" / "report" / "index.html").read_text()
        section = page.split('id="readings"')[1].split("</section>")[0]
        assert section.count("<circle") == 2 * 6
        assert "What the spread is made of" in page
        audited(server, None, tmp_path, out=tmp_path / "run")
    assert not (tmp_path / "run" / "readings.jsonl").exists()
    assert "What the spread is made of" not in (tmp_path / "run" / "report" / "index.html").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[prompts]]\nname='a'", r"prompt 1: expected a name and a text, found \{'name': 'a'\}"),
        ("prompts = []", r"prompts: expected \[\[prompts\]\] with a name and a text each, found \[\]"),
        ("[[prompts]]\nname='a/b'\ntext='{sentence}'", "expected a name of its own without a slash, found 'a/b'"),
        ("[[prompts]]\nname='a'\ntext='{words}'", "prompt a.*no place named {words}"),
        ("orders = ['sideways']", "name in orders of .* named 'sideways'"),
        ("scorings = ['aks']", "No scoring named 'aks'"),
        ("colours = 1", "No key of prompts.toml named 'colours'"),
        ("orders = [", "not TOML"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "prompts.toml"
    path.write_text(text)
    with pytest.raises((BadInput, UnknownName), match=message):
        read_readings(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"readings": "none.toml"}, "--readings: no file none.toml: name a file of prompts, or default"),
        ({"readings": "default", "prompt": "p.txt"}, "--readings has prompts of its own: leave out --prompt"),
        ({"readings": "default", "model": None, "predictions": "examples"}, "predictions cannot be asked"),
    ],
)
def test_what_cannot_be_asked_is_refused(given, message):
    options = {"model": "builtin", "limit": 4} | given
    with pytest.raises(BadInput, match=message):
        audit("open", options.pop("model"), **options)
