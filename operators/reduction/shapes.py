"""Shape rules of reductions, sorts, and what depends on the values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt.core.errors import (
    DataDependentError,
    DimensionCountError,
    DtypeError,
    IndexValueError,
    ShapeError,
    ValueRangeError,
)
from tt.core.shapes.geometry import (
    Described,
    dims_to_reduce,
    reduced_shape,
)
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import int64

rule = RuleTable()

Shape = tuple[int, ...]


# --- reductions ------------------------------------------------------------------------------------------------


@rule("reduce")
def reduce(self: Described, /, dim: Any = None, keepdim: bool = False, *, op: str) -> Shape:
    """Remove the dimensions in `dim`, all of them for None or an empty list (none for `all` and `any`, as PyTorch)."""
    if op in ("all", "any") and isinstance(dim, list | tuple) and not dim:
        return self.shape
    return reduced_shape(self.shape, dims_to_reduce(op, dim, self.ndim), keepdim)


@rule("reduce_all")
def reduce_all(self: Described, /) -> Shape:
    """Remove every dimension."""
    return ()


@rule("reduce_nonempty")
def reduce_nonempty(self: Described, /, dim: Any = None, keepdim: bool = False, *, op: str) -> Shape:
    """Reduce with an operation that has no identity (amax, argmin, ...): no dimension may be empty."""
    dims = dims_to_reduce(op, dim, self.ndim)
    expect_nonempty(op, self.shape, dims, dim_given=dim is not None and dim != [] and dim != ())
    return reduced_shape(self.shape, dims, keepdim)


@rule("hash_tensor")
def hash_tensor(
    self: Described, /, dim: Sequence[int] = (), *, keepdim: bool = False, mode: int = 0, op: str
) -> Shape:
    """A reduction that has one kind of hash."""
    if mode != 0:
        raise ValueRangeError(f"{op}(): the only mode is 0, the exclusive or of all elements, not {mode}")
    return reduce_nonempty(self, dim, keepdim, op=op)


def expect_nonempty(op: str, shape: Shape, dims: Shape, *, dim_given: bool) -> None:
    """Raise when an operation without identity would reduce nothing.

    A result without elements is fine, as long as the reduced dimensions themselves are not empty.
    """
    if not dim_given:
        if 0 in shape:
            # PyTorch's argmax and argmin raise IndexError here, its other reductions RuntimeError.
            kind = IndexValueError if op.startswith("arg") else ShapeError
            raise kind(
                f"{op}(): a tensor without elements, here of shape {list(shape)}, has no result for all of them; "
                f"name a dimension that is not empty with dim"
            )
        return
    for dim in dims:
        if shape and shape[dim] == 0:
            raise IndexValueError(
                f"{op}(): dimension {dim} of shape {list(shape)} is empty, and so has no result"
            )


@rule("reduce_two")
def reduce_two(
    self: Described, /, dim: Sequence[int] | None = None, keepdim: bool = False, *, op: str
) -> tuple[Shape, Shape]:
    """Two reductions at once (var_mean, std_mean)."""
    shape = reduced_shape(self.shape, dims_to_reduce(op, dim, self.ndim), keepdim)
    return shape, shape


@rule("aminmax")
def aminmax(
    self: Described, /, dim: int | None = None, keepdim: bool = False, *, op: str
) -> tuple[Shape, Shape]:
    """The smallest and the largest: two reductions without identity."""
    shape = reduce_nonempty(self, dim, keepdim, op=op)
    return shape, shape


@rule("reduce_with_indices")
def reduce_with_indices(
    self: Described, /, dim: int = -1, keepdim: bool = False, *, op: str
) -> tuple[Result, Result]:
    """Values and their places along one dimension (max.dim, median.dim, mode, ...)."""
    shape = reduce_nonempty(self, dim, keepdim, op=op)
    return Result(shape), Result(shape, dtype=int64)


# --- what depends on the values --------------------------------------------------------------------------------


@rule("data_dependent")
def data_dependent(*tensors: Any, op: str) -> Result:
    """Refuse: the shape (or the value) of the result follows from the elements (nonzero, unique, item, ...)."""
    raise DataDependentError(op, "meta")


@rule("histogram")
def histogram(self: Described, /, bins: int = 100) -> Shape:
    """One count for each of the bins."""
    return (bins,)


@rule("equal")
def scalar(*tensors: Any) -> Shape:
    """One number for all tensors."""
    return ()


@rule("vector_norm")
def vector_norm(
    self: Described, ord: Any = 2, dim: Sequence[int] | None = None, keepdim: bool = False, *, op: str
) -> tuple[int, ...]:
    """One norm for each vector; norms of negative order and of inf are undefined for no elements."""
    # Messages name the public operator.
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


@rule("trace")
def trace(self: Described, /, *, op: str) -> Shape:
    """The sum of the diagonal."""
    if self.ndim != 2:
        raise DimensionCountError(f"{op}(): the tensor must be a matrix, but has {self.ndim} dimensions")
    return ()
