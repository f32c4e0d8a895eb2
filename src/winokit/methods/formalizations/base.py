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
"""Value of every switch of a formalization, by its name."""
Loss: TypeAlias = "tuple[Tensor, int]"
"""A sum of losses and their number: the mean is taken over a whole step, which may be split to fit the memory."""

NUMBER = ("number",)
STYLES: Mapping[str, Switches] = our_toml("assets/formalizations.toml")["styles"]
COMPARING = {"ties": ("abstain", "strict", "loose"), "trains": ("right", "groups"), "rivals": ()}
"""Switches of formalizations that compare options.

`ties`: a tie is an abstention, or the query loses it (`strict`) or wins it (`loose`). Of problems with candidates, the
query is the first. `trains`: train on the yes/no judgements whose query is right, or on one for each sentence and
pronoun (`groups`). `rivals`: compare a judgement's query with noun phrases of its text (`phrases`), or with those of a
file (`cases.py`).
"""


@dataclass(frozen=True)
class Definition:
    """A formalization: its inputs, head, loss, decision and switches."""

    name: str
    about: str
    """A short description for lists."""
    input: "Input | FollowingInput"
    head: "Callable[[Any, Switches], Module]"
    """From an encoder's configuration to a module that maps encoder and batch to numbers of shape (options,)."""
    loss: "Callable[[Tensor, Batch, Switches], Loss]"
    decide: "Callable[[Case, Sequence[float], Switches], tuple[float, ...] | str]"
    """From the numbers of a case's options to one score per candidate, or the reason why there are none."""
    pointwise: bool = False
    """Whether each option is a training example of its own, apart from the other options of its problem."""
    compares: bool = True
    """Whether a decision compares options."""
    guesses: bool = False
    """Whether it needs the model's language-modelling head."""
    reads_pronoun: bool = False
    """Whether the text is read unchanged. Otherwise an option replaces the pronoun."""
    kinds: tuple[str, ...] = ("masked",)
    """Kinds of models that it trains."""
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Allowed values of each switch, the default first. A switch for numbers has `NUMBER` and a default, one for any
    text has no values."""


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
"""The seven formalizations of this package, and those of other packages."""


def formalizations_of(kind: str) -> list[str]:
    """Return the names of the formalizations that train a kind of model.

    `kind` is `masked`, `causal` or `seq2seq`.
    """
    return [name for name in FORMALIZATIONS if kind in FORMALIZATIONS[name].kinds]


@dataclass(frozen=True)
class Formalization:
    """A formalization with a value for each of its switches."""

    definition: Definition
    switches: Switches

    @classmethod
    def parse(cls, spec: str) -> "Formalization":
        """Parse `name?switch=value&…`.

        Raises BadInput or UnknownName for a wrong name, switch or value.
        """
        name, _, query = spec.partition("?")
        definition = FORMALIZATIONS[name]
        given_switches = dict(parse_qsl(query, keep_blank_values=True))
        style = given_switches.pop("style", "default")
        check_known("style of formalization", style, STYLES)
        for switch in given_switches:
            check_known(f"switch of {name!r}", switch, [*definition.switches, "style"])
        # A style has switches for all formalizations: only those that this one has are set.
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

        Equal formalizations have equal specs.
        """
        default_switches = defaults(self.definition)
        changes = [f"{key}={value}" for key, value in self.switches.items() if value != default_switches[key]]
        if not changes:
            return self.name
        query = "&".join(changes)
        return f"{self.name}?{query}"


def defaults(definition: Definition) -> dict[str, str]:
    """Return the default value of every switch."""
    return {key: _default_value(values) for key, values in definition.switches.items()}


def _default_value(values: Sequence[str]) -> str:
    """Return the first value of a switch, or `phrases` for free text.

    The word `number`, which marks a switch for numbers, is no value.
    """
    named_values = [value for value in values if value not in NUMBER]
    return named_values[0] if named_values else "phrases"


def _check_switch(definition: Definition, key: str, value: str) -> str:
    """Return the value of a switch, with numbers written as floats.

    Raises BadInput or UnknownName if the value is not allowed.
    """
    allowed_values = definition.switches[key]
    if allowed_values[:1] == NUMBER:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        is_allowed = number >= 0 and math.isfinite(number)
        if not is_allowed:
            raise BadInput(f"{definition.name}?{key}: expected a number, 0 or more, found {value!r}")
        return str(number)
    if allowed_values:
        check_known(f"{key} of {definition.name!r}", value, allowed_values)
    return value
