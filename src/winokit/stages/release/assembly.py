"""The files of a release, in memory, before anything is written; and what its manifest says about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import winokit
from winokit.data.formats.base import json_rows
from winokit.stages.release.card import CardFacts, card_bytes
from winokit.stages.release.contents import ReleaseContents
from winokit.stages.release.croissant import croissant_bytes
from winokit.stages.release.harness import inspect_files, lm_eval_files
from winokit.stages.release.parquet import parquet_bytes, parquet_path
from winokit.stages.release.reading import DEBIASED, FOLDER, TEST, TRAINS
from winokit.stages.release.rows import hidden_row_of, row_of
from winokit.stages.release.settings import SCORING

CARD, CROISSANT = "README.md", "croissant.json"
Files = dict[str, bytes]


def assembled(contents: ReleaseContents, facts: CardFacts) -> Files:
    """Every file of a release but lineage and manifest, by its path."""
    files: Files = {}
    tables: Files = {}
    for name, data in contents.files.items():
        rows = file_rows(contents, name)
        files[_path(name)] = json_rows(rows).encode()
        if name != TEST:
            files[f"{FOLDER}/{name}-labels.lst"] = "".join(f"{row['answer']}\n" for row in rows).encode()
        tables[name] = parquet_bytes({"status": contents.status(p), **row} for p, row in zip(data, rows, strict=True))
        files[str(parquet_path(name))] = tables[name]
    said = f"{facts.title}: texts with one blank and two candidates, in twins that differ in a word or two."
    files[CROISSANT] = croissant_bytes(tables, facts.settings, facts.licence, said)
    files |= lm_eval_files(contents, facts.settings)
    files |= inspect_files(facts.settings)
    files[CARD] = card_bytes(contents, facts)
    return files


def _path(name: str) -> str:
    return f"{FOLDER}/{name}.jsonl"


def file_rows(contents: ReleaseContents, name: str) -> list[dict[str, Any]]:
    """The rows of a file under winogrande/."""
    data = contents.files[name]
    if name == TEST:
        return [hidden_row_of(problem) for problem in data]
    is_training = name == DEBIASED or name in TRAINS
    return [row_of(problem, contents.status(problem) if is_training else None) for problem in data]


def about_release(contents: ReleaseContents, facts: CardFacts, files: Mapping[str, bytes]) -> dict[str, Any]:
    """What the manifest says.

    Hashes are of what is public: were the test's answers in them, those of a short test could be guessed until they
    fit.
    """
    settings = facts.settings
    hashes = {name: hashlib.sha256(files[_path(name)]).hexdigest() for name in contents.files}
    return {
        "name": settings.name,
        "version": settings.version,
        "licence": facts.licence,
        "date": settings.date,
        "winokit": winokit.__version__,
        "seed": settings.seed,
        "settings": settings.to_json(),
        "formalization": {"fine_tuned": settings.formalization, "causal": SCORING},
        "counts": {name: len(data) for name, data in contents.files.items()},
        "groups": {name: len(data.groups) for name, data in contents.shown.items()},
        "sizes": {name.removeprefix("train_"): len(data) for name, data in contents.sizes.items()},
        "left_out": contents.left_out,
        "content_hashes": hashes,
        "content_hash": hashlib.sha256(json.dumps(hashes).encode()).hexdigest(),
    }
