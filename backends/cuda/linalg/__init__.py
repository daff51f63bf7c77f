"""Products of matrices on CUDA, and distances."""
