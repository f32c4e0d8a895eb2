"""Fixtures that tests of both products share are in tests/support/fixtures.py."""

from importlib.util import find_spec

pytest_plugins = ["support.fixtures"]
# Where the core is installed alone, its own tests run.
collect_ignore = [] if find_spec("winokit_collect") else ["collect"]
