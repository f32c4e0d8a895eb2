"""Fixtures that tests of both products share are in tests/support/fixtures.py."""

from importlib.util import find_spec
from pathlib import Path

pytest_plugins = ["support.fixtures"]
COLLECT = Path(__file__).parent / "collect"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out all of winokit-collect where the core is installed alone."""
    return True if COLLECT in collection_path.parents and find_spec("winokit_collect") is None else None
