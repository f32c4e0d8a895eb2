"""One file per native format: read, write, recognise. The order of these imports is the order of recognition."""

# isort: off
from winokit.formats import (  # noqa: F401  (importing a module registers its formats)
    wsc,
    copa,
    knowref,
    trichelair,
    lmeval,
    perturbed_wsc,
    winogrande,
    superglue_wsc,
    jsonl,
    csv_table,
    winogender,
    winobias,
    dpr,
)

# isort: on
from winokit.formats.base import FORMATS, Format, Head, WriteOptions
from winokit.formats.files import Written, read, recognise, write
from winokit.formats.hub import load_hub
from winokit.formats.trichelair import annotate
from winokit.formats.winogender import instantiate

__all__ = [
    "FORMATS",
    "Format",
    "Head",
    "WriteOptions",
    "Written",
    "annotate",
    "instantiate",
    "load_hub",
    "read",
    "recognise",
    "write",
]
