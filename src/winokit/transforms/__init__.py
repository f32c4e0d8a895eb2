"""Problems made from problems. Transforms take and give datasets; what cannot be made is noted, never guessed."""

from winokit.transforms.binary import binary
from winokit.transforms.choice import choice
from winokit.transforms.judgements import judgements

VIEWS = {"binary": binary, "choice": choice, "judgements": judgements}
"""What `--as` can ask for."""

__all__ = ["VIEWS", "binary", "choice", "judgements"]
