"""What exists: operators, kernels, and who brought them."""
