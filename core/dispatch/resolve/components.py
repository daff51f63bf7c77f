"""The strided tensors that a tensor of another layout is made of; see Note [Tensors made of parts] in `backend`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.tensor.backend import dtype_of
from tt.core.tensor.tensor import wrap

if TYPE_CHECKING:
    from tt.core.tensor.base import TensorBase
    from tt.core.tensor.tensor import Tensor

__all__ = ["component_tensors"]


def component_tensors(tensor: TensorBase) -> dict[str, Tensor]:
    """Return the strided tensors that a tensor of another layout is made of, by name; they share its memory.

    There are none for strided tensors.
    """
    spec = tensor._spec
    parts = spec.backend.parts(tensor._handle)
    if not parts:
        return {}

    strided = REGISTRY.backend(spec.backend.device_type)
    return {
        name: wrap(
            part,
            strided.spec(
                dtype_of(part, strided), spec.device if spec.device.type == strided.device_type else None
            ),
        )
        for name, part in parts.items()
    }
