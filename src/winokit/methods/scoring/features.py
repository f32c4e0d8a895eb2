"""A vector for each problem, for debiasing: of the text with each candidate, or of the text with its blank.

The papers leave open how an instance with two options becomes one vector (METHODS: "pre-computed embeddings").
`concat` puts the two side by side, `difference` subtracts the second from the first, `single` embeds the text with
its blank (or pronoun).
"""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput, check_known
from winokit.files import SCHEMA, write_whole
from winokit.methods.scoring.base import unread_languages
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Embed, Model, Refusal, Request
from winokit.problem import Dataset, Problem
from winokit.progress import Progress, tell

FeatureKind = Literal["concat", "difference", "single"]
Pooling = Literal["first", "mean", "span"]
NPY = b"\x93NUMPY"


def embed(
    dataset: Dataset,
    model: Model,
    *,
    features: str = "concat",
    pooling: str = "first",
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float32]:
    """One row per problem, in the dataset's order."""
    check_known("kind of features", features, get_args(FeatureKind))
    check_known("pooling", pooling, get_args(Pooling))
    if Embed not in model.can:
        raise BadInput(f"{model.spec!r}, a {model.kind} model, gives no embeddings")
    tell(unread_languages([model.spec], dataset))
    asked = [_requests(problem, features, pooling) for problem in dataset]
    answers = answer_all(model, (request for requests in asked for request in requests), cache or Cache(), progress)
    for problem, requests in zip(dataset, asked, strict=True):
        for answer in (answers[request] for request in requests):
            if isinstance(answer, Refusal):
                raise BadInput(f"problem {problem.id} has no vector: {answer.why}")
    rows = [[np.asarray(answers[request], dtype=np.float32) for request in requests] for requests in asked]
    if features == "difference":
        return np.stack([first - second for first, second in rows])
    return np.stack([np.concatenate(vectors) for vectors in rows])


def write_features(rows: npt.NDArray[np.float32], dataset: Dataset, path: Path, settings: Mapping[str, Any]) -> Path:
    """Write the rows to a .npy file, and what made them, with ids, answers and groups, to a .json beside it."""
    check_features_file(path)
    beside = path.with_suffix(".json")
    about = {
        "schema": SCHEMA,
        **settings,
        "dataset": dataset.card.name,
        "content_hash": dataset.content_hash,
        "ids": [problem.id for problem in dataset],
        "answers": [problem.answer for problem in dataset],
        "groups": [problem.group for problem in dataset],
    }
    out = io.BytesIO()
    np.save(out, rows, allow_pickle=False)
    write_whole(path, out.getvalue())
    write_whole(beside, json.dumps(about, ensure_ascii=False).encode())
    return beside


def check_features_file(path: Path) -> None:
    """Refuse a file for features that would take the place, or the .json beside it, of anything else."""
    beside = path.with_suffix(".json")
    if path == beside:
        raise BadInput(f"{path}: settings and ids go into a .json beside the features; name a .npy file with --out")
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a .npy file with --out")
    for file, ours in ((path, _is_features), (beside, _is_settings)):
        if file.is_file() and file.stat().st_size and not ours(file):
            raise BadInput(f"{file}: not written by `winokit embed`, and would be overwritten; choose another --out")


def _is_features(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(NPY)) == NPY


def _is_settings(path: Path) -> bool:
    try:
        about = json.loads(path.read_bytes())
    except ValueError:
        return False
    return isinstance(about, dict) and about.keys() >= {"features", "pooling", "ids"}


def _requests(problem: Problem, features: str, pooling: str) -> tuple[Request, ...]:
    if features == "single":
        if problem.is_whole:
            raise BadInput(f"single features need a blank, and problem {problem.id} has none: use concat")
        word = problem.pronoun or "_"
        start = len(problem.before)
        return (_embed(problem.sentence, pooling, start, start + len(word)),)
    if len(problem.candidates) != 2 or problem.query is not None:
        raise BadInput(
            f"{features} features need two candidates, and problem {problem.id} has not: use --features single"
        )
    filled = [substitute(problem, candidate) for candidate in problem.candidates]
    return tuple(
        _embed(part.text, pooling, len(part.before), len(part.before) + len(part.candidate)) for part in filled
    )


def _embed(text: str, pooling: str, start: int, end: int) -> Embed:
    return Embed(text, pooling, start, end) if pooling == "span" else Embed(text, pooling)
