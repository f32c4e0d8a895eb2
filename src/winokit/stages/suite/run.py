"""The suite: models × datasets × scorings × shots.

What is done stays done: a cell whose folder says that nothing has changed which determines it is read, not run. Of a
server that does not say since when its model exists, nobody knows that: its cells are run again, through the cache of
answers. A cell that fails is tried once more, then says why, and the rest goes on.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

import winokit
from winokit.data.loading import Loading, load_one
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
"""Models of which the SPEC says everything that can be known."""
CELL = "cell.json"
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
    models = list({id(cell.entrant.model): cell.entrant.model for cell in cells}.values())
    result = SuiteRun(describe_suite(settings, plan, models, cells), cells)
    if folder is not None and not spending.dry_run and not (folder / RESULTS).exists():
        # First, since it is what tells that the folder is a suite's, should the rest not come to be written.
        write_whole(folder / RESULTS, result_bytes({"suite": result.settings, "cells": []}))
    with asking.opened() as known, known.parts_of(Ledger(spending)) as whole:
        work = _Work(settings, plan, asking.cluster, known, whole, cells, progress or (lambda cells: None))
        for model in models:
            work.go_through(model)
    if spending.dry_run:
        result.plan = {**whole.planned({}), "by_variant": work.plans}
    elif folder is not None:
        result.settings["asked"] = whole.spent()
        result.settings["replayed"] = whole.replays.to_json()
        result.page = write_suite(result, folder)
    return result


def read_settings(data: SuiteInput, settings: SuiteSettings) -> SuiteSettings:
    """Return the settings with the data, or those of a suite.toml with the data."""
    first = data[0] if data else None
    if isinstance(first, (str, Path)) and Path(first).suffix == ".toml":
        return read_suite(Path(first), replace(settings, data=data[1:]))
    return replace(settings, data=data)


def read_plan(plan: ScoringPlan) -> ScoringPlan:
    """The plan with its prompt and its pool of shots loaded."""
    pool = None if plan.shots_from is None else load_one(plan.shots_from)
    return replace(plan, prompt=read_prompt(plan.prompt), shots_from=pool)


def describe_suite(
    settings: SuiteSettings, plan: ScoringPlan, models: Sequence[SuiteModel], cells: Sequence[SuiteCell]
) -> dict[str, Any]:
    """Settings of a suite, enough to do it again."""
    return {
        "winokit": winokit.__version__,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "models": [model.title for model in models],
        "datasets": {cell.dataset: cell.data.asked.content_hash for cell in cells},
        "scorings": list(settings.scoring or ()),
        "shots": list(settings.shots),
        "protocol": list(settings.protocol),
        **({"subset": list(settings.subset)} if settings.subset else {}),
        "seed": plan.seed,
        "substitution": plan.substitution,
    }


def _plan_cells(settings: SuiteSettings, plan: ScoringPlan, folder: Path | None) -> list[SuiteCell]:
    """Every cell, after a check of all that can be checked before anything is run."""
    models = [each if isinstance(each, SuiteModel) else SuiteModel(each) for each in settings.model]
    listed = [each if isinstance(each, SuiteData) else SuiteData(each) for each in settings.data]
    data = list(chain.from_iterable(each.loaded(settings.limit) for each in listed))
    has_models = models or settings.predictions
    if not has_models or not data:
        raise BadInput("expected models and data: winokit suite DATA --model SPEC, or a suite.toml that has both")
    models += _group_stored_models(settings.predictions, data)
    for model in models:
        if model.spec is not None:
            check_model(model.spec)
            if isinstance(model.spec, str) and Spec.parse(model.spec).options.get("n", "1") != "1":
                raise BadInput(f"model {model.spec!r}: a suite takes one answer to each problem: leave out ?n=")
        for name in model.predictions or ():
            check_known("dataset of this suite", name, [each.whole.card.name for each in data])
    for name in settings.scoring or ():
        parse_scoring(name)
    if plan.shots_from is not None and not any(settings.shots):
        raise UnusedSetting("shots_from", "it needs --shots: how many to put before each problem")
    if folder is not None:
        check_own_folder(folder, ("index.html", "cells"), ours=(folder / RESULTS).exists(), of="a suite")
    entrants = _list_entrants(models, settings)
    for what, names in (
        ("models", [each.name for each in entrants]),
        ("datasets", [each.asked.card.name for each in data]),
    ):
        for name, times in Counter(map(_make_folder_name, names)).items():
            if times > 1:
                raise BadInput(f"two {what} are called {name!r}: give one of them another name, or leave it out")
    cells = [SuiteCell(entrant, each) for entrant, each in product(entrants, data)]
    for cell in cells:
        stored = cell.entrant.model.predictions
        name = cell.data.whole.card.name
        if stored is not None and name not in stored:
            cell.state = EMPTY
            cell.why = "no predictions are stored"
        elif stored is not None:
            cell.predictions = Path(stored[name])
            _find_model_name(cell.predictions, cell.data.whole)
        if folder is not None:
            cell.folder = folder / "cells" / _make_folder_name(cell.entrant.name) / _make_folder_name(cell.dataset)
    return cells


def _group_stored_models(given: Sequence[str], data: Sequence[SuiteData]) -> list[SuiteModel]:
    """The models of `DATA=FILE`s, named as in their files.

    One model's files for several datasets are one model. The file's name is added to tell two models of one name apart.
    """
    whole_by_name = {each.whole.card.name: each.whole for each in data}
    files_by_model: dict[str, dict[str, str | Path]] = {}
    for text in given:
        dataset, equals, path = text.partition("=")
        if not equals:
            raise BadInput(f"--predictions {text}: expected DATA=FILE, with DATA as the dataset is called")
        check_known("dataset of this suite", dataset, whole_by_name)
        name = _find_model_name(Path(path), whole_by_name[dataset])
        if dataset in files_by_model.get(name, {}):
            name = f"{name} ({Path(path).stem})"
        files = files_by_model.setdefault(name, {})
        if dataset in files:
            raise BadInput(f"two models are called {name!r}: give one of them another name, or leave it out")
        files[dataset] = path
    return [SuiteModel(name=name, predictions=files) for name, files in files_by_model.items()]


def _list_entrants(models: Sequence[SuiteModel], settings: SuiteSettings) -> list[Entrant]:
    """Return every model under every scoring and number of shots, with a name."""
    entrants: list[Entrant] = []
    for model in models:
        stored = model.predictions is not None
        for scoring, shots in [(None, 0)] if stored else product(settings.scorings, settings.shots):
            details = [scoring] if scoring and len(settings.scorings) > 1 else []
            details += [f"{shots} shots"] if len(settings.shots) > 1 and not stored else []
            entrants.append(Entrant(model, scoring, shots, " · ".join([model.title, *details]), len(entrants) + 1))
    return entrants


def _find_model_name(path: Path, whole: Dataset) -> str:
    """The model of a file of predictions.

    Raises BadInput if the file has several models or scorings.
    """
    names = {(part.model, part.scoring) for part in read_predictions(path, whole) if part.variant == ORIGINAL}
    if len(names) != 1:
        found = ", ".join(sorted(f"{model} ({scoring})" for model, scoring in names)) or "none"
        raise BadInput(f"{path}: expected predictions by one model under one scoring, found {found}")
    ((name, _),) = names
    return name


def _make_folder_name(name: str) -> str:
    return as_file_name(name).strip("-.") or "unnamed"


@dataclass
class _Work:
    """State and settings that all cells share while they run."""

    settings: SuiteSettings
    plan: ScoringPlan
    cluster: ClusterSettings
    cache: Cache
    whole: Ledger
    cells: Sequence[SuiteCell]
    watch: Watch
    plans: list[dict[str, Any]] = field(default_factory=list)
    """Of a dry run, what each cell would ask."""

    def go_through(self, model: SuiteModel) -> None:
        """Do what is left to do of a model's cells: it is loaded where there is something, and let go."""
        todo = [cell for cell in self.cells if cell.entrant.model is model and cell.state != EMPTY]
        identity = identity_of(model)
        spec = model.spec
        if identity is not None:
            todo = [cell for cell in todo if not self.resumed(cell, identity)]
        if not todo or (spec is None and self.whole.spending.dry_run):
            return
        try:
            loaded: Any = None if spec is None else self.twice(lambda: load_on(spec, self.cluster))
        except Exception as error:
            for cell in todo:
                self.fail(cell, error)
            return
        try:
            lasting = identity or self.lasting_fingerprint(loaded)
            for cell in todo:
                if lasting is None or not self.resumed(cell, lasting):
                    self.attempt(cell, loaded, lasting or loaded.fingerprint)
        finally:
            if loaded is not spec:
                release(loaded)

    def lasting_fingerprint(self, model: Model) -> str | None:
        """Fingerprint that identifies a loaded model over time.

        None if nothing does, or if everything is to be asked again.
        """
        if self.whole.spending.forget and is_served(model):
            return None
        return lasting_fingerprint(model, self.cache)

    def key(self, cell: SuiteCell, identity: str) -> str:
        """Everything that determines a cell, as a hash."""
        texts = [winokit.__version__, identity, cell.entrant.name, cell.dataset, cell.data.asked.content_hash]
        texts += [each.content_hash if isinstance(each, Dataset) else str(each) for each in cell.data.perturbed]
        pool = self.plan.shots_from
        texts.append(pool.content_hash if isinstance(pool, Dataset) else str(pool))
        plan = asdict(replace(self.plan, scoring=cell.entrant.scoring, shots=cell.entrant.shots, shots_from=None))
        rows = list(self.settings.protocol)
        rows += [f"@{subset}" for subset in self.settings.subset]
        return hashlib.sha256(repr([texts, plan, rows]).encode()).hexdigest()

    def resumed(self, cell: SuiteCell, identity: str) -> bool:
        """Whether a cell is done, and was read back from its folder."""
        if cell.folder is None or self.whole.spending.dry_run:
            return False
        with suppress(OSError, ValueError, KeyError, BadInput):
            record = json.loads((cell.folder / CELL).read_bytes())
            if record["key"] == self.key(cell, identity):
                run = Run.load(cell.folder)
                cell.of_run = str(run.settings["when"])
                self.finish(cell, run, record["seconds"], record["parameters"])
        return cell.state == DONE

    def attempt(self, cell: SuiteCell, model: Model | None, identity: str) -> None:
        """Run a cell, twice if needed. A failure says why."""
        cell.state = RUNNING
        begun = time.monotonic()
        self.watch(self.cells)
        try:
            with telling(lambda note: None):  # they stand on the cell's own page
                run = self.twice(lambda: self.audited(cell, model))
        except Exception as error:
            self.fail(cell, error)
            return
        seconds = time.monotonic() - begun
        parameters = None if model is None else parameters_of(model)
        if "plan" in run.settings:
            cell_names = {"model": cell.entrant.name, "dataset": cell.dataset}
            self.plans.append({**cell_names, **{key: n for key, n in run.settings["plan"].items() if key[:3] != "by_"}})
        elif cell.folder is not None:
            record = {"key": self.key(cell, identity), "seconds": seconds, "parameters": parameters}
            write_whole(cell.folder / CELL, result_bytes(record))
        self.finish(cell, run, seconds, parameters)

    def audited(self, cell: SuiteCell, model: Model | None) -> Run:
        """The audit that a cell is."""

        def moved(done: float, total: float) -> None:
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
            asking = Asking(plan=plan, spending=self.whole.spending, cache=self.cache)
        out = None if self.whole.spending.dry_run else cell.folder
        return audit(cell.data.whole, model, settings=settings, asking=asking, out=out, progress=moved)

    def twice(self, work: Callable[[], Any]) -> Any:
        """Return the result of some work, tried twice if it fails.

        It is not tried again if it would fail alike.
        """
        try:
            return work()
        except AskingStopped:
            raise
        except Exception:
            if self.whole.spending.exhausted(self.whole.usages):
                raise
        return work()

    def finish(self, cell: SuiteCell, run: Run, seconds: float, parameters: float | None) -> None:
        """Note what became of a cell, and keep of its run what the page needs."""
        name = cell.entrant.model.title
        about = {"entrant": cell.entrant.name}
        originals = [replace(row, model=name) for row in run.predictions if row.variant == ORIGINAL]
        rows = [replace(row, model=name, details={**row.details, **about}) for row in run.metrics]
        cell.run = replace(run, metrics=rows, predictions=originals, variants={}, transcripts=[])
        cell.state = DONE
        cell.share = 1.0
        cell.seconds = seconds
        cell.parameters = cell.entrant.model.parameters or parameters
        self.watch(self.cells)

    def fail(self, cell: SuiteCell, error: Exception) -> None:
        """Have a cell say why it failed: in one line, and without addresses of servers."""
        text = str(error) if isinstance(error, WinokitError) else f"{type(error).__name__}: {error}"
        cell.state = FAILED
        cell.why = URL.sub("…", " ".join(text.split()))
        self.watch(self.cells)


def identity_of(model: SuiteModel) -> str | None:
    """Identity of a model that needs no loading, or None."""
    if model.predictions is not None:
        return str([_describe_files(Path(path)) for path in model.predictions.values()])
    if not isinstance(model.spec, str):
        return None if model.spec is None or is_served(model.spec) else model.spec.fingerprint
    parsed = Spec.parse(model.spec)
    places = [Path(text) for text in (parsed.place, *parsed.options.values()) if text and Path(text).exists()]
    identified = parsed.prefix in TOLD_BY_SPEC or Path(parsed.place) in places
    return f"{parsed.text} {[_describe_files(place) for place in places]}" if identified else None


def _describe_files(path: Path) -> list[tuple[str, int, int]]:
    """The sizes and times of a file, or of all files in a folder."""
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = [file for file in paths if file.is_file()]
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
