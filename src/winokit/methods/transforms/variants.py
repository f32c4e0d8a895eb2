"""Variants of a dataset for an audit.

Another package adds one by an entry point of the group `winokit.transforms` that names a function from a dataset to a
`Variant`. `one_by_one` makes such a function from one that rewrites a single problem.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from winokit.errors import BadInput
from winokit.problem import NO_BLANK, Dataset, Problem, grouped
from winokit.registry import Registry

PERTURBED = "perturbed."
"""Prefix of the names of variants that are read from files of their own."""
REVERSED = "reversed"
"""The variant with the candidates in the opposite order. It is the only one that needs no blank."""
NO_CANDS = "no-cands"
PART_SENT = "part-sent"
ARTIFACTS = (NO_CANDS, PART_SENT, "local-context")
Style = Literal["default", "paper", "code"]
"""Variants by our rules, by a paper's description, or by its released script."""


@dataclass
class Variant:
    """One variant of a dataset, with the problems that have none."""

    problems: Dataset
    """The rewritten problems, each with the original's id in its provenance."""
    refused: dict[str, str] = field(default_factory=dict)
    """The reason why a problem has no variant, by its id."""
    note: str | None = None
    """A message for the reader of the audit."""
    kept: bool = True
    """Whether a run stores the problems. It does not if they have the original's text."""


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
"""Our transforms by name. A transform's module is imported when it is needed, and registers it."""
PUBLISHED: Mapping[str, Registry[Transform]] = {
    style: Registry(f"transform of style {style!r}", homes={name: f"{_HERE}.{_HOMES[name]}" for name in names})
    for style, names in _HOMES_IN_STYLE.items()
}
"""Transforms of papers and released scripts, by style and name."""


def known_variants(style: str = "default") -> Registry[Transform]:
    """Return the transforms of a style by name. `default` are ours."""
    return TRANSFORMS if style == "default" else PUBLISHED[style]


def make_variants(dataset: Dataset, only: Collection[str] | None = None, style: str = "default") -> dict[str, Variant]:
    """Make the variants of an audit, by name.

    Those without any problem are left out. `only` has the names to make; None makes all. In the style of a paper or its
    script, variants are made only of the problems that its authors counted: Elazar et al. count only twins. A variant
    that the style does not have is ours.
    """

    def transform_of(name: str) -> Transform:
        """Return the transform of a variant's name."""
        return _find_counted_transform(name, style)

    variants = _make_each(dataset, only, TRANSFORMS, transform_of)
    return {name: variant for name, variant in variants.items() if len(variant.problems)}


def _find_counted_transform(name: str, style: str) -> Transform:
    """Return an audit's transform, restricted to the problems that count.

    It is that of the style, or ours if the style has none.
    """
    if style_of(name, style) == "default":
        return TRANSFORMS[name]
    return of_twins(name, PUBLISHED[style][name])


def style_of(variant: str, style: str) -> str:
    """Return the style in which an audit makes a variant.

    It is `default` if the requested style has no such variant.
    """
    if style == "default" or variant not in PUBLISHED[style]:
        return "default"
    return style


def every_variant(dataset: Dataset, only: Collection[str] | None = None, style: str = "default") -> dict[str, Variant]:
    """Make the variants of a style by name, even empty ones.

    `only` has the names to make; None makes all.
    """
    transforms = known_variants(style)
    return _make_each(dataset, only, transforms, transforms.__getitem__)


def _make_each(
    dataset: Dataset, only: Collection[str] | None, names: Iterable[str], transform_of: Callable[[str], Transform]
) -> dict[str, Variant]:
    """Make variants of these names from suitable problems.

    `only` restricts the names; None makes all. Yes/no judgements have no variants. Problems whose candidates are whole
    texts have only the reversed one, and are refused by the others.
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
    """Return perturbed versions of a dataset as variants, by name.

    `versions` are datasets of perturbed problems, which have the original's id as the label `original` and the name of
    the perturbation as the label `perturbation`. `dataset` is the audited part of `whole`: perturbed problems of other
    originals are refused. Raises BadInput if a version has no problem of `whole`.
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
    """Return perturbed problems as a variant, with their originals' groups.

    `originals` are by id.
    """
    linked: list[Problem] = []
    refused: dict[str, str] = {}
    for problem in perturbed:
        original = originals.get(str(problem.labels.get("original")))
        if original:
            linked_problem = problem.replace(provenance={"of": original.id}, group=original.group)
            linked.append(linked_problem)
        else:
            refused[problem.id] = "its original is not in the dataset"
    return Variant(Dataset(linked), refused)


def one_by_one(make: Callable[[Problem], Problem | str], *, kept: bool = True) -> Transform:
    """Return a transform of datasets that rewrites each problem by a function.

    `make` returns the new problem, or the reason why there is none. `kept` says whether runs store the problems.
    """

    def transform(problems: Dataset) -> Variant:
        """Rewrite each problem of a dataset."""
        new_problems: list[Problem] = []
        refused: dict[str, str] = {}
        for problem in problems:
            outcome = make(problem)
            if isinstance(outcome, str):
                refused[problem.id] = outcome
                continue
            if outcome.provenance.get("of") != problem.id:
                provenance = {**outcome.provenance, "of": problem.id}
                outcome = outcome.replace(provenance=provenance)
            new_problems.append(outcome)
        return Variant(Dataset(new_problems), refused, kept=kept)

    return transform


def of_twins(name: str, transform: Transform) -> Transform:
    """Return a transform restricted to the problems that Elazar et al. count.

    Of no-cands and part-sent they count only twins, two of each group. With no-cands a pair is left out if one of the
    twins has no variant, while with part-sent the other twin stays. Any other transform is returned as it is.
    """
    if name not in (NO_CANDS, PART_SENT):
        return transform

    def transform_twins(problems: Dataset) -> Variant:
        """Rewrite the twins of a dataset."""
        twin_of, group_of = _pair_twins(problems)
        twins = [problem.replace(group=group_of[problem.id]) for problem in problems if problem.id in twin_of]
        variant = transform(problems.with_problems(twins))
        no_twin = "no twin; its authors count twins alone"
        refused = {problem.id: no_twin for problem in problems if problem.id not in twin_of}
        new_problems = list(variant.problems)
        if name == NO_CANDS:
            original_ids = {str(problem.provenance["of"]) for problem in new_problems}
            lone_ids = {problem_id for problem_id in original_ids if twin_of[problem_id] not in original_ids}
            refused |= dict.fromkeys(lone_ids, "its twin has none; its authors count whole pairs")
            new_problems = [problem for problem in new_problems if problem.provenance["of"] not in lone_ids]
        return Variant(Dataset(new_problems), variant.refused | refused)

    return transform_twins


def _pair_twins(problems: Dataset) -> tuple[dict[str, str], dict[str, str]]:
    """Return each twin's twin and pair group, by id.

    Twins are the first two members of each group.
    """
    twin_of: dict[str, str] = {}
    group_of: dict[str, str] = {}
    for group, members in problems.groups.items():
        if len(members) < 2:
            continue
        first, second = members[:2]
        twin_of[first.id] = second.id
        twin_of[second.id] = first.id
        pair_group = group if len(members) == 2 else f"{group}, two of it"
        group_of[first.id] = pair_group
        group_of[second.id] = pair_group
    return twin_of, group_of


def in_reverse(problems: Dataset) -> Variant:
    """Offer the candidates of each problem in the opposite order."""

    def reverse(problem: Problem) -> Problem:
        """Return the problem with its candidates reversed."""
        indices = range(len(problem.candidates))
        return problem.with_order(indices[::-1])

    return one_by_one(reverse, kept=False)(problems)
