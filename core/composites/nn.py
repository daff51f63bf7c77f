"""Composites of neural networks."""

from __future__ import annotations

from typing import Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError

composites: Final = CompositeTable()
composite = composites.composite

# --- layers ----------------------------------------------------------------------------------------------------


@composite("linear")
def linear(input: Any, weight: Any, bias: Any) -> Any:
    if weight.ndim not in (1, 2):
        raise DimensionCountError(f"linear(): weight must be 1D or 2D, got {weight.ndim}D")
    if bias is not None and input.ndim == 2:
        return ops.addmm(bias, input, ops.t(weight))
    product = ops.matmul(input, ops.t(weight))
    return product if bias is None else ops.add(product, bias)
