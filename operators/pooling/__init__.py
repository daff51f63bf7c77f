"""Pooling, and its opposite."""
