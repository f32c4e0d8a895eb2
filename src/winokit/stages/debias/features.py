"""Features for a filter: read from files, or computed by a model."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from winokit.drawing.wording import percent
from winokit.errors import BadInput, refusing
from winokit.methods.aflite.inputs import Matrix, Shards, open_features
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.features import embed
from winokit.models.base import Model
from winokit.models.registry import load_model
from winokit.problem import Dataset
from winokit.progress import Progress

HASHED_AT_ONCE = 4096
COIN = 0.5
"""Accuracy of random guessing: all problems with features have two candidates."""


@dataclass(frozen=True)
class DebiasFeatures:
    """A matrix with one row per problem, in the dataset's order, and its origin."""

    rows: Matrix
    model: str
    kind: str
    """`concat`, `difference`, `single`, or `unknown` if the origin does not tell."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """More settings of the embedding, to be recorded."""
    notes: tuple[str, ...] = ()
    """Messages for the user on these features."""

    @classmethod
    def of_array(cls, rows: Any) -> "DebiasFeatures":
        """Features from an array of unknown origin.

        Raises BadInput unless `rows` is a NumPy array.
        """
        if not isinstance(rows, np.ndarray):
            raise BadInput(
                f"features: expected a path, an array of NumPy or DebiasFeatures, found {type(rows).__name__}"
            )
        return cls(rows, "given", "unknown")

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self.rows.shape

    @property
    def settings(self) -> dict[str, Any]:
        """The origin to record, with the shape and hash of the matrix."""
        digest = hashlib.sha256()
        for start in range(0, len(self.rows), HASHED_AT_ONCE):
            block = self.rows[start : start + HASHED_AT_ONCE]
            digest.update(np.ascontiguousarray(block).tobytes())
        origin = {"model": self.model, "features": self.kind, **self.about}
        return origin | {
            "rows": len(self.rows),
            "columns": self.rows.shape[1],
            "dtype": str(self.rows.dtype),
            "sha256": digest.hexdigest(),
        }


def embedded(
    dataset: Dataset,
    model: str | Model = "builtin",
    *,
    kind: str = "concat",
    pooling: str = "first",
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> DebiasFeatures:
    """Embed the problems with a model, or take their features from the cache.

    `kind` is `concat`, `difference` or `single`; `pooling` is `first`, `mean` or `span`.
    """
    loaded = load_model(model)
    rows = embed(dataset, loaded, features=kind, pooling=pooling, cache=cache, progress=progress)
    name = model if isinstance(model, str) else loaded.spec
    return DebiasFeatures(rows, name, kind, {"pooling": pooling, "fingerprint": loaded.fingerprint})


def without_held_out(path: Path, dataset: Dataset) -> Dataset:
    """Return the dataset without problems that the features' model was fine-tuned on.

    `path` is the file or folder of the features. `winokit embed --finetune` leaves these problems out of the features
    and lists their ids in the .json beside them. The new dataset has a note on how many were left out.
    """
    held_out_ids: set[str] = set()
    for description in _read_descriptions(open_features(path)):
        file_ids = description.get("held_out", ())
        held_out_ids.update(map(str, file_ids))
    usable = [problem for problem in dataset if problem.id not in held_out_ids]
    left_out_count = len(dataset) - len(usable)
    if not left_out_count:
        return dataset
    name = dataset.card.name
    note = f"{name}: {left_out_count:,} problems left out, because the features' model was fine-tuned on them"
    return dataset.with_problems(usable, [note])


def refuse_uninformed(path: Path) -> None:
    """Raise BadInput if the features' fine-tuned model is no better than chance.

    `winokit embed --finetune` records its accuracy on dev problems in the .json beside the features. Features without
    that record, or of a model that was not fine-tuned, are accepted.
    """
    descriptions = _read_descriptions(open_features(path))
    for complaint in _describe_uninformed(path, descriptions):
        raise BadInput(f"{complaint}. Fine-tune again, or use them all the same: --set allow_uninformed=on")


def _describe_uninformed(path: Path, descriptions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a complaint for each fine-tuned model that is no better than chance.

    A description says itself whether its model is informed. Descriptions of earlier versions have only the accuracy on
    dev problems: then a model with half of them right, or fewer, counts as uninformed.
    """
    for description in descriptions:
        finetuned = description.get("finetuned")
        if not isinstance(finetuned, Mapping):
            continue
        accuracy = finetuned.get("dev_accuracy")
        null_accuracy = finetuned.get("dev_null")
        is_coin_at_most = isinstance(accuracy, (int, float)) and accuracy <= COIN
        is_informed = finetuned.get("informed", not is_coin_at_most)
        if is_informed is False:
            chance = COIN if null_accuracy is None else null_accuracy
            yield (
                f"{path}: these features know nothing: the fine-tuned model has {percent(accuracy)} of its own dev "
                f"problems right, not above chance ({percent(chance)})"
            )


def read_features(path: Path | str, dataset: Dataset) -> DebiasFeatures:
    """Read the features of problems from a .npy file or a folder.

    The files of a folder are read in the order of their names. `winokit embed` writes the problems' ids beside each
    file, in a .json of the same name. Raises BadInput unless these are the dataset's ids in the same order. Without a
    .json only the number of rows is checked, and a note says so.
    """
    path = Path(path)
    rows = open_features(path)
    descriptions = list(_read_descriptions(rows))
    notes: tuple[str, ...] = ()
    if len(descriptions) == len(rows.paths):
        _check_ids(path, descriptions, dataset)
    elif len(rows) == len(dataset):
        notes = (f"{path}: there is no .json with ids, so only the number of rows could be checked",)
    if len(rows) != len(dataset):
        raise BadInput(f"{path}: {len(rows):,} rows for {len(dataset):,} problems; embed the same DATA again")
    first = descriptions[0] if descriptions else {}
    origin: dict[str, Any] = {"file": path.name}
    for name in ("pooling", "finetuned"):
        if name in first:
            origin[name] = first[name]
    model = str(first.get("model", path.name))
    kind = str(first.get("features", "unknown"))
    notes = (*notes, *dict.fromkeys(_describe_uninformed(path, descriptions)))
    return DebiasFeatures(rows, model, kind, origin, notes)


def _check_ids(path: Path, descriptions: Sequence[Mapping[str, Any]], dataset: Dataset) -> None:
    """Raise BadInput unless the descriptions list the ids of all problems in order."""
    feature_ids = list(chain.from_iterable(description["ids"] for description in descriptions))
    problem_ids = [problem.id for problem in dataset]
    if feature_ids == problem_ids:
        return
    shared_ids = set(map(str, feature_ids)) & set(problem_ids)
    shared_count = len(shared_ids)
    if shared_count == len(problem_ids) == len(feature_ids):
        raise BadInput(f"{path}: the same problems in another order; embed the same DATA again")
    coverage = f"its {len(feature_ids):,} rows hold {shared_count:,} of the {len(problem_ids):,} problems"
    raise BadInput(f"{path}: features of other problems: {coverage}")


def _read_descriptions(rows: Shards) -> Iterator[dict[str, Any]]:
    """Yield the JSON object that `winokit embed` wrote beside each file of features.

    A file without one is skipped. Raises BadInput if it is not JSON, or has no list of ids.
    """
    for features_path in rows.paths:
        json_path = features_path.with_suffix(".json")
        if not json_path.exists():
            continue
        with refusing(f"{json_path}: not a .json file written by winokit embed", OSError, ValueError):
            description = json.loads(json_path.read_text("utf-8"))
        has_ids = isinstance(description, dict) and isinstance(description.get("ids"), list)
        if not has_ids:
            raise BadInput(f"{json_path}: expected a list of ids, as winokit embed writes it")
        yield description
