"""The public datasets by name: found, or downloaded and checked.

They are looked for in $WINOKIT_DATA, then in the cache, and else downloaded from home.
"""

import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

from winokit.data.known import CatalogueEntry
from winokit.errors import BadInput
from winokit.files import user_cache, write_whole
from winokit.progress import tell

TIMEOUT = 60.0
"""Seconds without a sign of life after which a download is given up."""


def find_file(entry: CatalogueEntry, part: str) -> Path:
    """The file with a part of a public dataset.

    It is searched below $WINOKIT_DATA and in the cache, and otherwise downloaded into the cache.
    """
    path = entry.files[part][0]
    cached = user_cache("datasets") / path
    folder = os.environ.get("WINOKIT_DATA")
    if folder and (Path(folder) / path).is_file():
        return Path(folder) / path
    if not cached.is_file():
        _download_part(entry, part, cached)
    return cached


def _download_part(entry: CatalogueEntry, part: str, target: Path) -> None:
    """Download a part of a dataset into the cache.

    Other parts in the same archive are stored too. Raises BadInput, and stores nothing, if the part is not the
    published file.
    """
    home, _, inside = entry.home.partition("#")
    path = entry.files[part][0]
    url = home if inside else f"{home}/{Path(path).name}"
    way_out = f"put the file at {target}, or set WINOKIT_DATA to a folder that has {path}"
    content = _fetch_content(url, f"{entry.card.name} is not on this machine", way_out)
    contents = {part: content}
    if inside:
        contents = _unpack_parts(entry, content, inside, url)
    digests = {name: hashlib.sha256(part_content).hexdigest() for name, part_content in contents.items()}
    for name, (file_path, expected) in entry.files.items():
        if digests.get(name) == expected:
            write_whole(user_cache("datasets") / file_path, contents[name])
        elif name == part:
            actual = f"SHA-256 {digests[name][:12]}…" if name in digests else "no such file in the archive"
            wrong = f"{url}: {Path(path).name} is not the published file"
            raise BadInput(f"{wrong} ({actual}, {expected[:12]}… expected); {way_out}")
    card = entry.card
    what = f"{card.title} ({card.citation})"
    tell([f"{what} downloaded from {url} to {target.parent}; licence: {card.licence}"])


def _fetch_content(url: str, why: str, way_out: str) -> bytes:
    """The bytes at an address, after redirects.

    Raises BadInput if they cannot be downloaded.

    Parameters
    ----------
    why
        Why they are needed, for the message.
    way_out
        What the user can do instead, for the message.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    from winokit.models.http_client import trusted_certificates

    try:
        with urlopen(url, timeout=TIMEOUT, context=trusted_certificates()) as reply:
            content: bytes = reply.read()
            return content
    except HTTPError as error:
        error.close()
        reason = f"status {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        reason = str(getattr(error, "reason", error)) or type(error).__name__
    raise BadInput(f"{why}, and {url} cannot be downloaded ({reason}): {way_out}")


def _unpack_parts(entry: CatalogueEntry, content: bytes, inside: str, url: str) -> dict[str, bytes]:
    """The bytes of each part of a dataset that an archive has.

    Raises BadInput if it cannot be unpacked.

    Parameters
    ----------
    content
        The bytes of the archive.
    inside
        The folder of the parts in it.
    url
        The address of the archive, for the message.
    """
    members = {}
    for part, (path, _) in entry.files.items():
        members[part] = f"{inside}/{Path(path).name}"
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = set(archive.namelist())
                return {part: archive.read(member) for part, member in members.items() if member in names}
        with tarfile.open(fileobj=io.BytesIO(content)) as packed:
            names = set(packed.getnames())
            contents = {}
            for part, member in members.items():
                file = packed.extractfile(member) if member in names else None
                if file is not None:
                    contents[part] = file.read()
            return contents
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise BadInput(f"{url}: not an archive that can be unpacked ({error}); try again later") from None
