"""Corpus -> index; problem -> queries -> evidence -> decision."""
