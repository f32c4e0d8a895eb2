"""Serving a study: one process, one socket, until Ctrl-C."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable

from winokit.collect.study.invites import setup_path
from winokit.collect.study.study import Study
from winokit.errors import BadInput, MissingExtra

FILL_IN = "FILL IN"
"""How the consent page that comes with a study marks what only its requester knows."""
NEW_OBJECTS = 5_000
"""After so many the collector looks at the new ones: some pages' worth, not a part of one."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound; port 0 takes any that is free. An address in use is told in one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: asyncio sends small answers at once (TCP_NODELAY) only where it is told that this is TCP.
    place = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
    except OSError as error:
        place.close()
        raise BadInput(f"{host}:{port}: cannot listen there ({error.strerror}); choose another --port") from None
    return place


def run(study: Study, place: socket.socket, base: str, *, behind_proxy: bool, say: Callable[[str], None]) -> None:
    """Serve the pages at a socket; `base` is the address people see."""
    try:
        import uvicorn

        from winokit.collect.web.app import create_app
    except ModuleNotFoundError as error:
        raise MissingExtra(f"winokit collect serve ({error.name})", "collect") from None
    say(f"{study.config.title}: {base}")
    left = study.consent.count(FILL_IN)
    if left:
        say(
            f"warning: {study.folder / study.config.consent} has {left} places that say {FILL_IN}; workers read them so"
        )
    first = setup_path(study)
    if first:
        say(f"make the requester's account, within the hour: {base}{first}")
    app = create_app(study, secure=base.startswith("https://"))
    # h11 refuses headers without end; the other parser that uvicorn may find installed does not. No log of addresses:
    # some of them let people in.
    config = uvicorn.Config(app, http="h11", log_level="warning", access_log=False, proxy_headers=behind_proxy)
    _spare_what_stays()
    uvicorn.Server(config).run(sockets=[place])


def _spare_what_stays() -> None:
    """Keep the collector of cycles from what is loaded by now and stays; a pass over it stops everybody for 0.1 s."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
