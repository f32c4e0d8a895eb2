"""Anyone's predictions, matched to the problems of a dataset: the audit needs no model where a file has the answers."""

from winokit.data.predictions.read import Read, read_predictions

__all__ = ["Read", "read_predictions"]
