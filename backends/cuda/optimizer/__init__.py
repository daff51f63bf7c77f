"""Steps of optimizers on CUDA, and lists of tensors."""
