"""`suite.toml`: which models meet which datasets, and how.

Every key is a parameter of `winokit.suite`.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from winokit.data.loading import DATA_HELP, As, DataLike, Labels, Limit, Perturbed, expand, load, load_one
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
    """A model of a suite: one to ask, or its stored predictions."""

    spec: str | Model | None = None
    name: str | None = None
    """The model's name in the results. Default: its SPEC without addresses of servers."""
    family: str | None = None
    """Models of one family are joined by a line where they are drawn by size."""
    parameters: Annotated[float | None, Help("How many it has; counted where that can be.", above=0)] = None
    predictions: Mapping[str, str | Path] | None = None
    """Files of predictions by the name of the dataset."""

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
        """Name of the model in rows and on pages.

        It is the given name, else the SPEC without addresses of servers.
        """
        if self.name is not None or self.spec is None:
            return self.name or ""
        if isinstance(self.spec, str):
            return str(Spec.parse(self.spec))
        return self.spec.spec


@dataclass(frozen=True)
class SuiteData(Settings):
    """A dataset of a suite, and how it is read."""

    data: DataLike
    name: str | None = None
    """The dataset's name in the results. Default: that of its card."""
    limit: Limit = None
    as_: As = None
    language: str | None = None
    labels: Labels = ()
    perturbed: Perturbed = ()

    @property
    def whole(self) -> Dataset:
        """All problems of the dataset. It must have been loaded."""
        assert isinstance(self.data, Dataset)
        return self.data

    @cached_property
    def asked(self) -> Dataset:
        """The problems that models are asked: the first `limit` ones."""
        return self.whole[: self.limit]

    def loaded(self, limit: int | None) -> "Iterator[SuiteData]":
        """Yield the data, loaded and named. A folder gives one per file.

        `limit` is that of the suite, for data without one. Raises BadInput if no problem has an answer.
        """
        sources: Sequence[DataLike]
        if isinstance(self.data, (str, Path)):
            sources, _ = expand([str(self.data)])
        else:
            sources = [self.data]
        for source in sources:
            dataset = load_one(source, as_=self.as_, labels=self.labels, language=self.language)
            if all(problem.answer is None for problem in dataset):
                raise BadInput(f"{dataset.card.name}: no problem has an answer to judge by")
            if self.name is not None:
                dataset = Dataset(dataset, replace(dataset.card, name=self.name), dataset.notes)
            perturbed = [load(version) for version in self.perturbed]
            yield replace(self, data=dataset, name=dataset.card.name, limit=self.limit or limit, perturbed=perturbed)


SuiteInput = Annotated[
    Sequence[DataLike | SuiteData],
    Help(f"{DATA_HELP} Or a suite.toml that says everything (docs/suite.md).", metavar="DATA", was="file"),
]
"""Datasets of a suite, or a suite.toml that names them, first."""
FORMER_KEYS = {"models": "model", "scorings": "scoring"}
"""Former names of keys in a suite.toml, which are still read, with their present names."""


@dataclass(frozen=True)
class SuiteSettings(Settings):
    """Models, datasets, scorings and shots: every combination of them is a cell."""

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
        """Names of the scorings.

        One None stands for the default of each model's kind.
        """
        return (None,) if self.scoring is None else tuple(self.scoring)


def _split_former_subsets(table: Mapping[str, Any]) -> dict[str, list[str]]:
    """Split former names of protocols with subsets, as `artifacts@non_associative`.

    Return the keys `protocol` and `subset` of a suite.toml's table. Empty if no name has a subset, or if protocols have
    different subsets: then the settings refuse the names.
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
    """Read the settings of a suite.toml.

    Those of `given` that are not the default replace them. Raises BadInput if the file is no such file, with its path.
    """
    table = _read_table(path)
    valid_keys = [setting.name for setting in fields(SuiteSettings)]
    for key in table:
        check_known(f"key of {path.name}", key, valid_keys)
    try:
        for key, kind in (("model", SuiteModel), ("data", SuiteData)):
            rows = table.get(key, [])
            table[key] = [_parse_entry(key, kind, row) for row in rows] if isinstance(rows, list) else rows
        return SuiteSettings(**(table | _list_changed(given)))
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def _list_changed(settings: SuiteSettings) -> dict[str, Any]:
    """The settings that are not the default, by name."""
    defaults = SuiteSettings()
    changed = {}
    for setting in fields(SuiteSettings):
        value = getattr(settings, setting.name)
        if value != getattr(defaults, setting.name):
            changed[setting.name] = value
    return changed


def _read_table(path: Path) -> dict[str, Any]:
    """Read a suite.toml, with former names replaced by present ones.

    These are names of keys and of protocols.
    """
    try:
        table = tomllib.loads(read_text(path).removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from None
    for former, name in FORMER_KEYS.items():
        if former in table and name not in table:
            table[name] = table.pop(former)
    return table | _split_former_subsets(table)


def _parse_entry(key: str, kind: type[SuiteModel | SuiteData], row: object) -> Any:
    """Parse an entry of `[[model]]` or `[[data]]`.

    The `key` is one of the two. A table becomes a `kind`, and a name stays as it is.
    """
    if not isinstance(row, Mapping):
        return row
    valid_keys = [setting.name.strip("_") for setting in fields(kind)]
    for name in row:
        check_known(f"key of [[{key}]]", name, valid_keys)
    if kind is SuiteData and "data" not in row:
        raise BadInput("[[data]]: data is missing: a name, a path or FORMAT:path")
    settings = dict(row)
    if "as" in settings:
        settings["as_"] = settings.pop("as")
    return kind(**settings)
