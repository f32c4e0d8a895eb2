"""The variants of an audit as files, one for each, and what could not be made, with the reason.

A problem of a variant has the id of its original as a label, as perturbed versions have: `winokit audit DATA
--perturbed DIR/switched.jsonl` joins them again. `variants.json` has the originals' ids in the order of each file's
rows, for formats that have no labels.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import winokit
from winokit.data.formats import FORMATS, WriteOptions, write
from winokit.data.loading import DataLike, Loading, paths_of
from winokit.errors import BadInput, CannotWrite, Malformed, check_known
from winokit.files import check_own_folder, refuse_overwriting, result_bytes, write_whole
from winokit.methods.transforms.variants import Style, Variant, every_variant, known_variants
from winokit.problem import ORIGINAL, Dataset, Problem, original_id

MANIFEST = "variants.json"
JUDGEMENT = "a yes/no judgement; convert --as choice merges them"


@dataclass(frozen=True)
class WrittenVariant:
    """One file: how many problems it has, whose versions they are, and why others have none."""

    file: str | None
    """None where there is no such problem."""
    of: tuple[str, ...]
    """The id of the original of each row."""
    refused: Mapping[str, int]
    """How many problems have none, by the reason."""

    def to_json(self) -> dict[str, Any]:
        """The variant as the manifest has it."""
        return {"file": self.file, "problems": len(self.of), "refused": dict(self.refused), "of": list(self.of)}


@dataclass(frozen=True)
class WrittenVariants:
    """A folder of variants."""

    folder: Path
    style: str
    variants: Mapping[str, WrittenVariant]


def write_variants(
    data: DataLike,
    out: str | Path,
    *,
    style: Style = "default",
    chosen: Sequence[str] = (),
    file_format: str = "jsonl",
    loading: Loading = Loading(),
) -> WrittenVariants:
    """Write the problems and the variants an audit makes of them, a file each, with what could not be made and why.

    Parameters
    ----------
    chosen
        Names of variants; all of the style if there are none.
    """
    known_names = known_variants(style)
    for name in chosen:
        check_known("variant" if style == "default" else f"variant of style {style}", name, known_names)
    if FORMATS[file_format].render is None:
        raise CannotWrite(f"{file_format} can be read but not written")
    dataset = loading.one(data)
    variants = {ORIGINAL: Variant(dataset), **every_variant(dataset, chosen or None, style)}
    folder = Path(out)
    earlier = _list_earlier_files(Path(out))
    content: dict[str, Dataset] = {}
    written_variants: dict[str, WrittenVariant] = {}
    for name, version in variants.items():
        problems, refused = _select_writable(version, name, file_format)
        asking = sum(problem.query is not None for problem in dataset) if name != ORIGINAL else 0
        refused |= {JUDGEMENT: asking} if asking else {}
        file = f"{name}{FORMATS[file_format].suffix}" if problems else None
        originals = tuple(str(problem.labels["original"]) if name != ORIGINAL else problem.id for problem in problems)
        written_variants[name] = WrittenVariant(file, originals, refused)
        if file is not None:
            card, title = dataset.card, f"{dataset.card.title} ({name})" if dataset.card.title else ""
            if name != ORIGINAL:  # how people do on the problems themselves is not known of a variant
                card = replace(card, name=f"{card.name}/{name}", title=title, human_accuracy=None)
            content[file] = Dataset(problems, card)
    if not any(entry.of for name, entry in written_variants.items() if name != ORIGINAL):
        whys = next(iter([*list(written_variants.values())[-1].refused, "there are none"]))
        raise BadInput(f"{dataset.card.name}: {', '.join(chosen or known_names)} can be made of no problem: {whys}")
    check_own_folder(folder, {*content, MANIFEST} - earlier, ours=False, of="these variants")
    sources = paths_of(data)
    for file in {*content, *earlier}:
        refuse_overwriting(folder / file, sources)
    for file, dataset_of_file in content.items():
        write(dataset_of_file, folder / file, file_format)
    about: dict[str, Any] = {"winokit": winokit.__version__, "dataset": dataset.card.name}
    about |= {"dataset_hash": dataset.content_hash, "style": style, "format": file_format}
    about |= {"variants": {name: entry.to_json() for name, entry in written_variants.items()}}
    write_whole(folder / MANIFEST, result_bytes(about))
    for left in earlier - {*content, MANIFEST}:
        (folder / left).unlink(missing_ok=True)
    return WrittenVariants(folder, style, written_variants)


def _select_writable(variant: Variant, name: str, file_format: str) -> tuple[list[Problem], dict[str, int]]:
    """The problems of a variant that a format has words for, linked to their originals, and why others are left out."""
    problems = []
    refused = Counter(variant.refused.values())
    render = FORMATS[file_format].render
    assert render is not None
    for problem in variant.problems:
        linked = problem.with_labels(original=original_id(problem), perturbation=name) if name != ORIGINAL else problem
        try:
            render(linked, WriteOptions())
            problems.append(linked)
        except (CannotWrite, Malformed) as error:
            refused[str(error)] += 1
    return problems, dict(refused.most_common())


def _list_earlier_files(folder: Path) -> set[str]:
    """The files of variants that stand in a folder already, by its manifest."""
    try:
        files = [entry["file"] for entry in json.loads((folder / MANIFEST).read_text("utf-8"))["variants"].values()]
        return {file for file in files if file and Path(file).name == file} | {MANIFEST}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
