"""Features for a filter: read from files that fit the problems, or made by a model."""

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
"""What a coin gets: features are of problems with two candidates."""


@dataclass(frozen=True)
class DebiasFeatures:
    """One row per problem, in the dataset's order, and their origin."""

    rows: Matrix
    model: str
    kind: str
    """concat, difference, single, or `unknown` where nobody said."""
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of_array(cls, rows: Any) -> "DebiasFeatures":
        """Features from an array, of unknown origin. Raises BadInput unless it is a NumPy array."""
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
        """Settings to record in a result, with a hash of the numbers."""
        digest = hashlib.sha256()
        for at in range(0, len(self.rows), HASHED_AT_ONCE):
            digest.update(np.ascontiguousarray(self.rows[at : at + HASHED_AT_ONCE]).tobytes())
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
    """Compute features with a model, or take them from the cache."""
    loaded = load_model(model)
    rows = embed(dataset, loaded, features=kind, pooling=pooling, cache=cache, progress=progress)
    name = model if isinstance(model, str) else loaded.spec
    return DebiasFeatures(rows, name, kind, {"pooling": pooling, "fingerprint": loaded.fingerprint})


def without_held_out(path: Path, dataset: Dataset) -> Dataset:
    """Return the dataset without problems that the features' model was fine-tuned on.

    `winokit embed --finetune` holds them out of the features and says which they are.
    """
    held_out_ids: set[str] = set()
    for description in _read_descriptions(open_features(path)):
        held_out_ids |= set(map(str, description.get("held_out", ())))
    usable = [problem for problem in dataset if problem.id not in held_out_ids]
    left_out_count = len(dataset) - len(usable)
    if not left_out_count:
        return dataset
    name = dataset.card.name
    note = f"{name}: {left_out_count:,} problems left out, because the features' model was fine-tuned on them"
    return dataset.with_problems(usable, [note])


def refuse_uninformed(path: Path) -> None:
    """Refuse features whose fine-tuning is no better than chance on its own dev problems.

    `winokit embed --finetune` says so of them; features that do not say it, or that nobody fine-tuned, pass.
    """
    for words in _describe_uninformed(path, _read_descriptions(open_features(path))):
        raise BadInput(f"{words}. Fine-tune again, or use them all the same: --set allow_uninformed=on")


def _describe_uninformed(path: Path, descriptions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """That features know nothing, for each file that says it of its own, or has no more right than a coin.

    Earlier versions wrote how many dev problems were right, and not what that means. Half of them is at most what the
    commonest answer has.
    """
    for about in descriptions:
        finetuned = about.get("finetuned")
        if not isinstance(finetuned, Mapping):
            continue
        right = finetuned.get("dev_accuracy")
        null = finetuned.get("dev_null")
        is_coin_at_most = isinstance(right, (int, float)) and right <= COIN
        if finetuned.get("informed", not is_coin_at_most) is False:
            chance = COIN if null is None else null
            yield (
                f"{path}: these features know nothing: the fine-tuned model has {percent(right)} of its own dev "
                f"problems right, not above chance ({percent(chance)})"
            )


def read_features(path: Path | str, dataset: Dataset) -> DebiasFeatures:
    """Features from a .npy file, or from those in a folder in the order of their names, if they fit the problems.

    `winokit embed` leaves the ids beside each file, in a .json of the same name, and they must be the dataset's, in the
    same order. Without them only the number of rows can be checked, and a note says so.
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
    """Refuse features whose ids are not those of the problems, in their order."""
    feature_ids = list(chain.from_iterable(description["ids"] for description in descriptions))
    problem_ids = [problem.id for problem in dataset]
    if feature_ids == problem_ids:
        return
    shared_count = len(set(map(str, feature_ids)) & set(problem_ids))
    if shared_count == len(problem_ids) == len(feature_ids):
        raise BadInput(f"{path}: the same problems in another order; embed the same DATA again")
    coverage = f"its {len(feature_ids):,} rows hold {shared_count:,} of the {len(problem_ids):,} problems"
    raise BadInput(f"{path}: features of other problems: {coverage}")


def _read_descriptions(rows: Shards) -> Iterator[dict[str, Any]]:
    """Yield the description that `winokit embed` wrote beside each file of features.

    A file without one is skipped.
    """
    for beside in (path.with_suffix(".json") for path in rows.paths):
        if beside.exists():
            with refusing(f"{beside}: not a .json file written by winokit embed", OSError, ValueError):
                description = json.loads(beside.read_text("utf-8"))
            if not isinstance(description, dict) or not isinstance(description.get("ids"), list):
                raise BadInput(f"{beside}: expected a list of ids, as winokit embed writes it")
            yield description
