"""Normalization over channels, groups and batches."""
