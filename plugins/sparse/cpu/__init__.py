"""Sparse tensors on the CPU."""
