"""Make `src/winokit/assets/known.json` and `known.npz`, by which public datasets are recognised, from the public files.

python tools/make_known.py FOLDER

FOLDER has a folder for each dataset, with the files under the names that their authors gave them. What is written has
names, counts and hashes, and no text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from winokit.data.formats import read
from winokit.data.known import BITS, SAMPLED_BELOW, KnownSet, answers_total, hashes_of, problem_key, total
from winokit.problem import Dataset

DATA = Path(__file__).parents[1] / "src" / "winokit" / "assets"
EXACT_UP_TO = 2000
PATTERNS = {
    "winogrande": "*.jsonl",
    "dpr": "*.c.txt",
    "superglue-wsc": "*.jsonl",
    "superglue-copa": "*.jsonl",
    "copa": "*.xml",
    "winogender": "[at]*.tsv",
    "winobias": "*.txt.*",
    "knowref": "*.json",
    "trichelair": "*.json",
    "perturbed-wsc": "*.jsonl",
}
"""Datasets of several files: each is named by dataset and file."""
SINGLE = {
    "wsc": "wsc/WSCollection.xml",
    "wsc273": "wsc/WSCollection.xml",
    "pdp": "pdp/PDPChallenge2016.xml",
    "xwinograd": "xwinograd/dataset.tsv",
}


def public_files(folder: Path) -> dict[str, tuple[str, Path, str | None]]:
    """Dataset, file and format of each known set, by its name.

    The format is None if the file shows it.
    """
    files: dict[str, tuple[str, Path, str | None]] = {}
    for name, file in SINGLE.items():
        files[name] = (name, folder / file, name)
    for card, pattern in PATTERNS.items():
        for path in sorted((folder / card).glob(pattern)):
            stem = path.name.replace(".txt", "") if card == "winobias" else path.name.split(".")[0]
            files[f"{card}/{stem}"] = (card, path, None)
    return files


def known_set(name: str, card: str, dataset: Dataset, keys: list[str]) -> KnownSet:
    """Make the row of known.json for a dataset with these keys of problems."""
    hidden = any(problem.answer is None for problem in dataset)
    return KnownSet(
        name,
        card,
        len(dataset),
        sum(problem.occurrence > 1 for problem in dataset),
        total(hashes_of(keys)),
        None if hidden else answers_total(keys, dataset.problems),
        len(dataset) > EXACT_UP_TO,
    )


def known_datasets(folder: Path) -> Iterator[tuple[str, str, Dataset]]:
    """Yield name, card and problems of each known set, and of each language of a set with several."""
    for name, (card, path, kind) in public_files(folder).items():
        dataset = read(path, kind)
        yield name, card, dataset
        for code in dataset.languages if len(dataset.languages) > 1 else ():
            yield f"{name}, {code}", card, Dataset(p for p in dataset if p.language == code)


def main() -> None:
    """Write known.json and known.npz from the public files of a folder."""
    if len(sys.argv) != 2:
        sys.exit(str(__doc__))
    rows: list[KnownSet] = []
    members: dict[int, int] = {}
    for name, card, dataset in known_datasets(Path(sys.argv[1])):
        keys = [problem_key(problem) for problem in dataset]
        row = known_set(name, card, dataset, keys)
        for value in (hashes_of(keys) >> np.uint64(64 - BITS)).tolist():
            if not row.sampled or value < SAMPLED_BELOW:
                members[value] = members.get(value, 0) | 1 << len(rows)
        rows.append(row)
    table = np.array(sorted(members), dtype=np.uint64)
    patterns, pattern = np.unique([members[value] for value in table.tolist()], return_inverse=True)
    np.savez_compressed(
        DATA / "known.npz",
        high=(table >> np.uint64(32)).astype(np.uint8),
        low=table.astype(np.uint32),
        patterns=patterns.astype(np.uint64),
        pattern=pattern.astype(np.uint8),
    )
    text = ",\n ".join(json.dumps(asdict(row)) for row in rows)
    (DATA / "known.json").write_text(f"[{text}]\n", "utf-8")
    size = (DATA / "known.npz").stat().st_size
    sys.stdout.write(f"{len(rows)} sets, {len(table):,} hashes, {size:,} bytes\n")


if __name__ == "__main__":
    main()
