"""Read settings that are not options, from `winokit.toml` or `--set`.

For example: winokit train open --set 'warmup=0.1&patience=3'
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
    """Values of settings from `--set` and from a winokit.toml.

    A typed value replaces that of the file.
    """

    typed: Mapping[str, Any] = field(default_factory=dict)
    in_file: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """All values by name, typed ones and those of the file."""
        return {**self.in_file, **self.typed}

    def call(self, verb: Callable[..., T]) -> T:
        """Call a verb with all values, and return its result.

        A value of the file that the verb refuses as unused is left out. Notes say what is taken from the file, and what
        is left out.
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
    """Whether a parameter is a setting of winokit.toml and not an option."""
    setting_help = help_of(parameter.annotation)
    return setting_help is not None and setting_help.section is not None


def stored_parameters(verb: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Parameters of a verb that are settings and not options, by name."""
    parameters = signature_of(verb).parameters
    return {name: parameter for name, parameter in parameters.items() if is_stored(parameter)}


def refuse_options(typed: Sequence[str], options: Mapping[str, str]) -> None:
    """Raise BadInput for an option that is typed as a setting.

    `typed` are the texts of `--set`. `options` has the spelling of each option by its parameter.
    """
    for part in "&".join(typed).split("&"):
        name, _, value = part.partition("=")
        option = options.get(name.strip().replace("-", "_"))
        if option is not None:
            raise BadInput(f"--set {part}: an option of this command and no setting: {option} {value}".rstrip())


def read_stored(parameters: Mapping[str, inspect.Parameter], typed: Sequence[str], folder: Path) -> StoredValues:
    """Read values of settings from `--set` and a winokit.toml.

    The file is that of `folder`. Raises an error for a typed name that is not one of them, or a text that is no value
    of its setting.
    """
    if not parameters:
        return StoredValues()
    typed_values = _parse_typed_values(parameters, typed)
    in_file = _read_file_values(parameters, folder)
    return StoredValues(typed_values, {name: value for name, value in in_file.items() if name not in typed_values})


def refuse_former_spelling(verb: Callable[..., Any], words: Sequence[str]) -> None:
    """Raise BadInput for an option that is a setting now.

    The message has its new form.
    """
    for name, parameter in stored_parameters(verb).items():
        option = name.strip("_").replace("_", "-")
        placeholders = {f"--{option}": "VALUE", f"--no-{option}": "off"}
        if bool in members_of(parameter.annotation):
            placeholders[f"--{option}"] = "on"
        for index, word in enumerate(words):
            spelling, _, value = word.partition("=")
            if spelling in placeholders:
                text = placeholders[spelling]
                if text == "VALUE":
                    text = value or _find_next_value(words, index) or text
                setting_help = help_of(parameter.annotation)
                section = setting_help.section if setting_help is not None else ""
                raise BadInput(
                    f"{spelling} is a setting now: --set {name}={text}, or {name} in [{section}] of {PROJECT_FILE}"
                )


def _find_next_value(words: Sequence[str], index: int) -> str:
    """The word after that of an index.

    Empty if it is an option, or if there is none.
    """
    following = words[index + 1 : index + 2]
    return "" if not following or following[0].startswith("--") else following[0]


def describe_stored(parameters: Mapping[str, inspect.Parameter]) -> Iterator[tuple[str, str]]:
    """Yield settings with their descriptions, for the help of a command.

    A name has its section before it, in brackets. A description has the bounds and the default.
    """
    for name, parameter in parameters.items():
        setting_help = help_of(parameter.annotation) or Help("")
        facts = list(setting_help.bounds)
        if setting_help.shown and parameter.default not in (None, (), inspect.Parameter.empty):
            facts.insert(0, f"default: {as_typed_text(parameter.default)}")
        fact_text = f"  [{'; '.join(facts)}]" if facts else ""
        yield f"[{setting_help.section}] {name}", f"{setting_help.text}{fact_text}"


def _read_file_values(parameters: Mapping[str, inspect.Parameter], folder: Path) -> dict[str, Any]:
    """Read the values of these parameters from the winokit.toml of a folder.

    They are as the file has them. Other settings of the file are passed over.
    """
    table = read_project(folder)
    values = {}
    for name, parameter in parameters.items():
        setting_help = help_of(parameter.annotation)
        if setting_help is None or setting_help.section is None:
            continue
        section = table.get(setting_help.section, {})
        if name in section:
            values[name] = section[name]
    return values


def _parse_typed_values(parameters: Mapping[str, inspect.Parameter], typed: Sequence[str]) -> dict[str, Any]:
    """Parse the texts of `--set`, which are like `name=value&name=value`.

    A setting with several values may be named several times. Raises an error for other names and values.
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
    for name, value_texts in texts.items():
        values[name] = read_texts(f"--set {name}", parameters[name], value_texts)
    return values


def as_typed_text(value: Any) -> str:
    """Write a default value as a user would type it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
