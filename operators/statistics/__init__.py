"""Medians, quantiles, histograms and counts."""
