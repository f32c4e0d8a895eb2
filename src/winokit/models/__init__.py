"""Models take text and return numbers. They know nothing of Winograd schemas."""
