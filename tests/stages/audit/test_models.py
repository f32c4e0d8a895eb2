"""Several models are audited one after the other, and shots may come from other data."""

import pytest
from support.servers import CoinServer, CompletionsServer

import winokit
from winokit.errors import BadInput, WinokitError
from winokit.models.random_model import RandomModel
from winokit.models.registry import MODELS, Spec
from winokit.problem import Dataset


class Heavy(RandomModel):
    """A model that counts how many of its kind are in memory, now and at most."""

    in_memory = 0
    most_in_memory = 0

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        Heavy.in_memory += 1
        Heavy.most_in_memory = max(Heavy.most_in_memory, Heavy.in_memory)

    def close(self) -> None:
        Heavy.in_memory -= 1


@pytest.fixture
def heavy(monkeypatch):
    Heavy.in_memory = 0
    Heavy.most_in_memory = 0

    def load(spec: Spec) -> Heavy:
        model = Heavy(int(spec.place))
        model.spec = str(spec)
        return model

    monkeypatch.setitem(MODELS._things, "heavy", load)


def test_two_models_never_sit_in_memory_together(heavy):
    run = winokit.audit("open", ["heavy:1", "heavy:2"], limit=10, protocol="accuracy", cache="off")
    assert {row.model for row in run.predictions} == {"heavy:1", "heavy:2"}
    assert (Heavy.most_in_memory, Heavy.in_memory) == (1, 0)


def test_a_model_that_was_given_stays_with_its_owner(heavy):
    model = Heavy(3)
    winokit.audit("open", model, limit=10, protocol="accuracy", cache="off")
    assert Heavy.in_memory == 1


def test_a_wrong_second_model_is_told_before_the_first_is_asked(heavy, tmp_path):
    with pytest.raises(WinokitError, match=str(tmp_path)):
        winokit.audit("open", ["heavy:1", f"hf:{tmp_path}"], limit=10, cache="off")
    assert Heavy.most_in_memory == 0


def test_two_servers_of_one_model_need_names():
    with CoinServer() as first_server, CoinServer() as second_server:
        specs = [f"chat:coin@{first_server.url}", f"chat:coin@{second_server.url}"]
        with pytest.raises(BadInput, match=r"\?name="):
            winokit.audit("open", specs, limit=4, protocol="accuracy", cache="off")
        named_specs = [f"{spec}?name=coin-{number}" for number, spec in enumerate(specs)]
        run = winokit.audit("open", named_specs, limit=4, protocol="accuracy", cache="off")
    assert {row.model for row in run.predictions} == {"coin-0", "coin-1"}


def test_shots_come_from_other_data_and_never_give_a_problem_away(tmp_path):
    data = winokit.load("open")
    problems = data[:4]
    with CompletionsServer() as server:
        spec = f"completions:m@{server.url}?batch=1"
        scores = winokit.score(problems, spec, shots=2, shots_from=data, cache="off")
        texts = [body["prompt"] for body in server.bodies[1:]]
    assert scores.predictions[0].scoring == f"partial?shots=2&shots_from={data.card.name}"
    beginnings = [problem.before.strip() for problem in problems if problem.before.strip()]
    for text in texts:
        *shots, _ = text.split("\n\n")
        assert len(shots) == 2
        for beginning in beginnings:
            assert not any(beginning in shot for shot in shots)


def test_a_pool_that_has_nothing_else_is_refused():
    few_problems = Dataset(list(winokit.load("open")[:4]))
    with pytest.raises(BadInput, match="2 shots requested, but only 0"):
        winokit.score(few_problems, "random", scoring="partial", shots=2, shots_from=few_problems, cache="off")


def test_a_pool_without_a_number_of_shots_is_refused():
    with pytest.raises(BadInput, match=r"^--set shots_from: it needs --shots:"):
        winokit.score("open", "random", shots_from="open", cache="off")


def test_a_model_that_fails_is_let_go_too(heavy, monkeypatch):
    def fail(self, requests):
        raise BadInput("out of order")

    monkeypatch.setattr(Heavy, "answer", fail)
    with pytest.raises(BadInput, match="out of order"):
        winokit.audit("open", "heavy:1", limit=10, protocol="accuracy", cache="off")
    assert (Heavy.most_in_memory, Heavy.in_memory) == (1, 0)
