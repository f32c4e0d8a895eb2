"""The settings of an audit: its protocols, its predictions, and how the data is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated

from winokit.data.loading import Loading, Perturbed
from winokit.data.predictions.in_memory import Predictions, are_empty, are_files, file_paths
from winokit.errors import BadInput
from winokit.methods.scoring.base import check_scorings
from winokit.methods.transforms.variants import PERTURBED, TRANSFORMS, Style
from winokit.settings import Help, Settings, Without
from winokit.stages.audit.protocols import PROTOCOLS, Protocol, check_protocols

Columns = str | Mapping[str, str] | None
"""Columns of a table by their roles, as a dict or as `role=column,…`. None if the table's own names are used."""


@dataclass(frozen=True)
class AuditSettings(Settings):
    """Settings of an audit: protocols, data and predictions."""

    scoring: Annotated[str | Sequence[str] | None, Help("How to score; repeatable.", metavar="NAME")] = None
    predictions: Annotated[
        Predictions,
        Help(
            "Predictions instead of a model: winokit's, labels, a table, JSON by id, logs of lm-evaluation-harness or "
            "Inspect, the folder with its logs, or examples (bundled ones on open); repeatable.",
            metavar="FILE",
            typed=list[str],
        ),
    ] = ()
    protocol: Annotated[
        str | Sequence[str],
        Help("Only this protocol; repeatable.", metavar="NAME"),
    ] = ()
    subset: Annotated[
        str | Sequence[str],
        Help("Only problems with this yes/no label, or without it (non_associative); repeatable.", metavar="LABEL"),
    ] = ()
    majority: Annotated[
        bool, Help("Of several samples, judge a majority vote too, as a scorer of its own; ties abstain.")
    ] = False
    margin: Annotated[
        float | None,
        Help(
            "An effect that matters, in points: the verdict says whether the score is above chance by more.",
            above=0,
            most=100,
        ),
    ] = None
    style: Annotated[
        Style,
        Help(
            "How variants are made: ours (default), as their papers describe them (paper), or as the released scripts "
            "make them (code), counted as there (docs/transforms.md).",
            noun="style",
        ),
    ] = "default"
    readings: Annotated[
        str | Path | None,
        Help(
            "Ask under several prompts, candidate orders and scorings as well, and say what survives: default, or a "
            "file of prompts (docs/readings.md).",
            metavar="default|FILE",
        ),
    ] = None
    preview: Annotated[
        bool, Help("Show ten prompts and replies and what the rest would cost, and stop (docs/readings.md).")
    ] = False
    perturbed: Perturbed = ()
    loading: Annotated[Loading, Without("columns")] = Loading()
    columns: Annotated[
        Columns,
        Help(
            "What the columns of DATA's table are (docs/data.md); with a role prediction or scores, "
            "those of --predictions (docs/audit.md).",
            metavar="ROLE=COLUMN,…",
            was="prediction_columns",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if are_empty(self.predictions):
            raise BadInput("predictions: expected one for each problem, found none; leave them out to ask a model")
        check_protocols((self.protocol,) if isinstance(self.protocol, str) else self.protocol)
        if self.perturbed and not self._is_wanted(PERTURBED):
            raise BadInput(f"--perturbed has no effect on {', '.join(self.protocols)}; add stability or strict")
        check_scorings(self.scorings)
        # A wrong role is refused here, before anything is read.
        _ = self.columns_of_predictions

    @property
    def has_predictions(self) -> bool:
        """Whether predictions are given, as files or in memory."""
        return not are_files(self.predictions) or bool(file_paths(self.predictions))

    @property
    def protocol_names(self) -> tuple[str, ...]:
        """Names of the protocols to compute, each with its subset (`artifacts@non_associative`).

        They are all protocols if the settings name none. Without subsets, there is no `@`.
        """
        protocols = (self.protocol,) if isinstance(self.protocol, str) else self.protocol
        subsets = (self.subset,) if isinstance(self.subset, str) else self.subset
        names = tuple(protocols or PROTOCOLS)
        if not subsets:
            return names
        return tuple(f"{name}@{subset}" for name, subset in product(names, subsets))

    @cached_property
    def protocols(self) -> dict[str, Protocol]:
        """The protocols to compute, by name."""
        names = [name.partition("@")[0] for name in self.protocol_names]
        return {name: PROTOCOLS[name] for name in names}

    @property
    def wanted_variants(self) -> set[str]:
        """Names of the variants that any of the protocols needs."""
        return {name for name in TRANSFORMS if self._is_wanted(name)}

    def _is_wanted(self, variant: str) -> bool:
        """Whether any of the protocols needs a variant."""
        return any(protocol.wants(variant) for protocol in self.protocols.values())

    @property
    def scorings(self) -> tuple[str | None, ...]:
        """Names of the scorings, None for the default of a model."""
        if self.scoring is None or isinstance(self.scoring, str):
            return (self.scoring,)
        return tuple(self.scoring)

    @cached_property
    def columns_by_owner(self) -> tuple[Columns, dict[str, str] | None]:
        """Columns of DATA's table, and columns of the predictions or None.

        If no column has a role of predictions, all are of DATA. Otherwise all are of the predictions if these are
        given, and else they are split by role, since both are in one table.
        """
        if self.columns is None:
            return None, None
        from winokit.data.predictions.columns import are_of_predictions, checked_columns
        from winokit.data.predictions.within import split_columns

        if not are_of_predictions(self.columns):
            return self.columns, None
        columns, prediction_columns = (None, self.columns) if self.has_predictions else split_columns(self.columns)
        return columns, checked_columns(prediction_columns)

    @property
    def columns_of_predictions(self) -> dict[str, str] | None:
        """Columns of a table of predictions by their roles, or None."""
        return self.columns_by_owner[1]

    @property
    def data_loading(self) -> Loading:
        """Options for loading DATA, with the columns of its table."""
        return replace(self.loading, columns=self.columns_by_owner[0])
