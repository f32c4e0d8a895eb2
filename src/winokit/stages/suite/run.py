"""The suite: models × datasets × scorings × shots.

A cell is one model on one dataset. A cell that is done stays done: if its folder says that nothing has changed which
determines it, it is read, not run. A server that does not say since when its model exists cannot be compared like that:
its cells are run again, through the cache of answers. A cell that fails is tried once more, then says why, and the rest
goes on.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

import winokit
from winokit.data.loading import DataLike, Loading, load_one
from winokit.data.predictions.read import read_predictions
from winokit.data.runs import Run
from winokit.errors import AskingStopped, BadInput, UnusedSetting, WinokitError, check_known
from winokit.files import as_file_name, check_own_folder, result_bytes, write_whole
from winokit.methods.cluster import ClusterSettings, started
from winokit.methods.scoring.asking import Asking
from winokit.methods.scoring.base import parse_scoring
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.ledger import Ledger
from winokit.methods.scoring.prompts import read_prompt
from winokit.methods.scoring.ray_model import load_on
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.methods.scoring.shelf import is_served, lasting_fingerprint
from winokit.models.base import Model, parameters_of
from winokit.models.registry import Spec, check_model, release
from winokit.problem import ORIGINAL, Dataset
from winokit.progress import telling
from winokit.settings import Help, Stored, Without, verb
from winokit.stages.audit.run import URL, audit
from winokit.stages.audit.settings import AuditSettings
from winokit.stages.suite.matrix import DONE, EMPTY, FAILED, RUNNING, Entrant, SuiteCell, SuiteRun, Watch, write_suite
from winokit.stages.suite.settings import SuiteData, SuiteInput, SuiteModel, SuiteSettings, read_suite

TOLD_BY_SPEC = ("builtin", "random")
"""Models that are identified by their SPEC alone."""
CELL = "cell.json"
"""The file in a cell's folder that says what determined the cell."""
RESULTS = "suite.json"


@verb
def suite(
    data: SuiteInput = (),
    *,
    settings: Annotated[SuiteSettings, Without("data")] = SuiteSettings(),
    asking: Annotated[Asking, Without("shots"), Stored("asking", "seed", "prompt", "forget")] = Asking(),
    out: Annotated[str | Path | None, Help("The suite's folder.", otherwise=Path("runs/suite"))] = None,
    progress: Watch | None = None,
) -> SuiteRun:
    """Run models x datasets x scorings x shots, and write one page: which can be distinguished, and by what.

    After an interruption, the same command continues. A cell that fails says why, the others are run, and the
    exit code is 1.

    Parameters
    ----------
    out
        Where the page, suite.json, the tables and the cells' runs are written; None writes nothing.
    progress
        Called with all cells whenever one changes.
    """
    settings = read_settings(data, settings)
    plan = read_plan(asking.plan)
    spending = asking.spending
    folder = None if out is None else Path(out)
    cells = _plan_cells(settings, plan, folder)
    if asking.cluster.engine == "ray":
        started(asking.cluster.address, "a suite on Ray")
    models_by_identity = {id(cell.entrant.model): cell.entrant.model for cell in cells}
    models = list(models_by_identity.values())
    result = SuiteRun(describe_suite(settings, plan, models, cells), cells)
    if folder is not None and not spending.dry_run and not (folder / RESULTS).exists():
        # Written first: it marks the folder as a suite's, even if the run is interrupted.
        write_whole(folder / RESULTS, result_bytes({"suite": result.settings, "cells": []}))
    with asking.opened() as cache, cache.parts_of(Ledger(spending)) as ledger:
        work = _SuiteWork(settings, plan, asking.cluster, cache, ledger, cells, progress or (lambda cells: None))
        for model in models:
            work.run_model(model)
    if spending.dry_run:
        result.plan = {**ledger.planned({}), "by_variant": work.plans}
    elif folder is not None:
        result.settings["asked"] = ledger.spent()
        result.settings["replayed"] = ledger.replays.to_json()
        result.page = write_suite(result, folder)
    return result


def read_settings(data: SuiteInput, settings: SuiteSettings) -> SuiteSettings:
    """Return the settings with their data, given or from a suite.toml.

    A suite.toml is read if it is named first. Datasets that are named after a suite.toml, and settings that are not the
    default, replace those of the file.
    """
    first = data[0] if data else None
    if isinstance(first, (str, Path)) and Path(first).suffix == ".toml":
        return read_suite(Path(first), replace(settings, data=data[1:]))
    return replace(settings, data=data)


def read_plan(plan: ScoringPlan) -> ScoringPlan:
    """Load the prompt and the solved examples of a scoring plan."""
    pool = None if plan.shots_from is None else load_one(plan.shots_from)
    return replace(plan, prompt=read_prompt(plan.prompt), shots_from=pool)


def describe_suite(
    settings: SuiteSettings, plan: ScoringPlan, models: Sequence[SuiteModel], cells: Sequence[SuiteCell]
) -> dict[str, Any]:
    """Settings of a suite as suite.json records them.

    They are enough to run it again. The subset is left out if there is none.
    """
    description: dict[str, Any] = {
        "winokit": winokit.__version__,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "models": [model.title for model in models],
        "datasets": {cell.dataset: cell.data.asked.content_hash for cell in cells},
        "scorings": list(settings.scoring or ()),
        "shots": list(settings.shots),
        "protocol": list(settings.protocol),
    }
    if settings.subset:
        description["subset"] = list(settings.subset)
    description["seed"] = plan.seed
    description["substitution"] = plan.substitution
    return description


def _plan_cells(settings: SuiteSettings, plan: ScoringPlan, folder: Path | None) -> list[SuiteCell]:
    """Make every cell of a suite, and check them.

    All that can be checked before anything is run is checked here. `folder` is that of the suite, or None if nothing is
    written.
    """
    models, data = _load_models_and_data(settings)
    dataset_names = [item.whole.card.name for item in data]
    for model in models:
        _check_suite_model(model, dataset_names)
    _check_scoring(settings, plan)
    if folder is not None:
        check_own_folder(folder, ("index.html", "cells"), ours=(folder / RESULTS).exists(), of="a suite")
    entrants = _list_entrants(models, settings)
    _refuse_repeated_names("models", [entrant.name for entrant in entrants])
    _refuse_repeated_names("datasets", [item.asked.card.name for item in data])
    return [_make_cell(entrant, item, folder) for entrant, item in product(entrants, data)]


def _load_models_and_data(settings: SuiteSettings) -> tuple[list[SuiteModel], list[SuiteData]]:
    """List the models of a suite, and load its datasets.

    Models are not loaded yet. A folder of data gives a dataset per file. Raises BadInput if there are no models or no
    datasets.
    """
    models = [_make_suite_model(model) for model in settings.model]
    entries = [_make_suite_data(data) for data in settings.data]
    data = list(chain.from_iterable(entry.loaded(settings.limit) for entry in entries))
    has_models = models or settings.predictions
    if not has_models or not data:
        raise BadInput("expected models and data: winokit suite DATA --model SPEC, or a suite.toml that has both")
    models += _group_stored_models(settings.predictions, data)
    return models, data


def _make_suite_model(model: str | Model | SuiteModel) -> SuiteModel:
    """Make an entry for a SPEC or a model.

    An entry is returned as it is.
    """
    return model if isinstance(model, SuiteModel) else SuiteModel(model)


def _make_suite_data(data: DataLike | SuiteData) -> SuiteData:
    """Make an entry for a dataset or its name.

    An entry is returned as it is.
    """
    return data if isinstance(data, SuiteData) else SuiteData(data)


def _check_scoring(settings: SuiteSettings, plan: ScoringPlan) -> None:
    """Raise BadInput for unknown scorings, or for needless examples.

    Examples are needless if they are named, and no number of shots asks for any.
    """
    for name in settings.scoring or ():
        parse_scoring(name)
    has_shots = any(settings.shots)
    if plan.shots_from is not None and not has_shots:
        raise UnusedSetting("shots_from", "it needs --shots: how many to put before each problem")


def _check_suite_model(model: SuiteModel, dataset_names: Sequence[str]) -> None:
    """Raise BadInput if a model does not fit into the suite.

    It must be loadable, give one answer to each problem, and have predictions only for datasets of the suite.
    """
    if model.spec is not None:
        check_model(model.spec)
        samples = isinstance(model.spec, str) and Spec.parse(model.spec).options.get("n", "1") != "1"
        if samples:
            raise BadInput(f"model {model.spec!r}: a suite takes one answer to each problem: leave out ?n=")
    for name in model.predictions or ():
        check_known("dataset of this suite", name, dataset_names)


def _refuse_repeated_names(kind: str, names: Sequence[str]) -> None:
    """Raise BadInput if two names give one folder name.

    `kind` is what they name: models or datasets.
    """
    folder_name_counts = Counter(map(_make_folder_name, names))
    for name, count in folder_name_counts.items():
        if count > 1:
            raise BadInput(f"two {kind} are called {name!r}: give one of them another name, or leave it out")


def _make_cell(entrant: Entrant, data: SuiteData, folder: Path | None) -> SuiteCell:
    """Make the cell of an entrant on a dataset.

    It is empty if the entrant has only predictions for other datasets. `folder` is that of the suite. None if nothing
    is written.
    """
    cell = SuiteCell(entrant, data)
    stored_files = entrant.model.predictions
    name = data.whole.card.name
    if stored_files is not None and name not in stored_files:
        cell.state = EMPTY
        cell.why = "no predictions are stored"
    elif stored_files is not None:
        cell.predictions = Path(stored_files[name])
        _find_model_name(cell.predictions, data.whole)  # refuses files of several models
    if folder is not None:
        cell.folder = folder / "cells" / _make_folder_name(entrant.name) / _make_folder_name(cell.dataset)
    return cell


def _group_stored_models(predictions: Sequence[str], data: Sequence[SuiteData]) -> list[SuiteModel]:
    """Make the models of `--predictions DATA=FILE`, named as in their files.

    Files of one model for several datasets are one model. If a second file of a dataset names the same model, the
    file's name is added to the model's. Raises BadInput if names are still the same.
    """
    datasets = {item.whole.card.name: item.whole for item in data}
    files_by_model: dict[str, dict[str, str | Path]] = {}
    for text in predictions:
        dataset_name, equals, path = text.partition("=")
        if not equals:
            raise BadInput(f"--predictions {text}: expected DATA=FILE, with DATA as the dataset is called")
        check_known("dataset of this suite", dataset_name, datasets)
        name = _find_model_name(Path(path), datasets[dataset_name])
        if dataset_name in files_by_model.get(name, {}):
            name = f"{name} ({Path(path).stem})"
        files = files_by_model.setdefault(name, {})
        if dataset_name in files:
            raise BadInput(f"two models are called {name!r}: give one of them another name, or leave it out")
        files[dataset_name] = path
    return [SuiteModel(name=name, predictions=files) for name, files in files_by_model.items()]


def _list_entrants(models: Sequence[SuiteModel], settings: SuiteSettings) -> list[Entrant]:
    """List every model under every scoring and number of shots.

    Stored predictions are one entrant, as they are.
    """
    entrants: list[Entrant] = []
    for model in models:
        is_stored = model.predictions is not None
        combinations = [(None, 0)] if is_stored else product(settings.scorings, settings.shots)
        for scoring, shots in combinations:
            name_parts = [model.title]
            if scoring and len(settings.scorings) > 1:
                name_parts.append(scoring)
            if len(settings.shots) > 1 and not is_stored:
                name_parts.append(f"{shots} shots")
            name = " · ".join(name_parts)
            entrants.append(Entrant(model, scoring, shots, name, number=len(entrants) + 1))
    return entrants


def _find_model_name(path: Path, dataset: Dataset) -> str:
    """Read the name of the model in a file of predictions.

    The predictions are for `dataset`. Raises BadInput if the file has several models or scorings.
    """
    scorers = {(part.model, part.scoring) for part in read_predictions(path, dataset) if part.variant == ORIGINAL}
    if len(scorers) != 1:
        scorer_names = sorted(f"{model} ({scoring})" for model, scoring in scorers)
        found_names = ", ".join(scorer_names) or "none"
        raise BadInput(f"{path}: expected predictions by one model under one scoring, found {found_names}")
    ((name, _),) = scorers
    return name


def _make_folder_name(name: str) -> str:
    """A folder name for the name of an entrant or a dataset."""
    return as_file_name(name).strip("-.") or "unnamed"


@dataclass
class _SuiteWork:
    """Runs the cells of a suite, which share settings, cache and ledger."""

    settings: SuiteSettings
    plan: ScoringPlan
    cluster: ClusterSettings
    cache: Cache
    ledger: Ledger
    """What all cells may spend, and what they spent."""
    cells: Sequence[SuiteCell]
    watch: Watch
    """Called with all cells whenever one of them changes."""
    plans: list[dict[str, Any]] = field(default_factory=list)
    """In a dry run, what each cell would ask."""

    def run_model(self, model: SuiteModel) -> None:
        """Run the cells of a model that are not done.

        The model is loaded only if there are any, and released. If it cannot be loaded, its cells are marked as failed.
        In a dry run nothing happens to stored predictions, which ask nothing.
        """
        cells = [cell for cell in self.cells if cell.entrant.model is model and cell.state != EMPTY]
        identity = identity_of(model)
        if identity is not None:
            cells = [cell for cell in cells if not self.resume_cell(cell, identity)]
        has_nothing_to_plan = model.spec is None and self.ledger.spending.dry_run
        if not cells or has_nothing_to_plan:
            return
        try:
            loaded = self.load_model(model)
        except Exception as error:
            for cell in cells:
                self.fail_cell(cell, error)
            return
        try:
            self.run_cells(cells, loaded, identity or self.lasting_fingerprint(loaded))
        finally:
            if loaded is not model.spec:
                release(loaded)

    def run_cells(self, cells: Sequence[SuiteCell], model: Any, identity: str | None) -> None:
        """Run the cells of a loaded model that are not done.

        A cell is done if its folder has an audit of a model with this `identity`. Without a lasting identity (None),
        every cell is run.
        """
        for cell in cells:
            if identity is None:
                self.run_cell(cell, model, model.fingerprint)
            elif not self.resume_cell(cell, identity):
                self.run_cell(cell, model, identity)

    def load_model(self, model: SuiteModel) -> Any:
        """Load the model of a SPEC, tried twice if it fails.

        None for stored predictions.
        """
        spec = model.spec
        if spec is None:
            return None
        return self.try_twice(lambda: load_on(spec, self.cluster))

    def lasting_fingerprint(self, model: Model) -> str | None:
        """Fingerprint that identifies a loaded model over time.

        None if nothing does, or if everything is to be asked again.
        """
        if self.ledger.spending.forget and is_served(model):
            return None
        return lasting_fingerprint(model, self.cache)

    def key_of(self, cell: SuiteCell, identity: str) -> str:
        """Hash of everything that determines a cell.

        `identity` is that of its model.
        """
        entrant = cell.entrant
        texts = [winokit.__version__, identity, entrant.name, cell.dataset, cell.data.asked.content_hash]
        texts += map(_hash_content, cell.data.perturbed)
        texts.append(_hash_content(self.plan.shots_from))
        plan = asdict(replace(self.plan, scoring=entrant.scoring, shots=entrant.shots, shots_from=None))
        rows = list(self.settings.protocol)
        rows += [f"@{subset}" for subset in self.settings.subset]
        return hashlib.sha256(repr([texts, plan, rows]).encode()).hexdigest()

    def resume_cell(self, cell: SuiteCell, identity: str) -> bool:
        """Whether a cell is done, now or by an earlier audit.

        If its folder has an audit of the same key, the cell is filled from it. Never in a dry run, or without a folder.
        """
        if cell.folder is None or self.ledger.spending.dry_run:
            return False
        with suppress(OSError, ValueError, KeyError, BadInput):
            record = json.loads((cell.folder / CELL).read_bytes())
            if record["key"] == self.key_of(cell, identity):
                run = Run.load(cell.folder)
                cell.of_run = str(run.settings["when"])
                self.finish_cell(cell, run, record["seconds"], record["parameters"])
        return cell.state == DONE

    def run_cell(self, cell: SuiteCell, model: Model | None, identity: str) -> None:
        """Audit a cell, tried twice if it fails.

        It writes cell.json into the cell's folder. `model` is None for stored predictions. An audit that fails twice
        marks the cell as failed, with the reason. In a dry run, what the cell would ask is added to `plans` instead.
        """
        cell.state = RUNNING
        begun = time.monotonic()
        self.watch(self.cells)
        try:
            with telling(lambda note: None):  # notes are on the cell's own page
                run = self.try_twice(lambda: self.audit_cell(cell, model))
        except Exception as error:
            self.fail_cell(cell, error)
            return
        seconds = time.monotonic() - begun
        parameters = None if model is None else parameters_of(model)
        if "plan" in run.settings:
            self.plans.append(_describe_plan(cell, run.settings["plan"]))
        elif cell.folder is not None:
            record = {"key": self.key_of(cell, identity), "seconds": seconds, "parameters": parameters}
            write_whole(cell.folder / CELL, result_bytes(record))
        self.finish_cell(cell, run, seconds, parameters)

    def audit_cell(self, cell: SuiteCell, model: Model | None) -> Run:
        """Audit the model of a cell, or its stored predictions.

        `model` is None for the latter.
        """

        def report_progress(done: float, total: float) -> None:
            cell.share = done / max(1, total)
            self.watch(self.cells)

        settings = AuditSettings(
            protocol=self.settings.protocol,
            subset=self.settings.subset,
            perturbed=cell.data.perturbed,
            loading=Loading(limit=cell.data.limit),
        )
        asking = Asking(cache=self.cache)
        if model is None and cell.predictions is not None:
            settings = replace(settings, predictions=[cell.predictions])
        if model is not None:
            shots = cell.entrant.shots
            plan = replace(self.plan, shots=shots, shots_from=self.plan.shots_from if shots else None)
            settings = replace(settings, scoring=cell.entrant.scoring)
            asking = Asking(plan=plan, spending=self.ledger.spending, cache=self.cache)
        out = None if self.ledger.spending.dry_run else cell.folder
        return audit(cell.data.whole, model, settings=settings, asking=asking, out=out, progress=report_progress)

    def try_twice(self, work: Callable[[], Any]) -> Any:
        """Return the result of some work, tried twice if it fails.

        It is not tried again if it was stopped, or if nothing may be spent any more.
        """
        try:
            return work()
        except AskingStopped:
            raise
        except Exception:
            if self.ledger.spending.exhausted(self.ledger.usages):
                raise
        return work()

    def finish_cell(self, cell: SuiteCell, run: Run, seconds: float, parameters: float | None) -> None:
        """Mark a cell as done, and keep the results of its audit.

        Only rows and predictions that the page needs are kept. `parameters` is the number that was counted: one that
        suite.toml states goes before it.
        """
        model = cell.entrant.model
        rows = []
        for row in run.metrics:
            details = {**row.details, "entrant": cell.entrant.name}
            rows.append(replace(row, model=model.title, details=details))
        originals = [replace(row, model=model.title) for row in run.predictions if row.variant == ORIGINAL]
        cell.run = replace(run, metrics=rows, predictions=originals, variants={}, transcripts=[])
        cell.state = DONE
        cell.share = 1.0
        cell.seconds = seconds
        cell.parameters = model.parameters or parameters
        self.watch(self.cells)

    def fail_cell(self, cell: SuiteCell, error: Exception) -> None:
        """Mark a cell as failed, with the reason in one line.

        Addresses of servers are left out of it.
        """
        text = str(error) if isinstance(error, WinokitError) else f"{type(error).__name__}: {error}"
        one_line = " ".join(text.split())
        cell.state = FAILED
        cell.why = URL.sub("…", one_line)
        self.watch(self.cells)


def _hash_content(data: object) -> str:
    """The content hash of a dataset, or other data as text."""
    return data.content_hash if isinstance(data, Dataset) else str(data)


def _describe_plan(cell: SuiteCell, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of what a cell would ask in all.

    Those by variant and by protocol are left out.
    """
    description: dict[str, Any] = {"model": cell.entrant.name, "dataset": cell.dataset}
    for key, value in plan.items():
        if not key.startswith("by_"):
            description[key] = value
    return description


def identity_of(model: SuiteModel) -> str | None:
    """Text that identifies a model without loading it.

    It is the SPEC with sizes and times of its files, or the model's fingerprint. None if only the loaded model tells
    what it is.
    """
    if model.predictions is not None:
        return str([_describe_files(Path(path)) for path in model.predictions.values()])
    if model.spec is None:
        return None
    if not isinstance(model.spec, str):
        return None if is_served(model.spec) else model.spec.fingerprint
    spec = Spec.parse(model.spec)
    texts = [spec.place, *spec.options.values()]
    paths = [Path(text) for text in texts if text and Path(text).exists()]
    is_identified = spec.prefix in TOLD_BY_SPEC or Path(spec.place) in paths
    if not is_identified:
        return None
    return f"{spec.text} {[_describe_files(path) for path in paths]}"


def _describe_files(path: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of a file, or of a folder's files.

    Sizes are in bytes, times of change in nanoseconds.
    """
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = [file for file in paths if file.is_file()]
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
