"""Reading: the values of a tensor on the host, for printing, `item`, `tolist` and `numpy`.

A handle is only read where no layer could know better: what a layer holds is asked of the operators, which the layer
sees (a functionalised view gathers its elements anew, a tensor inside a transform refuses).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.dispatch.failure import method_failed
from tt.core.errors import DataDependentError, HiddenValuesError, LayoutError
from tt.core.keys import KEYS, PYTHON

if TYPE_CHECKING:
    from tt.core.dispatch.layers import Layer
    from tt.core.tensor import Tensor
    from tt.core.tensor_base import TensorBase

__all__ = [
    "bare",
    "detached",
    "host_array",
    "layers_of",
    "requires_gradient",
    "values_are_hidden",
]


def layers_of(tensor: Tensor) -> list[Layer]:
    """Return the layers that hold a tensor, the outermost first."""
    if not tensor.keys & KEYS.mask("layer"):
        return []
    from tt.core.dispatch.registry import REGISTRY

    found = [REGISTRY.layers[name] for name in KEYS.names("layer", tensor.keys) if name in REGISTRY.layers]
    return sorted(found, key=lambda layer: -layer.order)


def detached(tensor: TensorBase) -> Tensor:
    """Return a tensor over the same memory that autograd does not know."""
    from tt.core.dispatch.registry import ops

    found: Tensor = ops.detach(tensor)
    return found


def bare(tensor: Tensor) -> Tensor:
    """Return a plain tensor over the data of one whose class has `__tt_dispatch__`; no layer holds it."""
    from tt.core.tensor import wrap

    new = wrap(tensor.handle, tensor.spec)
    new.storage = tensor.ensure_storage()
    return new


def requires_gradient(tensor: Tensor) -> bool:
    """Tell whether autograd records operations on the tensor.

    A tensor that no layer holds does not: nothing is asked, and no plugin is activated.
    """
    held = tensor.keys & KEYS.mask("layer") & ~tensor.spec.keys
    return bool(held) and bool(getattr(tensor, "requires_grad", False))


def values_are_hidden(tensor: Tensor) -> bool:
    """Tell whether the tensor has a shape and a dtype but no values (meta and fake tensors)."""
    return tensor.device.type == "meta" or "fake" in KEYS.names("layer", tensor.keys)


def host_array(tensor: Tensor, what: str = "tolist") -> np.ndarray[Any, Any]:
    """Return the values of a tensor as a NumPy array; it may share memory with the tensor.

    Parameters
    ----------
    tensor : Tensor
        Strided.
    what : str
        What is asked for, for the message of an error.

    Raises
    ------
    DataDependentError
        When the tensor has no values.
    """
    if values_are_hidden(tensor):
        raise DataDependentError(what, "meta" if tensor.device.type == "meta" else "fake")
    if tensor.spec.keys & PYTHON:
        raise HiddenValuesError(
            f"{what}(): a {type(tensor).__name__} has no values of its own\n"
            "  try: a method of its class that makes a plain tensor of it"
        )
    if tensor.layout.name != "strided":
        raise LayoutError(
            f"{what}(): a tensor of the layout {tensor.layout} has no values in rows and columns\n  try: x.to_dense()"
        )
    if tensor.keys & PYTHON:
        tensor = bare(tensor)
    if tensor.keys & KEYS.mask("layer"):
        from tt.core.dispatch.registry import ops

        tensor = ops.clone(detached(tensor))
        for layer in layers_of(tensor):
            if tensor.spec.keys & layer.bit == 0 and not layer.transparent:
                raise HiddenValuesError(
                    f"{what}(): the values of a tensor that the layer {layer.name!r} holds cannot be read"
                )
    backend = tensor.spec.backend
    try:
        values: np.ndarray[Any, Any] = backend.to_numpy(tensor.handle)
    except Exception as error:
        method_failed(error, backend, "to_numpy", "reading a tensor", tensor.handle)
    return values
