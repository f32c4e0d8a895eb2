"""Every metric under one name, for tests that go through all of them."""

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

from winokit.methods import arrays

NAMES = ("accuracy", "agreement", "compare", "consistency", "curve", "gender", "groups", "intervals", "luck")
MODULES = [import_module(f"winokit.methods.metrics.{name}") for name in NAMES]
NULL = import_module("winokit.methods.metrics.null")


def public_objects(module: ModuleType) -> dict[str, Any]:
    """Objects of a module whose names begin with no underscore, also imported ones."""
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


__all__ = []
for _module in MODULES:
    __all__ += [name for name, value in public_objects(_module).items() if inspect.getmodule(value) is _module]
globals()["Units"] = import_module("winokit.units").Units
for _name in ("Null", "NullTest", "told_apart_test"):
    globals()[_name] = getattr(NULL, _name)
for _module in (arrays, *MODULES):
    globals().update(public_objects(_module))
