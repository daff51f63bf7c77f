"""What is added to tensors and operators without adding a device: autograd, sparse layouts."""
