"""Elements read at places that tensors name."""
