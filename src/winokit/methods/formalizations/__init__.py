"""Six ways for a fine-tuned model to read a problem, to be trained on it and to decide it. One short file each."""
