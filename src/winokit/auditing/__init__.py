"""The one place where data, scorer and protocol meet."""

from winokit.auditing.auditor import Settings, audit
from winokit.auditing.protocols import PROTOCOLS
from winokit.auditing.run import LeftOut, Run
from winokit.results import Metric

__all__ = ["PROTOCOLS", "LeftOut", "Metric", "Run", "Settings", "audit"]
