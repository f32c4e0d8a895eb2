"""Licences as people, the Hugging Face hub and Croissant name them."""

from __future__ import annotations

import re

NOT_STATED = "not stated"
KNOWN = {
    "cc0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "cc-by-3.0": "https://creativecommons.org/licenses/by/3.0/",
    "cc-by-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "cc-by-sa-3.0": "https://creativecommons.org/licenses/by-sa/3.0/",
    "cc-by-sa-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "cc-by-nc-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "cc-by-nc-sa-4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "mit": "https://opensource.org/license/mit/",
    "bsd-2-clause": "https://opensource.org/license/bsd-2-clause/",
    "bsd-3-clause": "https://opensource.org/license/bsd-3-clause/",
    "odc-by": "https://opendatacommons.org/licenses/by/",
}
"""The hub's identifiers, with the address of each text."""


def hub_licence(licence: str) -> str:
    """The hub's identifier of a licence: `unknown` where none is stated, `other` for one that it does not know.

    >>> hub_licence("CC BY 4.0"), hub_licence("not stated"), hub_licence("CC BY")
    ('cc-by-4.0', 'unknown', 'other')
    """
    if licence == NOT_STATED:
        return "unknown"
    name = re.sub(r"[\s_]+", "-", licence.strip().casefold())
    return name if name in KNOWN else "other"


def licence_url(licence: str) -> str:
    """Where a licence can be read, or its name as it was given."""
    return KNOWN.get(hub_licence(licence), licence)
