"""Every metric under one name, for tests that go through all of them."""

import inspect

from winokit.methods.metrics import agreement, arrays, curve, gender, groups, intervals, luck
from winokit.methods.metrics.accuracy import accuracy
from winokit.methods.metrics.compare import compare
from winokit.methods.metrics.consistency import consistency

MODULES = (accuracy, agreement, arrays, compare, consistency, curve, gender, groups, intervals, luck)
__all__ = [
    name
    for module in MODULES
    for name, thing in vars(module).items()
    if not name.startswith("_") and inspect.getmodule(thing) is module is not arrays
]
globals().update({name: thing for module in MODULES for name, thing in vars(module).items() if name[0] != "_"})
