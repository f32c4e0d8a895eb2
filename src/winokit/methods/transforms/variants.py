"""The rewritings a dataset is audited on: which problems each could be made for, and why others were left out.

Another package adds one by an entry point of the group `winokit.transforms` that names a function from a dataset to a
`Variant`; `one_by_one` makes one of a function from a problem to a problem.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from winokit.errors import BadInput
from winokit.problem import NO_BLANK, Dataset, Problem, grouped
from winokit.registry import Registry

PERTURBED = "perturbed."
"""What the names of variants begin with that were not made but read: versions of the problems in files of their own."""
REVERSED = "reversed"
"""The name of the variant with the candidates in the opposite order, the one that needs no blank."""
NO_CANDS = "no-cands"
PART_SENT = "part-sent"
ARTIFACTS = (NO_CANDS, PART_SENT, "local-context")
Style = Literal["default", "paper", "code"]
"""Ours, as papers describe variants, or as released scripts make them."""


@dataclass
class Variant:
    """The problems of one variant, and for each problem without one the reason."""

    problems: Dataset
    refused: dict[str, str] = field(default_factory=dict)
    note: str | None = None
    kept: bool = True
    """Whether a run keeps its problems: not where they read as the originals do."""


Transform = Callable[[Dataset], Variant]
_HOMES = {
    "no-cands": "no_cands",
    "part-sent": "part_sent",
    "local-context": "local_context",
    "special-word": "special_word",
    "reversed": "variants:in_reverse",
    "switched": "switch",
}
_HOMES_IN_STYLE = {
    "paper": ("no-cands", "part-sent", "local-context", "switched"),
    "code": ("no-cands", "part-sent", "special-word"),
}
_HERE = __name__.rpartition(".")[0]
TRANSFORMS: Registry[Transform] = Registry(
    "transform", "winokit.transforms", {name: f"{_HERE}.{home}" for name, home in _HOMES.items()}
)
"""Every transform by its name. Its module is imported when a variant is made, and registers it."""
PUBLISHED: Mapping[str, Registry[Transform]] = {
    style: Registry(f"transform of style {style!r}", homes={name: f"{_HERE}.{_HOMES[name]}" for name in names})
    for style, names in _HOMES_IN_STYLE.items()
}
"""Variants as papers describe them and as released scripts make them, by style and name, if there are such."""


def known_variants(style: str = "default") -> Registry[Transform]:
    """The transforms by name: ours, or those of a style that a paper describes or its script has."""
    return TRANSFORMS if style == "default" else PUBLISHED[style]


def make_variants(dataset: Dataset, only: Collection[str] | None = None, style: str = "default") -> dict[str, Variant]:
    """Every variant of an audit, or those named, that can be made of at least one problem.

    In the style of a paper, or of its script, they are of the problems that its authors counted: Elazar et al. count
    twins alone. A variant that a style does not have is ours.
    """
    made = _made(dataset, only, TRANSFORMS, lambda name: _counted_transform(name, style))
    return {name: variant for name, variant in made.items() if len(variant.problems)}


def _counted_transform(name: str, style: str) -> Transform:
    """The transform of an audit: that of a style, of the problems that are counted, or ours if the style has none."""
    if style_of(name, style) == "default":
        return TRANSFORMS[name]
    return of_twins(name, PUBLISHED[style][name])


def style_of(variant: str, style: str) -> str:
    """The style in which an audit makes a variant: ours where the one that is asked for has no such variant."""
    return style if style != "default" and variant in PUBLISHED[style] else "default"


def every_variant(dataset: Dataset, only: Collection[str] | None = None, style: str = "default") -> dict[str, Variant]:
    """Every variant, or those named, with why some problems, or all, have none."""
    known = known_variants(style)
    return _made(dataset, only, known, known.__getitem__)


def _made(
    dataset: Dataset, only: Collection[str] | None, names: Iterable[str], transform_of: Callable[[str], Transform]
) -> dict[str, Variant]:
    choices = dataset.filter(lambda p: p.query is None) if any(p.query is not None for p in dataset) else dataset
    whole = {problem.id: NO_BLANK for problem in choices if problem.is_whole}
    blanks = choices.filter(lambda problem: not problem.is_whole) if whole else choices
    variants = {}
    for name in names:
        if only is None or name in only:
            variants[name] = transform_of(name)(choices if name == REVERSED else blanks)
            variants[name].refused |= {} if name == REVERSED else whole
    return variants


def perturbed_variants(whole: Dataset, dataset: Dataset, versions: Sequence[Dataset]) -> dict[str, Variant]:
    """Perturbed versions of a dataset as variants of those problems of the `whole` that are in `dataset`.

    They are joined by the original's id, which they have as a label.
    """
    originals = {problem.id for problem in whole}
    known = {problem.id: problem for problem in dataset}
    for problems in versions:
        if not any(problem.labels.get("original") in originals for problem in problems):
            raise BadInput(f"{problems.card.name}: has no perturbed version of any problem of {whole.card.name}")
    variants: dict[str, Variant] = {}
    names = ((f"{PERTURBED}{p.labels.get('perturbation', 'unnamed')}", p) for problems in versions for p in problems)
    for name, perturbed in grouped(names).items():
        pairs = [(problem, known.get(str(problem.labels.get("original")))) for problem in perturbed]
        linked = [p.replace(provenance={"of": original.id}, group=original.group) for p, original in pairs if original]
        refused = {p.id: "its original is not in the dataset" for p, original in pairs if not original}
        variants[name] = Variant(Dataset(linked), refused)
    return variants


def one_by_one(make: Callable[[Problem], Problem | str], *, kept: bool = True) -> Transform:
    """A transform that makes each problem from one problem, or says why not."""

    def transform(problems: Dataset) -> Variant:
        made: list[Problem] = []
        refused: dict[str, str] = {}
        for problem in problems:
            outcome = make(problem)
            if isinstance(outcome, str):
                refused[problem.id] = outcome
            else:
                of_it = outcome.provenance.get("of") == problem.id
                made.append(outcome if of_it else outcome.replace(provenance={**outcome.provenance, "of": problem.id}))
        return Variant(Dataset(made), refused, kept=kept)

    return transform


def of_twins(name: str, transform: Transform) -> Transform:
    """A transform as Elazar et al. count what it makes: no-cands and part-sent of twins alone, two of each group.

    Of no-cands a pair is left out if one of the twins has no such variant; of part-sent the other one stays.
    """
    if name not in (NO_CANDS, PART_SENT):
        return transform

    def counted(problems: Dataset) -> Variant:
        twin_of: dict[str, str] = {}
        group_of: dict[str, str] = {}
        for group, members in problems.groups.items():
            if len(members) > 1:
                one, other = members[:2]
                twin_of |= {one.id: other.id, other.id: one.id}
                group_of |= dict.fromkeys((one.id, other.id), group if len(members) == 2 else f"{group}, two of it")
        twins = [p.replace(group=group_of[p.id]) for p in problems if p.id in twin_of]
        variant = transform(problems.with_problems(twins))
        refused = {p.id: "no twin; its authors count twins alone" for p in problems if p.id not in twin_of}
        kept = list(variant.problems)
        if name == NO_CANDS:
            made = {str(problem.provenance["of"]) for problem in kept}
            lone = {own for own in made if twin_of[own] not in made}
            refused |= dict.fromkeys(lone, "its twin has none; its authors count whole pairs")
            kept = [problem for problem in kept if problem.provenance["of"] not in lone]
        return Variant(Dataset(kept), variant.refused | refused)

    return counted


def in_reverse(problems: Dataset) -> Variant:
    """The candidates offered in the opposite order."""
    turned = one_by_one(lambda problem: problem.with_order(range(len(problem.candidates))[::-1]), kept=False)
    return turned(problems)
