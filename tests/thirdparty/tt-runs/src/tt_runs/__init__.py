"""Vectors that store runs of equal elements."""
