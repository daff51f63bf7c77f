"""Parameters and buffers of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tt
from tt.core.lazy import attach
from tt.core.methods.parameter import Parameter
from tt.core.tensor.tensor import Tensor, disabled_tt_function_impl

if TYPE_CHECKING:
    from tt.nn.uninitialized import UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]

# A class of tensors that refuses operations looks for plugins when it is made, which an import must not.
attach(
    __name__, {"tt.nn.uninitialized": "UninitializedBuffer UninitializedParameter UninitializedTensorMixin"}
)


_ParameterMeta = type(Parameter)
"""The class of `Parameter`: `isinstance` knows parameters of other classes by a flag."""


class _BufferKind(type):
    """`isinstance(x, Buffer)` for the tensors that `Buffer` made."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferKind):
    """A tensor that becomes a buffer of the module to which it is assigned.

    Parameters
    ----------
    data : Tensor, optional
        The values; an empty tensor without them.
    persistent : bool
        Whether the buffer is part of the state dict.

    Examples
    --------
    >>> import tt
    >>> module = tt.nn.Module()
    >>> module.mean = tt.nn.Buffer(tt.zeros(2))
    >>> dict(module.named_buffers())
    {'mean': tensor([0., 0.])}
    """

    persistent: bool
    __tt_function__ = staticmethod(disabled_tt_function_impl)

    def __new__(cls, data: tt.Tensor | None = None, *, persistent: bool = True) -> Any:
        """Return a tensor that shares the memory of `data`."""
        if data is None:
            data = tt.empty(0)
        new = data.detach().requires_grad_(data.requires_grad)
        new.persistent = persistent
        new._is_buffer = True
        return new


def is_lazy(param: object) -> bool:
    """Return whether a parameter or buffer has no shape yet.

    Examples
    --------
    >>> import tt
    >>> tt.nn.parameter.is_lazy(tt.nn.UninitializedParameter()), tt.nn.parameter.is_lazy(tt.zeros(1))
    (True, False)
    """
    return hasattr(type(param), "cls_to_become")  # the classes below would be imported by asking for them
