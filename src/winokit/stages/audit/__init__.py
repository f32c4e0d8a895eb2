"""The one place where data, scorer and protocol meet."""
