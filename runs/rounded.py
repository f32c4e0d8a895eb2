"""An encoder's weights rounded to 16 bits, in a folder of its own: half the size to carry to a machine that trains.

    python -m runs rounded FOLDER --out FOLDER-16

Training reads them as 32-bit numbers again. The digests that are printed are what records of runs name: whoever rounds
the same weights gets the same file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from winokit.errors import BadInput

WEIGHTS = "model.safetensors"
COPIED = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def main(arguments: Sequence[str]) -> int:
    """Round a model's weights, write them, and print both digests."""
    parser = argparse.ArgumentParser(
        "python -m runs rounded", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a model in transformers' layout")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    options = parser.parse_args(arguments)
    largest_change = round_weights(options.folder, options.out)
    for folder in (options.folder, options.out):
        digest = sha256((folder / WEIGHTS).read_bytes()).hexdigest()
        sys.stdout.write(f"{digest}  {folder / WEIGHTS}\n")
    sys.stdout.write(f"largest change of a weight: {largest_change:.3g}\n")
    return 0


def round_weights(folder: Path, out: Path) -> float:
    """Write a copy of a model with weights of 16 bits, and return the largest change of a weight.

    Raises BadInput if the folder has no weights in one file, if `out` exists, or if a weight is too large.
    """
    import torch
    from safetensors.torch import load_file, save_file

    if not (folder / WEIGHTS).is_file():
        raise BadInput(f"{folder}: no {WEIGHTS}; give a model's folder with its weights in one file")
    if out.exists():
        raise BadInput(f"{out}: exists already; choose another --out")
    rounded = {}
    largest_change = 0.0
    for name, weight in load_file(folder / WEIGHTS).items():
        rounded[name] = weight.half() if weight.is_floating_point() else weight
        change = (rounded[name].double() - weight.double()).abs().max().item()
        largest_change = max(largest_change, change)
        if not torch.isfinite(rounded[name]).all():
            raise BadInput(f"{folder / WEIGHTS}: {name} has weights that 16 bits cannot hold; use it as it is")
    out.mkdir(parents=True)
    save_file(rounded, out / WEIGHTS, metadata={"format": "pt"})
    for name in COPIED:
        if (folder / name).exists():
            shutil.copyfile(folder / name, out / name)
    return largest_change
