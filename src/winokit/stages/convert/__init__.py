"""Problems in other forms: formats, tasks of a harness, variants."""
