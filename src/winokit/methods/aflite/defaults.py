"""Defaults of the divergences, which settings state too; a module of its own, so that help imports no NumPy."""

SMOOTHING = 0.5
"""Added to every bin of a histogram."""
NEIGHBOURS = 10
"""Neighbours of the k-NN estimate."""
