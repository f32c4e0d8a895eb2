"""Formalizations: a problem becomes inputs, numbers per option, a loss and a decision.

Six are those of Liu et al., "Precise Task Formalization Matters in Winograd Schema Evaluations" (2020),
https://arxiv.org/abs/2010.04043; they train encoders. `mc-lm` is ours, and trains models that write text. Paper and
released code disagree in places; where they do there is a switch, written after a question mark:
`mc-sent?separator=after`, `mc-mlm?loss=margin&alpha=5`. `style` sets several at once: `paper`, `code`
(nyu-mll/wsc-formalizations) or `winogrande` (allenai/winogrande).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl

from winokit.errors import BadInput, check_known
from winokit.files import our_toml
from winokit.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from winokit.methods.formalizations.batch import Batch
    from winokit.methods.formalizations.cases import Case
    from winokit.methods.formalizations.inputs import FollowingInput, Input

Switches: TypeAlias = Mapping[str, str]
"""Every switch of a formalization with its value, defaults filled in."""
Loss: TypeAlias = "tuple[Tensor, int]"
"""A sum, and of how many: the mean is taken over a whole batch, however it is cut to fit the memory."""

NUMBER = ("number",)
STYLES: Mapping[str, Switches] = our_toml("assets/formalizations.toml")["styles"]
COMPARING = {"ties": ("abstain", "strict", "loose"), "trains": ("right", "groups"), "rivals": ()}
"""Switches of formalizations that compare options.

`ties`: an abstention; lost by the query, which for problems with candidates is the first (`strict`); or won by it.
`trains`: of yes/no judgements those whose query is right, or one for each sentence and pronoun.
`rivals`: what a judgement's query is compared with: `phrases`, those found in its text, or a file (`cases.py`).
"""


@dataclass(frozen=True)
class Definition:
    """The definition of a formalization."""

    name: str
    about: str
    input: "Input | FollowingInput"
    head: "Callable[[Any, Switches], Module]"
    """From the encoder's configuration to a module: encoder and batch in, numbers of shape (options,) out."""
    loss: "Callable[[Tensor, Batch, Switches], Loss]"
    decide: "Callable[[Case, Sequence[float], Switches], tuple[float, ...] | str]"
    """From the numbers of a case's options to one score per candidate, or why there are none."""
    pointwise: bool = False
    """Whether each option trains by itself, with the others elsewhere in the epoch."""
    compares: bool = True
    """Whether a decision looks at more than one option."""
    guesses: bool = False
    """Whether it needs the model's language-modelling head."""
    reads_pronoun: bool = False
    """Whether the text is read as it stands; the others put an option where the pronoun was."""
    kinds: tuple[str, ...] = ("masked",)
    """Kinds of models that it trains."""
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Switches and their values, the default first; `NUMBER` and a default for numbers, nothing for free text."""


FORMALIZATIONS: Registry[Definition] = Registry(
    "formalization",
    group="winokit.formalizations",
    homes={
        "mc-mlm": "winokit.methods.formalizations.mc_mlm:MC_MLM",
        "mc-sent": "winokit.methods.formalizations.mc_sent:MC_SENT",
        "mc-sent-no-pair-loss": "winokit.methods.formalizations.mc_sent_no_pair_loss:MC_SENT_NO_PAIR_LOSS",
        "mc-sent-no-softmax": "winokit.methods.formalizations.mc_sent_no_softmax:MC_SENT_NO_SOFTMAX",
        "p-sent": "winokit.methods.formalizations.p_sent:P_SENT",
        "p-span": "winokit.methods.formalizations.p_span:P_SPAN",
        "mc-lm": "winokit.methods.formalizations.mc_lm:MC_LM",
    },
)
"""The seven, and those of other packages."""


def formalizations_of(kind: str) -> list[str]:
    """Names of the formalizations that train this kind of model: masked, causal or seq2seq."""
    return [name for name in FORMALIZATIONS if kind in FORMALIZATIONS[name].kinds]


@dataclass(frozen=True)
class Formalization:
    """A formalization with its switches set."""

    definition: Definition
    switches: Switches

    @classmethod
    def parse(cls, spec: str) -> "Formalization":
        """Parse `name?switch=value&…`. A wrong name or value says what exists."""
        name, _, query = spec.partition("?")
        definition = FORMALIZATIONS[name]
        given_switches = dict(parse_qsl(query, keep_blank_values=True))
        style = given_switches.pop("style", "default")
        check_known("style of formalization", style, STYLES)
        for switch in given_switches:
            check_known(f"switch of {name!r}", switch, [*definition.switches, "style"])
        # A style speaks of every formalization: what this one has no switch or no such value for is not meant for it.
        switches = defaults(definition)
        for key, value in STYLES[style].items():
            if value in definition.switches.get(key, ()):
                switches[key] = value
        for key, value in given_switches.items():
            switches[key] = _check_switch(definition, key, value)
        return cls(definition, switches)

    @property
    def name(self) -> str:
        """Its name without switches."""
        return self.definition.name

    @property
    def spec(self) -> str:
        """Name with all switches that differ from the defaults.

        The same formalization always has the same spec.
        """
        default_switches = defaults(self.definition)
        changed = [f"{key}={value}" for key, value in self.switches.items() if value != default_switches[key]]
        return f"{self.name}?{'&'.join(changed)}" if changed else self.name


def defaults(definition: Definition) -> dict[str, str]:
    """Return every switch with its default value."""
    return {key: _default_value(values) for key, values in definition.switches.items()}


def _default_value(values: Sequence[str]) -> str:
    """The first value of a switch; `phrases` for one that takes any text."""
    named_values = [value for value in values if value not in NUMBER]
    return named_values[0] if named_values else "phrases"


def _check_switch(definition: Definition, key: str, value: str) -> str:
    allowed_values = definition.switches[key]
    if allowed_values[:1] == NUMBER:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (number >= 0 and math.isfinite(number)):
            raise BadInput(f"{definition.name}?{key}: expected a number, 0 or more, found {value!r}")
        return str(number)
    if allowed_values:
        check_known(f"{key} of {definition.name!r}", value, allowed_values)
    return value
