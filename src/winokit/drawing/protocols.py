"""Every protocol in plain words: what it asks, how its rows are called on a page, and whom to cite for it.

The words lie in `assets/captions.toml`; a protocol, subset or metric that has none there speaks for itself.
"""

from dataclasses import dataclass

from winokit.files import our_toml
from winokit.results import Metric

_CAPTIONS = our_toml("assets/captions.toml")


@dataclass(frozen=True, slots=True)
class Citation:
    """A paper to cite."""

    short: str
    full: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class ProtocolCaption:
    """What a reader must know to read a protocol's numbers."""

    title: str
    question: str
    sources: tuple[Citation, ...] = ()


CITATIONS = {name: Citation(**fields) for name, fields in _CAPTIONS["citations"].items()}
ABOUT = {
    name: ProtocolCaption(
        fields["title"], fields["question"], tuple(CITATIONS[source] for source in fields.get("sources", ()))
    )
    for name, fields in _CAPTIONS["protocols"].items()
}
"""By protocol, in the order of a page."""
TITLES: dict[str, str] = _CAPTIONS["rows"]
"""By `protocol/subset/metric`."""


def base(name: str) -> str:
    """A protocol or subset without the subset it was asked on: `artifacts@non_associative` is `artifacts`."""
    return name.partition("@")[0]


def about(protocol: str) -> ProtocolCaption:
    """What is known of a protocol; one from elsewhere speaks for itself."""
    return ABOUT.get(base(protocol)) or ProtocolCaption(_plain(protocol).capitalize(), "")


def title(row: Metric) -> str:
    """A row's name on a page, under its protocol's heading."""
    subset, _, on = row.subset.partition("@")
    on = on or row.protocol.partition("@")[2]
    known = TITLES.get(f"{base(row.protocol)}/{subset}/{row.metric}")
    return (known or _composed(subset, row.metric)) + (f", {_plain(on)} only" if on else "")


def _composed(subset: str, metric: str) -> str:
    kind, dot, part = subset.partition(".")
    name: str = _CAPTIONS["subsets"].get(kind) or _plain(kind).capitalize()
    if dot:
        name += f": {_plain(part)}" if kind in ("connective", "domain") else f", {_plain(part)}"
    if metric == "accuracy":
        return name
    if metric == "group_accuracy":
        return f"{name}, whole groups"
    words: str = _CAPTIONS["metrics"].get(metric) or _plain(metric)
    return words[0].upper() + words[1:] if name == "All" else f"{name}, {words}"


def _plain(name: str) -> str:
    return name.replace("_", " ").replace(".", ", ")


def place(row: Metric) -> tuple[int, str]:
    """Sorts protocols in the order of a page, unknown ones last; rows of one protocol keep their order."""
    order = list(ABOUT)
    return order.index(base(row.protocol)) if base(row.protocol) in ABOUT else len(order), row.protocol
