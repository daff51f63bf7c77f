"""Launches kernels of `pointwise.cuh`: chooses the kind of layout and packs the arguments.

Dimensions are collapsed where all operands allow it; then the operands are flat in one order, in rows (a bias, a
column, one number with a matrix), or arbitrary.  Everything derived from dtypes, sizes and strides is a plan, cached
for each combination.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import MOST_BLOCKS, THREADS, grid_of, joined
from tt.backends.cuda.launch.programs import Program, ProgramKernel
from tt.core.library import Carried, Scalar, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = [
    "MAX_DIMS",
    "ElementwisePlan",
    "Layout",
    "collapse",
    "fits_int32",
    "pack_numbers",
    "plan_of",
    "run",
    "strided",
]

POINTWISE: Final = Program("pointwise.cuh")
SPECIAL: Final = Program("special.cuh")
"""With the functors that the first one has, and special functions, which take long to compile."""

MAX_DIMS: Final = 8
"""The most dimensions that a kernel takes; the same as in `common.cuh`."""

_NUMBER: Final = struct.Struct("ddq")
_NO_NUMBERS: Final = bytes(3 * _NUMBER.size)
_MAX_PLANS: Final = 4096

Strides = tuple[int, ...]


class Layout(NamedTuple):
    """Sizes, and for each operand strides in elements; the first is the result."""

    sizes: tuple[int, ...]
    strides: tuple[Strides, ...]


class ElementwisePlan(NamedTuple):
    """The arguments of a launch besides operands and numbers."""

    kernel: ProgramKernel
    grid: tuple[int, ...]
    geometry: tuple[Any, ...]


# --- layouts ---------------------------------------------------------------------------------------------------


def collapse(sizes: Sequence[int], strides: Sequence[Strides]) -> Layout:
    """Return a layout of the same elements with as few dimensions as can be, the result's innermost one last.

    Examples
    --------
    >>> from tt.backends.cuda.launch.elementwise import collapse
    >>> collapse((2, 3, 4), [(12, 4, 1), (12, 4, 1)])
    Layout(sizes=(24,), strides=((1,), (1,)))
    >>> collapse((2, 3, 4), [(12, 4, 1), (0, 0, 1)])
    Layout(sizes=(6, 4), strides=((4, 1), (0, 1)))
    """
    order = [d for d in range(len(sizes)) if sizes[d] != 1]
    # In the result's order in memory, because scattered writes cost more than scattered reads.
    order.sort(key=lambda d: -abs(strides[0][d]))
    merged, steps = joined([sizes[d] for d in order], [[own[d] for d in order] for own in strides])
    return Layout(tuple(merged), tuple(map(tuple, steps)))


def fits_int32(layout: Layout) -> bool:
    """Return whether the numbers of elements and their offsets are below 2^31."""
    reach = (sum((n - 1) * abs(s) for n, s in zip(layout.sizes, own, strict=True)) for own in layout.strides)
    return max(prod(layout.sizes), *reach) < 2**31


def strided(layout: Layout, operands: int) -> bytes:
    """Return a layout as the struct `Strided<operands>` of `common.cuh`; missing dimensions have the strides 0."""
    room = MAX_DIMS - len(layout.sizes)
    rows = [layout.sizes, *layout.strides, *[()] * (operands - len(layout.strides))]
    flat = [value for row in rows for value in (*row, *[0] * (MAX_DIMS if not row else room))]
    return struct.pack(f"{1 + len(flat)}q", len(layout.sizes), *flat)


def plan_of(
    functor: str,
    out: StridedHandle,
    operands: Sequence[StridedHandle],
    strides: Sequence[Strides],
    aligned: bool,
) -> ElementwisePlan:
    """Return the plan for a functor of `pointwise.cuh`.

    Parameters
    ----------
    functor : str
        Its name.
    out : StridedHandle
        The written array.
    operands : sequence of StridedHandle
        The read arrays.
    strides : sequence of tuple
        The strides of the operands, broadcast.
    aligned : bool
        Whether all addresses are multiples of 16.
    """
    layout = collapse(out.shape, [out.strides, *strides])
    sizes, steps = layout
    program = SPECIAL if functor.startswith("special::") else POINTWISE
    types = f"{out.dtype.name}, Types<{', '.join(h.dtype.name for h in operands)}>"
    widest = max(h.dtype.itemsize for h in (out, *operands))
    lanes = 1 if widest >= 16 else 8 if widest <= 2 else 16 // widest
    count = prod(sizes)
    # A thread adds the size of the grid to its number once more than there are elements.
    index = "int32" if fits_int32(layout) and count < 2**31 - THREADS * MOST_BLOCKS else "int64"
    if not sizes or (len(sizes) == 1 and all(s == (1,) for s in steps) and aligned):
        kernel = program.kernel(f"pointwise_flat<{functor}, {types}>")
        # Elements behind the last whole vector get threads, too.
        return ElementwisePlan(kernel, grid_of(max(count // lanes, min(count, lanes))), (count,))
    if aligned and len(sizes) <= 2 and sizes[-1] % lanes == 0 and _in_rows(layout, lanes):
        vectors, per_row = count // lanes, sizes[-1] // lanes
        rows = [own[0] if len(sizes) == 2 else 0 for own in steps[1:]]
        inner = [own[-1] for own in steps[1:]]
        room = [0] * (3 - len(operands))
        geometry = struct.pack("8q", vectors, per_row, *rows, *room, *inner, *room)
        kernel = program.kernel(f"pointwise_rows<{functor}, {index}, {types}>")
        return ElementwisePlan(kernel, grid_of(vectors), (geometry,))
    kernel = program.kernel(f"pointwise_strided<{functor}, {index}, {types}>")
    return ElementwisePlan(kernel, grid_of(count), (count, strided(layout, 4)))


def _in_rows(layout: Layout, lanes: int) -> bool:
    """Return whether the result is densely in rows, and each operand in a row side by side or as one element."""
    sizes, (out, *operands) = layout
    if out != ((sizes[-1], 1) if len(sizes) == 2 else (1,)):
        return False
    return all(own[-1] == 0 or (own[-1] == 1 and all(s % lanes == 0 for s in own[:-1])) for own in operands)


# --- launching -------------------------------------------------------------------------------------------------


def pack_numbers(numbers: Sequence[Any]) -> bytes:
    """Return Python numbers as the struct `Numbers`: each as a floating and as a whole number.

    Examples
    --------
    >>> import struct
    >>> from tt.backends.cuda.launch.elementwise import pack_numbers
    >>> struct.unpack("ddqddqddq", pack_numbers([2.5, 1j]))
    (2.5, 0.0, 2, 0.0, 1.0, 0, 0.0, 0.0, 0)
    """
    if not numbers:
        return _NO_NUMBERS
    packed = b"".join(_number(value) for value in numbers)
    return packed + _NO_NUMBERS[len(packed) :]


def _number(value: Scalar) -> bytes:
    if isinstance(value, complex):
        return _NUMBER.pack(value.real, value.imag, 0)
    if isinstance(value, float):
        return _NUMBER.pack(value, 0.0, int(value) if abs(value) < 2.0**63 else 0)
    whole = int(value)
    wrapped = (whole + 2**63) % 2**64 - 2**63  # as an integer of 64 bits has it
    try:
        return _NUMBER.pack(float(whole), 0.0, wrapped)
    except OverflowError:
        return _NUMBER.pack(float("inf") if whole > 0 else float("-inf"), 0.0, wrapped)


class _Plans(Carried):
    """A thread's plans."""

    def __init__(self) -> None:
        self.known: dict[Any, ElementwisePlan] = {}


_PLANS: Final = _Plans()
"""A cache of pure results."""


def run(
    backend: CudaBackend,
    functor: str,
    operands: Sequence[StridedHandle],
    dtype: np.dtype[Any],
    numbers: Sequence[Any] = (),
    out: StridedHandle | None = None,
) -> StridedHandle:
    """Apply a functor of `pointwise.cuh` to operands that broadcast.

    Parameters
    ----------
    backend : CudaBackend
        Makes the result and launches.
    functor : str
        Its name.
    operands : sequence of StridedHandle
        One to three.
    dtype : numpy.dtype
        The dtype of the result.
    numbers : sequence, optional
        Up to three Python numbers for the functor.
    out : StridedHandle, optional
        Written to, instead of a new handle; its shape is that of the result.

    Raises
    ------
    ShapeError
        When the shapes do not broadcast.
    """
    # Mostly all shapes are equal, which costs one comparison for each operand.
    shape = operands[0].shape
    for operand in operands[1:]:
        if operand.shape != shape:
            shape = _broadcast([h.shape for h in operands])
            break
    strides = [h.strides if h.shape == shape else _spread(h, shape) for h in operands]
    if out is None:
        out = _result(backend, shape, strides, dtype)
    else:
        if out.shape != shape:
            raise errors.ShapeError(f"the result has the shape {shape}, and its target {out.shape}")
        # An operand that overlaps the target elsewhere would be read after it was written.
        operands = [_apart(backend, operand, out) for operand in operands]
        strides = [h.strides if h.shape == shape else _spread(h, shape) for h in operands]
    if 0 in shape:
        return out
    if len(shape) > MAX_DIMS and len(collapse(shape, [out.strides, *strides]).sizes) > MAX_DIMS:
        return _by_slices(backend, functor, operands, strides, dtype, numbers, out)
    # Vectors of 16 bytes are used where all addresses allow it, so the alignment is part of the key.
    pointers = out.data_ptr
    for operand in operands:
        pointers |= operand.data_ptr
    read = [(h.dtype, own) for h, own in zip(operands, strides, strict=True)]
    key = (functor, out.dtype, out.shape, out.strides, pointers & 15, *read)
    plans = _PLANS.known
    plan = plans.get(key)
    if plan is None:
        # A program whose shapes change all the time would keep plans that never serve again.
        if len(plans) >= _MAX_PLANS:
            plans.clear()
        plan = plans[key] = plan_of(functor, out, operands, strides, not pointers & 15)
    a, b, c = (*operands, None, None)[:3]
    plan.kernel(backend, plan.grid, (THREADS,), (out, a, b, c, pack_numbers(numbers), *plan.geometry))
    return out


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    sizes = [1] * rank
    for shape in shapes:
        for d, size in enumerate(shape, rank - len(shape)):
            if size != 1 and sizes[d] not in (1, size):
                raise errors.ShapeError(f"the shapes {', '.join(map(str, shapes))} do not broadcast")
            if size != 1:
                sizes[d] = size
    return tuple(sizes)


def _spread(handle: StridedHandle, shape: tuple[int, ...]) -> Strides:
    """Return the strides of a handle in a shape to which it is broadcast."""
    missing = len(shape) - handle.ndim
    own = [0 if size == 1 else stride for size, stride in zip(handle.shape, handle.strides, strict=True)]
    return (*[0] * missing, *own)


def _result(
    backend: CudaBackend, shape: tuple[int, ...], strides: Sequence[Strides], dtype: np.dtype[Any]
) -> StridedHandle:
    """Return a new handle whose dimensions are in the order of the first operand that has all of them."""
    rank = len(shape)
    if rank > 1:
        for own in strides:
            if all(step or size == 1 for size, step in zip(shape, own, strict=True)):
                order = sorted(range(rank), key=lambda d: -abs(own[d]) if shape[d] != 1 else -(2**62))
                if any(shape[d] == 1 for d in range(rank)):
                    order = _with_ones(shape, own)
                if order != list(range(rank)):
                    dense = backend.empty([shape[d] for d in order], dtype)
                    steps = [0] * rank
                    for position, d in enumerate(order):
                        steps[d] = dense.strides[position]
                    return dense.view(shape, steps)
                break
    return backend.empty(shape, dtype)


def _with_ones(shape: tuple[int, ...], own: Strides) -> list[int]:
    """Return the order of dimensions by strides; dimensions of size 1 keep their places."""
    real = sorted((d for d in range(len(shape)) if shape[d] != 1), key=lambda d: -abs(own[d]))
    remaining = iter(real)
    return [d if shape[d] == 1 else next(remaining) for d in range(len(shape))]


def _apart(backend: CudaBackend, operand: StridedHandle, out: StridedHandle) -> StridedHandle:
    """Return an operand that the write does not change before it is read."""
    if operand.owner is not out.owner or not operand.shares_memory(out):
        return operand
    if (operand.shape, operand.strides, operand.offset) == (out.shape, out.strides, out.offset):
        return operand
    return run(backend, "Copy", [operand], operand.dtype)


def _by_slices(
    backend: CudaBackend, functor: str, operands: Sequence[StridedHandle], strides: Sequence[Strides],
    dtype: np.dtype[Any], numbers: Sequence[Any], out: StridedHandle,
) -> StridedHandle:  # fmt: skip
    """Go over the first dimension, because a kernel takes fewer."""
    rest = out.shape[1:]
    for i in range(out.shape[0]):
        parts = [h.view(rest, s[1:], h.offset + i * s[0]) for h, s in zip(operands, strides, strict=True)]
        target = out.view(rest, out.strides[1:], out.offset + i * out.strides[0])
        run(backend, functor, parts, dtype, numbers, target)
    return out
