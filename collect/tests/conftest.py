"""A real PostgreSQL for all tests of studies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from collect_support.studies import Places, running_postgresql


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Places]:
    """Places for studies on a PostgreSQL server that lives as long as the tests."""
    with running_postgresql() as places:
        yield places
