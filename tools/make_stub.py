"""Writes `src/winokit/__init__.pyi`: the public names of `winokit`, with the real keywords of every verb.

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
        """Return the name of a class in the stub, and add its import."""
        if kind.__module__ != "builtins":
            self.names.setdefault(kind.__module__, set()).add(kind.__name__)
        return str(kind.__name__)

    def lines(self) -> Iterator[str]:
        """Yield one import for each module, and one for each name that the stub re-exports."""
        exported = {name: home for name, home in winokit.HOMES.items() if not is_verb(name)}
        for module, names in sorted(self.names.items()):
            used_names = sorted(name for name in names if name not in exported)
            if used_names:
                yield f"from {module} import {', '.join(used_names)}"
        for name, home in sorted(exported.items()):
            yield f"from {home} import {name} as {name}"


def is_verb(name: str) -> bool:
    """Whether a public name is a verb, which takes its settings one by one."""
    return hasattr(getattr(winokit, name), "full")


def write_stub() -> str:
    """Return the text of the stub."""
    imports = Imports()
    verbs = [_write_verb(name, imports) for name in winokit.__all__ if is_verb(name)]
    return "\n".join([HEAD, *imports.lines(), "", "__version__: str", *verbs, ""])


def _write_verb(name: str, imports: Imports) -> str:
    """Write a verb with all its keywords, one on a line."""
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
    last_is_open = parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    index = len(lines) - 1 if last_is_open else len(lines)
    for settings_name, kind in settings_of(verb).items():
        if settings_name not in names:
            lines.insert(index, f"{settings_name}: {imports.name_of(kind)} = ...")
            index += 1
    returned = _write_type(_find_returned_type(verb), imports)
    body = "".join(f"    {line},\n" for line in lines)
    return f"\ndef {name}(\n{body}) -> {returned}: ..."


def _write_parameter(parameter: inspect.Parameter, imports: Imports) -> str:
    """Write a parameter with its type and default, where a path may be given as a text."""
    kind = " | ".join(dict.fromkeys(_write_members(parameter.annotation, imports)))
    if "Path" in kind and "str" not in kind:  # verbs take a text as a path
        kind = f"str | {kind}"
    source = f"{parameter.name}: {kind}"
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{source}"
    if parameter.default is inspect.Parameter.empty:
        return source
    default = repr(parameter.default) if type(parameter.default) in SIMPLE else "..."
    return f"{source} = {default}"


def _write_members(hint: Any, imports: Imports) -> Iterator[str]:
    """Yield the types that a parameter takes: a verb that takes several things takes one, too."""
    for member in members_of(hint):
        is_sequence = get_origin(member) in (tuple, Sequence)
        if is_sequence and get_args(member)[0] is not Any:
            item_type = get_args(member)[0]
            yield _write_type(item_type, imports)
            yield _write_type(Sequence[item_type], imports)  # type: ignore[valid-type]
        else:
            yield _write_type(member, imports)


def _write_type(hint: Any, imports: Imports) -> str:
    """Write an annotation as source, without the help beside it."""
    origin = get_origin(hint)
    args = get_args(hint)
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


def _find_returned_type(verb: Callable[..., Any]) -> Any:
    """Find the type that a verb returns, also if only type checkers import it."""
    function = inspect.unwrap(verb)
    returned = function.__annotations__.get("return", Any)
    if not isinstance(returned, str):
        return returned
    names = {**vars(import_module(function.__module__)), **_import_names_for_type_checkers(function.__module__)}
    holder = type("Holder", (), {"__annotations__": {"return": returned}})
    return get_type_hints(holder, names)["return"]


def _import_names_for_type_checkers(module: str) -> dict[str, Any]:
    """Import the names that a module imports under `if TYPE_CHECKING`."""
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
