"""normalization."""
