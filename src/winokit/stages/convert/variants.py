"""The variants of an audit as files, one for each.

The manifest counts problems that have no variant, by the reason. A problem of a variant has the id of its original as a
label, as perturbed versions have: `winokit audit DATA --perturbed DIR/switched.jsonl` joins them again. `variants.json`
has the originals' ids in the order of each file's rows, for formats that have no labels.
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
from winokit.problem import ORIGINAL, Card, Dataset, Problem, original_id

MANIFEST = "variants.json"
JUDGEMENT = "a yes/no judgement; convert --as choice merges them"
"""The reason why a yes/no judgement has no variants."""


@dataclass(frozen=True)
class WrittenVariant:
    """The file of one variant, with originals and problems left out."""

    file: str | None
    """The name of the file. None if no problem has the variant."""
    of: tuple[str, ...]
    """The id of the original of each row."""
    refused: Mapping[str, int]
    """How many problems are left out, by the reason."""

    def to_json(self) -> dict[str, Any]:
        """Entry of the variant in variants.json."""
        return {"file": self.file, "problems": len(self.of), "refused": dict(self.refused), "of": list(self.of)}


@dataclass(frozen=True)
class WrittenVariants:
    """A folder of variants that was written."""

    folder: Path
    style: str
    variants: Mapping[str, WrittenVariant]
    """The variants by name, the original among them."""


def write_variants(
    data: DataLike,
    out: str | Path,
    *,
    style: Style = "default",
    chosen: Sequence[str] = (),
    file_format: str = "jsonl",
    loading: Loading = Loading(),
) -> WrittenVariants:
    """Write the problems, their variants in an audit, and variants.json.

    Each variant has a file of its own. Files of an earlier call in the same folder that are not written again are
    removed.

    Raises BadInput if no problem has any of the variants, or if an input would be overwritten.

    Parameters
    ----------
    chosen
        Names of variants; all of the style if there are none.
    """
    known_names = known_variants(style)
    kind = "variant" if style == "default" else f"variant of style {style}"
    for name in chosen:
        check_known(kind, name, known_names)
    if FORMATS[file_format].render is None:
        raise CannotWrite(f"{file_format} can be read but not written")
    dataset = loading.one(data)
    variants = {ORIGINAL: Variant(dataset), **every_variant(dataset, chosen or None, style)}
    judgement_count = sum(problem.query is not None for problem in dataset)
    content: dict[str, Dataset] = {}
    written_variants: dict[str, WrittenVariant] = {}
    for name, variant in variants.items():
        problems, refused = _select_writable(variant, name, file_format)
        if name != ORIGINAL and judgement_count:
            refused[JUDGEMENT] = judgement_count
        file_name = f"{name}{FORMATS[file_format].suffix}" if problems else None
        original_ids = tuple(_find_original_id(problem, name) for problem in problems)
        written_variants[name] = WrittenVariant(file_name, original_ids, refused)
        if file_name is not None:
            content[file_name] = Dataset(problems, _make_card(dataset.card, name))
    has_variants = any(entry.of for name, entry in written_variants.items() if name != ORIGINAL)
    if not has_variants:
        last_entry = list(written_variants.values())[-1]
        reason = next(iter(last_entry.refused), "there are none")
        raise BadInput(f"{dataset.card.name}: {', '.join(chosen or known_names)} can be made of no problem: {reason}")
    folder_of_variants = WrittenVariants(Path(out), style, written_variants)
    _write_files(folder_of_variants, content, file_format, dataset, paths_of(data))
    return folder_of_variants


def _write_files(
    written: WrittenVariants,
    content: Mapping[str, Dataset],
    file_format: str,
    dataset: Dataset,
    sources: Sequence[Path],
) -> None:
    """Write files of variants and variants.json, and remove earlier ones.

    Earlier ones are those of a previous call that are not written again. `content` has the dataset of each file by its
    name. Raises BadInput if one of the `sources` would be overwritten or removed, or if the folder has such files that
    are not from an earlier call.
    """
    folder = written.folder
    earlier_names = _list_earlier_files(folder)
    check_own_folder(folder, {*content, MANIFEST} - earlier_names, ours=False, of="these variants")
    for file_name in {*content, *earlier_names}:
        refuse_overwriting(folder / file_name, sources)
    for file_name, dataset_of_file in content.items():
        write(dataset_of_file, folder / file_name, file_format)
    manifest = {
        "winokit": winokit.__version__,
        "dataset": dataset.card.name,
        "dataset_hash": dataset.content_hash,
        "style": written.style,
        "format": file_format,
        "variants": {name: entry.to_json() for name, entry in written.variants.items()},
    }
    write_whole(folder / MANIFEST, result_bytes(manifest))
    for file_name in earlier_names - {*content, MANIFEST}:
        (folder / file_name).unlink(missing_ok=True)


def _find_original_id(problem: Problem, variant_name: str) -> str:
    """Id of the original of a problem of a variant."""
    return problem.id if variant_name == ORIGINAL else str(problem.labels["original"])


def _make_card(card: Card, variant_name: str) -> Card:
    """Card of a variant, by the card of its dataset.

    The original has the same card.
    """
    if variant_name == ORIGINAL:
        return card
    title = f"{card.title} ({variant_name})" if card.title else ""
    # Human accuracy is known for the problems themselves, not for a variant.
    return replace(card, name=f"{card.name}/{variant_name}", title=title, human_accuracy=None)


def _select_writable(variant: Variant, name: str, file_format: str) -> tuple[list[Problem], dict[str, int]]:
    """Select the problems of a variant that a format can express.

    The others are counted by the reason. Problems are linked to their originals by labels. The counts include problems
    that have no such variant, and the commonest reason is first.
    """
    render = FORMATS[file_format].render
    assert render is not None
    problems = []
    refused = Counter(variant.refused.values())
    for problem in variant.problems:
        labelled_problem = problem
        if name != ORIGINAL:
            labelled_problem = problem.with_labels(original=original_id(problem), perturbation=name)
        try:
            render(labelled_problem, WriteOptions())
            problems.append(labelled_problem)
        except (CannotWrite, Malformed) as error:
            refused[str(error)] += 1
    return problems, dict(refused.most_common())


def _list_earlier_files(folder: Path) -> set[str]:
    """Names of files that an earlier call wrote into a folder.

    They are files of variants, and variants.json. Empty if there is no readable variants.json.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        names = [entry["file"] for entry in manifest["variants"].values()]
        # A name with a folder in it is no file of ours.
        return {name for name in names if name and Path(name).name == name} | {MANIFEST}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
