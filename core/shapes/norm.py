"""Shape rules of norms of vectors."""

from __future__ import annotations

import math
from typing import Any

from tt.core.errors import DtypeError, ShapeError
from tt.core.shapes.geometry import Described, dims_to_reduce, reduced_shape
from tt.core.shapes.registry import RuleTable

rule = RuleTable()


@rule("vector_norm")
def vector_norm(
    self: Described, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, op: str
) -> tuple[int, ...]:
    """One norm for each vector; norms of negative order and of inf are undefined for no elements."""
    op = op.lstrip("_")
    if isinstance(ord, complex):
        raise DtypeError(f"{op}(): the order of a norm must be a real number, got {ord}")
    dims = dims_to_reduce(op, dim, self.ndim)
    if (ord < 0 or ord == math.inf) and self.ndim and any(self.shape[d] == 0 for d in dims):
        raise ShapeError(
            f"{op}(): the norm of order {ord} of no elements does not exist (the shape is {list(self.shape)}, the "
            f"dimensions to reduce are {list(dims)})"
        )
    return reduced_shape(self.shape, dims, keepdim)
