"""A run: a folder with `predictions.jsonl`, `results.json` and `report/`.

Rows are flat, so that one line of pandas or jq reads them.
"""

import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import winokit
from winokit.data.formats import WriteOptions, jsonl, read, write
from winokit.errors import BadInput
from winokit.files import check_own_folder, json_lines, json_rows, result_bytes, write_whole
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.methods.scoring.transcripts import Transcript
from winokit.notebook import to_frame
from winokit.problem import Dataset, collector_off
from winokit.progress import tell
from winokit.results import Brief, Metric, rows_to_json

RESULTS, PREDICTIONS, PROBLEMS, VARIANTS = "results.json", "predictions.jsonl", "problems.jsonl", "variants"
TRANSCRIPTS = "transcripts.jsonl.gz"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Problems that a protocol could not use, and why."""

    protocol: str
    subset: str
    why: str
    n: int


@dataclass(repr=False)
class Run(Brief):
    """The outcome of an audit: rows of metrics, predictions, and what was left out.

    `find` picks a row, `to_frame` makes a data frame of all, `figure` draws one of the report's figures, and `save` and
    `load` write and read its folder.
    """

    settings: dict[str, Any]
    """Versions, seeds, settings, hashes."""
    metrics: list[Metric]
    predictions: list[Prediction]
    dataset: Dataset
    variants: Mapping[str, Dataset] = field(default_factory=dict)
    """The problems of each variant; each carries the id of its original in provenance["of"]."""
    left_out: list[LeftOut] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    """What was said where models were asked questions."""
    report: Path | None = None
    """The page on it, where one was written."""

    @property
    def notes(self) -> list[str]:
        """What a user should know about the data, the models and the predictions."""
        return list(self.settings.get("notes", ()))

    def find(
        self, protocol: str, subset: str, metric: str, model: str | None = None, scoring: str | None = None
    ) -> Metric | None:
        """The first row of that name, of one model and scoring where there are several."""
        rows = (row for row in self.metrics if (row.protocol, row.subset, row.metric) == (protocol, subset, metric))
        return next((row for row in rows if model in (None, row.model) and scoring in (None, row.scoring)), None)

    def of_models(self, names: Collection[str]) -> "Run":
        """The same run with only some of its models."""
        return replace(
            self,
            metrics=[row for row in self.metrics if row.model in names],
            predictions=[row for row in self.predictions if row.model in names],
            transcripts=[row for row in self.transcripts if row.model in names],
        )

    def to_frame(self, library: str | None = None) -> Any:
        """The metrics as a data frame of pandas or polars, a row each, with the columns of `results.json`."""
        return to_frame(rows_to_json(self.metrics), library)

    def figure(self, name: str) -> Any:
        """A figure of the report as matplotlib's: `forest`, `groups`, `switching`, `artifacts`, `margins` …

        Raises
        ------
        UnknownName
            This run has no such figure; the message lists those it has.
        """
        return import_module(self.shown_by).figure(self, name)

    @collector_off()
    def save(self, folder: str | Path) -> None:
        """Write the run into a folder, replacing an earlier audit there; each file is written atomically."""
        folder = Path(folder)
        check_folder(folder)
        if gone := sorted(_audited(_settings(folder)) - _audited(self.settings)):
            tell([f"{folder}: the audit of {', '.join(gone)} that was there is replaced; another --out keeps both"])
        results = {
            "run": self.settings,
            "metrics": rows_to_json(self.metrics),
            "left_out": [asdict(row) for row in self.left_out],
        }
        # First, since it is what tells that the folder is an audit's, should the rest not come to be written.
        write_whole(folder / RESULTS, result_bytes(results))
        write_predictions(self.predictions, folder / PREDICTIONS)
        if self.transcripts:
            said = json_rows([row.to_json() for row in self.transcripts])
            write_whole(folder / TRANSCRIPTS, gzip.compress(said.encode(), mtime=0))
        else:
            (folder / TRANSCRIPTS).unlink(missing_ok=True)
        write(self.dataset, folder / PROBLEMS, "jsonl")
        for name, variant in self.variants.items():
            rows = [jsonl.render(problem, WriteOptions(source_ids=True)) for problem in variant]
            write_whole(folder / VARIANTS / f"{name}.jsonl", json_rows(rows).encode())
        for path in (folder / VARIANTS).glob("*.jsonl"):
            if path.stem not in self.variants:  # the audit that was here had it
                path.unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: str | Path) -> "Run":
        """Read a run back from its folder."""
        folder = Path(folder)
        try:
            results = json.loads((folder / RESULTS).read_text("utf-8"))
            metrics = [Metric.from_json(row) for row in results["metrics"]]
            left_out = [LeftOut(**row) for row in results.get("left_out", [])]
            predictions = [*map(Prediction.from_json, json_lines((folder / PREDICTIONS).read_text("utf-8")))]
            if twice := len(predictions) - len({(row.id, row.variant, row.model, row.scoring) for row in predictions}):
                raise ValueError(f"{twice:,} of {len(predictions):,} predictions repeat an earlier one")
            settings = dict(results["run"])
            transcripts = list(_transcripts(folder / TRANSCRIPTS))
        except FileNotFoundError as error:
            raise BadInput(f"{folder}: no run there ({Path(str(error.filename)).name} is missing)") from None
        except OSError as error:
            raise BadInput(f"{folder}: no run there ({error.strerror})") from None
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, zlib.error) as error:
            ours, version = winokit.__version__, _settings(folder).get("winokit")
            other = f": written by winokit {version}, this is {ours}" if version not in (None, ours) else ""
            raise BadInput(f"{folder}: not a run that can be read ({error}){other}") from None
        variants = {path.stem: read(path, "jsonl") for path in sorted((folder / VARIANTS).glob("*.jsonl"))}
        return cls(settings, metrics, predictions, read(folder / PROBLEMS, "jsonl"), variants, left_out, transcripts)


def check_folder(folder: Path) -> None:
    """Refuse a folder with files that are not an audit's, and would be lost."""
    names = (RESULTS, PREDICTIONS, TRANSCRIPTS, PROBLEMS, VARIANTS, "report")
    check_own_folder(folder, names, ours="protocols" in _settings(folder), of="an audit")


def _settings(folder: Path) -> dict[str, Any]:
    """The settings of the run in a folder; nothing where none can be read."""
    try:
        return dict(json.loads((folder / RESULTS).read_bytes())["run"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _audited(settings: Mapping[str, Any]) -> set[str]:
    """The models and the files of predictions of a run."""
    named = (settings.get("models"), settings.get("predictions"))
    return {str(name) for names in named if isinstance(names, (list, dict)) for name in names}


def _transcripts(path: Path) -> Iterator[Transcript]:
    """What was said; a run of an earlier version, or of models that are not asked questions, has none."""
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from (Transcript.from_json(json.loads(line)) for line in file)
