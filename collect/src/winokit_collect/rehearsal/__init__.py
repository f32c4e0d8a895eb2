"""Rehearse a study with simulated people, and a platform that makes errors."""
