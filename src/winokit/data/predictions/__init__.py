"""Anyone's predictions, matched to the problems of a dataset: the audit needs no model where a file has the answers."""

from winokit.data.predictions.read import ReadPredictions, read_predictions

__all__ = ["ReadPredictions", "read_predictions"]
