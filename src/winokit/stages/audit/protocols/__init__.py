"""Protocols: subsets and variants to look at, and the metrics of each.

Another package adds one by an entry point of the group `winokit.protocols` that names a `Protocol`: the decorated
function takes an `AuditSheet` and yields rows under the entry point's name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from winokit.errors import BadInput, check_known
from winokit.methods.scoring.cache import Cache
from winokit.models.base import Model
from winokit.problem import Dataset
from winokit.registry import Registry
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet

Rows = Callable[[AuditSheet], Iterable[Metric]]
Asks = Callable[[Dataset, Model, Cache, bool], Mapping[str, float]]
"""From problems and model to a number per problem id; the flag says whether the protocol was asked for by name."""


@dataclass(frozen=True)
class Protocol:
    """The rows of one scorer, and what must be known for them."""

    rows: Rows
    variants: tuple[str, ...] = ()
    """What it looks at beside the problems as they are; a name that ends in a dot stands for all that begin so."""
    asks: Asks | None = None
    """What it wants to know of the model beside predictions; `AuditSheet.asked` has it."""

    def wants(self, variant: str) -> bool:
        """Whether it looks at a variant."""
        return any(variant.startswith(name) if name.endswith(".") else variant == name for name in self.variants)


def protocol(*variants: str, asks: Asks | None = None) -> Callable[[Rows], Protocol]:
    """Make a protocol of the function that gives its rows."""
    return lambda rows: Protocol(rows, variants, asks)


def check_protocols(names: Iterable[str]) -> None:
    """Refuse protocols that nobody knows, and a subset that is named with its protocol."""
    for name in names:
        protocol_name, at, subset = name.partition("@")
        if at:
            raise BadInput(f"--protocol {name}: name the subset apart: --protocol {protocol_name} --subset {subset}")
        check_known("protocol", name, PROTOCOLS)


_HOMES = {
    "accuracy": "accuracy:accuracy",
    "groups": "groups:groups",
    "samples": "samples:samples",
    "switching": "consistency:switching",
    "association": "subsets:association",
    "artifacts": "artifacts:artifacts",
    "special-word": "artifacts:special_word",
    "gender": "gender:gender",
    "position": "candidates:position",
    "dependence": "groups:dependence",
    "structure": "subsets:structure",
    "length": "candidates:length",
    "stability": "consistency:stability",
    "strict": "consistency:strict",
    "naturalness": "naturalness:naturalness",
    "luck": "accuracy:luck",
}
PROTOCOLS: Registry[Protocol] = Registry(
    "protocol", "winokit.protocols", {name: f"{__name__}.{home}" for name, home in _HOMES.items()}
)
"""Every protocol by its name, in the order of a run's rows."""
