"""Settings of a suite, from a file and from the call, and the refusal of those that make no suite."""

import pytest

from winokit.errors import BadInput, UnknownName
from winokit.stages.audit.settings import AuditSettings
from winokit.stages.suite.settings import SuiteData, SuiteModel, SuiteSettings, read_suite


def read_settings(tmp_path, text, **settings):
    """Settings of a suite from a file with this text, under those that are given."""
    path = tmp_path / "suite.toml"
    path.write_text(text)
    return read_suite(path, SuiteSettings(**settings))


MODELS_AND_DATA = """
models = ["builtin", {spec = "random", name = "a guesser", family = "coins", parameters = 1}]
shots = [0, 4]
[[data]]
data = "open"
as = "choice"
"""


def test_a_file_names_models_and_data_or_says_more_of_them(tmp_path):
    settings = read_settings(tmp_path, MODELS_AND_DATA)
    builtin, guesser = settings.model
    assert builtin == "builtin"
    assert (guesser.title, guesser.spec) == ("a guesser", "random?name=a guesser")
    assert settings.data == [SuiteData("open", as_="choice")]
    assert settings.shots == [0, 4]


def test_what_is_typed_stands_in_the_place_of_what_the_file_says(tmp_path):
    text = 'models = ["builtin"]\ndata = ["open"]\nlimit = 10'
    settings = read_settings(tmp_path, text, model=["random"])
    assert (settings.model, settings.data, settings.limit) == (["random"], ["open"], 10)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('modle = ["builtin"]', UnknownName, "No key of suite.toml named 'modle'. Did you mean 'model'"),
        ("[[models]]\nspce = 'random'", UnknownName, r"No key of \[\[model\]\] named 'spce'. Did you mean 'spec'"),
        ("[[data]]\nname = 'x'", BadInput, "data is missing"),
        ("[[models]]\nname = 'x'", BadInput, "a spec or predictions, one of the two"),
        ("[[models]]\nspec = 'random'\npredictions = {open = 'x'}", BadInput, "one of the two"),
        ("[[models]]\npredictions = {open = 'x'}", BadInput, "needs a name"),
        ("[[models]]\nspec = 'random'\nparameters = -3", BadInput, "expected a number above 0"),
        ("model = 3", BadInput, "model"),
        ("limit = 0", BadInput, "limit: expected 1 or more"),
        ("shots = ['two']", BadInput, "shots"),
        ("models = [", BadInput, "not TOML"),
        ("scoring = []", BadInput, "suite.toml: scoring: expected a name or several, found none"),
        ("scoring = ['own', 'own']", BadInput, "suite.toml: scoring 'own' is named twice"),
        ("protocol = ['acuracy']", UnknownName, "No protocol named 'acuracy'. Did you mean 'accuracy'"),
        ("protocol = ['accuracy', 'artifacts@associative']", BadInput, "name the subset apart"),
    ],
)
def test_a_file_that_does_not_say_what_it_must_is_refused_in_a_line(tmp_path, text, error, message):
    with pytest.raises(error, match=message) as refusal:
        read_settings(tmp_path, text)
    assert "\n" not in str(refusal.value)


def test_subsets_that_a_file_of_before_names_with_protocols_are_read(tmp_path):
    text = 'protocol = ["accuracy@associative", "artifacts@associative"]'
    settings = read_settings(tmp_path, text)
    assert (settings.protocol, settings.subset) == (["accuracy", "artifacts"], ["associative"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": ()}, "scoring: expected a name or several, found none"),
        ({"scoring": ["own", "own"]}, "scoring 'own' is named twice: name it once"),
        ({"protocol": ["accuracy@associative"]}, "--protocol accuracy --subset associative"),
        ({"protocol": ["acuracy"]}, "Did you mean 'accuracy'"),
    ],
)
@pytest.mark.parametrize("kind", [SuiteSettings, AuditSettings])
def test_a_suite_refuses_what_an_audit_refuses_in_the_same_words(kind, settings, message):
    with pytest.raises((BadInput, UnknownName), match=message):
        kind(**settings)


def test_the_name_of_a_server_is_not_part_of_a_models_name():
    model = SuiteModel("chat:tiny@http://10.0.0.7:8000/v1")
    assert model.title == "chat:tiny"
