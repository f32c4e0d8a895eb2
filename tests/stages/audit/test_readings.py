"""Readings show what survives another prompt, another order and another scoring, on models of known nature."""

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

THREE_PROMPTS = """
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
PROBLEM_COUNT = 40


@pytest.fixture(autouse=True)
def _set_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def prompts_path(tmp_path):
    path = tmp_path / "prompts.toml"
    path.write_text(THREE_PROMPTS)
    return path


def write_sentence(problem: Problem) -> str:
    """The sentence of a problem as a prompt shows it, with the pronoun between stars."""
    sentence = f"{problem.before}*{problem.pronoun}*{problem.after}" if problem.pronoun else problem.text
    return sentence.strip()


FIRST_PROBLEMS = load("open")[:PROBLEM_COUNT]
RIGHT_CANDIDATES = {write_sentence(problem): problem.right for problem in FIRST_PROBLEMS}
"""The right candidate of each sentence as it is asked."""


def toss_coin(text: str) -> float:
    """A number from 0 to 1 that depends on the text alone."""
    return hashlib.sha256(text.encode()).digest()[0] / 256


def get_prompt(body) -> str:
    return body["messages"][-1]["content"]


def find_options(prompt: str) -> list[tuple[str, str]]:
    """Letters of a prompt with their candidates."""
    return re.findall(r"^([A-Z])\. (.*)$", prompt, re.MULTILINE)


def find_right_candidate(prompt: str) -> str:
    candidates = [candidate for sentence, candidate in RIGHT_CANDIDATES.items() if sentence in prompt]
    return candidates[0]


def answer_right(share_right):
    """A behaviour that is right on a share of prompts, which depends on the prompt's text."""

    def reply(number, body):
        prompt = get_prompt(body)
        right = find_right_candidate(prompt)
        is_right = toss_coin(prompt) < share_right(prompt)
        letters = [letter for letter, candidate in find_options(prompt) if (candidate == right) == is_right]
        return says(letters[0])

    return reply


def serve_right_in_one_wording():
    return ChatServer(answer_right(lambda prompt: 1.0 if "HEY!" in prompt else 0.5))


def serve_same_candidate():
    """Serve a model that chooses one candidate of two by its name, in whatever order both are shown."""

    def reply(number, body):
        options = sorted(find_options(get_prompt(body)), key=lambda option: option[1])
        letter, _ = options[0]
        return says(letter)

    return ChatServer(reply)


def audit_server(server, prompts_path, tmp_path, **more):
    """Audit of a chat model under the prompts of a file, with a cache beside."""
    options = {"protocol": ("accuracy", "groups"), "limit": PROBLEM_COUNT, "cache": tmp_path / "cache"}
    return audit("open", f"chat:m@{server.url}", readings=prompts_path, **(options | more))


def join_sentences(run) -> str:
    """Everything that is said of the readings of a run."""
    sentences = ReadingResults.of(run.metrics).sentences()
    return " ".join(sentence.text for sentence in sentences)


def find_deviation(run, source):
    return run.find("readings", source, "standard_deviation")


def test_right_in_one_wording_of_three_the_prompt_moves_the_score(prompts_path, tmp_path):
    with serve_right_in_one_wording() as server:
        run = audit_server(server, prompts_path, tmp_path)
        prompt_count = 3 + 1  # the usual prompt is another
        assert len(server.bodies) == prompt_count * 2 * PROBLEM_COUNT  # in both orders
    sentences = join_sentences(run)
    assert re.search(r"Right on \d\d to 100\s% of problems over 6 readings, above chance in 2 of them", sentences)
    assert "The prompt moves its score: standard deviation" in sentences
    assert "order of the candidates moves" not in sentences
    assert run.find("readings", "ask/loud/given", "accuracy").value == 1
    assert run.find("readings", "ask/loud/given", "group_accuracy").value == 1
    assert find_deviation(run, "prompts").low > 0.1
    assert find_deviation(run, "orders").low == 0


def test_always_the_same_letter_depends_on_the_order_and_knows_nothing(prompts_path, tmp_path):
    with ChatServer(lambda number, body: says("A")) as server:
        run = audit_server(server, prompts_path, tmp_path)
    sentences = join_sentences(run)
    assert "under each of 6 readings, above chance in none of them; both twins right in 0\xa0% of pairs." in sentences
    assert "No reading is shown to be better or worse than another" in sentences
    assert "Which problems it gets right depends on the order of the candidates: 100\xa0%" in sentences
    assert "It chooses the same candidate under all 6 readings for 0\xa0% of problems." in sentences
    assert any("Readings:" in str(line) for line in lines(run))  # although nothing else was decided


def test_always_the_same_candidate_is_the_same_under_every_reading(prompts_path, tmp_path):
    with serve_same_candidate() as server:
        run = audit_server(server, prompts_path, tmp_path)
    sentences = join_sentences(run)
    assert "It chooses the same candidate under all 6 readings for 100\xa0% of problems." in sentences
    assert "both twins right in 0\xa0% of pairs" in sentences
    assert find_deviation(run, "problems").value == pytest.approx(0.5, abs=0.05)
    assert find_deviation(run, "rest").value == 0


def test_a_coin_is_told_from_chance_under_no_reading(prompts_path, tmp_path):
    with CoinServer() as server:
        run = audit_server(server, prompts_path, tmp_path)
    sentences = join_sentences(run)
    assert "above chance in none of them" in sentences
    assert "No reading is shown to be better or worse than another" in sentences
    assert "moves its score" not in sentences
    assert find_deviation(run, "rest").details["variance_share"] > 0.8


def test_two_models_are_compared_under_every_reading(prompts_path, tmp_path):
    with ChatServer(answer_right(lambda text: 0.95)) as good, CoinServer() as coin:
        models = [f"chat:coin@{coin.url}", f"chat:good@{good.url}"]
        run = audit("open", models, readings=prompts_path, protocol="accuracy", limit=PROBLEM_COUNT, cache="off")
    sentences = join_sentences(run)
    ahead = r"chat:good is ahead of chat:coin in [56] of 6 readings, by \d\d\.\d to \d\d\.\d points; "
    assert re.search(ahead + "under none is chat:coin ahead", sentences)
    assert "Over all readings together chat:good is ahead by" in sentences
    assert "The model decides more than the wording" in sentences
    row = run.find("readings", "ask/loud/given", "difference")
    assert row.model == "chat:coin"
    assert row.details["other"] == "chat:good"
    assert row.details["lead"] == -1
    assert row.low < row.value < row.high < 0


# Rows without asking anybody


def draw_readings(model, shares_right, pair_count=60):
    """Readings of a model by prompt and order, each drawn with a share right."""
    data = load("open")[: 2 * pair_count]
    answers = np.array([problem.answer for problem in data])
    readings = []
    for number, ((prompt, order), share) in enumerate(shares_right.items()):
        rng = np.random.default_rng([number, len(model)])
        is_right = rng.random(len(data)) < share
        choices = np.where(is_right, answers, 1 - answers)
        table = Answers.of_choices(data, choices, Scorer(model, "ask"))
        readings.append(ReadAnswers(f"{prompt}/{order}", {"prompts": prompt, "orders": order}, table))
    return AskedReadings(readings)


def compare_readings(first_shares, second_shares):
    """Rows of the leads of two models, A and Bee."""
    return list(lead_rows("open", [draw_readings("A", first_shares), draw_readings("Bee", second_shares)]))


def test_equal_models_are_left_open():
    shares = {(prompt, "given"): 0.6 for prompt in "abcd"}
    rows = compare_readings(shares, shares)
    (sentence,) = ReadingResults.of(rows).sentences()
    assert {row.details["lead"] for row in rows} == {0}
    assert sentence.text.startswith("Under none of 4 readings is A or Bee shown to be ahead (differences from ")


def test_ahead_on_both_sides_is_said_of_both():
    first_shares = {("a", "given"): 0.95, ("b", "given"): 0.95, ("c", "given"): 0.5}
    second_shares = {("a", "given"): 0.5, ("b", "given"): 0.5, ("c", "given"): 0.95}
    rows = compare_readings(first_shares, second_shares)
    sentence = ReadingResults.of(rows).sentences()[0]
    assert re.match(r"A is ahead of Bee in 2 of 3 readings, by .*; in 1 Bee is ahead, by .* points\.", sentence.text)


def judge_wording(shares):
    """Sentences on whether the wording decides more than the model, of two models with these shares."""
    rows = wording_rows("open", [draw_readings("A", shares), draw_readings("Bee", shares)])
    return [sentence.text for sentence in ReadingResults.of(rows).sentences()]


def test_the_wording_decides_more_only_where_the_judge_shows_it():
    uneven_shares = {("a", "given"): 0.95, ("b", "given"): 0.5, ("c", "given"): 0.2}
    even_shares = {(prompt, "given"): 0.6 for prompt in "abc"}
    (sentence,) = judge_wording(uneven_shares)
    assert sentence.partition(":")[0] == "The wording decides more than the model"
    assert judge_wording(even_shares) == []


def join_samples(data, samples):
    """Answers of a model to all problems in several samples."""
    first_answers = Answers.of_choices(data, samples[0], Scorer("m", "ask"))
    return Answers(
        first_answers.asked,
        np.tile(first_answers.problem_index, len(samples)),
        np.concatenate(samples),
        first_answers.scorers,
        samples=np.repeat(np.arange(len(samples)), len(data)),
    )


@pytest.fixture(scope="module")
def sampled_readings():
    """Rows of two readings in four samples each, and the share right in each reading."""
    data = load("open")[:80]
    answers = np.array([problem.answer for problem in data])
    rng = np.random.default_rng(0)
    readings = []
    shares_right = {}
    for prompt in "ab":
        samples = [np.where(rng.random(80) < 0.7, answers, 1 - answers) for _ in range(4)]
        readings.append(ReadAnswers(prompt, {"prompts": prompt}, join_samples(data, samples)))
        shares_right[prompt] = np.mean(np.array(samples) == answers)
    return list(reading_rows("open", AskedReadings(readings))), shares_right


def test_a_reading_in_several_samples_has_their_mean(sampled_readings):
    rows, shares_right = sampled_readings
    for prompt, share in shares_right.items():
        accuracy = next(row for row in rows if row.subset == prompt)
        assert accuracy.metric == "accuracy"
        assert accuracy.value == pytest.approx(share)
        assert accuracy.n == 80


def test_samples_are_a_part_of_their_own(sampled_readings):
    rows, _ = sampled_readings
    deviations = {row.subset: row for row in rows if row.metric.startswith("sta")}
    assert list(deviations) == ["prompts", "problems", "rest", "samples"]
    assert deviations["samples"].details["variance_share"] > 0.9


def test_pairs_of_several_samples_are_counted_once(sampled_readings):
    rows, _ = sampled_readings
    group_accuracies = [row for row in rows if row.metric == "group_accuracy"]
    assert [row.n for row in group_accuracies] == [40, 40]
    assert all(0.3 < row.value < 0.7 for row in group_accuracies)


def test_readings_that_are_not_every_combination_are_one_factor():
    shares = {("a", "given"): 0.6, ("b", "given"): 0.6, ("b", "reversed"): 0.6}
    assert draw_readings("A", shares).factors == ("readings",)
    shares[("a", "reversed")] = 0.6
    assert draw_readings("A", shares).factors == ("prompts", "orders")


# Asking


def test_the_bundled_prompts_are_five_and_the_first_is_the_usual_one():
    from winokit.methods.scoring.prompts import LETTERED

    readings = read_readings("default")
    assert list(readings.prompts) == ["plain", "exam", "chatty", "expert", "terse"]
    assert readings.prompts["plain"].text == LETTERED.text


def test_an_order_asks_half_of_what_both_ask(tmp_path):
    problem = load("open")[:1]
    with ChatServer(lambda number, body: says("A")) as server:
        options = {"model": f"chat:m@{server.url}", "protocol": "accuracy", "cache": tmp_path / "c"}
        given_order = audit(problem, scoring="ask?order=given", **options)
        reversed_order = audit(problem, scoring="ask?order=reversed", **options)
        assert given_order.predictions[0].prediction == 0
        assert reversed_order.predictions[0].prediction == 1
        assert len(server.bodies) == 2
        audit(problem, scoring="ask", **options)


def test_an_order_that_is_none_is_refused():
    with ChatServer(lambda number, body: says("A")) as server:
        model = f"chat:m@{server.url}"
        with pytest.raises(UnknownName, match=r"order for \?order= named 'upside'"):
            audit(load("open")[:1], model, scoring="ask?order=upside", protocol="accuracy", cache="off")


SCORINGS = ("masked-candidate", "masked-candidate?reduce=sum", "pseudo-likelihood")


def list_readings(run):
    """Names of the readings of a run."""
    return [row.subset for row in run.metrics if row.protocol == "readings" and row.metric == "accuracy"]


def test_a_model_with_log_probabilities_is_read_by_scorings_and_styles():
    after = " dog barked at the neighbour."
    ana = Problem("Ana met Ruth when ", after, ("Ana", "Ruth"), 0, group="dog", pronoun="her")
    ruth = ana.replace(after=" dog was admired by the neighbour.", answer=1)
    run = audit(Dataset([ana, ruth]), "builtin", readings="default", protocol="accuracy", cache="off")
    expected_readings = []
    for scoring in SCORINGS:
        expected_readings += [f"{scoring}/literal", f"{scoring}/natural"]
    deviations = {row.subset for row in run.metrics if row.metric == "standard_deviation"}
    assert list_readings(run) == expected_readings
    assert {"scorings", "styles"} <= deviations


def test_styles_that_ask_the_same_are_one_reading(tmp_path):
    run = audit("open", "builtin", readings="default", protocol="accuracy", limit=8, cache="off", out=tmp_path / "run")
    assert list_readings(run) == [f"{scoring}/literal" for scoring in SCORINGS]
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert page.count("<circle") == 3 * 2
    assert "<summary>The prompts" not in page  # none was used


def test_a_dry_run_counts_the_readings_and_a_limit_stops_among_them(prompts_path, tmp_path):
    with CoinServer() as server:
        dry_run = audit_server(server, prompts_path, tmp_path, dry_run=True)
        plan = dry_run.settings["plan"]
        new_requests = {row["protocol"]: row["new"] for row in plan["by_protocol"]}
        assert new_requests["readings"] == 3 * 2 * PROBLEM_COUNT
        with pytest.raises(BadInput, match="stopped at --set max_requests=150"):
            audit_server(server, prompts_path, tmp_path, max_requests=150)
        assert len(server.bodies) == 150
        audit_server(server, prompts_path, tmp_path)
        repeated_count = len(server.bodies) - plan["new"]
        assert 0 <= repeated_count <= 20  # a few kept answers are asked again, to see whether they are the same


def test_a_run_keeps_its_readings_and_the_next_run_without_them_removes_them(prompts_path, tmp_path):
    folder = tmp_path / "run"
    readings_path = folder / "readings.jsonl"
    page_path = folder / "report" / "index.html"
    with CoinServer() as server:
        run = audit_server(server, prompts_path, tmp_path, out=folder)
        page = page_path.read_text()
        section = page.split('id="readings"')[1].split("</section>")[0]
        rows = [json.loads(line) for line in readings_path.read_text().splitlines()]
        assert len(rows) == 3 * 2 * PROBLEM_COUNT
        assert join_sentences(Run.load(folder)) == join_sentences(run)
        assert section.count("<circle") == 2 * 6
        assert "What the spread is made of" in page
        audit_server(server, None, tmp_path, out=folder)
    assert not readings_path.exists()
    assert "What the spread is made of" not in page_path.read_text()


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
    ("given_options", "message"),
    [
        ({"readings": "none.toml"}, "--readings: no file none.toml: name a file of prompts, or default"),
        ({"readings": "default", "prompt": "p.txt"}, "--readings has prompts of its own: leave out --prompt"),
        ({"readings": "default", "model": None, "predictions": "examples"}, "predictions cannot be asked"),
    ],
)
def test_what_cannot_be_asked_is_refused(given_options, message):
    options = {"model": "builtin", "limit": 4} | given_options
    with pytest.raises(BadInput, match=message):
        audit("open", **options)
