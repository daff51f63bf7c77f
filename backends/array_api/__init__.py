"""Kernels over any namespace of the array API standard, and the backend that serves them."""

from tt.backends.array_api.backend import ArrayApiBackend

__all__ = ["ArrayApiBackend"]
