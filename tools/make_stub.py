"""Writes `src/winokit/__init__.pyi`: what `winokit` offers, with the real keywords of every verb.

A verb takes its settings one by one, which its source does not show: it names classes of settings. Type checkers and
editors read the stub instead. `make docs` writes it, and a test fails if it is not what this would write.
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin, get_type_hints

import winokit
from winokit.settings import members_of, settings_of, signature_of

STUB = Path(winokit.__file__).with_suffix(".pyi")
HEAD = "# Written by tools/make_stub.py from the settings of the verbs."
SIMPLE = (bool, int, float, str, NoneType)
"""Types of defaults that the stub shows; others are an ellipsis."""


class Imports:
    """The names that the stub imports, by their modules."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {"typing": {"Any", "Literal"}}

    def name_of(self, kind: Any) -> str:
        """The name of a class in the stub, which then imports it."""
        if kind.__module__ != "builtins":
            self.names.setdefault(kind.__module__, set()).add(kind.__name__)
        return str(kind.__name__)

    def lines(self) -> Iterator[str]:
        """One import for each module, and one for each name that the stub passes on."""
        passed_on = {name: home for name, home in winokit.HOMES.items() if not is_verb(name)}
        for module, names in sorted(self.names.items()):
            own = sorted(name for name in names if name not in passed_on)
            if own:
                yield f"from {module} import {', '.join(own)}"
        for name, home in sorted(passed_on.items()):
            yield f"from {home} import {name} as {name}"


def is_verb(name: str) -> bool:
    """Whether what the library offers under that name takes its settings one by one."""
    return hasattr(getattr(winokit, name), "full")


def write_stub() -> str:
    """The text of the stub."""
    imports = Imports()
    verbs = [_write_verb(name, imports) for name in winokit.__all__ if is_verb(name)]
    return "\n".join([HEAD, *imports.lines(), "", "__version__: str", *verbs, ""])


def _write_verb(name: str, imports: Imports) -> str:
    """A verb with all its keywords, one on a line."""
    verb = getattr(winokit, name)
    lines = []
    parameters = list(signature_of(verb).parameters.values())
    has_star = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not has_star:
            lines.append("*")
            has_star = True
        lines.append(_write_parameter(parameter, imports))
    names = {parameter.name for parameter in parameters}
    for whole, kind in settings_of(verb).items():
        if whole not in names:
            lines.insert(len(lines) - _has_open_end(parameters), f"{whole}: {imports.name_of(kind)} = ...")
    returned = _write_type(_returned_type(verb), imports)
    body = "".join(f"    {line},\n" for line in lines)
    return f"\ndef {name}(\n{body}) -> {returned}: ..."


def _has_open_end(parameters: list[inspect.Parameter]) -> int:
    return int(parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)


def _write_parameter(parameter: inspect.Parameter, imports: Imports) -> str:
    kind = " | ".join(dict.fromkeys(_write_members(parameter.annotation, imports)))
    if "Path" in kind and "str" not in kind:  # verbs take a text as a path
        kind = f"str | {kind}"
    written = f"{parameter.name}: {kind}"
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{written}"
    if parameter.default is inspect.Parameter.empty:
        return written
    default = repr(parameter.default) if type(parameter.default) in SIMPLE else "..."
    return f"{written} = {default}"


def _write_members(hint: Any, imports: Imports) -> Iterator[str]:
    """What may be given for a parameter: verbs take one thing where they take several."""
    for member in members_of(hint):
        if get_origin(member) in (tuple, Sequence) and get_args(member)[0] is not Any:
            yield _write_type(get_args(member)[0], imports)
            yield _write_type(Sequence[get_args(member)[0]], imports)  # type: ignore[misc]
        else:
            yield _write_type(member, imports)


def _write_type(hint: Any, imports: Imports) -> str:
    """An annotation as source, without the help beside it."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _write_type(args[0], imports)
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(_write_type(arg, imports) for arg in args))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if hint in (None, NoneType):
        return "None"
    if hint is Any:
        return "Any"
    if hint is Ellipsis:
        return "..."
    if isinstance(hint, (str, ForwardRef)):
        return hint if isinstance(hint, str) else hint.__forward_arg__
    if isinstance(hint, list):  # the arguments of a callable
        return f"[{', '.join(_write_type(arg, imports) for arg in hint)}]"
    if origin is not None:
        inside = ", ".join(_write_type(arg, imports) for arg in args)
        return f"{imports.name_of(origin)}[{inside}]"
    return imports.name_of(hint)


def _returned_type(verb: Callable[..., Any]) -> Any:
    """What a verb returns. A name that only type checkers import is looked up in its module's imports."""
    function = inspect.unwrap(verb)
    returned = function.__annotations__.get("return", Any)
    if not isinstance(returned, str):
        return returned
    space = {**vars(import_module(function.__module__)), **_names_for_type_checkers(function.__module__)}
    holder = type("Holder", (), {"__annotations__": {"return": returned}})
    return get_type_hints(holder, space)["return"]


def _names_for_type_checkers(module: str) -> dict[str, Any]:
    """The names that a module imports under `if TYPE_CHECKING`."""
    source = Path(str(import_module(module).__file__)).read_text("utf-8")
    names: dict[str, Any] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom) and statement.module:
                    home = import_module(statement.module)
                    names |= {alias.asname or alias.name: getattr(home, alias.name) for alias in statement.names}
    return names


if __name__ == "__main__":
    STUB.write_text(write_stub(), "utf-8")
