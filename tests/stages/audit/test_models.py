"""Several models in one audit, one after the other; and shots from other data."""

import pytest
from support.servers import CoinServer, CompletionsServer

import winokit
from winokit.errors import BadInput, WinokitError
from winokit.models.random_model import RandomModel
from winokit.models.registry import MODELS, Spec
from winokit.problem import Dataset


class Heavy(RandomModel):
    """A model that knows how many of its kind are in memory."""

    there = most = 0

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        Heavy.there += 1
        Heavy.most = max(Heavy.most, Heavy.there)

    def close(self) -> None:
        Heavy.there -= 1


@pytest.fixture
def heavy(monkeypatch):
    Heavy.there = Heavy.most = 0

    def load(spec: Spec) -> Heavy:
        model = Heavy(int(spec.place))
        model.spec = str(spec)
        return model

    monkeypatch.setitem(MODELS._things, "heavy", load)


def test_two_models_never_sit_in_memory_together(heavy):
    run = winokit.audit("open", ["heavy:1", "heavy:2"], limit=10, protocol="accuracy", cache="off")
    assert {row.model for row in run.predictions} == {"heavy:1", "heavy:2"}
    assert (Heavy.most, Heavy.there) == (1, 0)


def test_a_model_that_was_given_stays_with_its_owner(heavy):
    model = Heavy(3)
    winokit.audit("open", model, limit=10, protocol="accuracy", cache="off")
    assert Heavy.there == 1


def test_a_wrong_second_model_is_told_before_the_first_is_asked(heavy, tmp_path):
    with pytest.raises(WinokitError, match=str(tmp_path)):
        winokit.audit("open", ["heavy:1", f"hf:{tmp_path}"], limit=10, cache="off")
    assert Heavy.most == 0


def test_two_servers_of_one_model_need_names():
    with CoinServer() as one, CoinServer() as other:
        specs = [f"chat:coin@{one.url}", f"chat:coin@{other.url}"]
        with pytest.raises(BadInput, match=r"\?name="):
            winokit.audit("open", specs, limit=4, protocol="accuracy", cache="off")
        named = [f"{spec}?name=coin-{number}" for number, spec in enumerate(specs)]
        run = winokit.audit("open", named, limit=4, protocol="accuracy", cache="off")
    assert {row.model for row in run.predictions} == {"coin-0", "coin-1"}


def test_shots_come_from_other_data_and_never_give_a_problem_away(tmp_path):
    open_ = winokit.load("open")
    with CompletionsServer() as server:
        spec = f"completions:m@{server.url}?batch=1"
        scored = winokit.score(open_[:4], spec, shots=2, shots_from=open_, cache="off")
        texts = [body["prompt"] for body in server.bodies[1:]]
    assert scored.predictions[0].scoring == f"partial?shots=2&shots_from={open_.card.name}"
    own = [problem.before.strip() for problem in open_[:4] if problem.before.strip()]
    for text in texts:
        *shots, _ = text.split("\n\n")
        assert len(shots) == 2
        assert not any(before in shot for before in own for shot in shots)


def test_a_pool_that_has_nothing_else_is_refused():
    few = Dataset(list(winokit.load("open")[:4]))
    with pytest.raises(BadInput, match="2 shots requested, but only 0"):
        winokit.score(few, "random", scoring="partial", shots=2, shots_from=few, cache="off")


def test_a_pool_without_a_number_of_shots_is_refused():
    with pytest.raises(BadInput, match=r"^--set shots_from: it needs --shots:"):
        winokit.score("open", "random", shots_from="open", cache="off")


def test_a_model_that_fails_is_let_go_too(heavy, monkeypatch):
    def fail(self, requests):
        raise BadInput("out of order")

    monkeypatch.setattr(Heavy, "answer", fail)
    with pytest.raises(BadInput, match="out of order"):
        winokit.audit("open", "heavy:1", limit=10, protocol="accuracy", cache="off")
    assert (Heavy.most, Heavy.there) == (1, 0)
