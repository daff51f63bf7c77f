"""Shape rules of factories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt.core.errors import DataTypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import check_size, contiguous_strides
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.memory_format import ORDERS
from tt.operators.pointwise.shapes import ordered_strides, same

rule = RuleTable()

Shape = tuple[int, ...]


@rule("sized")
def sized(size: Sequence[int], *, op: str) -> Shape:
    """A tensor of the size that the call names."""
    return check_size(op, size)


@rule("empty")
def empty(size: Sequence[int], memory_format: str | None = None, *, op: str) -> Result:
    """A tensor of the size and in the memory format that the call names."""
    shape = check_size(op, size)
    name = "contiguous_format" if memory_format is None else str(memory_format).rpartition(".")[2]
    if name in ORDERS:
        return Result(shape, ordered_strides(op, shape, name))
    if name == "preserve_format":
        raise ShapeError(f"{op}(): preserve_format needs a tensor whose memory order it can keep")
    return Result(shape)


@rule("empty_strided")
def empty_strided(size: Sequence[int], stride: Sequence[int], *, op: str) -> Result:
    """A tensor of the size and the strides that the call names."""
    if len(size) != len(stride):
        raise ShapeError(
            f"{op}(): a stride for each size is needed, but there are {len(size)} sizes and {len(stride)} strides"
        )
    if any(value < 0 for value in stride):
        raise ShapeError(f"{op}(): strides must be zero or more, got {list(stride)}")
    return Result(check_size(op, size), tuple(stride))


@rule("empty_permuted")
def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], *, op: str) -> Result:
    """A dense tensor whose dimensions lie in memory in an order."""
    if sorted(physical_layout) != [*range(len(size))]:
        raise ShapeError(
            f"{op}(): the order of {len(size)} dimensions in memory names each of them once, but it is "
            f"{list(physical_layout)}"
        )
    shape = check_size(op, size)
    # Strides are given in the order of memory, and then go back to the dimensions.
    dense = contiguous_strides(tuple(shape[d] for d in physical_layout))
    return Result(shape, tuple(dense[[*physical_layout].index(d)] for d in range(len(shape))))


@rule("scalar")
def scalar() -> Shape:
    """One number."""
    return ()


@rule("arange")
def arange(end: Any, start: Any = 0, step: Any = 1, dtype: Any = None, *, op: str) -> Shape:
    """Numbers from start to before end."""
    start = 0 if start is None else start
    for value in (start, end, step):
        if isinstance(value, complex):
            raise DataTypeError(f"{op}(): start, end and step are real, and {value} is complex")
        if isinstance(value, float) and not math.isfinite(value):
            raise ShapeError(f"{op}(): unsupported range: {start} -> {end} in steps of {step}")
    if getattr(dtype, "name", str(dtype)) == "int64":
        start, end, step = int(start), int(end), int(step)  # the widest integers are counted as integers
    if not step:
        raise ValueRangeError(f"{op}(): step must be nonzero")
    if (end - start) * step < 0:
        raise ValueRangeError(
            f"{op}(): upper bound and lower bound inconsistent with step sign: {start}, {end}, {step}"
        )
    if all(isinstance(value, int) for value in (start, end, step)):
        # Rounded up in integers: a quotient of floats is inexact beyond 2**53.
        return (-(-(end - start) // step),)
    return (math.ceil((end - start) / step),)


@rule("linspace")
def linspace(steps: int, *, op: str) -> Shape:
    """So many numbers between two."""
    if steps < 0:
        raise ShapeError(f"{op}(): steps must be zero or more, got {steps}")
    return (steps,)


@rule("eye")
def eye(n: int, m: int | None = None, *, op: str) -> Shape:
    """A matrix with ones on its diagonal."""
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise ShapeError(f"{op}(): {name} must be zero or more, got {value}")
    return n, n if m is None else m


@rule("triangle_indices")
def triangle_indices(row: int, col: int, offset: int = 0, *, op: str) -> Shape:
    """Row and column of every place of a triangle; the rule of `tril_indices`."""
    return 2, triangle_size(op, row, col, offset)


@rule("upper_triangle_indices")
def upper_triangle_indices(row: int, col: int, offset: int = 0, *, op: str) -> Shape:
    """Row and column of every place of an upper triangle."""
    # All places but those below the diagonal.
    return 2, row * col - triangle_size(op, row, col, offset - 1)


def triangle_size(op: str, row: int, col: int, offset: int) -> int:
    """Return how many places are on and below a diagonal."""
    for name, value in (("row", row), ("col", col)):
        if value < 0:
            raise ShapeError(f"{op}(): {name} must be zero or more, got {value}")
    first, last = max(-offset, 0), max(min(row, col - offset), 0)  # rows between these have 1, 2, ... places
    first = min(first, row)
    full = row - max(last, first)
    growing = max(last - first, 0)
    # The rows in between form an arithmetic series; those after them are full.
    return growing * (first + 1 + offset) + growing * (growing - 1) // 2 + full * col


@rule("window")
def window(window_length: int, *, op: str) -> Shape:
    """A window of a length."""
    if window_length < 0:
        raise ShapeError(f"{op}(): requires non-negative window_length, got window_length={window_length}")
    return (window_length,)


rule("full_like")(same)
