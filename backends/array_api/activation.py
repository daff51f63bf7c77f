"""Kernels of activations; losses are served by composites."""

from __future__ import annotations

import math
from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.pointwise import erf
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors
from tt.operators.activation._constants import GELU_CUBIC, GELU_SCALE

__all__ = ["check_approximate", "table"]


table = NamespaceTable()


@table.kernel("relu", dtypes="real_number")
def relu(xp: Namespace, self: Any) -> Any:
    # NaN is not below 0 and so stays, which a maximum does not promise in every library.
    return xp.backend.ordered_as(xp.where(self < 0, xp.operand(0, self), self), self)


def exponentials(xp: Namespace, self: Any, dim: int) -> tuple[Any, Any, Any]:
    """Return the differences from the largest element, their exponentials and the sums of these."""
    axis = xp.axis(dim, self.ndim)
    # Less the largest, so that no power overflows; without elements there is none.
    largest = xp.max(self, axis=axis if self.ndim else None, keepdims=True) if xp.product(self.shape) else 0
    shifted = self - largest
    powers = xp.exp(shifted)
    return shifted, powers, xp.sum(powers, axis=axis if self.ndim else None, keepdims=True)


@table.kernel("softmax", dtypes="floating")
def softmax(xp: Namespace, self: Any, dim: int) -> Any:
    _, powers, total = exponentials(xp, self, dim)
    return powers / total


@table.kernel("log_softmax", dtypes="floating")
def log_softmax(xp: Namespace, self: Any, dim: int) -> Any:
    shifted, _, total = exponentials(xp, self, dim)
    return shifted - xp.log(total)


@table.kernel("gelu", dtypes="floating")
def gelu(xp: Namespace, self: Any, approximate: str) -> Any:
    if approximate == "none":
        return 0.5 * self * (1 + erf(xp, self * math.sqrt(0.5)))
    check_approximate(approximate)
    return 0.5 * self * (1 + xp.tanh(GELU_SCALE * (self + GELU_CUBIC * self * self * self)))


def check_approximate(approximate: str) -> None:
    """Raise unless the name of an approximation of gelu is known."""
    if approximate not in ("none", "tanh"):
        raise errors.ValueRangeError(f"gelu(): approximate is 'none' or 'tanh', not {approximate!r}")
