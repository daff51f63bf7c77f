"""Batching rules of Fourier transforms."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator
from tt.plugins.autograd.transforms.batching.base import (
    BatchingTable,
    behind,
)
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first

__all__ = ["table"]

table = BatchingTable()


@table.rule("_fft_c2c", "_fft_r2c", "_fft_c2r")
def of_dims(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Transform the dims that the function sees."""
    x, dims, *rest = args
    inside, _ = hidden_dim_first(x, level)
    shifted = [behind(dim, x.ndim) for dim in dims]
    return batched(operator.overload().dispatch((inside, shifted, *rest)), 0, level)
