"""Transforms: problems made from other problems.

Each returns a new problem, or the reason why there is none. None of them guesses.
"""
