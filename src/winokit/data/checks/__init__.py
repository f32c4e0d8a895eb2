"""Checks of a dataset: twins, leaks, duplicates, rules, structure, statistics."""
