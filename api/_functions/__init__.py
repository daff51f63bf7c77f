"""Functions of `tt` that are no operators."""
