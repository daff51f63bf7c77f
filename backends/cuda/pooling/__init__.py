"""Pooling on CUDA."""
