"""Reading: the values of a tensor on the host, for printing, `item`, `tolist` and `numpy`.

A handle is only read if no layer applies to the tensor; otherwise the values are computed by operators, which the layer
handles (a functionalised view gathers its elements, a tensor inside a transform refuses).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.dispatch.call.kernel_errors import method_failed
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import DataDependentError, HiddenValuesError, LayoutError, describe
from tt.core.layers.functionalise import refresh
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import wrap
from tt.core.types.keys import KEYS, PYTHON

if TYPE_CHECKING:
    from tt.core.dispatch.intercept.layers import Layer
    from tt.core.tensor.tensor import Tensor

__all__ = [
    "bare",
    "detached",
    "handle_of",
    "host_array",
    "layers_of",
    "requires_gradient",
    "values_are_hidden",
]


def layers_of(tensor: Tensor) -> list[Layer]:
    """Return the layers that hold a tensor, the outermost first."""
    if not tensor._keys & KEYS.mask("layer"):
        return []

    found = [REGISTRY.layers[name] for name in KEYS.names("layer", tensor._keys) if name in REGISTRY.layers]
    return sorted(found, key=lambda layer: -layer.order)


def detached(tensor: TensorBase) -> Tensor:
    """Return a tensor over the same memory, unknown to autograd."""
    found: Tensor = ops.detach(tensor)
    return found


def bare(tensor: Tensor) -> Tensor:
    """Return a plain tensor over the data of one whose class has `__tt_dispatch__`; no layer holds it."""
    new = wrap(tensor._handle, tensor._spec)
    new._storage = tensor._ensure_storage()
    return new


def handle_of(tensor: TensorBase) -> Any:
    """Return the native array of a tensor, as a kernel of its backend gets it; both share the memory.

    For authors of kernels, layouts and backends. Autograd and the version counter do not notice writes into the
    array.

    Raises
    ------
    TypeError
        For objects that are not tensors.

    Examples
    --------
    >>> import tt
    >>> from tt.library import handle_of
    >>> handle_of(tt.tensor([1, 2]))
    array([1, 2])
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"handle_of() takes a tensor, not {describe(tensor)}")
    if tensor._spec.backend.functionalised:
        refresh(tensor)
    return tensor._handle


def requires_gradient(tensor: Tensor) -> bool:
    """Return whether autograd records operations on the tensor.

    It is False for tensors without a layer; no plugin is activated for these.
    """
    held = tensor._keys & KEYS.mask("layer") & ~tensor._spec.keys
    return bool(held) and bool(getattr(tensor, "requires_grad", False))


def values_are_hidden(tensor: Tensor) -> bool:
    """Return whether the tensor has a shape and a dtype but no values (meta and fake tensors)."""
    return tensor.device.type == "meta" or "fake" in KEYS.names("layer", tensor._keys)


def host_array(tensor: Tensor, what: str = "tolist") -> np.ndarray[Any, Any]:
    """Return the values of a tensor as a NumPy array; it may share memory with the tensor.

    Parameters
    ----------
    tensor : Tensor
        Strided.
    what : str
        The name of the operation, for error messages.

    Raises
    ------
    DataDependentError
        When the tensor has no values.
    """
    if values_are_hidden(tensor):
        raise DataDependentError(what, "meta" if tensor.device.type == "meta" else "fake")
    if tensor._spec.keys & PYTHON:
        raise HiddenValuesError(
            f"{what}(): a {type(tensor).__name__} has no values of its own\n"
            "  try: a method of its class that makes a plain tensor of it"
        )
    if tensor.layout.name != "strided":
        raise LayoutError(
            f"{what}(): a tensor of the layout {tensor.layout} has no values in rows and columns\n  try: x.to_dense()"
        )
    if tensor._keys & PYTHON:
        tensor = bare(tensor)
    if tensor._keys & KEYS.mask("layer"):
        tensor = ops.clone(detached(tensor))
        for layer in layers_of(tensor):
            if tensor._spec.keys & layer.bit == 0 and not layer.transparent:
                raise HiddenValuesError(
                    f"{what}(): the values of a tensor that the layer {layer.name!r} holds cannot be read"
                )
    backend = tensor._spec.backend
    try:
        values: np.ndarray[Any, Any] = backend.to_numpy(tensor._handle)
    except Exception as error:
        method_failed(error, backend, "to_numpy", "reading a tensor", tensor._handle)
    return values
