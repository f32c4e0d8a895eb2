"""Compute a vector for each problem, for debiasing.

The papers leave open how an instance with two options becomes one vector (METHODS: "pre-computed embeddings").
`concat` puts the two side by side, `difference` subtracts the second from the first, `single` embeds the text with
its blank (or pronoun).
"""

import io
import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput, check_known
from winokit.files import SCHEMA, write_whole
from winokit.methods.scoring.base import unread_languages
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Answer, Embed, Model, Refusal, Request
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
    """Compute the feature vectors of problems, a row each.

    Rows are in the dataset's order. `features` is `concat` (the vectors of the text with either candidate side by
    side), `difference` (first minus second) or `single` (the text with its blank or pronoun). `pooling` makes one
    vector of those of the tokens: `first` takes the first token's, `mean` is over all tokens, `span` over those of the
    candidate or the blank.
    """
    check_known("kind of features", features, get_args(FeatureKind))
    check_known("pooling", pooling, get_args(Pooling))
    if Embed not in model.can:
        raise BadInput(f"{model.spec!r}, a {model.kind} model, gives no embeddings")
    tell(unread_languages([model.spec], dataset))
    requests_by_problem = [_build_requests(problem, features, pooling) for problem in dataset]
    all_requests = chain.from_iterable(requests_by_problem)
    answers = answer_all(model, all_requests, cache or Cache(), progress)
    rows: list[npt.NDArray[np.float32]] = []
    for problem, requests in zip(dataset, requests_by_problem, strict=True):
        vectors = [_get_vector(answers[request], problem) for request in requests]
        if features == "difference":
            first, second = vectors
            rows.append(first - second)
        else:
            rows.append(np.concatenate(vectors))
    return np.stack(rows)


def _get_vector(answer: Answer, problem: Problem) -> npt.NDArray[np.float32]:
    """Vector of an answer. Raises BadInput for a refusal."""
    if isinstance(answer, Refusal):
        raise BadInput(f"problem {problem.id} has no vector: {answer.why}")
    return np.asarray(answer, dtype=np.float32)


def write_features(rows: npt.NDArray[np.float32], dataset: Dataset, path: Path, settings: Mapping[str, Any]) -> Path:
    """Write vectors to a .npy file, and their settings beside it.

    The .json beside it has ids, answers and groups too. Returns the path of the .json.
    """
    check_features_file(path)
    settings_path = path.with_suffix(".json")
    contents = {
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
    write_whole(settings_path, json.dumps(contents, ensure_ascii=False).encode())
    return settings_path


def check_features_file(path: Path) -> None:
    """Raise BadInput if writing features would overwrite other data.

    The features are in `path`, their settings in a .json beside it. Raises it, too, if the path is a folder or a .json
    itself.
    """
    settings_path = path.with_suffix(".json")
    if path == settings_path:
        raise BadInput(f"{path}: settings and ids go into a .json beside the features; name a .npy file with --out")
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a .npy file with --out")
    for file, ours in ((path, _is_features), (settings_path, _is_settings)):
        if file.is_file() and file.stat().st_size and not ours(file):
            raise BadInput(f"{file}: not written by `winokit embed`, and would be overwritten; choose another --out")


def _is_features(path: Path) -> bool:
    """Whether a file begins like a .npy file."""
    with path.open("rb") as file:
        return file.read(len(NPY)) == NPY


def _is_settings(path: Path) -> bool:
    """Whether a file has the settings of features, as JSON."""
    try:
        contents = json.loads(path.read_bytes())
    except ValueError:
        return False
    return isinstance(contents, dict) and contents.keys() >= {"features", "pooling", "ids"}


def _build_requests(problem: Problem, features: str, pooling: str) -> tuple[Request, ...]:
    """Requests for the vectors of one problem: one or two.

    Raises BadInput if this kind of features does not fit the problem.
    """
    if features == "single":
        if problem.is_whole:
            raise BadInput(f"single features need a blank, and problem {problem.id} has none: use concat")
        word = problem.pronoun or "_"
        start = len(problem.before)
        return (_build_embed(problem.sentence, pooling, start, start + len(word)),)
    if len(problem.candidates) != 2 or problem.query is not None:
        raise BadInput(
            f"{features} features need two candidates, and problem {problem.id} has not: use --features single"
        )
    filled = [substitute(problem, candidate) for candidate in problem.candidates]
    requests: list[Request] = []
    for part in filled:
        start = len(part.before)
        requests.append(_build_embed(part.text, pooling, start, start + len(part.candidate)))
    return tuple(requests)


def _build_embed(text: str, pooling: str, start: int, end: int) -> Embed:
    """Request for the vector of a text.

    `start` and `end` are the span of the candidate or blank, for the pooling `span`.
    """
    return Embed(text, pooling, start, end) if pooling == "span" else Embed(text, pooling)
