"""Formulas of norms.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import normal_dims, restore_dims
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def direction(x: Any) -> Any:
    """Return x / |x|, 0 for 0."""
    if not x.dtype.is_complex:
        return ops.sign(x)
    size = ops.abs(x)
    zero = size == 0
    return ops.where(zero, 0, x / ops.where(zero, 1, size))


def vector_norm_self(g: Any, self: Any, result: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    """g (|x| / norm)^(ord - 1) in the direction of self; 0 where the norm is, or where the derivative is infinite."""
    g, result = restore_dims(g, dim, keepdim, self.ndim), restore_dims(result, dim, keepdim, self.ndim)
    if ord == 0:
        return ops.zeros_like(self) * g
    if ord == 1:
        return g * direction(self)
    if math.isinf(ord):
        return direction(self) * shared(g, ops.abs(self), result, dim)
    none = result == 0
    norm = ops.where(none, 1, result)
    if ord == 2:
        return ops.where(none, 0, g / norm) * self
    size = ops.abs(self)
    # Where self is 0, a power below 2 has no (second) derivative.
    flat = ops.logical_or(none, size == 0) if ord < 2 else none
    ratio = ops.where(flat, 1, size / norm)
    return ops.where(flat, 0, g * ratio ** (ord - 1)) * direction(self)


def shared(g: Any, size: Any, result: Any, dim: Any) -> Any:
    """Split g evenly among the elements whose absolute value is the norm; among those that are nan where it is."""
    chosen = (size == result) | ((size != size) & (result != result))
    count = ops.sum.dim(chosen, normal_dims(dim, size.ndim), True) if size.ndim else 1
    return g * (chosen / count)


d.of("_vector_norm", self=vector_norm_self)
