"""The audit: protocols that judge scorers on a dataset, and the page of their results."""
