"""From SPEC to model: `builtin`, `random`, `hf:NAME_OR_DIR`, `gguf:FILE`, `chat:MODEL@URL`, `ngram:FILE`, …

Options follow a question mark, as in a web address: `hf:gpt2?dtype=bfloat16&device=cuda`. The members of an ensemble
have their own: `ensemble:hf:a?bos=on+hf:b`.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from winokit.errors import BadInput, UnknownName, check_known
from winokit.models.base import Model
from winokit.registry import Registry
from winokit.settings import Help

N = TypeVar("N", int, float)
ADDRESS = re.compile(r"@https?://[^?+\s]*")
"""Address of a server in a SPEC, which results do not show."""
SERVED_NAME = re.compile(r"(gpt-[3-9][^/]*|o[1-9](-\w+)?|(claude|gemini|grok)-[^/]*)\Z")
"""Names of models that only their makers serve, so that no hub has them."""
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")

MODEL_HELP = (
    "builtin, random, hf:NAME_OR_DIR, gguf:FILE, completions:MODEL@URL, chat:MODEL@URL, ngram:FILE, hunter:INDEX, "
    "association:INDEX, ensemble:A+B, python:MODULE:FUNCTION."
)
ModelLike = str | Model | Callable[..., Any]
"""A SPEC, or in Python also a model or a scoring function."""
ModelSpec = Annotated[ModelLike, Help(MODEL_HELP, "SPEC", typed=str, option=True)]
"""Type of a verb's option for a model, with its help."""


@dataclass(frozen=True)
class Spec:
    """A SPEC, the user's name of a model, split into parts.

    They are prefix, place and options. The place is all between the colon and the question mark: a name, a path, or a
    name and an address.
    """

    prefix: str
    place: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Split a SPEC into its parts.

        >>> Spec.parse("hf:gpt2?dtype=bfloat16")
        Spec(prefix='hf', place='gpt2', options={'dtype': 'bfloat16'})

        Of an ensemble, options before the last plus sign stay with their members:

        >>> Spec.parse("ensemble:hf:a?bos=on+hf:b?combine=vote")
        Spec(prefix='ensemble', place='hf:a?bos=on+hf:b', options={'combine': 'vote'})
        """
        members, plus, last = text.rpartition("+") if text.startswith("ensemble:") else ("", "", text)
        head, _, query = last.partition("?")
        prefix, _, place = f"{members}{plus}{head}".partition(":")
        return cls(prefix, place, dict(parse_qsl(query, keep_blank_values=True)))

    def __str__(self) -> str:
        """Name of the model in results and on pages.

        That is the option `name`, else the SPEC without addresses of servers.

        >>> str(Spec.parse("chat:tiny@http://10.0.0.7:8000/v1?seed=1")), str(Spec.parse("hf:gpt2?name=GPT-2"))
        ('chat:tiny?seed=1', 'GPT-2')
        """
        return self.options.get("name") or ADDRESS.sub("", self.text)

    @property
    def text(self) -> str:
        """The SPEC as a user writes it."""
        text = self.prefix
        if self.place:
            text += f":{self.place}"
        if self.options:
            text += "?" + "&".join(f"{key}={value}" for key, value in self.options.items())
        return text

    def only(self, *known: str, of: str = "models") -> Mapping[str, str]:
        """Return the options, after checking that their names are among `known`.

        `name` is always allowed. Raises UnknownName for any other.
        """
        for name in self.options:
            check_known(f"option of {self.prefix!r} {of}", name, (*known, "name"))
        return self.options

    def choice(self, name: str, known: Sequence[str]) -> str | None:
        """Value of an option that must be one of `known`.

        None if it is not given. Raises UnknownName for another value.
        """
        value = self.options.get(name)
        if value is not None:
            check_known(f"value of option {name}", value, known)
        return value

    def switch(self, name: str) -> bool | None:
        """Value of an option as a bool: on or off.

        None if it is not given. Raises UnknownName for anything else.
        """
        value = self.choice(name, ("on", "off"))
        return None if value is None else value == "on"

    def number(self, name: str, default: N, least: float = 0, most: float = inf) -> N:
        """Value of an option as a finite number within bounds.

        It has the type of the default, which is returned if the option is not given. Raises BadInput for anything else.
        """
        if name not in self.options:
            return default
        text = self.options[name]
        kind = type(default)
        with suppress(ValueError):
            number = kind(text)
            if least <= number <= most and number < inf:
                return number
        what = "a whole number" if kind is int else "a number"
        within = ""
        if most < inf:
            within = f" from {least:g} to {most:g}"
        elif least > -inf:
            within = f" of at least {least:g}"
        raise BadInput(f"{self.prefix}: option {name}: expected {what}{within}, found {text!r}")

    def file_or_fail(self, what: str) -> Path:
        """Return the place as the path of a file.

        Raises BadInput if there is no such file. `what` says in the error what was expected.
        """
        path = Path(self.place_or_fail(what))
        if not path.is_file():
            raise BadInput(f"{path}: no such file")
        return path

    def no_place(self) -> None:
        """Raise BadInput if the SPEC has a place."""
        if self.place:
            raise BadInput(f"{self.prefix}: expected nothing after the colon, found {self.place!r}")

    def place_or_fail(self, what: str) -> str:
        """Return the place. Raises BadInput if it is empty.

        `what` says in the error what was expected.
        """
        if not self.place:
            raise BadInput(f"{self.prefix}: expected {what} after the colon")
        return self.place


MODELS: Registry[Callable[[Spec], Model]] = Registry(
    "kind of model",
    "winokit.models",
    {
        "builtin": "winokit.models.builtin:load",
        "random": "winokit.models.random_model:load",
        "hf": "winokit.models.hf:load",
        "gguf": "winokit.models.gguf:load",
        "chat": "winokit.models.chat:load",
        "completions": "winokit.models.completions:load",
        "ngram": "winokit.models.ngram:load",
        "ensemble": "winokit.models.ensemble:load",
        "python": "winokit.models.python_function:load",
    },
)
"""Loaders of models, by prefix of the SPEC. Models that judge whole problems (`Choose`), such as the hunter and
word association, are registered by entry points."""


def as_model(model: ModelLike) -> str | Model:
    """Wrap a function as a model.

    A SPEC or a model is returned as it is.
    """
    if isinstance(model, (str, Model)):
        return model
    from winokit.models.python_function import of_function

    return of_function(model)


def load_model(spec: ModelLike | Spec, tokenizer: Any = None) -> Model:
    """Load a model by its SPEC.

    The option `name` of the SPEC gives it another name. A model is returned as it is.

    A function `f(before, after, candidates, pronoun)` that returns one number per candidate, or None to abstain, is a
    model too, and so is a network of transformers that you have loaded, given with its tokenizer.

    >>> longest = load_model(lambda before, after, candidates, pronoun: [len(name) for name in candidates])
    >>> longest.kind
    'any'

    Parameters
    ----------
    spec
        A SPEC, a function, a model, or a network of transformers.
    tokenizer
        The tokenizer of a network given as an object, else None.

    Returns
    -------
    Model
        Anything that answers requests.

    Raises
    ------
    UnknownName
        No kind of model has this prefix.
    MissingExtra
        The model needs an extra. The message has the pip command.
    """
    if tokenizer is not None:
        from winokit.models.hf import of_objects

        return of_objects(spec, tokenizer)
    if not isinstance(spec, Spec):
        spec = as_model(spec)
    if not isinstance(spec, (str, Spec)):
        return spec
    parsed = Spec.parse(spec) if isinstance(spec, str) else spec
    if not parsed.options.get("name", "").isprintable():
        raise BadInput(f"{parsed.prefix}: option name: expected a name that can be printed, found {str(parsed)!r}")
    # A name is no part of what a model is: who makes a fingerprint of the SPEC must not see it.
    options = {key: value for key, value in parsed.options.items() if key != "name"}
    nameless = replace(parsed, options=options)
    model = _find_loader(parsed)(nameless)
    if "name" in parsed.options:
        model.spec = str(parsed)  # type: ignore[misc]
    return model


def check_model(spec: str | Model) -> None:
    """Check a SPEC as far as possible without loading the model.

    Raises BadInput early, before other models are loaded. A module of models may have a function `check` for that. A
    model that loads at once is loaded.
    """
    if isinstance(spec, str):
        parsed = Spec.parse(spec)
        home = sys.modules[_find_loader(parsed).__module__]
        check: Callable[[Spec], object] = getattr(home, "check", lambda parsed: None)
        check(parsed)
        if parsed.prefix in ("gguf", "ngram"):
            parsed.file_or_fail("FILE")
        elif parsed.prefix in ("random", "python"):
            _find_loader(parsed)(parsed)


def _find_loader(spec: Spec) -> Callable[[Spec], Model]:
    """Function that loads models of a SPEC's prefix.

    Raises UnknownName, with a guess.
    """
    if spec.prefix not in MODELS and (meant := _guess_spec(spec.text)):
        raise UnknownName(MODELS.kind, spec.text, MODELS, meant)
    return MODELS[spec.prefix]


def _guess_spec(text: str) -> str | None:
    """Guess the SPEC that a user meant who left out its prefix.

    None if it looks like neither a server, a file, a folder, nor a name on the hub.

    >>> _guess_spec("gpt2"), _guess_spec("gpt-4o"), _guess_spec("buildin")
    ('hf:gpt2', 'chat:gpt-4o', None)
    >>> _guess_spec("llama@http://localhost:8000/v1")
    'chat:llama@http://localhost:8000/v1 or completions:llama@http://localhost:8000/v1'
    """
    location = text.partition("?")[0]
    if "http://" in location or "https://" in location:
        server = text if "@" in location else f"MODEL@{text}"
        return f"chat:{server} or completions:{server}"
    if SERVED_NAME.match(location):
        return f"chat:{text}"
    if location.endswith(".gguf"):
        return f"gguf:{text}"
    if location and Path(location).expanduser().is_dir():
        return f"hf:{text}"
    is_misspelt = bool(get_close_matches(location, list(MODELS)))
    return f"hf:{text}" if HUB_NAME.fullmatch(location) and not is_misspelt else None


def release(model: Model) -> None:
    """Free the memory of a model that is not needed any more.

    Its name, fingerprint, plan and notes stay. A model without a `close()` is left alone.
    """
    close = getattr(model, "close", None)
    if close is not None:
        close()
