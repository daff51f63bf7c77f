"""Steps of optimizers, and operators on lists of tensors."""
