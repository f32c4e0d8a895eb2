"""Every protocol in plain words: its question, the titles of its rows, and its papers.

The words are in `assets/captions.toml`. A protocol, subset or metric without words there is shown by its name.
"""

from dataclasses import dataclass

from winokit.files import our_toml
from winokit.results import Metric

_CAPTIONS = our_toml("assets/captions.toml")


@dataclass(frozen=True, slots=True)
class Citation:
    """A paper to cite, in a short and a full form."""

    short: str
    full: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class ProtocolCaption:
    """Title, question and papers of a protocol, as shown on pages."""

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
"""Captions by protocol, in the order of a page."""
TITLES: dict[str, str] = _CAPTIONS["rows"]
"""Titles of rows by `protocol/subset/metric`."""


def base(name: str) -> str:
    """Name of a protocol or subset without the condition after `@`.

    `artifacts@non_associative` is `artifacts`.
    """
    return name.partition("@")[0]


def about(protocol: str) -> ProtocolCaption:
    """Caption of a protocol.

    A protocol of another package has its name as the title, and no question.
    """
    caption = ABOUT.get(base(protocol))
    if caption:
        return caption
    return ProtocolCaption(_make_plain(protocol).capitalize(), "")


def title(row: Metric) -> str:
    """Title of a row on a page, below its protocol's heading."""
    subset, _, condition = row.subset.partition("@")
    if not condition:
        _, _, condition = row.protocol.partition("@")
    name = TITLES.get(f"{base(row.protocol)}/{subset}/{row.metric}") or _compose_title(subset, row.metric)
    return f"{name}, {_make_plain(condition)} only" if condition else name


def _compose_title(subset: str, metric: str) -> str:
    """Compose a title of subset and metric, without a caption."""
    kind, dot, part = subset.partition(".")
    name: str = _CAPTIONS["subsets"].get(kind) or _make_plain(kind).capitalize()
    if dot:
        separator = ":" if kind in ("connective", "domain") else ","
        name += f"{separator} {_make_plain(part)}"
    if metric == "accuracy":
        return name
    if metric == "group_accuracy":
        return f"{name}, whole groups"
    words: str = _CAPTIONS["metrics"].get(metric) or _make_plain(metric)
    if name == "All":
        return words[0].upper() + words[1:]
    return f"{name}, {words}"


def _make_plain(name: str) -> str:
    """Write a name as words: without underscores and dots."""
    return name.replace("_", " ").replace(".", ", ")


def place(row: Metric) -> tuple[int, str]:
    """Sort key that puts protocols in the order of a page.

    Unknown protocols come last. Rows of one protocol have the same key.
    """
    order = list(ABOUT)
    protocol = base(row.protocol)
    index = order.index(protocol) if protocol in ABOUT else len(order)
    return index, row.protocol
