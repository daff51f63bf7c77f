"""`Tensor.dim_order`: the dimensions in the order in which they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tt.core.errors import LayoutError, ValueRangeError, describe

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["dim_order"]


def dim_order(self: Tensor, *, ambiguity_check: bool | Sequence[Any] = False) -> tuple[int, ...]:
    """Return the dimensions in the order of their strides, the largest first.

    Parameters
    ----------
    ambiguity_check : bool, or list of memory_format
        True refuses a tensor that lies in memory in several orders at once, such as one with a dimension of one
        element; with a list, one that has exactly one of these formats is not refused.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, 3, 4).dim_order(), tt.zeros(2, 3, 5, 7).to(memory_format=tt.channels_last).dim_order()
    ((0, 1, 2), (0, 2, 3, 1))
    """
    if self.layout.name != "strided" and not self._spec.backend.strided_memory:
        raise LayoutError(f"dim_order(): a tensor of layout {self.layout} has no order\n  try: x.to_dense()")
    if ambiguity_check is not False:
        _check_one_order(self, ambiguity_check)
    contiguous = self.is_contiguous()
    last = self.ndim == 4 and self.is_contiguous(memory_format="channels_last")
    if contiguous and not last:
        return tuple(range(self.ndim))
    if last and not contiguous:
        return 0, 2, 3, 1
    # PyTorch sorts by strides as TensorIterator does; see `_order` in `tt.core.shapes.geometry`.
    order = list(reversed(range(self.ndim)))  # the innermost first
    for moving in range(1, self.ndim):
        current = moving
        for position in reversed(range(moving)):
            step = _compare(self, order[position], order[current])
            if step < 0:
                break
            if step > 0:
                order[position], order[current] = order[current], order[position]
                current = position
    if ambiguity_check and any(_compare(self, inner, outer) != -1 for inner, outer in pairwise(order)):
        raise _several_orders(self)
    return tuple(reversed(order))


def _compare(self: Tensor, a: int, b: int) -> int:
    """Return 1 if the dimension a is outside of b, -1 if it is inside, and 0 if the strides do not decide."""
    first, second = self.stride(a), self.stride(b)
    # A dimension that is expanded has no place among the others.
    if not first or not second:
        return 0
    if first == second:
        return int(self.shape[a] > self.shape[b])
    return 1 if first > second else -1


def _check_one_order(self: Tensor, wanted: bool | Sequence[Any]) -> None:
    if wanted is not True and not isinstance(wanted, list):
        raise TypeError(
            f"dim_order(): ambiguity_check is a bool or a list of memory formats, not {describe(wanted)}"
        )
    loose = 1 in self.shape or any(a == b for a, b in pairwise(self.stride()))
    formats = wanted if isinstance(wanted, list) else []
    matching = sum(bool(self.is_contiguous(memory_format=format_)) for format_ in formats)
    if loose and matching != 1:
        raise _several_orders(self)


def _several_orders(self: Tensor) -> ValueRangeError:
    return ValueRangeError(
        f"dim_order(): a tensor of shape {list(self.shape)} and strides {list(self.stride())} has several orders of "
        "dimensions"
    )
