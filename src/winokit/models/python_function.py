"""Ask your own function for scores: `python:module:function`.

It returns a score for each candidate, of which the highest is chosen, or None to abstain. The module is looked for
in the working directory first. Stored answers are valid as long as the function's source file stays the same.
Changes in files that it imports or reads are not noticed. Answers of a function given as an object are stored for
this very object, as long as it lives, since its closure cannot be compared.
"""

import hashlib
import inspect
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from math import isfinite
from pathlib import Path
from types import ModuleType
from weakref import WeakKeyDictionary

from winokit.errors import BadInput
from winokit.models.base import Answer, Choose, Request, Scores, cannot
from winokit.models.registry import Spec


def load(spec: Spec) -> "PythonFunction":
    """Load the function that a SPEC `python:module:function` names."""
    spec.only()
    place = spec.place_or_fail("module:function")
    module, function = function_named(str(spec), place)
    return PythonFunction(str(spec), function, _find_sources(str(spec), module, function))


def function_named(spec: str, place: str) -> tuple[ModuleType, Callable[..., object]]:
    """Import a module, and return it with its function, given `module:function`.

    Raises BadInput if either is missing. `spec` names the model in errors.
    """
    module_name, _, name = place.partition(":")
    if not module_name or not name:
        raise BadInput(f"{spec}: expected python:module:function")
    module = _import_module(spec, module_name)
    function = getattr(module, name, None)
    if not callable(function):
        instead = "no function" if function is None else f"something that is not a function ({type(function).__name__})"
        raise BadInput(f"{spec}: module {module_name!r} has {instead} named {name!r}")
    return module, function


HANDED_OVER: "WeakKeyDictionary[Callable[..., object], str]" = WeakKeyDictionary()
"""Random ids of the function objects of this process, part of their fingerprints."""


def of_function(function: Callable[..., object]) -> "PythonFunction":
    """Make a model of a function object.

    Its answers are stored for this object only, as long as it lives.
    """
    if not callable(function):
        raise BadInput(f"a model must be a SPEC, a model or a function; found {_shorten_value(function)}")
    name = getattr(function, "__name__", type(function).__name__)
    model = PythonFunction(name.strip("<>"), function, ())
    model.fingerprint = f"function {HANDED_OVER.setdefault(function, uuid.uuid4().hex)}"
    return model


class PythonFunction:
    """A model that calls a Python function to score candidates.

    `sources` are the files whose content is part of the fingerprint.
    """

    kind = "any"
    can: frozenset[type] = frozenset({Choose})

    def __init__(self, spec: str, function: Callable[..., object], sources: Sequence[Path]) -> None:
        self.spec = spec
        self._function = function
        digest = hashlib.blake2b(digest_size=16)
        for source in sources:
            digest.update(source.read_bytes())
        self.fingerprint = f"{spec}#{digest.hexdigest()}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Call the function for each request, in order."""
        for index, request in enumerate(requests):
            if not isinstance(request, Choose):
                raise cannot(self, request)
            yield index, self._call_function(request)

    def _call_function(self, request: Choose) -> Scores:
        """Call the function for one request. Raises BadInput if it fails."""
        try:
            returned = self._function(request.before, request.after, request.candidates, request.pronoun)
        except (Exception, SystemExit) as error:  # a function that calls sys.exit() must not end us without a word
            raise BadInput(f"{self.spec} failed with {_format_error(error)} on {_shorten_request(request)}") from error
        return Scores(None if returned is None else self._check_numbers(returned, request))

    def _check_numbers(self, returned: object, request: Choose) -> tuple[float, ...]:
        """Return what the function returned as one finite number per candidate.

        Raises BadInput if it is anything else.
        """
        try:
            # The characters of "12" would pass for two numbers.
            numbers = () if isinstance(returned, (str, bytes)) else tuple(map(float, returned))  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            numbers = ()
        if len(numbers) != len(request.candidates) or not all(map(isfinite, numbers)):
            expected = f"{len(request.candidates)} numbers, one per candidate, or None"
            fact = f"it returned {_shorten_value(returned)} on {_shorten_request(request)}"
            raise BadInput(f"{self.spec} must return {expected}; {fact}")
        return numbers


def _import_module(spec: str, name: str) -> ModuleType:
    """Import a module from the working directory, or from Python's path.

    The directory stays on the path, since a function may import other modules when it is called. Raises BadInput if
    that fails.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        is_asked_for = bool(error.name) and f"{name}.".startswith(f"{error.name}.")
        importer = "" if is_asked_for else f", which {name!r} imports"
        raise BadInput(f"{spec}: no module named {error.name!r}{importer}; Python looked in {here} first") from None
    except (Exception, SystemExit) as error:
        raise BadInput(f"{spec}: importing {name!r} failed with {_format_error(error)}") from error


def _find_sources(spec: str, module: ModuleType, function: Callable[..., object]) -> list[Path]:
    """Source files of the module and of the function.

    The function may be defined in another file. Raises BadInput if there are none.
    """
    try:
        defined = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:  # an object that can be called
        defined = None
    names = {name for name in (getattr(module, "__file__", None), defined) if name}
    if not names:
        raise BadInput(f"{spec} has no source file, so a change of its answers could not be detected")
    return sorted(Path(name) for name in names)


def _format_error(error: BaseException) -> str:
    """Write an exception in one line."""
    message = " ".join(str(error).split())
    return type(error).__name__ + (f" ({message})" if message else "")


def _shorten_request(request: Choose) -> str:
    """Write a request's text in one short line."""
    return _shorten_value(f"{request.before}_{request.after}")


def _shorten_value(thing: object) -> str:
    """Write a value in one line of at most 80 characters."""
    line = " ".join(repr(thing).split())
    return line if len(line) <= 80 else f"{line[:78]}…{line[-1]}"
