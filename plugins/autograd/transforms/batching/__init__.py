"""Batching rules: operators on many examples at once."""
