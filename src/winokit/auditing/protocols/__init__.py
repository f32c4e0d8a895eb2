"""Which subsets and variants to look at, and which metrics to compute from them. One file a protocol."""

from collections.abc import Callable, Iterable, Mapping

from winokit.auditing.protocols.accuracy import accuracy
from winokit.auditing.protocols.artifacts import artifacts, special_word
from winokit.auditing.protocols.association import association
from winokit.auditing.protocols.dependence import dependence
from winokit.auditing.protocols.gender import gender
from winokit.auditing.protocols.groups import groups
from winokit.auditing.protocols.length import length
from winokit.auditing.protocols.luck import luck
from winokit.auditing.protocols.naturalness import naturalness
from winokit.auditing.protocols.position import position
from winokit.auditing.protocols.stability import stability
from winokit.auditing.protocols.strict import strict
from winokit.auditing.protocols.structure import structure
from winokit.auditing.protocols.switching import switching
from winokit.auditing.sheet import Sheet
from winokit.results import Metric

PROTOCOLS: Mapping[str, Callable[[Sheet], Iterable[Metric]]] = {
    "accuracy": accuracy,
    "groups": groups,
    "switching": switching,
    "association": association,
    "artifacts": artifacts,
    "special-word": special_word,
    "gender": gender,
    "position": position,
    "dependence": dependence,
    "structure": structure,
    "length": length,
    "stability": stability,
    "strict": strict,
    "naturalness": naturalness,
    "luck": luck,
}
