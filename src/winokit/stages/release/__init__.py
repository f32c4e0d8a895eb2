"""From filtered twins to a benchmark that others can use: splits, sizes, card, formats, hidden test."""
