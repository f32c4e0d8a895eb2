"""`winokit debias`: run methods, measure what they keep, and write a page."""

import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

from winokit.data.loading import AsWrittenLimited, Data, Loading
from winokit.errors import BadInput
from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.methods import METHODS, DebiasMethod, has_size
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.settings import Help, check_names, parameters_of, signature_of, verb
from winokit.stages.debias.filtering import Debiased, check_problems, filter_and_compare
from winokit.stages.debias.settings import DebiasComparison, FeatureSource
from winokit.stages.debias.table import check_folder, save

OUT = Path("runs/DATA-METHOD")
"""The default folder. DATA and METHOD stand for their names."""
CHECKPOINT = "checkpoint.npz"
"""The checkpoint of the first seed."""
CHECKPOINTS = "checkpoint*.npz"


@verb
def debias(
    data: Data,
    method: str | DebiasMethod = "aflite",
    *,
    source: FeatureSource = FeatureSource(),
    comparison: DebiasComparison = DebiasComparison(),
    loading: AsWrittenLimited = Loading(),
    out: Annotated[str | Path | None, Help("The folder to write.", "DIR", otherwise=OUT)] = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Debiased:
    """Filter a dataset by a method, and compare it with other methods at the same size.

    Parameters
    ----------
    method
        The name of a method, whose settings may follow by name, or such a method: `AFLite(cutoff=500)` runs once.
    features
        With none, a model embeds the problems, if anybody looks at features.
    out
        Where everything is saved and the page written; None saves nothing.
    settings
        Those of the method, by name: `size=500` for random and pmi; `help(winokit.AFLite)` has AFLite's.
    assess
        Without it features may be too many for one machine's memory.

    Returns
    -------
    Debiased
        `kept` and `removed` as datasets, every number in `metrics`.
    """
    chosen = method_of(method, settings)
    kinds = [type(chosen), *(METHODS[name] for name in comparison.method_names)]
    looks_at_features = comparison.assess or any(kind.needs_features for kind in kinds)
    if not looks_at_features:
        source.refuse_unused(chosen.name)
    source.check_informed()
    dataset = source.usable_problems(loading.one(data))
    check_problems(dataset)  # before a model spends minutes on problems that cannot be filtered
    folder = folder_of_debias(out, dataset, chosen)
    if folder is not None:
        check_folder(folder)
        chosen = with_checkpoint(chosen, folder)
    features = source.rows_for(dataset, progress) if looks_at_features else None
    filtering = filter_and_compare(dataset, chosen, features, comparison, progress)
    filtering = replace(filtering, folder=folder)
    tell((*filtering.notes, *filtering.warnings))
    if folder is not None:
        save(filtering, folder)
        for checkpoint in folder.glob(CHECKPOINTS):
            checkpoint.unlink()
    return filtering


def folder_of_debias(out: str | Path | None, dataset: Dataset, method: DebiasMethod) -> Path | None:
    """Return the folder to write, or None if nothing is saved.

    `out` is what the user asked for. The default folder is named after the dataset and the method.
    """
    if out is None:
        return None
    if Path(out) == OUT:
        return OUT.with_name(f"{dataset.card.file_name}-{method.name}")
    return Path(out)


def with_checkpoint(method: DebiasMethod, folder: Path) -> DebiasMethod:
    """Return AFLite with a checkpoint file in the folder, unless it has one already.

    Another method is returned as it is, since it writes no checkpoints.
    """
    if not isinstance(method, AFLite):
        return method
    checkpoint = method.checkpoint or folder / CHECKPOINT
    return replace(method, checkpoint=checkpoint)


def debias_by(name: str) -> Callable[..., Debiased]:
    """Return a function that debiases by one method: the call behind `winokit debias NAME`.

    Its parameters are those of `debias` and the settings of the method. Its docstring is the method's.
    """
    kind = METHODS[name]

    def call(data: Any, **options: Any) -> Debiased:
        return debias(data, name, **options)

    data, _, *other_parameters, _ = signature_of(debias).parameters.values()
    call.__signature__ = inspect.Signature([data, *parameters_of(kind), *other_parameters])  # type: ignore[attr-defined]
    call.__doc__ = kind.__doc__
    call.__name__ = name
    return call


def method_of(method: str | DebiasMethod, settings: dict[str, Any]) -> DebiasMethod:
    """Return the method with these settings, by its name or from an instance.

    Raises BadInput if a setting is unknown, or if the method needs a size and has none.
    """
    kind = type(method) if isinstance(method, DebiasMethod) else METHODS[method]
    setting_names = [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]
    parameter_names = inspect.signature(debias).parameters
    check_names(f"debias by {kind.name}", settings, [*setting_names, *parameter_names])
    if isinstance(method, DebiasMethod):
        return replace(method, **settings) if settings else method  # type: ignore[type-var]
    if has_size(kind) and "size" not in settings:
        raise BadInput(f"{method} needs a size: how many problems should it keep? (--size)")
    return kind(**settings)
