"""Which subsets and variants to look at, and which metrics to compute from them. One file a protocol."""

from collections.abc import Callable, Iterable, Mapping

from winokit.results import Metric
from winokit.stages.audit.protocols.accuracy import accuracy
from winokit.stages.audit.protocols.artifacts import artifacts, special_word
from winokit.stages.audit.protocols.association import association
from winokit.stages.audit.protocols.dependence import dependence
from winokit.stages.audit.protocols.gender import gender
from winokit.stages.audit.protocols.groups import groups
from winokit.stages.audit.protocols.length import length
from winokit.stages.audit.protocols.luck import luck
from winokit.stages.audit.protocols.naturalness import naturalness
from winokit.stages.audit.protocols.position import position
from winokit.stages.audit.protocols.stability import stability
from winokit.stages.audit.protocols.strict import strict
from winokit.stages.audit.protocols.structure import structure
from winokit.stages.audit.protocols.switching import switching
from winokit.stages.audit.sheet import AuditSheet

PROTOCOLS: Mapping[str, Callable[[AuditSheet], Iterable[Metric]]] = {
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
