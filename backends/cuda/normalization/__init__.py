"""Normalization on CUDA."""
