"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.plugins.autograd.features.jacobians": "hessian hvp jacobian jvp vhp vjp",
    },
    layer="autograd",
)
