"""The order of predictions that have an index, as a Series or a data frame of pandas has.

If the problems are rows of a data frame with the same index labels, the predictions are put into the order of its rows.
If there are no such labels, and the index numbers the rows in another order than theirs, we cannot know whether it
numbers the problems: such predictions are refused. Lists, arrays and polars have no index.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from winokit.errors import BadInput
from winokit.progress import tell

WHICH_ORDER = (
    "predictions: the index has the numbers 0 to {last} in another order than the rows, and the problems have no such "
    "index; pass .sort_index() if it numbers the problems, {way_out} if the rows are in their order"
)
REPEATED = (
    "predictions: cannot be put into the order of the data frame, since the index label {label!r} is repeated; "
    "pass {way_out} if the rows are in the order of the problems"
)
ALIGNED = "predictions: put into the order of the data frame by their index labels"


def align_predictions(predictions: Any, data: Any) -> Any:
    """Predictions in the order of the rows of a data frame.

    Those with the same index labels as the frame are put into the order of its rows, and lose their index. In a mapping
    by name, each is. Anything else is returned as it is, such as a frame whose ids say which problem each row is about.

    Raises
    ------
    BadInput
        Where the order of the same labels differs, and one of them is repeated.
    """
    if isinstance(predictions, Mapping):
        return {name: align_predictions(each, data) for name, each in predictions.items()}
    if not _has_index(predictions) or not _has_index(data) or _has_ids(predictions):
        return predictions
    labels = list(predictions.index)
    data_labels = list(data.index)
    if labels == data_labels:
        return predictions.reset_index(drop=True)
    label_counts = Counter(labels)
    if label_counts != Counter(data_labels):
        return predictions
    for label, count in label_counts.items():
        if count > 1:
            raise BadInput(REPEATED.format(label=label, way_out=_drop_index_call(predictions)))
    tell([ALIGNED])
    return predictions.reindex(data.index).reset_index(drop=True)


def check_index_order(predictions: Any) -> None:
    """Raise BadInput if an index has the numbers from 0 on, in another order.

    Any other index passes, such as one of names.
    """
    if not _has_index(predictions) or getattr(predictions.index.dtype, "kind", None) not in ("i", "u"):
        return
    labels = list(predictions.index)
    numbers = list(range(len(labels)))
    if labels != numbers and sorted(labels) == numbers:
        raise BadInput(WHICH_ORDER.format(last=len(labels) - 1, way_out=_drop_index_call(predictions)))


def _has_index(values: Any) -> bool:
    """Whether values are a Series or a data frame with an index, as of pandas."""
    return hasattr(values, "reset_index") and hasattr(values, "index")


def _drop_index_call(predictions: Any) -> str:
    """The call of pandas that drops the index, and no names of columns."""
    return ".reset_index(drop=True)" if hasattr(predictions, "columns") else ".to_numpy()"


def _has_ids(predictions: Any) -> bool:
    """Whether predictions are a data frame with a column of ids."""
    from winokit.data.predictions.columns import IDS

    return any(str(name).casefold() in IDS for name in getattr(predictions, "columns", ()))
