"""Many fine-tuning runs over a space of settings, and what their scores are worth."""
