"""Fine-tuning under a formalization: data and a model in, a folder out."""
