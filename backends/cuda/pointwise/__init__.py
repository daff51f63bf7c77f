"""Functions of each element on CUDA."""
