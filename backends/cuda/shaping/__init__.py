"""Views and rearranged copies on CUDA."""
