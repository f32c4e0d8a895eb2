"""Defaults of the divergences, shared with the settings.

They have a module of their own, so that help texts load without NumPy.
"""

SMOOTHING = 0.5
"""Number added to the count of every histogram bin."""
NEIGHBOURS = 10
"""Number of neighbours in the k-NN estimate."""
