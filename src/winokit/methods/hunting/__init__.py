"""The hunter: an index of a corpus, and queries, evidence and a decision for a problem."""
