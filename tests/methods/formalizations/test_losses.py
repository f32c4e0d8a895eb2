"""Every loss against a value computed by hand: from given numbers, and from a tiny model read one text at a time."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from winokit.methods.formalizations.base import Formalization, formalizations_of
from winokit.methods.formalizations.cases import cases
from winokit.methods.formalizations.inputs import encode
from winokit.methods.formalizations.network import load_network
from winokit.problem import Dataset, Problem

# Two problems, with two options and with three; the right ones are the first and the second.
UPSET = Problem("Jim yelled at Kevin because ", " was upset.", ("Jim", "Kevin"), 0, "he")
GLAD = Problem("Bill lent the trophy to Jim and Kevin because ", " was glad.", ("Bill", "Jim", "Kevin"), 1, "he")
NUMBERS = [1.0, 0.0, 0.5, 2.0, -1.0]
RIGHT = [True, False, False, True, False]


def log1pexp(x: float) -> float:
    return math.log1p(math.exp(x))


# Binary: right ones cost ln(1 + e^-x), wrong ones ln(1 + e^x).
BINARY = [log1pexp(-1), log1pexp(0), log1pexp(0.5), log1pexp(-2), log1pexp(-1)]
# Softmax: the right number against the logarithm of the sum of exponentials, problem by problem.
SOFTMAX = [-1 + math.log(math.e + 1), -2 + math.log(math.exp(0.5) + math.exp(2) + math.exp(-1))]
# Margin with alpha 10 and beta 0.4: no wrong option of the first is within 0.4 of 1.0, none of the second of 2.0.
# With beta 2: 0.0 is 1 short in the first; 0.5 is 0.5 short in the second.
TABLE = [
    ("p-span", sum(BINARY) / 5),
    ("p-sent", sum(BINARY) / 5),
    ("mc-sent-no-pair-loss", sum(BINARY) / 5),
    ("mc-sent-no-softmax", sum(BINARY) / 5),
    ("mc-sent-no-softmax?mean=problems", sum(BINARY) / 2),
    ("mc-sent", sum(SOFTMAX) / 2),
    ("mc-mlm", sum(SOFTMAX) / 2),
    ("mc-mlm?loss=margin", (-1 - 2) / 2),
    ("mc-mlm?loss=margin&beta=2", (-1 + 10 * 1 - 2 + 10 * 0.5) / 2),
    ("mc-mlm?loss=margin&beta=2&alpha=5", (-1 + 5 * 1 - 2 + 5 * 0.5) / 2),
]


@pytest.fixture(scope="module")
def networks(bert):
    return {name: load_network(bert, Formalization.parse(name), seed=3).eval() for name in formalizations_of("masked")}


def examples(network):
    found = encode(cases(Dataset([UPSET, GLAD]), network.formalization), network.formalization, network.reader)
    assert not any(isinstance(one, str) for one in found)
    return found


@pytest.mark.parametrize(("spec", "expected"), TABLE)
def test_loss_of_given_numbers(networks, spec, expected):
    formalization = Formalization.parse(spec)
    network = networks[formalization.name]
    total, count = formalization.definition.loss(
        torch.tensor(NUMBERS), network.collated(examples(network)), formalization.switches
    )
    assert total.item() / count == pytest.approx(expected, rel=1e-5)


def test_the_table_has_every_formalization():
    assert {spec.partition("?")[0] for spec, _ in TABLE} == set(formalizations_of("masked"))


class ByHand:
    """One text at a time, with the model's weights and nothing of ours."""

    def __init__(self, network):
        self.network = network
        self.tokenizer = network.reader.tokenizer

    def tokens(self, text):
        return self.tokenizer(text, add_special_tokens=False).input_ids

    def states(self, ids, segments=None):
        more = {} if segments is None else {"token_type_ids": torch.tensor([segments])}
        with torch.no_grad():
            return self.network.encoder(input_ids=torch.tensor([ids]), **more)

    def linear(self, vector):
        weight = self.network.head.layers.weight[0]
        bias = self.network.head.layers.bias[0]
        return (vector @ weight + bias).item()

    def sentence(self, problem, option):
        first = self.tokens(problem.before)
        second = self.tokens(option + problem.after)
        ids = [0, *first, 2, *second, 2]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        return self.linear(self.states(ids, segments).last_hidden_state[0, 0])

    def span(self, problem, option):
        ids = [0, *self.tokens(problem.sentence), 2]
        states = self.states(ids).last_hidden_state[0]
        named = ids.index(self.tokens(option)[0])
        blank = 1 + len(self.tokens(problem.before))
        assert len(self.tokens(option)) == 1
        return self.linear(torch.cat([states[0], states[named], states[blank]]))

    def masked(self, problem, option):
        first, hidden, last = (self.tokens(part) for part in (problem.before, option, problem.after))
        logits = self.states([0, *first, *[4] * len(hidden), *last, 2]).logits[0].log_softmax(-1)
        return np.mean([logits[1 + len(first) + at, token].item() for at, token in enumerate(hidden)])

    def number(self, problem, option):
        name = self.network.formalization.name
        return {"p-span": self.span, "mc-mlm": self.masked}.get(name, self.sentence)(problem, option)


@pytest.mark.parametrize("name", formalizations_of("masked"))
def test_numbers_and_loss_of_a_tiny_model(networks, name):
    network = networks[name]
    hand = ByHand(network)
    expected = [hand.number(problem, option) for problem in (UPSET, GLAD) for option in problem.candidates]
    batch = network.collated(examples(network))
    with torch.no_grad():
        numbers = network(batch)
    assert numbers.tolist() == pytest.approx(expected, abs=1e-4)
    assert np.ptp(expected) > 0.05, "numbers that are all alike would prove nothing"
    total, count = network.formalization.definition.loss(numbers, batch, network.formalization.switches)
    assert total.item() / count == pytest.approx(by_formula(name, expected), abs=1e-4)


def by_formula(name, numbers):
    if name in ("mc-sent", "mc-mlm"):
        first = np.array(numbers[:2])
        second = np.array(numbers[2:])
        return (np.log(np.exp(first - first[0]).sum()) + np.log(np.exp(second - second[1]).sum())) / 2
    return np.mean([log1pexp(-x if right else x) for x, right in zip(numbers, RIGHT, strict=True)])


def test_the_margin_is_of_each_example_and_not_of_the_batch(networks):
    # The first example's wrong option is far away, the second's close: a batch mean would punish or spare both.
    network = networks["mc-mlm"]
    formalization = Formalization.parse("mc-mlm?loss=margin&beta=0.4&alpha=10")
    pair = Dataset([UPSET, UPSET.replace(before="Kevin yelled at Jim because ")])
    batch = network.collated(encode(cases(pair, formalization), formalization, network.reader))
    total, count = formalization.definition.loss(torch.tensor([-1.0, -9.0, -2.0, -2.1]), batch, formalization.switches)
    assert count == 2
    assert total.item() == pytest.approx(1 + 2 + 10 * (0.4 + 2 - 2.1))


def test_candidates_of_several_pieces_have_the_mean_or_the_sum(networks, bert):
    problem = UPSET.replace(candidates=("Jim", "the book"), before="Jim yelled because ")
    expected = {}
    for reduce in ("mean", "sum"):
        network = load_network(bert, Formalization.parse(f"mc-mlm?reduce={reduce}")).eval()
        found = encode(cases(Dataset([problem]), network.formalization), network.formalization, network.reader)
        with torch.no_grad():
            expected[reduce] = network(network.collated(found)).tolist()
    assert expected["sum"] == pytest.approx([expected["mean"][0], 2 * expected["mean"][1]], abs=1e-5)
    assert expected["mean"][1] == pytest.approx(ByHand(networks["mc-mlm"]).masked(problem, "the book"), abs=1e-4)
