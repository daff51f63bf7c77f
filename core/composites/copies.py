"""Composites that convert and fill."""

from __future__ import annotations

from typing import Any, Final

from tt.core.composites.helpers import as_type, number
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.errors import ShapeError
from tt.core.tensor_base import TensorBase

composites: Final = CompositeTable()
composite = composites.composite


@composite("contiguous")
def contiguous(self: Any, memory_format: Any) -> Any:
    return (
        self
        if self.is_contiguous(memory_format=memory_format)
        else ops.clone(self, memory_format=memory_format)
    )


@composite("fill")
def fill(self: Any, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        return ops.full_like(self, value)
    if value.ndim:
        raise ShapeError(
            f"fill(): only supports a 0-dimension value tensor but got tensor with {value.ndim} dimensions."
        )
    return ops.add(ops.zeros_like(self), as_type(value, self.dtype))


composite("zero", lambda self: ops.fill(self, number(0, self)))
