"""Gradients that users write: `autograd.Function`, and formulas with a context."""
