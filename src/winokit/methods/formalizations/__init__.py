"""Formalizations: ways in which a fine-tuned model reads, learns and decides a problem."""
