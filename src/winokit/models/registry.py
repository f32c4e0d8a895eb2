"""From SPEC to model: `builtin`, `random`, `hf:NAME_OR_DIR`, `gguf:FILE`, `chat:MODEL@URL`, `ngram:FILE`, …

Options follow a question mark, as in a web address: `hf:gpt2?dtype=bfloat16&device=cuda`. The members of an ensemble
have their own: `ensemble:hf:a?bos=on+hf:b`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from urllib.parse import parse_qsl

from winokit.errors import BadInput, UnknownName
from winokit.models.base import Model


@dataclass(frozen=True)
class Spec:
    """A model as the user names it: prefix, place, options."""

    prefix: str
    place: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Take a SPEC apart.

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
        query = "&".join(f"{key}={value}" for key, value in self.options.items())
        return self.prefix + (f":{self.place}" if self.place else "") + (f"?{query}" if query else "")

    def only(self, *known: str) -> Mapping[str, str]:
        """The options, after a check that each is one of `known`."""
        for name in self.options:
            if name not in known:
                raise UnknownName(f"option of {self.prefix!r} models", name, known)
        return self.options

    def switch(self, name: str) -> bool | None:
        """Whether an option is `on`; None where it is not given."""
        said = self.options.get(name)
        if said not in (None, "on", "off"):
            raise UnknownName(f"value of option {name}", str(said), ("on", "off"))
        return None if said is None else said == "on"

    def place_or_fail(self, what: str) -> str:
        """The place, which must be given."""
        if not self.place:
            raise BadInput(f"{self.prefix}: {what} expected after the colon")
        return self.place


# Imported when first asked for, since most need an extra: prefix to the module whose `load(spec)` makes the model.
# Those that judge whole problems live above this package; they answer `Choose`, and are known here by name only.
HOMES = {
    "builtin": "winokit.models.builtin",
    "random": "winokit.models.random_model",
    "hf": "winokit.models.hf",
    "gguf": "winokit.models.gguf",
    "chat": "winokit.models.chat",
    "ngram": "winokit.models.ngram",
    "ensemble": "winokit.models.ensemble",
    "python": "winokit.models.python_function",
    "hunter": "winokit.methods.hunting.hunter",
}


def load_model(spec: str | Spec) -> Model:
    """Load a model by its SPEC."""
    parsed = Spec.parse(spec) if isinstance(spec, str) else spec
    if parsed.prefix not in HOMES:
        raise UnknownName("kind of model", parsed.prefix, HOMES)
    load: Callable[[Spec], Model] = import_module(HOMES[parsed.prefix]).load
    return load(parsed)
