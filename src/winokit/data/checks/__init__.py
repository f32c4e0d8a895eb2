"""What is right and wrong with a dataset: twins, leaks, duplicates, the rules of twins, structure, statistics."""
