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
"""Function from problems, model and cache to a number per problem id.

Its flag says whether a user named the protocol.
"""


@dataclass(frozen=True)
class Protocol:
    """A function that makes rows, with the variants and numbers it needs."""

    rows: Rows
    variants: tuple[str, ...] = ()
    """Variants that it needs besides the original problems. A name that ends in a dot is a prefix."""
    asks: Asks | None = None
    """Function that asks the model for more than predictions. `AuditSheet.asked` has the result."""

    def wants(self, variant: str) -> bool:
        """Whether it needs a variant."""
        prefixes = tuple(name for name in self.variants if name.endswith("."))
        return variant in self.variants or variant.startswith(prefixes)


def protocol(*variants: str, asks: Asks | None = None) -> Callable[[Rows], Protocol]:
    """Decorate a function so that it becomes a protocol.

    `variants` are those that it needs, `asks` a function that asks the model for more than predictions.
    """
    return lambda rows: Protocol(rows, variants, asks)


def check_protocols(names: Iterable[str]) -> None:
    """Raise an error for unknown protocols, and for names with a subset.

    Such a name is `artifacts@associative`.
    """
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
"""By protocol, its module here and its function."""
_IMPORT_PATHS = {name: f"{__name__}.{home}" for name, home in _HOMES.items()}
PROTOCOLS: Registry[Protocol] = Registry("protocol", "winokit.protocols", _IMPORT_PATHS)
"""Every protocol by its name, in the order of a run's rows."""
