"""Tensors in the memory of the host, computed by NumPy."""
