"""Shared by the optimizers: arithmetic on tensors and lists of them, the driver, options, the line search."""
