"""Read settings that are no options, from `winokit.toml` or `--set`.

winokit train open --set 'warmup=0.1&patience=3'
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from winokit.cli.typed import read_texts
from winokit.errors import BadInput, UnusedSetting, check_known
from winokit.files import PROJECT_FILE
from winokit.progress import tell
from winokit.project import read_project
from winokit.settings import Help, help_of, members_of, signature_of

T = TypeVar("T")


@dataclass(frozen=True)
class StoredValues:
    """Values of settings that are no options, as typed or from a winokit.toml.

    Typed values win.
    """

    typed: Mapping[str, Any] = field(default_factory=dict)
    in_file: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """All values, by name."""
        return {**self.in_file, **self.typed}

    def call(self, verb: Callable[..., T]) -> T:
        """Call a verb with all values.

        Those of the file that do nothing beside the typed ones are left out.

        Notes say what is taken from the file, and what is left out.
        """
        in_file = dict(self.in_file)
        listing = ", ".join(f"{name} = {value}" for name, value in in_file.items())
        if listing:
            tell([f"as in {PROJECT_FILE}: {listing}"])
        while True:
            try:
                return verb(**in_file, **self.typed)
            except UnusedSetting as error:
                if error.name not in in_file:
                    raise
                del in_file[error.name]
                tell([f"{PROJECT_FILE}: {error.name} is left out here: {error.why}"])


def is_stored(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is a setting of winokit.toml and no option."""
    setting_help = help_of(parameter.annotation)
    return setting_help is not None and setting_help.section is not None


def stored_parameters(verb: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Parameters of a verb that are no options, by name."""
    return {name: each for name, each in signature_of(verb).parameters.items() if is_stored(each)}


def read_stored(parameters: Mapping[str, inspect.Parameter], typed: Sequence[str], folder: Path) -> StoredValues:
    """Read the values of these parameters, as typed or from the winokit.toml.

    Raises BadInput if a name is not one of them, or if a text cannot be what the setting is.
    """
    if not parameters:
        return StoredValues()
    typed_values = _parse_typed_values(parameters, typed)
    in_file = _read_file_values(parameters, folder)
    return StoredValues(typed_values, {name: value for name, value in in_file.items() if name not in typed_values})


def refuse_former_spelling(verb: Callable[..., Any], words: Sequence[str]) -> None:
    """Refuse an option that became a setting, and name its new form."""
    for name, parameter in stored_parameters(verb).items():
        option = name.strip("_").replace("_", "-")
        names = {f"--{option}": "VALUE", f"--no-{option}": "off"}
        if bool in members_of(parameter.annotation):
            names[f"--{option}"] = "on"
        for place, word in enumerate(words):
            spelling, _, value = word.partition("=")
            following = words[place + 1 : place + 2]
            if not value and following and not following[0].startswith("--"):
                value = following[0]
            if spelling in names:
                setting_help = help_of(parameter.annotation)
                section = setting_help.section if setting_help is not None else ""
                is_switch = names[spelling] != "VALUE"
                text = names[spelling] if is_switch else value or "VALUE"
                raise BadInput(
                    f"{spelling} is a setting now: --set {name}={text}, or {name} in [{section}] of {PROJECT_FILE}"
                )


def describe_stored(parameters: Mapping[str, inspect.Parameter]) -> Iterator[tuple[str, str]]:
    """Each setting with its default and its text, for the help of a command."""
    for name, parameter in parameters.items():
        setting_help = help_of(parameter.annotation) or Help("")
        facts = list(setting_help.bounds)
        if setting_help.shown and parameter.default not in (None, (), inspect.Parameter.empty):
            facts.insert(0, f"default: {as_typed_text(parameter.default)}")
        fact_text = f"  [{'; '.join(facts)}]" if facts else ""
        yield f"[{setting_help.section}] {name}", f"{setting_help.text}{fact_text}"


def _read_file_values(parameters: Mapping[str, inspect.Parameter], folder: Path) -> dict[str, Any]:
    table = read_project(folder)
    values = {}
    for name, parameter in parameters.items():
        setting_help = help_of(parameter.annotation)
        section = (
            table.get(setting_help.section, {}) if setting_help is not None and setting_help.section is not None else {}
        )
        if name in section:
            values[name] = section[name]
    return values


def _parse_typed_values(parameters: Mapping[str, inspect.Parameter], typed: Sequence[str]) -> dict[str, Any]:
    """Values of `name=value&name=value`.

    A setting that takes several may be named several times.
    """
    texts: dict[str, list[str]] = {}
    for part in "&".join(typed).split("&") if typed else []:
        name, equals, text = part.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise BadInput(f"--set {part}: expected name=value, found no equals sign")
        check_known("setting of this command (see --help-all)", name, parameters)
        texts.setdefault(name, []).append(text)
    values: dict[str, Any] = {}
    for name, several in texts.items():
        values[name] = read_texts(f"--set {name}", parameters[name], several)
    return values


def as_typed_text(value: Any) -> str:
    """Write a default as it would be typed."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
