"""`suite.toml`: which models meet which datasets, and how. Every key is a parameter of `winokit.suite`."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from winokit.data.loading import DATA_HELP, As, Labels, Limit, Perturbed, expand, load, load_one
from winokit.errors import BadInput, check_known
from winokit.files import read_text
from winokit.methods.scoring.base import check_scorings
from winokit.models.base import Model
from winokit.models.registry import MODEL_HELP, Spec
from winokit.problem import Dataset
from winokit.settings import Help, Settings
from winokit.stages.audit.protocols import check_protocols


@dataclass(frozen=True)
class SuiteModel(Settings):
    """A model of a suite: one to ask, or predictions that somebody stored."""

    spec: str | Model | None = None
    name: str | None = None
    """What it is called; by default its SPEC without addresses of servers."""
    family: str | None = None
    """The line it stands on where models are drawn by size."""
    parameters: Annotated[float | None, Help("How many it has; counted where that can be.", above=0)] = None
    predictions: Mapping[str, str | Path] | None = None
    """By dataset, a file of predictions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.spec is None) is (self.predictions is None):
            raise BadInput("a model of a suite has a spec or predictions, one of the two")
        if self.predictions is not None and self.name is None:
            raise BadInput("a model of stored predictions needs a name")
        if self.name is not None and isinstance(self.spec, str):  # from here on the SPEC says it
            parsed = Spec.parse(self.spec)
            named_spec = replace(parsed, options={**parsed.options, "name": self.name})
            object.__setattr__(self, "spec", named_spec.text)

    @property
    def title(self) -> str:
        """Name of the model in rows and on pages."""
        if self.name is not None or self.spec is None:
            return self.name or ""
        return str(Spec.parse(self.spec)) if isinstance(self.spec, str) else self.spec.spec


@dataclass(frozen=True)
class SuiteData(Settings):
    """A dataset of a suite, and how it is read."""

    data: str | Path | Dataset
    name: str | None = None
    """What it is called; by default as its card says."""
    limit: Limit = None
    as_: As = None
    language: str | None = None
    labels: Labels = ()
    perturbed: Perturbed = ()

    @property
    def whole(self) -> Dataset:
        """All of its problems, once it is loaded."""
        assert isinstance(self.data, Dataset)
        return self.data

    @cached_property
    def asked(self) -> Dataset:
        """The problems that are asked."""
        return self.whole[: self.limit]

    def loaded(self, limit: int | None) -> "Iterator[SuiteData]":
        """Yield the data, loaded and named. A folder gives one per file."""
        for name in [self.data] if isinstance(self.data, Dataset) else expand([str(self.data)])[0]:
            whole = load_one(name, as_=self.as_, labels=self.labels, language=self.language)
            if all(problem.answer is None for problem in whole):
                raise BadInput(f"{whole.card.name}: no problem has an answer to judge by")
            if self.name is not None:
                whole = Dataset(whole, replace(whole.card, name=self.name), whole.notes)
            perturbed = [load(each) for each in self.perturbed]
            size = self.limit or limit
            yield replace(self, data=whole, name=whole.card.name, limit=size, perturbed=perturbed)


SuiteInput = Annotated[
    Sequence[str | Path | Dataset | SuiteData],
    Help(f"{DATA_HELP} Or a suite.toml that says everything (docs/suite.md).", metavar="DATA", was="file"),
]
"""What a suite is of: datasets, or a file that names them."""
FORMER_KEYS = {"models": "model", "scorings": "scoring"}
"""Keys of a suite.toml that were called otherwise, and still are read."""


@dataclass(frozen=True)
class SuiteSettings(Settings):
    """Models, datasets, scorings and shots: all of each with all of the others."""

    model: Annotated[
        Sequence[str | Model | SuiteModel], Help(f"{MODEL_HELP} Repeatable.", metavar="SPEC", was="models")
    ] = ()
    data: SuiteInput = ()
    predictions: Annotated[
        Sequence[str],
        Help("A file of predictions for a dataset by its name; repeatable. Each is a model.", metavar="DATA=FILE"),
    ] = ()
    scoring: Annotated[
        Sequence[str] | None,
        Help("How to score; repeatable. Default: depends on the kind of model.", metavar="NAME", was="scorings"),
    ] = None
    shots: Annotated[
        Sequence[int], Help("Solved problems to put before each, never its twin; repeatable.", metavar="N", least=0)
    ] = (0,)
    limit: Limit = None
    protocol: Annotated[Sequence[str], Help("Only this protocol; repeatable.", metavar="NAME")] = ()
    subset: Annotated[
        Sequence[str],
        Help("Only problems with this yes/no label, or without it (non_associative); repeatable.", metavar="LABEL"),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scorings(self.scorings)
        check_protocols(self.protocol)

    @property
    def scorings(self) -> tuple[str | None, ...]:
        """The scorings by name. None is the default of a model's kind."""
        return (None,) if self.scoring is None else tuple(self.scoring)


def _split_former_subsets(table: Mapping[str, Any]) -> dict[str, list[str]]:
    """The protocols and the subsets of a file that names both in one: `artifacts@non_associative`.

    Nothing if it does not, or if protocols have different subsets: then the settings refuse it.
    """
    protocol_names = table.get("protocol")
    if not isinstance(protocol_names, list) or "subset" in table:
        return {}
    pairs = [str(name).partition("@")[::2] for name in protocol_names]
    protocols = list(dict.fromkeys(protocol for protocol, _ in pairs))
    subsets = list(dict.fromkeys(subset for _, subset in pairs))
    if "" in subsets or len(pairs) != len(protocols) * len(subsets):
        return {}
    return {"protocol": protocols, "subset": subsets}


def read_suite(path: Path, given: SuiteSettings) -> SuiteSettings:
    """Read the settings of a file. Settings that are given replace them."""
    try:
        table = tomllib.loads(read_text(path).removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from None
    for former, name in FORMER_KEYS.items():
        if former in table and name not in table:
            table[name] = table.pop(former)
    table |= _split_former_subsets(table)
    names = [each.name for each in fields(SuiteSettings)]
    defaults = SuiteSettings()
    for key in table:
        check_known(f"key of {path.name}", key, names)
    try:
        for key, kind in (("model", SuiteModel), ("data", SuiteData)):
            rows = table.get(key, [])
            table[key] = [_parse_entry(key, kind, row) for row in rows] if isinstance(rows, list) else rows
        table |= {name: getattr(given, name) for name in names if getattr(given, name) != getattr(defaults, name)}
        return SuiteSettings(**table)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def _parse_entry(key: str, kind: type[SuiteModel | SuiteData], row: object) -> Any:
    """A name, or a table of a model or a dataset."""
    if not isinstance(row, Mapping):
        return row
    valid_keys = [each.name.strip("_") for each in fields(kind)]
    for name in row:
        check_known(f"key of [[{key}]]", name, valid_keys)
    if kind is SuiteData and "data" not in row:
        raise BadInput("[[data]]: data is missing: a name, a path or FORMAT:path")
    settings = dict(row)
    if "as" in settings:
        settings["as_"] = settings.pop("as")
    return kind(**settings)
