"""The registry of operators and kernels, with their providers."""
