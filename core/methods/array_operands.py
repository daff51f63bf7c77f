"""Arrays of NumPy as operands of tensors, and tensors as arguments of NumPy's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import ops
from tt.core.errors import TTError
from tt.core.methods.creation import as_tensor
from tt.core.types.promotion import promote_types

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["ARRAYS", "WRAPPING_MEMBERS", "from_array", "of_one_dtype"]

# Arrays of NumPy become tensors: Python would compare them by identity, and NumPy's operators would return arrays.
# Their subclasses, as masked arrays, have their own rules.
ARRAYS: Final = frozenset((np.ndarray, np.memmap))


def from_array(array: Any) -> Tensor:
    """Return an array as a tensor; one that tensors cannot share is copied.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.core.methods.array_operands import from_array
    >>> from_array(np.arange(3)[::-1])
    tensor([2, 1, 0])
    """
    # Tensors have neither negative strides nor strides within an element, nor foreign byte orders.
    if not array.dtype.isnative or any(step < 0 or step % array.itemsize for step in array.strides):
        array = array.astype(array.dtype.newbyteorder("="), order="C")
    return as_tensor(array, device="cpu")


def of_one_dtype(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Return both operands of a matrix product in the dtype that they have in common, as NumPy multiplies them."""
    dtype = promote_types(left.dtype, right.dtype)
    return ops.to(left, dtype), ops.to(right, dtype)


def array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
    """Return an array that one of NumPy's functions made of a tensor, as a tensor.

    An array whose dtype tensors do not have is returned as it is.

    Examples
    --------
    >>> import numpy as np
    >>> import tt
    >>> np.add(tt.tensor([1.0, 2.0]), 1)
    tensor([2., 3.])
    """
    array = np.asarray(array)
    try:
        return from_array(array)
    except (TTError, TypeError):
        # NumPy asks for a scalar where its own function would return one.
        return array[()] if return_scalar else array


WRAPPING_MEMBERS: Final[dict[str, Any]] = {"__array_wrap__": array_wrap}
"""The method that NumPy calls with the results of its functions."""
