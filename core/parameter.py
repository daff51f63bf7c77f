"""Parameter: a tensor that is to be trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from tt.core.errors import describe
from tt.core.tensor import Tensor
from tt.core.tensor_base import TensorBase

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A tensor that requires gradients by default and that modules collect.

    Parameters
    ----------
    data : Tensor, optional
        The values; the parameter shares their memory, but not their history.  Without it the parameter is empty.
    requires_grad : bool
        Whether autograd shall record operations on it.

    Raises
    ------
    TypeError
        When `data` is no tensor.
    RuntimeError
        When gradients are required of a dtype that has none.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Parameter(tt.tensor([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """Make the parameter; see the class."""
        from tt.core.construct import from_array
        from tt.core.copying import as_kind
        from tt.core.device import get_default_device
        from tt.core.promotion import get_default_dtype
        from tt.core.reading import detached, requires_gradient

        if data is None:
            data = from_array(np.empty(0, get_default_dtype().numpy), get_default_device())
        if not isinstance(data, TensorBase):
            raise TypeError(
                f"Parameter data should be a Tensor, not {describe(data)}\n  try: tt.tensor(data)"
            )
        new: Parameter = as_kind(detached(data), cls)
        if requires_grad or requires_gradient(new):
            new.requires_grad_(requires_grad)
        return new

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        """Take the arguments of `__new__`."""

    def __repr__(self) -> str:
        from tt.core.printing import format_tensor

        return "Parameter containing:\n" + format_tensor(self)
