"""The verbs: run, page, table and template of each in one folder."""
