"""Resampling on CUDA."""
