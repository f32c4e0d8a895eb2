"""What the tests of the collection app share: studies on both databases, and people who work in them."""

import pytest

pytest.importorskip("sqlalchemy", reason="needs the collect extra")
