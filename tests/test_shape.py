"""A verb is four words: few declared parameters, settings that are light, refusals where both fields are."""

import ast
from pathlib import Path

import pytest

import winokit
from winokit.data.sets import Sets
from winokit.errors import BadInput, WinokitError
from winokit.stages.convert.settings import ConvertSettings
from winokit.stages.debias.settings import DebiasComparison, FeatureSource
from winokit.stages.embed.settings import EmbedDesign, Finetuning
from winokit.stages.evolve.settings import OfferedProblems
from winokit.stages.grade.settings import GradeSettings
from winokit.stages.hunt import HuntedProblem
from winokit.stages.search.settings import Crew

STAGES = Path(winokit.__file__).parent / "stages"
SETTINGS = sorted(STAGES.glob("*/settings.py"))
MOST_PARAMETERS = 8
HEAVY = ("numpy", "scipy", "torch", "optuna", "matplotlib", "pandas")


def declared_parameters() -> dict[str, int]:
    """By verb, the number of parameters that its function declares."""
    counts = {}
    for path in STAGES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and "verb" in map(ast.unparse, node.decorator_list):
                counts[node.name] = len(node.args.args) + len(node.args.kwonlyargs)
    return counts


def test_a_verb_declares_few_parameters():
    counts = declared_parameters()
    assert len(counts) > 18
    for name, count in counts.items():
        assert count <= MOST_PARAMETERS, name


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.parent.name)
def test_settings_import_nothing_heavy_themselves(path):
    imported = []
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported.append(str(node.module))
    assert not [name for name in imported if name.partition(".")[0] in HEAVY]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Sets(dev="open", holdout=5), "--dev and --holdout: one dev set is enough"),
        (lambda: Sets(train_on="original"), "--train-on original: which variant is tested"),
        (lambda: Sets(variant="part-snt"), "Did you mean 'part-sent'"),
        (lambda: Crew(address="head:6379"), "a Ray cluster needs the engine 'ray'"),
        (lambda: Finetuning(steps=5), "--set steps: a setting of --finetune N"),
        (lambda: EmbedDesign(finetuning=Finetuning(finetune=60), cache="off"), "--set cache: for models that stay"),
        (lambda: FeatureSource(features="X.npy", pooling="mean"), "--set pooling: says how to embed"),
        (lambda: FeatureSource(allow_uninformed=True), r"--set allow_uninformed: an option of --features X\.npy"),
        (lambda: DebiasComparison(assess=False, assessment=_nine_bins()), "--set bins: a setting"),
        (lambda: ConvertSettings(style="code"), "--set style: an option of --to variants"),
        (lambda: ConvertSettings(to="variants", labels_apart=True), "--set labels_apart: an option of file formats"),
        (lambda: OfferedProblems(removed="open"), "--removed: what filtering took out of new problems"),
        (lambda: HuntedProblem(text="a _ b", row=2), "--row: a row of DATA"),
        (lambda: HuntedProblem(pronoun="it"), "--pronoun: an option of --text"),
        (lambda: GradeSettings(board=Path("graded"), trials=3), "--trials: an option for grading an entry"),
    ],
)
def test_two_fields_that_do_not_go_together_are_refused_by_the_class_that_has_both(make, reason):
    with pytest.raises(WinokitError, match=reason):
        make()


def _nine_bins():
    from winokit.stages.debias.settings import Assessment

    return Assessment(bins=9)


def test_an_arm_without_its_variant_is_refused_before_any_data_is_read():
    with pytest.raises(BadInput, match="which variant"):
        winokit.train("no-such-data", train_on="original")
