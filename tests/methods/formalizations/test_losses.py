"""Every loss has the value computed by hand, of given numbers and of a tiny model read one text at a time."""

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
    """ln(1 + e^x)."""
    return math.log1p(math.exp(x))


# Binary: right ones cost ln(1 + e^-x), wrong ones ln(1 + e^x).
BINARY = [log1pexp(-1), log1pexp(0), log1pexp(0.5), log1pexp(-2), log1pexp(-1)]
# Softmax: the right number against the logarithm of the sum of exponentials, problem by problem.
SUM_OF_UPSET = math.e + 1
SUM_OF_GLAD = math.exp(0.5) + math.exp(2) + math.exp(-1)
SOFTMAX = [-1 + math.log(SUM_OF_UPSET), -2 + math.log(SUM_OF_GLAD)]
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
    networks_by_name = {}
    for name in formalizations_of("masked"):
        network = load_network(bert, Formalization.parse(name), seed=3)
        networks_by_name[name] = network.eval()
    return networks_by_name


def make_batch(network, problems, formalization=None):
    """Batch of all problems, under the network's formalization if it is None."""
    formalization = formalization or network.formalization
    examples = encode(cases(Dataset(problems), formalization), formalization, network.reader)
    assert not any(isinstance(example, str) for example in examples)
    return network.collated(examples)


@pytest.mark.parametrize(("spec", "expected"), TABLE)
def test_loss_of_given_numbers(networks, spec, expected):
    formalization = Formalization.parse(spec)
    network = networks[formalization.name]
    batch = make_batch(network, [UPSET, GLAD])
    total, count = formalization.definition.loss(torch.tensor(NUMBERS), batch, formalization.switches)
    loss = total.item() / count
    assert loss == pytest.approx(expected, rel=1e-5)


def test_the_table_has_every_formalization():
    names = {spec.split("?")[0] for spec, _ in TABLE}
    assert names == set(formalizations_of("masked"))


class ByHand:
    """Reference that reads one text at a time, with the model's weights and nothing of ours."""

    def __init__(self, network):
        self.network = network
        self.tokenizer = network.reader.tokenizer

    def tokens(self, text):
        return self.tokenizer(text, add_special_tokens=False).input_ids

    def states(self, ids, segments=None):
        inputs = {"input_ids": torch.tensor([ids])}
        if segments is not None:
            inputs["token_type_ids"] = torch.tensor([segments])
        with torch.no_grad():
            return self.network.encoder(**inputs)

    def linear(self, vector):
        weight = self.network.head.layers.weight[0]
        bias = self.network.head.layers.bias[0]
        return (vector @ weight + bias).item()

    def sentence(self, problem, option):
        first = self.tokens(problem.before)
        second = self.tokens(option + problem.after)
        ids = [0, *first, 2, *second, 2]
        first_segment = [0] * (len(first) + 2)
        second_segment = [1] * (len(second) + 1)
        states = self.states(ids, first_segment + second_segment).last_hidden_state[0]
        return self.linear(states[0])

    def span(self, problem, option):
        ids = [0, *self.tokens(problem.sentence), 2]
        states = self.states(ids).last_hidden_state[0]
        mention = ids.index(self.tokens(option)[0])
        blank = 1 + len(self.tokens(problem.before))
        assert len(self.tokens(option)) == 1
        joined = torch.cat([states[0], states[mention], states[blank]])
        return self.linear(joined)

    def masked(self, problem, option):
        first = self.tokens(problem.before)
        hidden = self.tokens(option)
        last = self.tokens(problem.after)
        masks = [4] * len(hidden)
        logits = self.states([0, *first, *masks, *last, 2]).logits[0]
        logprobs = logits.log_softmax(-1)
        start = 1 + len(first)
        logprobs_of_tokens = [logprobs[column, token].item() for column, token in enumerate(hidden, start)]
        return np.mean(logprobs_of_tokens)

    def number(self, problem, option):
        name = self.network.formalization.name
        method = {"p-span": self.span, "mc-mlm": self.masked}.get(name, self.sentence)
        return method(problem, option)


@pytest.mark.parametrize("name", formalizations_of("masked"))
def test_numbers_and_loss_of_a_tiny_model(networks, name):
    network = networks[name]
    hand = ByHand(network)
    expected = [hand.number(UPSET, option) for option in UPSET.candidates]
    expected += [hand.number(GLAD, option) for option in GLAD.candidates]
    batch = make_batch(network, [UPSET, GLAD])
    with torch.no_grad():
        numbers = network(batch)
    assert numbers.tolist() == pytest.approx(expected, abs=1e-4)
    assert np.ptp(expected) > 0.05, "numbers that are all alike would prove nothing"
    formalization = network.formalization
    total, count = formalization.definition.loss(numbers, batch, formalization.switches)
    loss = total.item() / count
    assert loss == pytest.approx(loss_by_formula(name, expected), abs=1e-4)


def loss_by_formula(name, numbers):
    """Softmax or binary loss of the five options' numbers, whichever the formalization has."""
    if name in ("mc-sent", "mc-mlm"):
        of_upset = np.array(numbers[:2])
        of_glad = np.array(numbers[2:])
        loss_of_upset = np.log(np.exp(of_upset - of_upset[0]).sum())
        loss_of_glad = np.log(np.exp(of_glad - of_glad[1]).sum())
        return (loss_of_upset + loss_of_glad) / 2
    losses = []
    for number, is_right in zip(numbers, RIGHT, strict=True):
        signed = -number if is_right else number
        losses.append(log1pexp(signed))
    return np.mean(losses)


def test_the_margin_is_of_each_example_and_not_of_the_batch(networks):
    # The first example's wrong option is far away, the second's close: a batch mean would punish or spare both.
    network = networks["mc-mlm"]
    formalization = Formalization.parse("mc-mlm?loss=margin&beta=0.4&alpha=10")
    other = UPSET.replace(before="Kevin yelled at Jim because ")
    batch = make_batch(network, [UPSET, other], formalization)
    numbers = torch.tensor([-1.0, -9.0, -2.0, -2.1])
    total, count = formalization.definition.loss(numbers, batch, formalization.switches)
    expected = 1 + 2 + 10 * (0.4 + 2 - 2.1)
    assert count == 2
    assert total.item() == pytest.approx(expected)


def test_candidates_of_several_pieces_have_the_mean_or_the_sum(networks, bert):
    problem = UPSET.replace(candidates=("Jim", "the book"), before="Jim yelled because ")
    numbers = {}
    for reduce in ("mean", "sum"):
        network = load_network(bert, Formalization.parse(f"mc-mlm?reduce={reduce}")).eval()
        with torch.no_grad():
            numbers[reduce] = network(make_batch(network, [problem])).tolist()
    mean_of_jim, mean_of_book = numbers["mean"]
    expected_mean = ByHand(networks["mc-mlm"]).masked(problem, "the book")
    assert numbers["sum"] == pytest.approx([mean_of_jim, 2 * mean_of_book], abs=1e-5)
    assert mean_of_book == pytest.approx(expected_mean, abs=1e-4)
