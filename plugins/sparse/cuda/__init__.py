"""Sparse tensors on CUDA, by CuPy."""
