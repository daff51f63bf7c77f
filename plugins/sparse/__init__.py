"""Sparse layouts: tensors that store only the elements that are not zero."""
