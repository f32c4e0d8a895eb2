"""Numbers in, mask out: AFLite, its baselines, and what was removed."""
