"""One file per native format: read, write, recognise. The order of these imports is the order of recognition."""

# isort: off
from winokit.data.formats import (
    wsc,
    copa,
    knowref,
    trichelair,
    minimal_pairs,
    dialects,
    perturbed_wsc,
    winogrande,
    superglue_wsc,
    jsonl,
    columns,
    csv_table,
    xwinograd,
    winogender,
    winobias,
    dpr,
)

# isort: on
from winokit.data.formats.base import FORMATS, FileHead, Format, WriteOptions
from winokit.data.formats.dialects import load_hub
from winokit.data.formats.files import WrittenFile, read, recognise, write
from winokit.data.formats.trichelair import annotate
