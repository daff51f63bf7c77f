"""Parameter: a tensor that is to be trained."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from tt.core.errors import describe
from tt.core.methods.as_subclass import as_kind
from tt.core.methods.creation import from_array
from tt.core.methods.memory.host_access import detached, keep_requires_grad, requires_gradient
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor, disabled_tt_function_impl
from tt.core.types.device import get_default_device
from tt.core.types.promotion import get_default_dtype

__all__ = ["Parameter"]


class _ParameterKind(type):
    """Lets a tensor of another class be a parameter: `isinstance(Parameter(x), Parameter)` for every x."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            # Only for `Parameter` itself: a subclass of it is no mark that a tensor could carry.
            cls is Parameter and isinstance(instance, TensorBase) and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterKind):
    """A tensor that requires gradients by default and that modules collect.

    Parameters
    ----------
    data : Tensor, optional
        The values; the parameter shares their memory, but not their history.  Without it the parameter is empty.
        Of a subclass of `Tensor`, the parameter is of that class, and `isinstance(p, Parameter)` is true nevertheless.
    requires_grad : bool
        Whether autograd records operations on it.

    Raises
    ------
    TypeError
        If `data` is not a tensor.
    RuntimeError
        When gradients are required of a dtype that has none.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Parameter(tt.tensor([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    """

    _is_param = True  # as tensors of other classes say, which are parameters too

    # As in PyTorch, results of computations with parameters are plain tensors.
    __tt_function__ = staticmethod(disabled_tt_function_impl)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        """Make the parameter; see the class."""
        if data is None:
            data = from_array(np.empty(0, get_default_dtype().numpy), get_default_device())
        if not isinstance(data, TensorBase):
            raise TypeError(
                f"Parameter data should be a Tensor, not {describe(data)}\n  try: tt.tensor(data)"
            )
        # `type.__instancecheck__`, since the metaclass would count marked tensors of other classes.
        if type(data) is not Tensor and not type.__instancecheck__(Parameter, data):
            like: Self = _of_another_class(data, requires_grad)  # to isinstance
            return like
        new: Self = as_kind(detached(data), cls)
        if requires_grad:
            keep_requires_grad(new, requires_grad)
        # The data may require a gradient although the parameter shall not.
        elif requires_gradient(new):
            new.requires_grad = False
        return new

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        """Take the arguments of `__new__`."""

    def __repr__(self) -> str:
        from tt.core.methods.printing import format_tensor  # a program that prints none does without

        return "Parameter containing:\n" + format_tensor(self)


def _of_another_class(data: Any, requires_grad: bool) -> Any:
    """Return a parameter of the class of a tensor-like, without its history."""
    new = data.detach()
    if type(new) is not type(data):
        raise TypeError(
            f"Parameter(): detach() of a {type(data).__name__} must return one, and returned a {type(new).__name__}\n"
            "  try: answer tt.ops.detach in its __tt_dispatch__, or keep the class in its __tt_function__"
        )
    # `detach` of a tensor without history may return the tensor itself, which must not become a parameter.
    if new is data:
        new = copy(data)
    new.requires_grad = False
    keep_requires_grad(new, requires_grad)
    new._is_param = True
    return new
