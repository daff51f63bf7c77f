"""Subscripts: `x[...]` with integers and slices, which covers nearly every index.

This is a hot module: plain Python that Cython compiles with the C types of its `.pxd`.  Other indices, errors,
modes and subclasses are left to `core.indexing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.codes import FALL_THROUGH
from tt.core.dispatch.registry.registry import ops
from tt.core.methods import indexing
from tt.core.tensor import blank
from tt.core.types.keys import FUNCTION
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

# The bit of tensors whose class has `__tt_function__`.
OVERRIDDEN = FUNCTION

WHOLE = slice(None)


def getitem(self: Tensor, index: Any, /) -> Any:
    """Return `self[index]`: a view for integers, slices, None and Ellipsis, otherwise a new tensor.

    A slice with a negative step gives a new tensor, too: no tensor has negative strides.

    Parameters
    ----------
    index : int, slice, None, Ellipsis, bool, tensor, array, sequence, or a tuple of these
        A sequence that is not a tuple means a tensor of its values.  When masks or integer tensors in a tuple are
        apart from each other, their dimensions come first in the result, as in NumPy.

    Raises
    ------
    IndexError
        For too many indices, an index out of range, or an invalid index.
    ValueError
        For slices with a step of zero.

    Examples
    --------
    >>> import tt
    >>> x = tt.arange(6).reshape(2, 3)
    >>> x[1, ::2]
    tensor([3, 5])
    >>> x[x > 2]
    tensor([3, 4, 5])
    """
    # A subclass of `Tensor` may intercept, and a mode may watch: both see the index as written.
    if STATE.modes == 0 and not self._keys & OVERRIDDEN:
        try:
            result = fast_path(self, index)
        except Exception:  # the general path explains the error
            result = FALL_THROUGH
        if result is not FALL_THROUGH:
            return result
    return indexing.getitem(self, index, getitem)


def fast_path(tensor: Tensor, index: Any) -> Any:
    """Return the view, or FALL_THROUGH for an index that has something other than integers and slices in it."""
    kind = type(index)
    if kind is int:
        return ops.select.of_one((tensor, 0, index)) if tensor._handle.ndim else FALL_THROUGH
    if kind is slice:
        return part(tensor, 0, index)
    # An index with more items is an error, or has a None or an Ellipsis in it.
    if kind is not tuple or len(index) > tensor._handle.ndim:
        return FALL_THROUGH
    # Checked before the first view is made, so that none is made in vain.
    for item in index:
        if type(item) is not int and type(item) is not slice:
            return FALL_THROUGH
    view = tensor
    dim = 0
    for item in index:
        if type(item) is int:
            view = ops.select.of_one((view, dim, item))
        else:
            if item != WHOLE:
                view = part(view, dim, item)
            dim += 1
        if view is FALL_THROUGH:
            return FALL_THROUGH
    # No item changed anything, as in `x[:, :]`: the general path returns an alias, and never the tensor itself.
    return FALL_THROUGH if view is tensor else view


def part(tensor: Tensor, dim: int, bounds: slice) -> Any:
    """Return the view of a slice of one dimension, or FALL_THROUGH."""
    start = bounds.start
    stop = bounds.stop
    step = bounds.step
    if step is None:
        step = 1
    if (
        (start is not None and type(start) is not int)
        or (stop is not None and type(stop) is not int)
        or type(step) is not int
        or blank.is_long(step)
        or (start is None and stop is None and step == 1)
    ):
        return FALL_THROUGH
    if dim >= tensor._handle.ndim:
        return FALL_THROUGH
    return ops.slice.of_one((tensor, dim, start, stop, step))
