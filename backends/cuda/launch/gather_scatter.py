"""Layouts of kernels that read and write at places: packed for sources/indexing.cuh, once for each layout.

A layout describes how the elements of two arrays and of some index arrays correspond.  Dimensions that are contiguous
to each other are joined, and rows without gaps are moved in units of up to 16 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Final, NamedTuple

from tt.backends.cuda.launch.layouts import THREADS, grid_of, joined
from tt.core.library import errors

__all__ = [
    "BLOCK",
    "INDICES",
    "UNITS",
    "GatherScatterPlan",
    "Indexed",
    "broadcast_strides",
    "integer_of",
    "make_plan",
    "pointed",
]  # fmt: skip

DIMS: Final = 12
INDICES: Final = 8
BLOCK: Final = (THREADS,)
UNITS: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "Unit16"}
"""Bytes -> the type that moves them."""

_LAYOUT: Final = struct.Struct(f"@q{DIMS}q{DIMS}q{DIMS}q{INDICES * DIMS}q{INDICES}q{INDICES}q{INDICES}qq4i")
_POINTED: Final = struct.Struct(f"@{INDICES}QQ16s")

Shape = Sequence[int]


class Indexed(NamedTuple):
    """An index array: its strides in the dimensions of the call, and the indexed dimension.

    Attributes
    ----------
    strides : tuple of int
        In elements of the index array, 0 where it is broadcast.
    size, step, dim : int
        Of the dimension that it chooses from: its size, its stride, and its number for messages.
    wide : bool
        Whether it holds int64 rather than int32.
    """

    strides: tuple[int, ...]
    size: int
    step: int
    dim: int
    wide: bool


@dataclass(frozen=True, slots=True)
class GatherScatterPlan:
    """The launch of a layout.

    Attributes
    ----------
    layout : bytes
        The struct `Places`.
    unit, integer : str
        The types of the moved units, and of index arithmetic.
    grid : tuple of int
        How many blocks.
    """

    layout: bytes
    unit: str
    integer: str
    grid: tuple[int, ...]


def integer_of(*reaches: int) -> str:
    """Return the type of arithmetic with numbers up to these; the step of a grid can be added in it."""
    return "int32" if max(reaches) < 1 << 30 else "int64"


def broadcast_strides(shape: Shape, strides: Shape, target: Shape) -> tuple[int, ...]:
    """Return the strides with which an array is read in a larger shape.

    Raises
    ------
    ValueError
        If it does not broadcast to the shape; the shape rule explains it.
    """
    missing = len(target) - len(shape)
    if missing < 0:
        raise ValueError("an array with more dimensions than it is broadcast to")
    found = [0] * missing
    for size, stride, wanted in zip(shape, strides, target[missing:], strict=True):
        if size != wanted and size != 1:
            raise ValueError("an array that does not broadcast")
        found.append(stride if size == wanted and size != 1 else 0)
    return tuple(found)


def pointed(failure: int, indices: Sequence[int] = (), value: bytes = b"") -> bytes:
    """Return the struct `Pointed`: addresses of index arrays and of the record of faults, and an element."""
    return _POINTED.pack(*indices, *(0,) * (INDICES - len(indices)), failure, value)


@lru_cache(maxsize=4096)
def make_plan(
    sizes: tuple[int, ...],
    base: tuple[int, ...],
    other: tuple[int, ...],
    indices: tuple[Indexed, ...] = (),
    itemsize: int = 0,
    alignment: int = 1,
    what: int = 0,
    wraps: bool = False,
    kept: int = 0,
) -> GatherScatterPlan:
    """Return how a layout is launched; the same object for the same layout.

    Parameters
    ----------
    sizes, base, other : tuple of int
        The shape that is walked, and the strides in elements of the indexed and of the other array.
    indices : tuple of Indexed
        The index arrays.
    itemsize : int
        Bytes of an element.
    alignment : int
        The common alignment of both addresses, if larger units may be moved.
    what : int
        The number under which faults are noted.
    wraps : bool
        Whether negative indices count from the end.
    kept : int
        How many of the last dimensions stay as they are.

    Raises
    ------
    UnsupportedError
        For more dimensions or index arrays than a kernel has room for.
    """
    if len(indices) > INDICES:
        raise errors.UnsupportedError(
            f"{len(indices)} index tensors in one call; kernels of CUDA take {INDICES}"
        )
    count = prod(sizes)
    rows = [list(base), list(other), *(list(index.strides) for index in indices)]
    shape, rows = joined(sizes, rows, kept)
    if not shape:
        shape, rows = [1], [[0] for _ in rows]
    if len(shape) > DIMS:
        raise errors.UnsupportedError(
            f"a tensor whose memory has {len(shape)} dimensions that cannot be joined; kernels of CUDA take {DIMS}\n"
            "  try: contiguous()"
        )
    steps = [index.step for index in indices]
    reach = [sum(abs(stride) * max(n - 1, 0) for n, stride in zip(shape, row, strict=True)) for row in rows]
    reach[0] += sum(abs(index.step) * index.size for index in indices)
    unit = itemsize
    if itemsize and not kept:
        unit = _unit(shape, rows, steps, itemsize, alignment)
        factor = unit // itemsize
        if factor > 1:
            shape[-1] //= factor
            rows = [[*(stride // factor for stride in row[:-1]), row[-1]] for row in rows[:2]] + rows[2:]
            steps = [step // factor for step in steps]
            count //= factor
    padded = [[*row, *(0,) * (DIMS - len(row))] for row in rows]
    along = [stride for row in padded[2:] for stride in row]
    room = INDICES - len(indices)

    def each(values: Sequence[int]) -> tuple[int, ...]:
        return (*values, *(0,) * room)

    layout = _LAYOUT.pack(
        count, *shape, *(1,) * (DIMS - len(shape)), *padded[0], *padded[1], *along, *(0,) * (room * DIMS),
        *each([index.size for index in indices]), *each(steps), *each([index.dim for index in indices]), what,
        len(shape), sum(1 << k for k, index in enumerate(indices) if index.wide), int(wraps), 0,
    )  # fmt: skip
    return GatherScatterPlan(layout, UNITS.get(unit, ""), integer_of(count, *reach), grid_of(count))


def _unit(shape: list[int], rows: list[list[int]], steps: list[int], itemsize: int, alignment: int) -> int:
    """Return how many bytes are moved at once: more than an element where rows are without gaps in both arrays."""
    if rows[0][-1] != 1 or rows[1][-1] != 1 or any(row[-1] for row in rows[2:]):
        return itemsize
    for unit in (16, 8, 4, 2):
        factor = unit // itemsize
        if factor <= 1:
            break
        whole = [shape[-1], *rows[0][:-1], *rows[1][:-1], *steps]
        if alignment % unit == 0 and not any(n % factor for n in whole):
            return unit
    return itemsize
