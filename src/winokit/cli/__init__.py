"""One file per verb, no logic."""
