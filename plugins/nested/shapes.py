"""Shape rules of the operators of jagged tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tt.core.library import errors
from tt.plugins.nested.raggedness import Raggedness, RaggedSize

__all__ = ["jagged", "values", "with_values"]


def jagged(
    values: Any, offsets: Sequence[int], lengths: Sequence[int] | None, jagged_dim: int
) -> tuple[int, ...]:
    """The number of rows, and the sizes of the values with a ragged one."""
    sizes = list(values.shape)
    rows = Raggedness(offsets, lengths)
    sizes[jagged_dim - 1] = RaggedSize(rows)
    return (rows.batch, *sizes)


def values(self: Any, op: str) -> NoReturn:
    """Refuses, because a shape does not tell where rows lie."""
    raise errors.DataDependentError(op, "meta")


def with_values(self: Any, values: Any, ragged_dim: int | None) -> tuple[int, ...]:
    """The number of rows, and the sizes of the values with the ragged one of self."""
    at = next(d for d, n in enumerate(self.shape) if isinstance(n, RaggedSize))
    sizes = list(values.shape)
    sizes[(at if ragged_dim is None else ragged_dim) - 1] = self.shape[at]
    return (self.shape[0], *sizes)
