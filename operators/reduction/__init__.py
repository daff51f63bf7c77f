"""Sums, extremes, norms and what else reduces dimensions."""
