"""Fixtures that tests of both products share are in tests/support/fixtures.py."""

from importlib.util import find_spec
from pathlib import Path

pytest_plugins = ["support.fixtures"]
INSPECT = "inspect_package.py"
COLLECT = Path(__file__).parent / "collect"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out all of winokit-collect where the core is installed alone, and what only Inspect imports without it."""
    needs_collect = COLLECT in collection_path.parents and find_spec("winokit_collect") is None
    needs_inspect = collection_path.name == INSPECT and find_spec("inspect_ai") is None
    return True if needs_collect or needs_inspect else None
