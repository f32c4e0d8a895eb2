"""Results in, a folder of HTML out."""
