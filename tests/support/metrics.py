"""Every metric under one name, for tests that go through all of them."""

import inspect
from importlib import import_module

from winokit.methods import arrays

NAMES = ("accuracy", "agreement", "compare", "consistency", "curve", "gender", "groups", "intervals", "luck")
MODULES = [import_module(f"winokit.methods.metrics.{name}") for name in NAMES]
__all__ = [
    name
    for module in MODULES
    for name, thing in vars(module).items()
    if not name.startswith("_") and inspect.getmodule(thing) is module
]
globals()["Units"] = import_module("winokit.units").Units
for _name in ("Null", "NullTest", "told_apart_test"):
    globals()[_name] = getattr(import_module("winokit.methods.metrics.null"), _name)
globals().update(
    {name: thing for module in [arrays, *MODULES] for name, thing in vars(module).items() if name[0] != "_"}
)
