"""A trained folder is a model of its own, `hf:FOLDER`, which decides as its formalization does."""

import pytest

pytest.importorskip("torch")
from support.scoring import score

from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization, formalizations_of
from winokit.methods.formalizations.cases import cases
from winokit.methods.formalizations.inputs import encode
from winokit.methods.formalizations.network import load_network, save_network
from winokit.methods.scoring.base import default_scoring
from winokit.models.base import Fill, Model
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem

PAIRS = [
    Problem("Jim yelled at Kevin because ", " was upset.", ("Jim", "Kevin"), 0, "he"),
    Problem("Jim lent Kevin ", " book.", ("Jim", "Kevin"), 0, "his"),
    # Whose labels say that an article gives way to the one that is there.
    Problem("Bill asked about the ", " at home.", ("the book", "a trophy"), 0, labels={"substitution": "natural"}),
]
ABOUT_JIM = Problem("Jim yelled at Kevin because ", " left.", ("no", "yes"), 0, "he", query="Jim")
ABOUT_KEVIN = ABOUT_JIM.replace(query="Kevin", answer=1)
# Named twice: the index says which is meant.
ABOUT_SECOND_JIM = Problem("Jim asked Jim because ", " knew.", ("no", "yes"), 1, "he", query="Jim")
JUDGED = [
    ABOUT_JIM.replace(labels={"span1_index": 0}),
    ABOUT_KEVIN.replace(labels={"span1_index": 3}),
    ABOUT_SECOND_JIM.replace(labels={"span1_index": 2}),
]


@pytest.fixture(scope="module")
def trained(bert, tmp_path_factory):
    folders = {}
    for name in formalizations_of("masked"):
        folders[name] = tmp_path_factory.mktemp(name)
        network = load_network(bert, Formalization.parse(name), seed=2)
        save_network(network, folders[name], {})
    return folders


@pytest.mark.parametrize("name", formalizations_of("masked"))
@pytest.mark.parametrize("problems", [PAIRS, JUDGED], ids=["candidates", "judgements"])
def test_it_scores_as_its_formalization_decides(trained, name, problems):
    data = Dataset(problems)
    model = load_model(f"hf:{trained[name]}")
    assert isinstance(model, Model)
    assert model.formalization == name
    assert default_scoring(model) == "own"
    formalization = Formalization.parse(name)
    network = model.network
    cases_found = cases(data, formalization)
    examples = encode(cases_found, formalization, network.reader)
    for prediction, case, example in zip(score(data, model), cases_found, examples, strict=True):
        expected = example
        if not isinstance(example, str):
            ((_, values),) = network.numbers([example])
            expected = formalization.definition.decide(case, values, formalization.switches)
        if isinstance(expected, str):
            assert prediction.prediction is None
            assert prediction.why == expected
        else:
            assert prediction.scores == pytest.approx(expected, abs=1e-5)


def test_judgements_about_one_place_are_not_taken_for_one_another(trained):
    model = load_model(f"hf:{trained['mc-sent']}")
    first, second = score(Dataset(JUDGED[:2]), model)
    # Each is the other's rival, so that one says yes and the other no.
    assert first.scores == pytest.approx(second.scores[::-1], abs=1e-5)


def test_the_same_weights_load_as_a_plain_masked_model_where_asked(trained):
    model = load_model(f"hf:{trained['mc-mlm']}?kind=masked")
    assert model.kind == "masked"
    assert default_scoring(model) == "masked-candidate"
    with pytest.raises(BadInput, match="no weights for"):
        load_model(f"hf:{trained['mc-sent']}?kind=masked")


def test_its_fingerprint_is_that_of_its_weights_and_its_formalization(trained, tmp_path, bert):
    model = load_model(f"hf:{trained['mc-sent']}")
    other_network = load_network(bert, Formalization.parse("mc-sent"), seed=3)
    save_network(other_network, tmp_path, {})
    other_model = load_model(f"hf:{tmp_path}")
    assert other_model.fingerprint != model.fingerprint
    assert model.fingerprint.endswith("mc-sent phrases 1")


def test_it_judges_whole_problems_only(trained):
    model = load_model(f"hf:{trained['p-sent']}")
    with pytest.raises(BadInput, match="cannot answer Fill requests"):
        list(model.answer([Fill("a", "b", "c")]))
