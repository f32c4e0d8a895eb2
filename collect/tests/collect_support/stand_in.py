"""The stand-in for Prolific, with a time limit that a busy machine cannot exceed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.waiting import HANGS

from winokit_collect.platforms import prolific
from winokit_collect.platforms.stand_in import AFTER as AFTER
from winokit_collect.platforms.stand_in import BEFORE as BEFORE
from winokit_collect.platforms.stand_in import HANG_UP as HANG_UP
from winokit_collect.platforms.stand_in import STUDY as STUDY
from winokit_collect.platforms.stand_in import ProlificStandIn, serve_stand_in


@contextmanager
def prolific_stand_in(reward: int = 50) -> Iterator[ProlificStandIn]:
    """A stand-in for Prolific, served over HTTP until the block ends. `reward` is in cents."""
    with serve_stand_in(reward) as books, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prolific, "SECONDS", HANGS)  # a busy machine is not a platform that does not answer
        yield books
