"""Tables that can be run and shown, and what running one takes: models, datasets, a store to put results into."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import winokit
from runs.store import Record, Store, letters, made_with
from winokit.errors import BadInput, UnknownName
from winokit.results import Metric

if TYPE_CHECKING:
    from winokit.models.base import Model
    from winokit.problem import Dataset, Problem

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "runs" / "results"
LABELS = ("trichelair/WSC_switched_label.json", "trichelair/WSC_associative_label.json")
MODULES = (
    *("winogrande", "winogrande_aaai", "trichelair", "liu", "square_one", "naturalness"),
    *("winogrande_trained", "winogrande_aflite", "winogrande_aaai_trained", "liu_trained", "square_one_trained"),
)
"""Every module that registers tables: the papers', then what was trained."""
SHOWN = ("a coin", "hunter", "ensemble", "trigrams", "SmolLM2", "builtin", "mpnet with a head")
"""The order of models in tables; others follow."""
NAMES = {"random": "a coin", "builtin": "builtin"}
LABELLED = re.compile(r"([\w][\w ,.+-]*)=(.+)")
PACKAGES = {"hf:": ("torch", "transformers"), "builtin": ("onnxruntime",), "ngram:": ("kenlm",)}


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper: how to run it, and how its part of the page is written."""

    paper: str
    number: str
    title: str
    needs: str
    """What it takes, in words: models, datasets, time."""
    parts: Mapping[str, Callable[[Store], str]]
    """Writers of Markdown by the name of its place on the page, after the table's own: "" for the table itself."""
    run: Callable[[Bench], None] | None = None
    file: str | None = None
    """Name of the store its results are in; None if the store has the table's name."""

    @property
    def name(self) -> str:
        """Name in files and on the page, such as winogrande-4."""
        return f"{self.paper}-{self.number}"

    def store(self, folder: Path = RESULTS) -> Store:
        """Open the store of its results in a folder."""
        return Store(self.store_path(folder))

    def store_path(self, folder: Path) -> Path:
        """File of its results in a folder."""
        return folder / f"{self.file or self.name}.json"

    def places(self) -> dict[str, Callable[[Store], str]]:
        """Writers of its parts, by their full names on the page."""
        writers = {}
        for part, write in self.parts.items():
            full_name = f"{self.name}-{part}" if part else self.name
            writers[full_name] = write
        return writers


TABLES: dict[str, Table] = {}


def register(*tables: Table) -> None:
    """Add tables to `TABLES`, in the order of the page."""
    TABLES.update({table.name: table for table in tables})


def all_tables() -> dict[str, Table]:
    """Import every module of `MODULES`, and return all tables by name, in the order of the page."""
    for module in MODULES:
        import_module(f"runs.{module}")
    return TABLES


def tables_of(name: str) -> list[Table]:
    """Find a table by its name, or the tables of a paper. Raises UnknownName if there is neither."""
    tables = all_tables()
    papers = dict.fromkeys(table.paper for table in tables.values())
    if name in tables:
        return [tables[name]]
    if name in papers:
        return [table for table in tables.values() if table.paper == name]
    raise UnknownName("paper or table", name, [*papers, *tables])


@dataclass
class Bench:
    """Models and datasets that a table is run with, and the store that its results go to."""

    models: Mapping[str, str]
    """SPECs by the name they have in tables."""
    data: Path
    store: Store
    limit: int | None = None
    cache: str | None = None
    more: argparse.Namespace = field(default_factory=argparse.Namespace)
    """Options that only some tables take: --features."""

    def file(self, name: str) -> Path:
        """Path of a file in the datasets' folder. Raises BadInput if it does not exist."""
        path = self.data / name
        if not path.exists():
            raise BadInput(f"{path}: no such file; name the folder of the datasets (--data, or WINOKIT_DATA)")
        return path

    def load(self, name: str, format: str | None = None, **how: Any) -> Dataset:
        """Load the first `limit` problems of a file in the datasets' folder. `how` goes to `winokit.load`."""
        path = self.file(name)
        return winokit.load(f"{format}:{path}" if format else path, **how)[: self.limit]

    def wsc273(self) -> Dataset:
        """Load WSC273 with Trichelair et al.'s labels."""
        return self.load("wsc/WSCollection.xml", "wsc273", labels=[self.file(name) for name in LABELS])

    def judged(
        self,
        name: str,
        dataset: Dataset,
        model: str,
        scoring: str | None = None,
        protocols: Sequence[str] = ("accuracy", "groups"),
        label: str | None = None,
    ) -> Record:
        """Audit a model on a dataset, unless that is stored, and return the record.

        `name` is the dataset's name in tables, `model` a name of `models`, `scoring` the model's default if None.
        The record's key is `key(name, label)`, the label being the model's name if none is given, and its predictions
        are under `name`. A variant is judged as a dataset of its own.
        """
        spec = self.models[model]
        model = label or model
        record_key = key(name, model)
        settings = {
            "model": short(spec),
            "scoring": scoring,
            "protocols": list(protocols),
            "problems": len(dataset),
            "data": fingerprint(dataset),
        }
        if self.store.has(record_key, settings):
            return self.store[record_key]
        check_free(self.store, record_key, settings)
        from winokit.drawing.tables import progress_bar

        began = perf_counter()
        without_origin = dataset.with_problems(problem.replace(provenance={}) for problem in dataset)
        options: dict[str, Any] = {"scoring": scoring, "protocol": protocols, "cache": self.cache}
        with progress_bar(record_key) as progress:
            run = winokit.audit(without_origin, model=loaded(spec), progress=progress, **options)
        predictions = letters(row.prediction for row in run.predictions if row.variant == "original")
        record = Record(
            record_key,
            settings,
            tuple(renamed(row, name, model) for row in run.metrics),
            {name: predictions},
            seconds=perf_counter() - began,
            made_with=made_with(*packages_of(spec)),
        )
        self.store.put(record)
        return record

    def counted(self, name: str, settings: Mapping[str, Any], count: Callable[[], Counted]) -> None:
        """Call `count` and store its result under `name`, unless it is stored with these settings."""
        settings = {**settings, "limit": self.limit}
        if self.store.has(name, settings):
            return
        check_free(self.store, name, settings)
        began = perf_counter()
        counted = count()
        rows = tuple(counted.rows)
        seconds = perf_counter() - began
        self.store.put(Record(name, settings, rows, texts=counted.texts, seconds=seconds, made_with=made_with()))


def packages_of(spec: str) -> list[str]:
    """Python packages that run the models of a SPEC."""
    packages: list[str] = []
    for part, names in PACKAGES.items():
        if part in spec:
            packages += names
    return packages


def check_free(store: Store, record_key: str, settings: Mapping[str, Any]) -> None:
    """Refuse to write over a record that was made with other settings. Raises BadInput."""
    if record_key not in store:
        return
    before = store[record_key].settings
    now = json.loads(json.dumps(settings, default=str))
    differing = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    values = f"{str(before.get(differing[0]))[:60]}, now {str(now.get(differing[0]))[:60]}"
    way_out = "choose another --out, or another name for the model"
    raise BadInput(f"{store.path}: a record of {record_key!r} with another {differing[0]} ({values}); {way_out}")


@dataclass(frozen=True)
class Counted:
    """Metric rows and texts that a count found."""

    rows: Iterable[Metric] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def default_data() -> Path:
    """Folder of the datasets: $WINOKIT_DATA, or else ../shared/data beside the repository."""
    return Path(os.environ.get("WINOKIT_DATA") or ROOT.parent / "shared" / "data")


def named_model(text: str) -> tuple[str, str]:
    """Split NAME=SPEC, or a SPEC alone, into the model's name in tables and its SPEC.

    >>> named_model("SmolLM2=hf:DIR?gguf_file=x.gguf"), named_model("hf:DIR?bos=on"), named_model("random")
    (('SmolLM2', 'hf:DIR?gguf_file=x.gguf'), ('hf:DIR?bos=on', 'hf:DIR?bos=on'), ('a coin', 'random'))
    """
    match = LABELLED.fullmatch(text)
    if match:
        return match[1], match[2]
    return NAMES.get(text, short(text)), text


def short(spec: str) -> str:
    """A model's SPEC without folder names.

    >>> short("ensemble:hf:/models/smollm2+ngram:/models/quotes.arpa")
    'ensemble:hf:smollm2+ngram:quotes.arpa'
    """
    return re.sub(r"(?<=[:+])[^:+?]*/", "", spec)


def key(name: str, model: str) -> str:
    """Key of the record of a model on a dataset."""
    return f"{name} | {model}"


def fingerprint(dataset: Dataset) -> str:
    """First twelve hexadecimal digits of a hash over the ids of a dataset's problems, in order."""
    ids = "\n".join(problem.id for problem in dataset)
    return hashlib.sha256(ids.encode()).hexdigest()[:12]


@lru_cache(2)
def loaded(spec: str) -> Model:
    """Load a model, and keep the last two in memory for the next dataset."""
    return winokit.load_model(spec)


def named(name: str, problems: Iterable[Problem | str]) -> Dataset:
    """Make a dataset of those results that are problems, without the reasons why others could not be made."""
    from winokit.problem import Card, Dataset, Problem

    return Dataset((problem for problem in problems if isinstance(problem, Problem)), Card(name))


def renamed(row: Metric, dataset: str, model: str) -> Metric:
    """Copy a row under the dataset's and the model's names in tables."""
    return Metric.from_json({**row.to_json(), "dataset": dataset, "model": model})


def row(dataset: str, protocol: str, subset: str, metric: str, value: float, n: int, **more: Any) -> Metric:
    """Make a row like those of an audit, for a table's own quantity.

    `more` has other fields of `Metric`, such as `model`, `low` and `high`.
    """
    model = more.pop("model", "")
    return Metric(dataset, model, "", None, protocol, subset, metric, value, n, **more)


def models_in(store: Store, *, among: Sequence[str] = SHOWN) -> list[str]:
    """Names of the models that a store has records of, those of `among` first and in its order."""
    models = []
    for record_key in store.records:
        _, separator, model = record_key.partition(" | ")
        if separator and model not in models:
            models.append(model)
    first = [model for model in among if model in models]
    others = [model for model in models if model not in among]
    return first + others


def shown(model: str) -> str:
    """Name of a model as tables print it: `builtin` as code."""
    return f"`{model}`" if model == "builtin" else model


def grid(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table, with None as an empty cell.

    >>> print(grid(["a", "b"], [[1, None]]))
    | a | b |
    |---|---|
    | 1 | |
    """
    ruler = "|" + "---|" * len(header)
    return "\n".join([grid_line(header), ruler, *map(grid_line, rows)])


def grid_line(cells: Iterable[object]) -> str:
    """Write one line of a Markdown table."""
    line = "|"
    for cell in cells:
        text = "" if cell is None else str(cell)
        line += f" {text} |" if text else " |"
    return line


def percent(value: Metric | float | None, *, interval: bool = False, digits: int = 1) -> str:
    """Write a share in per cent, with `interval` followed by its interval, if it has one. Empty for None."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return number(100 * value, digits)
    text = number(100 * value.value, digits)
    if not interval or value.low is None or value.high is None:
        return text
    return f"{text} [{number(100 * value.low, digits)}, {number(100 * value.high, digits)}]"


def number(value: float, digits: int = 1) -> str:
    """Write a number with commas and a real minus sign, and zero without a sign.

    >>> number(-0.04), number(-1.25, 2)
    ('0.0', '−1.25')
    """
    text = f"{value:,.{digits}f}"
    is_zero = float(text.replace(",", "")) == 0
    return text.lstrip("-") if is_zero else text.replace("-", "−")


def single_and_group(record: Record) -> list[str]:
    """Accuracy on problems and on whole groups, in per cent with intervals."""
    names = (("accuracy", "all", "accuracy"), ("group_accuracy", "complete", "groups"))
    return [percent(record.find(*name), interval=True) for name in names]
