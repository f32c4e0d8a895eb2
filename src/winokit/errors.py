"""All errors of winokit, as a tree.

WinokitError
├── BadInput            a file, a row or an option that does not say what it must
│   ├── Malformed       one record of a file; carries file, line and field
│   ├── CannotWrite     a problem that a format has no words for
│   ├── UnusedSetting   a setting that does nothing beside the others; carries its name
│   └── AskingStopped   a model that is not worth asking on; another try would end alike
├── UnknownName         a name that no registry knows
├── MissingExtra        an optional dependency that is not installed
└── MissingPackage      a command of another package that is not installed

The library raises these; only the command line catches them, prints one line and returns 2.
"""

import difflib
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager


class WinokitError(Exception):
    """Anything winokit refuses to do, in one line.

    Catch it to catch every error of winokit's own.

    >>> import winokit
    >>> try:
    ...     winokit.load("no-such-file.jsonl")
    ... except WinokitError as error:
    ...     print(error)
    no-such-file.jsonl: no such file
    """


class BadInput(WinokitError, ValueError):
    """A file, a row or an option does not say what it must."""


class UnusedSetting(BadInput):
    """A setting does nothing beside the others.

    Who types it is told so. One that a winokit.toml says for all commands is left out of this one.
    """

    def __init__(self, name: str, why: str, *, typed_as: str | None = None) -> None:
        self.name = name
        self.why = why
        super().__init__(f"{typed_as or f'--set {name}'}: {why}")


class Malformed(BadInput):
    """One record cannot be read, with its place, field and expected value.

    Parsers raise it with the field and the expectation alone; the reader that knows the place adds it with `at`.
    """

    def __init__(
        self, expected: str, *, field: str | None = None, file: str | None = None, line: int | str | None = None
    ) -> None:
        self.expected = expected
        self.field = field
        self.file = file
        self.line = line
        super().__init__(str(self))

    def at(self, file: str, line: int | str | None) -> "Malformed":
        """Return the same complaint with the place filled in."""
        return Malformed(self.expected, field=self.field, file=self.file or file, line=self.line or line)

    def __str__(self) -> str:
        location = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        what = f"field {self.field!r}: {self.expected}" if self.field else self.expected
        return f"{location}: {what}" if location else what


class Message(str):
    """A line in English that can be translated.

    `key` names it and `values` are its parts.

    >>> line = Message.of("{most} words at most, found {count}", "length_broken", most=30, count=31)
    >>> line, line.key, line.values["count"]
    ('30 words at most, found 31', 'length_broken', 31)
    """

    key: str
    values: dict[str, object]

    def __new__(cls, text: str, key: str = "", **values: object) -> "Message":
        """The text as it stands, with its name and its values."""
        line = super().__new__(cls, text)
        line.key = key
        line.values = values
        return line

    @classmethod
    def of(cls, template: str, key: str, **values: object) -> "Message":
        """The line that a template makes of its values."""
        return cls(template.format(**values), key, **values)


class CannotWrite(BadInput):
    """A format has no way to express a problem, e.g. no pronoun for WSC."""


class AskingStopped(BadInput):
    """A model is not asked any further.

    Its replies cannot be read, or are not those it gave before.
    """


class UnknownName(WinokitError, LookupError):
    """No registry has this name. The message lists those that exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str], meant: str | None = None) -> None:
        names = sorted(known)
        if not meant:
            close = difflib.get_close_matches(name, names, n=1)
            meant = repr(close[0]) if close else None
        hint = f" Did you mean {meant}?" if meant else ""
        super().__init__(f"No {kind} named {name!r}.{hint} Known: {', '.join(names)}.")


def check_known(kind: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that is none of those known."""
    if name not in known:
        raise UnknownName(kind, name, known)


class MissingExtra(WinokitError, ImportError):
    """An optional dependency is needed and not installed.

    It is an extra `of` winokit, or of another package.
    """

    def __init__(self, need: str, extra: str, of: str = "winokit") -> None:
        super().__init__(f"{need} needs the {extra!r} extra: pip install '{of}[{extra}]'")


class MissingPackage(WinokitError, ImportError):
    """A command's own package is not installed.

    The message has the pip command.
    """

    def __init__(self, need: str, install: str) -> None:
        super().__init__(f"{need} is a package of its own; install it from a clone of winokit: {install}")


@contextmanager
def refusing(complaint: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn any of these errors into one line.

    It has the complaint, and the error's own text in brackets.
    """
    try:
        yield
    except errors as error:
        raise BadInput(f"{complaint} ({error})") from None


@contextmanager
def needing(need: str, extra: str) -> Iterator[None]:
    """Name the extra to install if an import fails."""
    try:
        yield
    except ImportError:
        raise MissingExtra(need, extra) from None


def deprecated(old: str, instead: str, *, until: str) -> None:
    """Warn the caller's caller that a name will be removed.

    The name works until that version, and no longer in it.

    A name of the contract is kept for one minor version after the warning first appears.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     deprecated("p_bootstrap", "p_groups", until="0.3")
    >>> str(caught[0].message)
    'p_bootstrap is deprecated and goes away in winokit 0.3: use p_groups'
    """
    message = f"{old} is deprecated and goes away in winokit {until}: use {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
