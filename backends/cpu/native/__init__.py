"""Kernels in C for what NumPy does slowly; where they are not compiled, NumPy's serve."""
