"""Debiasing: problems that a method removes, and what that changes."""
