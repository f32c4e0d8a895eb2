"""The rewritings of a dataset for an audit, with reasons for every problem left out.

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
"""Prefix of the names of variants that are read from their own files, not made."""
REVERSED = "reversed"
"""The name of the variant with the candidates in the opposite order, the one that needs no blank."""
NO_CANDS = "no-cands"
PART_SENT = "part-sent"
ARTIFACTS = (NO_CANDS, PART_SENT, "local-context")
Style = Literal["default", "paper", "code"]
"""Ours, as papers describe variants, or as released scripts make them."""


@dataclass
class Variant:
    """The problems of one variant, and why the other problems have none."""

    problems: Dataset
    refused: dict[str, str] = field(default_factory=dict)
    note: str | None = None
    kept: bool = True
    """Whether a run keeps its problems. It does not if they read like the originals."""


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
    """The transforms by name: ours, or those of a style."""
    return TRANSFORMS if style == "default" else PUBLISHED[style]


def make_variants(dataset: Dataset, only: Collection[str] | None = None, style: str = "default") -> dict[str, Variant]:
    """Every variant of an audit, or those named, that has a problem.

    In the style of a paper, or of its script, they are of the problems that its authors counted: Elazar et al. count
    twins alone. A variant that a style does not have is ours.
    """

    def transform_of(name: str) -> Transform:
        return _find_counted_transform(name, style)

    variants = _make_each(dataset, only, TRANSFORMS, transform_of)
    return {name: variant for name, variant in variants.items() if len(variant.problems)}


def _find_counted_transform(name: str, style: str) -> Transform:
    """The transform of an audit, for the problems that count.

    It is that of a style, or ours if the style has none.
    """
    if style_of(name, style) == "default":
        return TRANSFORMS[name]
    return of_twins(name, PUBLISHED[style][name])


def style_of(variant: str, style: str) -> str:
    """The style in which an audit makes a variant.

    It is ours if the requested style has no such variant.
    """
    if style == "default" or variant not in PUBLISHED[style]:
        return "default"
    return style


def every_variant(dataset: Dataset, only: Collection[str] | None = None, style: str = "default") -> dict[str, Variant]:
    """Every variant, or those named, also if no problem has one.

    Each says why problems have none.
    """
    transforms = known_variants(style)
    return _make_each(dataset, only, transforms, transforms.__getitem__)


def _make_each(
    dataset: Dataset, only: Collection[str] | None, names: Iterable[str], transform_of: Callable[[str], Transform]
) -> dict[str, Variant]:
    """Make each variant of the problems that can have it.

    Judgements have none, and whole texts have only the reversed one.
    """
    choices = dataset
    if any(problem.query is not None for problem in dataset):
        choices = dataset.filter(lambda problem: problem.query is None)
    refused_as_whole = {problem.id: NO_BLANK for problem in choices if problem.is_whole}
    blanks = choices
    if refused_as_whole:
        blanks = choices.filter(lambda problem: not problem.is_whole)
    variants = {}
    for name in names:
        if only is not None and name not in only:
            continue
        transform = transform_of(name)
        if name == REVERSED:
            variants[name] = transform(choices)
        else:
            variants[name] = transform(blanks)
            variants[name].refused |= refused_as_whole
    return variants


def perturbed_variants(whole: Dataset, dataset: Dataset, versions: Sequence[Dataset]) -> dict[str, Variant]:
    """Perturbed versions of a dataset as variants of its problems.

    They are of those problems of the `whole` that are in `dataset`.

    They are joined by the original's id, which they have as a label.
    """
    original_ids = {problem.id for problem in whole}
    problems_by_id = {problem.id: problem for problem in dataset}
    named_problems = []
    for problems in versions:
        if not any(problem.labels.get("original") in original_ids for problem in problems):
            raise BadInput(f"{problems.card.name}: has no perturbed version of any problem of {whole.card.name}")
        for problem in problems:
            perturbation = problem.labels.get("perturbation", "unnamed")
            named_problems.append((f"{PERTURBED}{perturbation}", problem))
    variants: dict[str, Variant] = {}
    for name, perturbed in grouped(named_problems).items():
        variants[name] = _link_originals(perturbed, problems_by_id)
    return variants


def _link_originals(perturbed: Iterable[Problem], originals: Mapping[str, Problem]) -> Variant:
    """The variant of some perturbed problems, each with its original's group."""
    linked: list[Problem] = []
    refused: dict[str, str] = {}
    for problem in perturbed:
        original = originals.get(str(problem.labels.get("original")))
        if original:
            linked.append(problem.replace(provenance={"of": original.id}, group=original.group))
        else:
            refused[problem.id] = "its original is not in the dataset"
    return Variant(Dataset(linked), refused)


def one_by_one(make: Callable[[Problem], Problem | str], *, kept: bool = True) -> Transform:
    """Make a transform from a function of one problem.

    The function returns the new problem, or why there is none.
    """

    def transform(problems: Dataset) -> Variant:
        made: list[Problem] = []
        refused: dict[str, str] = {}
        for problem in problems:
            outcome = make(problem)
            if isinstance(outcome, str):
                refused[problem.id] = outcome
                continue
            if outcome.provenance.get("of") != problem.id:
                outcome = outcome.replace(provenance={**outcome.provenance, "of": problem.id})
            made.append(outcome)
        return Variant(Dataset(made), refused, kept=kept)

    return transform


def of_twins(name: str, transform: Transform) -> Transform:
    """A transform restricted to the problems that Elazar et al. count.

    They count no-cands and part-sent of twins alone, two of each group.

    Of no-cands a pair is left out if one of the twins has no such variant; of part-sent the other one stays.
    """
    if name not in (NO_CANDS, PART_SENT):
        return transform

    def transform_twins(problems: Dataset) -> Variant:
        twin_of, group_of = _pair_twins(problems)
        twins = [problem.replace(group=group_of[problem.id]) for problem in problems if problem.id in twin_of]
        variant = transform(problems.with_problems(twins))
        no_twin = "no twin; its authors count twins alone"
        refused = {problem.id: no_twin for problem in problems if problem.id not in twin_of}
        made_problems = list(variant.problems)
        if name == NO_CANDS:
            made_ids = {str(problem.provenance["of"]) for problem in made_problems}
            lone_ids = {own_id for own_id in made_ids if twin_of[own_id] not in made_ids}
            refused |= dict.fromkeys(lone_ids, "its twin has none; its authors count whole pairs")
            made_problems = [problem for problem in made_problems if problem.provenance["of"] not in lone_ids]
        return Variant(Dataset(made_problems), variant.refused | refused)

    return transform_twins


def _pair_twins(problems: Dataset) -> tuple[dict[str, str], dict[str, str]]:
    """Twin and group by id, for the first two members of each group."""
    twin_of: dict[str, str] = {}
    group_of: dict[str, str] = {}
    for group, members in problems.groups.items():
        if len(members) < 2:
            continue
        one, other = members[:2]
        twin_of[one.id] = other.id
        twin_of[other.id] = one.id
        pair_group = group if len(members) == 2 else f"{group}, two of it"
        group_of[one.id] = pair_group
        group_of[other.id] = pair_group
    return twin_of, group_of


def in_reverse(problems: Dataset) -> Variant:
    """Offer the candidates in the opposite order."""

    def reverse(problem: Problem) -> Problem:
        indices = range(len(problem.candidates))
        return problem.with_order(indices[::-1])

    return one_by_one(reverse, kept=False)(problems)
