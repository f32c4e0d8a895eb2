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
    """Markdown by the name of its place on the page, after the table's own: "" for the table itself."""
    run: Callable[[Bench], None] | None = None
    file: str | None = None
    """The store its results are in, where that is not its own."""

    @property
    def name(self) -> str:
        """As in files and on the page: winogrande-4."""
        return f"{self.paper}-{self.number}"

    def store(self, folder: Path = RESULTS) -> Store:
        """Its results in a folder."""
        return Store(self.store_path(folder))

    def store_path(self, folder: Path) -> Path:
        """The file of its results in a folder."""
        return folder / f"{self.file or self.name}.json"

    def places(self) -> dict[str, Callable[[Store], str]]:
        """The names of its parts as the page has them, and what writes them."""
        return {f"{self.name}-{part}" if part else self.name: write for part, write in self.parts.items()}


TABLES: dict[str, Table] = {}


def register(*tables: Table) -> None:
    """Make tables known, in the order of the page."""
    TABLES.update({table.name: table for table in tables})


def all_tables() -> dict[str, Table]:
    """Every table by name, in the order of the page."""
    for module in MODULES:
        import_module(f"runs.{module}")
    return TABLES


def tables_of(name: str) -> list[Table]:
    """A table by its name, or the tables of a paper. Raises UnknownName."""
    known = all_tables()
    papers = dict.fromkeys(table.paper for table in known.values())
    if name in known:
        return [known[name]]
    if name in papers:
        return [table for table in known.values() if table.paper == name]
    raise UnknownName("paper or table", name, [*papers, *known])


@dataclass
class Bench:
    """Where a table is run: the models and datasets to use, and the store that its results go to."""

    models: Mapping[str, str]
    """SPECs by the name they have in tables."""
    data: Path
    store: Store
    limit: int | None = None
    cache: str | None = None
    more: argparse.Namespace = field(default_factory=argparse.Namespace)
    """What only some tables take: --features."""

    def file(self, name: str) -> Path:
        """A file of the datasets, by its path in their folder."""
        path = self.data / name
        if not path.exists():
            raise BadInput(f"{path}: no such file; name the folder of the datasets (--data, or WINOKIT_DATA)")
        return path

    def load(self, name: str, format: str | None = None, **how: Any) -> Dataset:
        """A dataset of the folder, the first `limit` problems of it."""
        path = self.file(name)
        return winokit.load(f"{format}:{path}" if format else path, **how)[: self.limit]

    def wsc273(self) -> Dataset:
        """WSC273 with Trichelair et al.'s labels."""
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
        """Audit a model on a dataset, unless that is stored; a variant is judged as a dataset of its own.

        The record's key is `key(name, label)`, the label being the model's name if none is given; its predictions are
        under `name`.
        """
        spec = self.models[model]
        model = label or model
        settings = {
            "model": short(spec),
            "scoring": scoring,
            "protocols": list(protocols),
            "problems": len(dataset),
            "data": fingerprint(dataset),
        }
        if self.store.has(key(name, model), settings):
            return self.store[key(name, model)]
        check_free(self.store, key(name, model), settings)
        from winokit.drawing.tables import progress_bar

        began = perf_counter()
        itself = dataset.with_problems(problem.replace(provenance={}) for problem in dataset)
        how: dict[str, Any] = {"scoring": scoring, "protocol": protocols, "cache": self.cache}
        with progress_bar(key(name, model)) as progress:
            run = winokit.audit(itself, model=loaded(spec), progress=progress, **how)
        packages = [package for part, names in PACKAGES.items() if part in spec for package in names]
        record = Record(
            key(name, model),
            settings,
            tuple(renamed(row, name, model) for row in run.metrics),
            {name: letters(row.prediction for row in run.predictions if row.variant == "original")},
            seconds=perf_counter() - began,
            made_with=made_with(*packages),
        )
        self.store.put(record)
        return record

    def counted(self, name: str, settings: Mapping[str, Any], count: Callable[[], Counted]) -> None:
        """Store what is counted without a model, unless it is stored with these settings."""
        settings = {**settings, "limit": self.limit}
        if not self.store.has(name, settings):
            check_free(self.store, name, settings)
            began = perf_counter()
            counted = count()
            rows = tuple(counted.rows)
            self.store.put(
                Record(name, settings, rows, texts=counted.texts, seconds=perf_counter() - began, made_with=made_with())
            )


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
    """What a count found."""

    rows: Iterable[Metric] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def default_data() -> Path:
    """$WINOKIT_DATA, else ../shared/data beside the repository."""
    return Path(os.environ.get("WINOKIT_DATA") or ROOT.parent / "shared" / "data")


def named_model(text: str) -> tuple[str, str]:
    """A model's name in tables and its SPEC, from NAME=SPEC or a SPEC alone.

    >>> named_model("SmolLM2=hf:DIR?gguf_file=x.gguf"), named_model("hf:DIR?bos=on"), named_model("random")
    (('SmolLM2', 'hf:DIR?gguf_file=x.gguf'), ('hf:DIR?bos=on', 'hf:DIR?bos=on'), ('a coin', 'random'))
    """
    match = LABELLED.fullmatch(text)
    return (match[1], match[2]) if match else (NAMES.get(text, short(text)), text)


def short(spec: str) -> str:
    """A model's SPEC without the folders it lies in.

    >>> short("ensemble:hf:/models/smollm2+ngram:/models/quotes.arpa")
    'ensemble:hf:smollm2+ngram:quotes.arpa'
    """
    return re.sub(r"(?<=[:+])[^:+?]*/", "", spec)


def key(name: str, model: str) -> str:
    """The key of a model's record on a dataset."""
    return f"{name} | {model}"


def fingerprint(dataset: Dataset) -> str:
    """A dataset's problems, in order, as twelve characters."""
    return hashlib.sha256("\n".join(problem.id for problem in dataset).encode()).hexdigest()[:12]


@lru_cache(2)
def loaded(spec: str) -> Model:
    """A model, kept for the next dataset."""
    return winokit.load_model(spec)


def named(name: str, problems: Iterable[Problem | str]) -> Dataset:
    """A dataset of the problems that could be made."""
    from winokit.problem import Card, Dataset, Problem

    return Dataset((problem for problem in problems if isinstance(problem, Problem)), Card(name))


def renamed(row: Metric, dataset: str, model: str) -> Metric:
    """A row under the names of the table."""
    return Metric.from_json({**row.to_json(), "dataset": dataset, "model": model})


def row(dataset: str, protocol: str, subset: str, metric: str, value: float, n: int, **more: Any) -> Metric:
    """A row of a table's own, in the shape of an audit's; `model`, `low`, `high` and the like by name."""
    return Metric(dataset, more.pop("model", ""), "", None, protocol, subset, metric, value, n, **more)


def models_in(store: Store, *, among: Sequence[str] = SHOWN) -> list[str]:
    """The models that a store has records of, in the order of tables."""
    models = dict.fromkeys(name.split(" | ", 1)[1] for name in store.records if " | " in name)
    return [*(name for name in among if name in models), *(name for name in models if name not in among)]


def shown(model: str) -> str:
    """A model's name as tables print it."""
    return f"`{model}`" if model == "builtin" else model


def grid(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table.

    >>> print(grid(["a", "b"], [[1, None]]))
    | a | b |
    |---|---|
    | 1 | |
    """
    lines = [["" if cell is None else str(cell) for cell in line] for line in (header, *rows)]
    made = ["|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines]
    return "\n".join([made[0], "|" + "---|" * len(header), *made[1:]])


def percent(value: Metric | float | None, *, interval: bool = False, digits: int = 1) -> str:
    """A share in per cent, with its interval if asked for; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return number(100 * value, digits)
    text = number(100 * value.value, digits)
    if not interval or value.low is None or value.high is None:
        return text
    return f"{text} [{number(100 * value.low, digits)}, {number(100 * value.high, digits)}]"


def number(value: float, digits: int = 1) -> str:
    """A number with a real minus sign, and none before nought.

    >>> number(-0.04), number(-1.25, 2)
    ('0.0', '−1.25')
    """
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not float(text.replace(",", "")) else text.replace("-", "−")


def single_and_group(record: Record) -> list[str]:
    """Accuracy on problems and on whole groups, with intervals."""
    names = (("accuracy", "all", "accuracy"), ("group_accuracy", "complete", "groups"))
    return [percent(record.find(*name), interval=True) for name in names]
