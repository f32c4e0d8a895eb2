"""A real PostgreSQL for all tests of studies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collect_support.studies import PostgresSchemas


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresSchemas]:
    """Schemas for studies on a PostgreSQL server that lives as long as the tests."""
    from collect_support.studies import running_postgresql  # this file is read where the core is installed alone, too

    with running_postgresql() as schemas:
        yield schemas
