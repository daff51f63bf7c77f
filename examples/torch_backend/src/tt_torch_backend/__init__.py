"""PyTorch's CPU tensors as a backend of tt."""
