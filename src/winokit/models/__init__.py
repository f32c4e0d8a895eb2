"""Text in, numbers out; models know nothing of Winograd schemas."""
