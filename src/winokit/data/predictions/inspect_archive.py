"""The .eval form of Inspect's logs: a zip of JSON files, a header and one file a sample, deflated or (newer) zstd."""

from __future__ import annotations

import importlib
import io
import json
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.source import Source
from winokit.errors import BadInput, Malformed

ZSTD = 93
HEADERS = ("header.json", "_journal/start.json")
"""Where the header stands; a run that was cut short has only the second."""
# zipfile tells of a broken archive in all of these ways.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)


class InspectArchive:
    """An .eval log, unpacked file by file."""

    def __init__(self, source: Source) -> None:
        self.source, self.data = source, source.raw()
        try:
            self.zip = zipfile.ZipFile(io.BytesIO(self.data))
        except BROKEN as error:
            raise BadInput(f"{source.path}: not a whole .eval archive ({error})") from None
        # A log that was scored again has some files twice: the last one counts.
        self.files = {info.filename: info for info in self.zip.infolist()}
        self.zstandard: Any = None
        if sys.version_info < (3, 14) and any(info.compress_type == ZSTD for info in self.files.values()):
            self.zstandard = _zstandard(source)

    def header(self) -> Mapping[str, Any]:
        """What the log says of the run."""
        name = next((name for name in HEADERS if name in self.files), None)
        if name is None:
            raise BadInput(f"{self.source.path}: not an Inspect log: the archive has no {HEADERS[0]}")
        header = self._parsed(name)
        if not isinstance(header, dict):
            raise Malformed(f"an object expected, found {fields.shown(header)}", field=name, file=str(self.source.path))
        return header

    def samples(self) -> Iterator[tuple[str, Any]]:
        """Name and content of each sample."""
        for name in self.files:
            if name.startswith("samples/") and name.endswith(".json"):
                try:
                    sample = self._parsed(name)
                except Malformed as error:
                    self.source.reject(error)
                else:
                    yield name, sample

    def _parsed(self, name: str) -> Any:
        try:
            return json.loads(self._unpacked(self.files[name]))
        except (ValueError, RecursionError) as error:
            raise Malformed(f"JSON expected ({error})", field=name, file=str(self.source.path)) from None

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        try:
            if info.compress_type == ZSTD and self.zstandard is not None:
                return self._unpacked_zstd(info)
            return self.zip.read(info)
        except BROKEN as error:
            raise Malformed(f"cannot be unpacked ({error})", field=info.filename, file=str(self.source.path)) from None

    def _unpacked_zstd(self, info: zipfile.ZipInfo) -> bytes:
        """A file packed in a way that zipfile learned in Python 3.14, found through its local header."""
        name_length, extra_length = struct.unpack_from("<HH", self.data, info.header_offset + 26)
        start = info.header_offset + 30 + name_length + extra_length
        packed = io.BytesIO(self.data[start : start + info.compress_size])
        try:
            return bytes(self.zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read())
        except self.zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None


def _zstandard(source: Source) -> Any:
    try:
        return importlib.import_module("zstandard")
    except ImportError:
        raise BadInput(
            f"{source.path}: packed with zstd: pip install zstandard, "
            f"or write it anew with: inspect log convert --to json --output-dir DIR {source.path.name}"
        ) from None
