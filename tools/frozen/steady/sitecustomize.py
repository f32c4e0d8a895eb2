"""Clocks and secrets that are the same in every run; Python imports this before anything else.

Only processes that have this folder on PYTHONPATH are steady. FROZEN_NAME, the name of the command, decides the secrets
of a process, so that two commands draw different ones. FROZEN_PORT is where connections to 127.0.0.1:8000 really go.
"""

from __future__ import annotations

import builtins
import datetime
import hashlib
import os
import socket
import sys
import time
import types
from collections.abc import Callable
from typing import Any

SECONDS = 1_704_164_645.0
"""2024-01-02 03:04:05, in UTC."""
STATED_PORT = 8000
REAL_CLOCKS = ("winokit.models.server",)
"""Modules that wait by the clock: with one that stands still they would wait forever."""

_real_date = datetime.date
_real_datetime = datetime.datetime


def _is_of_package(module_name: str) -> bool:
    """Whether a module is winokit's own, and measures durations only to show them."""
    return module_name.startswith("winokit") and module_name not in REAL_CLOCKS


def _steady_clock(real_clock: Callable[[], float], reading: float) -> Callable[[], float]:
    """A clock that always shows the same to winokit, and the time to everybody else."""

    def clock() -> float:
        caller_name = str(sys._getframe(1).f_globals.get("__name__", ""))
        return reading if _is_of_package(caller_name) else real_clock()

    return clock


class _AnyDate(type):
    """Real dates are instances of the steady classes, too: others still make them."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is _SteadyDatetime:
            return issubclass(subclass, _real_datetime)
        if cls is _SteadyDate:
            return issubclass(subclass, _real_date)
        return super().__subclasscheck__(subclass)


class _SteadyDate(_real_date, metaclass=_AnyDate):
    """A date whose today never changes."""

    @classmethod
    def today(cls) -> Any:
        return cls(2024, 1, 2)


class _SteadyDatetime(_real_datetime, metaclass=_AnyDate):
    """A time whose now never changes."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.fromtimestamp(SECONDS, tz)

    @classmethod
    def utcnow(cls) -> Any:
        return cls.fromtimestamp(SECONDS, datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return cls.fromtimestamp(SECONDS)


class _SecretStream:
    """Bytes that look random and follow from the command's name, a purpose, who draws and how often they drew.

    Who draws is the function that asks: whether another function draws before it changes nothing.
    """

    def __init__(self, purpose: str) -> None:
        self.purpose = f"{os.environ.get('FROZEN_NAME', '')} {purpose}"
        self.drawn_counts: dict[str, int] = {}

    def draw(self, size: int, caller_name: str = "") -> bytes:
        count = self.drawn_counts.get(caller_name, 0) + 1
        self.drawn_counts[caller_name] = count
        return hashlib.shake_256(f"{self.purpose} {caller_name} {count}".encode()).digest(size)


def _fix_dates() -> None:
    """Hand steady dates to modules of the package that import `datetime`; C code of others must find the real ones."""
    steady_module = types.ModuleType("datetime")
    steady_module.__dict__.update(vars(datetime))
    for steady_class, name in ((_SteadyDate, "date"), (_SteadyDatetime, "datetime")):
        steady_class.__name__ = steady_class.__qualname__ = name
        setattr(steady_module, name, steady_class)
    real_import = builtins.__import__

    def import_module(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        importer_name = str((globals or {}).get("__name__", ""))
        if name == "datetime" and level == 0 and _is_of_package(importer_name):
            return steady_module
        return real_import(name, globals, locals, fromlist, level)

    builtins.__import__ = import_module


def _fix_clocks() -> None:
    for name in ("perf_counter", "monotonic", "process_time"):
        setattr(time, name, _steady_clock(getattr(time, name), 0.0))
    time.time = _steady_clock(time.time, SECONDS)


def _fix_secrets() -> None:
    os.urandom = _SecretStream("system").draw
    import secrets  # only now: it takes over the function that it finds in `os`

    token_stream = _SecretStream("token")
    bits_stream = _SecretStream("bits")

    def token_bytes(nbytes: int | None = None) -> bytes:
        caller_name = sys._getframe(1).f_code.co_name
        return token_stream.draw(32 if nbytes is None else nbytes, caller_name)

    def randbits(k: int) -> int:
        return int.from_bytes(bits_stream.draw(k // 8 + 1)) >> (8 - k % 8)

    secrets.token_bytes = token_bytes
    secrets.token_hex = lambda nbytes=None: secrets.token_bytes(nbytes).hex()
    secrets.randbits = randbits


def _fix_port() -> None:
    real_connect = socket.socket.connect
    port = int(os.environ["FROZEN_PORT"])

    def connect(self: socket.socket, address: Any) -> None:
        is_stated = isinstance(address, tuple) and tuple(address[:2]) == ("127.0.0.1", STATED_PORT)
        real_connect(self, ("127.0.0.1", port) if is_stated else address)

    socket.socket.connect = connect  # type: ignore[method-assign, assignment]


_fix_dates()
_fix_clocks()
_fix_secrets()
if "FROZEN_PORT" in os.environ:
    _fix_port()
