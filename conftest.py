"""Fixtures that tests of both products share are in tests/support/fixtures.py."""

pytest_plugins = ["support.fixtures"]
