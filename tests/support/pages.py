"""Pages that were written to disk, opened in a real browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.waiting import HANGS


@contextmanager
def opened(chromium: Any, path: Path, width: int = 1280, **more: Any) -> Iterator[Any]:
    """A page that must stay silent, must not ask the network and must not open a dialog."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, **more)
    context.set_default_timeout(1000 * HANGS)
    try:
        page = context.new_page()
        trouble = []
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        page.on("request", lambda asked: asked.url.startswith(("file:", "data:")) or trouble.append(asked.url))
        page.on("requestfailed", lambda asked: trouble.append(f"failed: {asked.url}"))
        page.goto(path.as_uri())
        yield page
        assert trouble == []
    finally:
        context.close()
