"""The features a filter looks at: read from files that fit the problems, or made by a model now."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
    """One row per problem, in the dataset's order, and what made them."""

    rows: Matrix
    model: str
    kind: str
    """concat, difference, single, or `unknown` where nobody said."""
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of_array(cls, rows: Any) -> "DebiasFeatures":
        """Features of which nothing is known but their numbers. Raises BadInput if they are no array of NumPy."""
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
        """What a result must record of them, with a hash of the numbers themselves."""
        digest = hashlib.sha256()
        for at in range(0, len(self.rows), HASHED_AT_ONCE):
            digest.update(np.ascontiguousarray(self.rows[at : at + HASHED_AT_ONCE]).tobytes())
        known = {"model": self.model, "features": self.kind, **self.about}
        return known | {
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
    """Features from a model, asked now or found in the cache."""
    loaded = load_model(model)
    rows = embed(dataset, loaded, features=kind, pooling=pooling, cache=cache, progress=progress)
    name = model if isinstance(model, str) else loaded.spec
    return DebiasFeatures(rows, name, kind, {"pooling": pooling, "fingerprint": loaded.fingerprint})


def without_held_out(path: Path, dataset: Dataset) -> Dataset:
    """The dataset without the problems that the features' model was fine-tuned on, and a note on how many they are.

    `winokit embed --finetune` holds them out of the features and says which they are.
    """
    held = {str(name) for about in _described(open_features(path)) for name in about.get("held_out", ())}
    kept = [problem for problem in dataset if problem.id not in held]
    gone = len(dataset) - len(kept)
    note = f"{dataset.card.name}: {gone:,} problems left out, because the features' model was fine-tuned on them"
    return dataset.with_problems(kept, [note]) if gone else dataset


def refuse_uninformed(path: Path) -> None:
    """Refuse features whose fine-tuning is no better than chance on its own dev problems.

    `winokit embed --finetune` says so of them; features that do not say it, or that nobody fine-tuned, pass.
    """
    for words in _uninformed_words(path, _described(open_features(path))):
        raise BadInput(f"{words}. Fine-tune again, or use them all the same: --set allow_uninformed=on")


def _uninformed_words(path: Path, descriptions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
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
    known = list(_described(rows))
    notes: tuple[str, ...] = ()
    if len(known) == len(rows.paths):
        ids = [name for about in known for name in about["ids"]]
        wanted = [problem.id for problem in dataset]
        shared = len(set(map(str, ids)) & set(wanted))
        if ids != wanted and shared == len(wanted) == len(ids):
            raise BadInput(f"{path}: the same problems in another order; embed the same DATA again")
        if ids != wanted:
            held = f"its {len(ids):,} rows hold {shared:,} of the {len(wanted):,} problems"
            raise BadInput(f"{path}: features of other problems: {held}")
    elif len(rows) == len(dataset):
        notes = (f"{path}: there is no .json with ids, so only the number of rows could be checked",)
    if len(rows) != len(dataset):
        raise BadInput(f"{path}: {len(rows):,} rows for {len(dataset):,} problems; embed the same DATA again")
    first = known[0] if known else {}
    more: dict[str, Any] = {name: first[name] for name in ("pooling", "finetuned") if name in first}
    model = str(first.get("model", path.name))
    kind = str(first.get("features", "unknown"))
    notes = (*notes, *dict.fromkeys(_uninformed_words(path, known)))
    return DebiasFeatures(rows, model, kind, {"file": path.name, **more}, notes)


def _described(rows: Shards) -> Iterator[dict[str, Any]]:
    """What `winokit embed` wrote beside each file of features; nothing for a file with nothing beside it."""
    for beside in (path.with_suffix(".json") for path in rows.paths):
        if beside.exists():
            with refusing(f"{beside}: not a .json file written by winokit embed", OSError, ValueError):
                about = json.loads(beside.read_text("utf-8"))
            if not isinstance(about, dict) or not isinstance(about.get("ids"), list):
                raise BadInput(f"{beside}: expected a list of ids, as winokit embed writes it")
            yield about
