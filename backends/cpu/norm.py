"""Kernels of norms."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, in_rows
from tt.backends.cpu.reduction import axes, total
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")


@cpu.kernel("_vector_norm", dtypes="floating_complex")
def vector_norm(self: Array, ord: Any, dim: Any, keepdim: bool) -> Any:
    return in_rows(_vector_norm(self, ord, dim, keepdim), self)


def _vector_norm(self: Array, ord: Any, dim: Any, keepdim: bool) -> Any:
    axis = axes(dim, self.ndim)
    if ord == 2:
        plain = np.sqrt(total(_squares(self), axis, keepdim))
        return plain if _is_exact(plain) else _scaled(np.abs(self), 2, axis, keepdim)
    if isinstance(ord, complex):
        raise TypeError("an order that is not a real number, which the shape rule refuses")
    if ord == 0:
        counts = np.asarray(
            np.count_nonzero(self, axis=axis, keepdims=keepdim)
        )  # without axes, NumPy 2.1 returns an int
        return counts.astype(self.real.dtype)
    size = np.abs(self)
    if ord == 1:
        return total(size, axis, keepdim)
    if math.isinf(ord):
        return _decisive(size, ord, axis, keepdim)
    return _scaled(size, ord, axis, keepdim)


def _squares(x: Array) -> Array:
    """Return the squares of the absolute values."""
    return np.square(x) if x.dtype.kind == "f" else np.square(x.real) + np.square(x.imag)


def _is_exact(norm: Any) -> bool:
    """Return whether norms are so far from the ends of their dtype that no square that matters left it."""
    limits = np.finfo(norm.dtype)
    smallest = math.sqrt(limits.tiny) / limits.eps
    return bool(np.all((norm > smallest) & (norm < np.inf)))


def _decisive(size: Array, order: float, axis: Any, keepdim: Any) -> Any:
    """Return the absolute value that decides the norm: the largest, for negative orders the smallest."""
    return (np.maximum if order > 0 else np.minimum).reduce(size, axis=axis, keepdims=keepdim)


def _scaled(size: Array, order: float, axis: Any, keepdim: bool) -> Any:
    """Return the norm of absolute values divided by the one that decides, which keeps powers within the dtype."""
    if not size.size and order > 0:
        return total(size, axis, keepdim)
    scale = _decisive(size, order, axis, True)
    scale = np.where((scale > 0) & np.isfinite(scale), scale, size.dtype.type(1))
    scaled = size / scale
    if order == 2:
        root = np.sqrt(total(np.square(scaled), axis, keepdim))
    else:
        root = total(scaled ** size.dtype.type(order), axis, keepdim) ** size.dtype.type(1 / order)
    return root * scale.reshape(root.shape)
