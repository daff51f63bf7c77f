"""Composites that sort and select."""

from __future__ import annotations

from typing import Any, Final

from tt.core.composites.helpers import check_shapes
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable

composites: Final = CompositeTable()
composite = composites.composite


@composite("argsort")
def argsort(self: Any, dim: int, descending: bool, stable: bool) -> Any:
    return ops.sort(self, dim, descending, stable=stable)[1]


@composite("topk")
def topk(self: Any, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Any, Any]:
    check_shapes("topk", self, k, dim)
    values, indices = ops.sort(self, dim, largest)
    if not self.ndim:
        return values, indices
    return ops.slice(values, dim, 0, k, 1), ops.slice(indices, dim, 0, k, 1)


@composite("unique")
def unique(self: Any, sorted: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    if dim is None:
        output, inverse, counts = ops._unique2(self, sorted, return_inverse, return_counts)
    else:
        output, inverse, counts = ops.unique_dim(self, dim, sorted, return_inverse, return_counts)
    asked = [output, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return output if len(asked) == 1 else tuple(asked)
