"""Arithmetic of sparse tensors, written once for every array library."""
