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
    """Base of all errors that winokit raises on purpose, of one line.

    Catch it to catch every error of winokit's own.

    >>> import winokit
    >>> try:
    ...     winokit.load("no-such-file.jsonl")
    ... except WinokitError as error:
    ...     print(error)
    no-such-file.jsonl: no such file
    """


class BadInput(WinokitError, ValueError):
    """A file, a row or an option is wrong."""


class UnusedSetting(BadInput):
    """A setting has no effect together with the others.

    If the user typed it, it is an error. If it comes from winokit.toml, it is left out with a note.
    """

    def __init__(self, name: str, why: str, *, typed_as: str | None = None) -> None:
        self.name = name
        self.why = why
        super().__init__(f"{typed_as or f'--set {name}'}: {why}")


class Malformed(BadInput):
    """A record of a file cannot be read.

    Parsers raise it with the field and what was expected; the reader that knows the place adds it with `at`.
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
        """Return the same error with the file and line filled in.

        Those that are known already stay.
        """
        return Malformed(self.expected, field=self.field, file=self.file or file, line=self.line or line)

    def __str__(self) -> str:
        location = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        what = f"field {self.field!r}: {self.expected}" if self.field else self.expected
        return f"{location}: {what}" if location else what


class Message(str):
    """A line in English that can be translated.

    `key` names the template and `values` fill it.

    >>> line = Message.of("{most} words at most, found {count}", "length_broken", most=30, count=31)
    >>> line, line.key, line.values["count"]
    ('30 words at most, found 31', 'length_broken', 31)
    """

    key: str
    values: dict[str, object]

    def __new__(cls, text: str, key: str = "", **values: object) -> "Message":
        """Make a message from its finished text."""
        line = super().__new__(cls, text)
        line.key = key
        line.values = values
        return line

    @classmethod
    def of(cls, template: str, key: str, **values: object) -> "Message":
        """Make a message from a template and its values."""
        return cls(template.format(**values), key, **values)


class CannotWrite(BadInput):
    """A format cannot express a problem.

    An example is a problem without a pronoun in the format of WSC.
    """


class AskingStopped(BadInput):
    """A model is not asked any more.

    Its replies cannot be read, or differ from the ones it gave before.
    """


class UnknownName(WinokitError, LookupError):
    """A registry does not have this name.

    The message lists the names that exist, and the one that was probably meant.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], meant: str | None = None) -> None:
        names = sorted(known)
        if not meant:
            close = difflib.get_close_matches(name, names, n=1)
            meant = repr(close[0]) if close else None
        hint = f" Did you mean {meant}?" if meant else ""
        super().__init__(f"No {kind} named {name!r}.{hint} Known: {', '.join(names)}.")


def check_known(kind: str, name: str, known: Collection[str]) -> None:
    """Raise UnknownName unless a name is one of those known.

    `kind` says what is named, for the message.
    """
    if name not in known:
        raise UnknownName(kind, name, known)


class MissingExtra(WinokitError, ImportError):
    """An optional dependency is not installed.

    `need` is what needs it, `extra` the extra to install, `of` the package that offers it.
    """

    def __init__(self, need: str, extra: str, of: str = "winokit") -> None:
        super().__init__(f"{need} needs the {extra!r} extra: pip install '{of}[{extra}]'")


class MissingPackage(WinokitError, ImportError):
    """The package of a command is not installed.

    `install` is the pip command.
    """

    def __init__(self, need: str, install: str) -> None:
        super().__init__(f"{need} is a package of its own; install it from a clone of winokit: {install}")


@contextmanager
def refusing(complaint: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors of some types into BadInput, inside the context.

    The message is the complaint, with the error's own text in brackets.
    """
    try:
        yield
    except errors as error:
        raise BadInput(f"{complaint} ({error})") from None


@contextmanager
def needing(need: str, extra: str) -> Iterator[None]:
    """Turn ImportError into MissingExtra, inside the context."""
    try:
        yield
    except ImportError:
        raise MissingExtra(need, extra) from None


def deprecated(old: str, instead: str, *, until: str) -> None:
    """Warn that a name will be removed in the version `until`.

    The warning points at the caller of the function that calls this. A name of the contract is kept for one minor
    version after the warning first appears.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     deprecated("p_bootstrap", "p_groups", until="0.3")
    >>> str(caught[0].message)
    'p_bootstrap is deprecated and goes away in winokit 0.3: use p_groups'
    """
    message = f"{old} is deprecated and goes away in winokit {until}: use {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
