"""Settings of a filter: its features, and what its outcome is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable

from winokit.errors import BadInput, UnusedSetting
from winokit.methods.aflite.defaults import NEIGHBOURS, SMOOTHING
from winokit.methods.scoring.cache import CacheFile
from winokit.models.base import Model
from winokit.models.registry import MODEL_HELP
from winokit.problem import Dataset
from winokit.progress import Progress, begin, tell
from winokit.settings import Help, Settings, Without, spelling

if TYPE_CHECKING:
    from winokit.stages.debias.features import DebiasFeatures

NONE = "none"
"""Option value that compares with no other method."""


@runtime_checkable
class FeatureMatrix(Protocol):
    """Rows of numbers: a NumPy array, or `DebiasFeatures`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""


@dataclass(frozen=True)
class FeatureSource(Settings):
    """The source of features: a file, an array, or a model.

    Raises BadInput if options of two sources are mixed.
    """

    features: Annotated[
        str | Path | FeatureMatrix | None,
        Help("A .npy file from winokit embed, or a folder of such files.", "X.npy", typed=Path | None),
    ] = None
    allow_uninformed: Annotated[
        bool,
        Help(
            "Use fine-tuned features that know nothing: no better than chance on their own dev problems.",
            section="embedding",
        ),
    ] = False
    model: Annotated[str | Model | None, Help(f"Embed with this model: {MODEL_HELP} Default: builtin.", "SPEC")] = None
    kind: Annotated[str, Help("With --model: concat (both candidates), difference or single.", section="embedding")] = (
        "concat"
    )
    pooling: Annotated[str, Help("With --model: first token, mean over tokens, or span.", section="embedding")] = (
        "first"
    )
    cache: CacheFile = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features is not None:
            self._refuse_any("kind", "pooling", "cache", reason="says how to embed, but --features is already embedded")
            if self.model is not None:
                raise BadInput("features come from a file (--features) or from a model (--model), not from both")
        if self.file is None:
            self._refuse_any("allow_uninformed", reason="an option of --features X.npy")

    @property
    def file(self) -> Path | None:
        """File or folder with features.

        It is None if the features are an array or come from a model.
        """
        return Path(self.features) if isinstance(self.features, (str, Path)) else None

    def refuse_unused(self, method: str) -> None:
        """Raise UnusedSetting if any option on features is set.

        Called if nothing uses features. `method` is the name of the chosen method, for the message.
        """
        reason = f"{method} uses features only for the assessment: drop this option, or --set assess=off"
        self._refuse_any("features", "model", "kind", "pooling", "cache", reason=reason)

    def usable_problems(self, dataset: Dataset) -> Dataset:
        """Return the dataset without problems that the features' model was fine-tuned on.

        Shows a note if there are such problems. Without a file of features, all problems are returned.
        """
        if self.file is None:
            return dataset
        from winokit.stages.debias.features import without_held_out

        usable = without_held_out(self.file, dataset)
        tell(usable.notes)
        return usable

    def check_informed(self) -> None:
        """Raise BadInput if the features come from a fine-tuned model no better than chance.

        Nothing is checked without a file, or if `allow_uninformed` is set.
        """
        if self.file is not None and not self.allow_uninformed:
            from winokit.stages.debias.features import refuse_uninformed

            refuse_uninformed(self.file)

    def rows_for(self, dataset: Dataset, progress: Progress | None) -> "DebiasFeatures":
        """Return one row of features per problem.

        They are read from the file, taken from the array, or embedded by the model.
        """
        from winokit.stages.debias.features import DebiasFeatures, read_features

        if self.file is not None:
            return read_features(self.file, dataset)
        if self.features is None:
            return self._embed_problems(dataset, progress)
        if isinstance(self.features, DebiasFeatures):
            return self.features
        return DebiasFeatures.of_array(self.features)

    def _embed_problems(self, dataset: Dataset, progress: Progress | None) -> "DebiasFeatures":
        """Embed the problems with the model, and note which answers were cached.

        Without a model it is the built-in one. The notes are shown, and are in the features too.
        """
        from winokit.methods.scoring.cache import open_cache
        from winokit.stages.debias.features import embedded

        begin("embedding")
        with open_cache(self.cache) as cache:
            made_features = embedded(
                dataset, self.model or "builtin", kind=self.kind, pooling=self.pooling, cache=cache, progress=progress
            )
            replay_notes = tuple(cache.ledger.replays.notes)
        tell(replay_notes)
        return replace(made_features, notes=replay_notes)

    def _refuse_any(self, *names: str, reason: str) -> None:
        """Raise UnusedSetting for the first of these settings that is not its default."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            value = getattr(self, name)
            default = defaults[name]
            # An array is never compared with None: that gives an array.
            is_default = value is default or (default is not None and value == default)
            if not is_default:
                raise UnusedSetting(name, reason, typed_as=spelling(type(self), name))


@dataclass(frozen=True)
class Assessment(Settings):
    """Settings of the measures on the problems that are kept."""

    folds: Annotated[int, Help("Folds of the linear probe.", least=2, section="assessment")] = 5
    regularisation: float = 1.0
    bins: Annotated[
        int | None, Help("Histogram bins. Default: chosen for the smallest arm.", least=2, section="assessment")
    ] = None
    smoothing: float = SMOOTHING
    neighbours: Annotated[
        int, Help("Neighbours of the k-NN estimate of divergence.", least=1, section="assessment")
    ] = NEIGHBOURS
    draws: int = 100
    """Number of resamples for the standard errors of the divergences."""
    chance_draws: int = 10
    """Number of draws with randomly flipped answers, for the divergence expected by chance."""
    removals: int = 19
    """Maximum number of random removals of the same size to rank the probe among; 19 are enough."""
    seed: int = 0


@dataclass(frozen=True)
class DebiasComparison(Settings):
    """The methods to compare with, and the assessment of features before and after."""

    compare: Annotated[
        Sequence[str],
        Help("Compare with this method at the same size; repeatable; or none. Default: random and pmi.", shown=False),
    ] = ("random", "pmi")
    assess: Annotated[
        bool, Help("Assess the features before and after: probe, components, divergence.", section="assessment")
    ] = True
    assessment: Annotated[
        Assessment, Without("regularisation", "smoothing", "draws", "chance_draws", "removals", "seed")
    ] = Assessment()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.assess:
            return
        for name in ("folds", "bins", "neighbours"):
            if getattr(self.assessment, name) != getattr(Assessment, name):
                raise UnusedSetting(name, "a setting of the assessment; it does not go with --set assess=off")

    @property
    def method_names(self) -> list[str]:
        """Names of the methods to compare with."""
        return [name for name in self.compare if name != NONE]

    def assessment_for(self, seed: int) -> Assessment | None:
        """Return the settings of the assessment with this seed.

        None if the assessment is switched off.
        """
        return replace(self.assessment, seed=seed) if self.assess else None
