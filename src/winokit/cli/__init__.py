"""The verbs, derived from the library's calls (`verbs.toml` lists them)."""
