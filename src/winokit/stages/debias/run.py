"""`winokit debias`: run a method, others beside it at the same size, look at what each keeps, and leave a page."""

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
    compared = [METHODS[name] for name in comparison.method_names]
    looks_at_features = comparison.assess or any(each.needs_features for each in (type(chosen), *compared))
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
    """Return the folder to write, or None if nothing is saved."""
    if out is None:
        return None
    return OUT.with_name(f"{dataset.card.file_name}-{method.name}") if Path(out) == OUT else Path(out)


def with_checkpoint(method: DebiasMethod, folder: Path) -> DebiasMethod:
    """The method with a checkpoint in the folder, if it is one that writes checkpoints and has none."""
    if not isinstance(method, AFLite):
        return method
    return replace(method, checkpoint=method.checkpoint or folder / CHECKPOINT)


def debias_by(name: str) -> Callable[..., Debiased]:
    """`debias` by the method of a name, whose settings are parameters too: the call behind `winokit debias NAME`."""
    kind = METHODS[name]

    def call(data: Any, **given: Any) -> Debiased:
        return debias(data, name, **given)

    data, _, *other_parameters, _ = signature_of(debias).parameters.values()
    call.__signature__ = inspect.Signature([data, *parameters_of(kind), *other_parameters])  # type: ignore[attr-defined]
    call.__doc__ = kind.__doc__
    call.__name__ = name
    return call


def method_of(method: str | DebiasMethod, settings: dict[str, Any]) -> DebiasMethod:
    """The method with these settings. Raises BadInput if it needs a size and has none."""
    kind = type(method) if isinstance(method, DebiasMethod) else METHODS[method]
    own_names = [each.name for each in fields(kind) if each.init]  # type: ignore[arg-type]
    check_names(f"debias by {kind.name}", settings, [*own_names, *inspect.signature(debias).parameters])
    if isinstance(method, DebiasMethod):
        return replace(method, **settings) if settings else method  # type: ignore[type-var]
    if has_size(kind) and "size" not in settings:
        raise BadInput(f"{method} needs a size: how many problems should it keep? (--size)")
    return kind(**settings)
