"""Anyone's predictions, matched to the problems of a dataset: the audit needs no model where a file has the answers."""
