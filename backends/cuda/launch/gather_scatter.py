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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, grid_of, joined
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.core.library import Scalar, contiguous_strides, errors, fitted_number, from_numpy_dtype

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from tt.backends.cuda.backend import CudaBackend

__all__ = [
    "BLOCK",
    "INDICES",
    "UNITS",
    "GatherScatterPlan",
    "Indexed",
    "Mover",
    "along_dim",
    "broadcast_strides",
    "bytes_of",
    "integer_of",
    "joint_shape",
    "make_plan",
    "one_value",
    "places_along",
    "pointed",
    "slices_of",
]

DIMS: Final = 12
INDICES: Final = 8
BLOCK: Final = (THREADS,)
UNITS: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "Unit16"}
"""Bytes -> the type that moves them."""

# The struct `Places` of sources/indexing.cuh, field by field; the last int pads it to a multiple of 8
# bytes.
_LAYOUT: Final = struct.Struct(f"@q{DIMS}q{DIMS}q{DIMS}q{INDICES * DIMS}q{INDICES}q{INDICES}q{INDICES}qq4i")
_POINTED: Final = struct.Struct(f"@{INDICES}QQ16s")

Shape = tuple[int, ...]


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
    result = [0] * missing
    for size, stride, target_size in zip(shape, strides, target[missing:], strict=True):
        if size != target_size and size != 1:
            raise ValueError("an array that does not broadcast")
        result.append(stride if size == target_size and size != 1 else 0)
    return tuple(result)


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
    # The kernel takes the last dimension for granted.
    if not shape:
        shape, rows = [1], [[0] for _ in rows]
    if len(shape) > DIMS:
        raise errors.UnsupportedError(
            f"a tensor whose memory has {len(shape)} dimensions that cannot be joined; kernels of CUDA take {DIMS}\n"
            "  try: contiguous()"
        )
    steps = [index.step for index in indices]
    # How far any offset can go decides whether 32 bits hold it.
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
    # An index that varies along the last dimension separates its elements.
    if rows[0][-1] != 1 or rows[1][-1] != 1 or any(row[-1] for row in rows[2:]):
        return itemsize
    for unit in (16, 8, 4, 2):
        factor = unit // itemsize
        if factor <= 1:
            break
        # Every start of a row, in both arrays and for each index, must begin a unit.
        whole = [shape[-1], *rows[0][:-1], *rows[1][:-1], *steps]
        if alignment % unit == 0 and not any(n % factor for n in whole):
            return unit
    return itemsize


INDEXING: Final = Program("indexing.cuh")

_FLOATS: Final = {4: struct.Struct("@f"), 8: struct.Struct("@d")}

Index = tuple[StridedHandle, Indexed]


def is_wide(index: StridedHandle) -> bool:
    """Return whether an index holds int64; the shape rule explains the TypeError for other dtypes than int32."""
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise TypeError("an index of another dtype")
    return index.dtype.itemsize == 8


def along_dim(handle: StridedHandle, axis: int, index: StridedHandle, strides: Shape) -> Indexed:
    """Return an index, read with some strides, that chooses along a dimension."""
    size, step = (handle.shape[axis], handle.strides[axis]) if handle.ndim else (1, 0)
    return Indexed(strides, size, step, axis, is_wide(index))


def slices_of(handle: StridedHandle, axis: int, index: StridedHandle) -> tuple[Shape, Shape, Indexed]:
    """Return the shape of the slices that a vector chooses, the strides around the index, and the index."""
    if index.ndim > 1:
        raise ValueError("an index that is not a vector, which the shape rule refuses")
    count = index.shape[0] if index.ndim else 1
    stride = index.strides[0] if index.ndim else 0
    shape, strides = (handle.shape, handle.strides) if handle.ndim else ((1,), (1,))
    sizes = (*shape[:axis], count, *shape[axis + 1 :])
    base = (*strides[:axis], 0, *strides[axis + 1 :])
    along = (*(0,) * axis, stride, *(0,) * (len(sizes) - axis - 1))
    return sizes, base, along_dim(handle, axis, index, along)


def places_along(self: StridedHandle, axis: int, index: StridedHandle) -> tuple[Shape, Shape, Indexed]:
    """Return the shape of the places that gather reads and scatter writes, the strides around the index, and the index.

    The shape rule explains the ValueError of an index that does not fit.
    """
    shape, strides = (self.shape, self.strides) if self.ndim else ((1,), (1,))
    sizes, along = (index.shape, index.strides) if index.ndim else ((1,), (1,))
    if len(sizes) != len(shape):
        raise ValueError("an index of other dimensions")
    if any(size > limit for d, (size, limit) in enumerate(zip(sizes, shape, strict=True)) if d != axis):
        raise ValueError("a larger index")
    base = (*strides[:axis], 0, *strides[axis + 1 :])
    return sizes, base, Indexed(along, shape[axis], strides[axis], axis, is_wide(index))


def bytes_of(value: Scalar, dtype: np.dtype[Any]) -> bytes:
    """Return a number as an element of a dtype."""
    number = fitted_number(value, from_numpy_dtype(dtype))
    # Packing takes a fraction of NumPy's time; beyond 1e38 it would raise where a cast gives infinity.
    if type(number) is float and dtype.kind == "f" and dtype.itemsize > 2 and -1e38 < number < 1e38:
        return _FLOATS[dtype.itemsize].pack(number)
    return np.asarray(number).astype(dtype).tobytes()


def _alignment(one: int, other: int) -> int:
    """Return which of 1, 2, 4, 8 and 16 both addresses are multiples of."""
    # The lowest bit that is set in either address, at most 16.
    joined = one | other | 16
    return joined & -joined


def joint_shape(one: Shape, other: Shape) -> Shape:
    """Return the shape to which two broadcast; the shape rule explains the ValueError of those that do not."""
    return one if one == other else np.broadcast_shapes(one, other)


class Mover:
    """Moves elements of handles of a backend.

    Parameters
    ----------
    backend : CudaBackend
        Whose engine launches.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend

    # --- launches ----------------------------------------------------------------------------------------------

    def _launch(self, name: str, plan: GatherScatterPlan, args: Sequence[Any]) -> None:
        INDEXING.kernel(name)(self.backend, plan.grid, BLOCK, args)

    def pointed(self, indices: Sequence[Index] = (), value: bytes = b"") -> bytes:
        """Return the addresses of a call; without index arrays no fault can be found."""
        if not indices:
            # Most copies have no indices and need no record, whose memory would be allocated at the first
            # use.
            return pointed(0, (), value)
        return pointed(self.backend.failures.address, [handle.data_ptr for handle, _ in indices], value)

    def take(
        self, out: StridedHandle, self_: StridedHandle, sizes: Shape, base: Shape, other: Shape,
        indices: Sequence[Index] = (), op: str = "index", wraps: bool = False,
    ) -> StridedHandle:  # fmt: skip
        """Read elements into `out`, which has the strides `other`; return it."""
        if 0 in sizes:
            return out
        plan = make_plan(
            sizes, base, other, tuple([i for _, i in indices]), self_.dtype.itemsize,
            _alignment(out.data_ptr, self_.data_ptr), kind_of(op), wraps,
        )  # fmt: skip
        name = f"take_places<{plan.unit}, {plan.integer}, {len(indices)}>"
        self._launch(name, plan, (out, self_, plan.layout, self.pointed(indices)))
        if indices:
            self.backend.failures.launched()
        return out

    def put(
        self, self_: StridedHandle, values: StridedHandle | bytes, sizes: Shape, base: Shape, other: Shape,
        indices: Sequence[Index] = (), op: str = "index_put", wraps: bool = False,
    ) -> None:  # fmt: skip
        """Write values, read with the strides `other`, or one element that is given by its bytes."""
        if 0 in sizes:
            return
        plain = isinstance(values, bytes)
        # One element is not widened: its bytes would have to be repeated.
        alignment = 1 if isinstance(values, bytes) else _alignment(self_.data_ptr, values.data_ptr)
        plan = make_plan(
            sizes,
            base,
            other,
            tuple([i for _, i in indices]),
            self_.dtype.itemsize,
            alignment,
            kind_of(op),
            wraps,
        )
        name = f"put_places<{plan.unit}, {plan.integer}, {len(indices)}>"
        addresses = self.pointed(indices, values if isinstance(values, bytes) else b"")
        self._launch(name, plan, (self_, None if plain else values, plan.layout, addresses))
        if indices:
            self.backend.failures.launched()

    def places(
        self,
        sizes: Shape,
        base: Shape,
        indices: Sequence[Index],
        op: str,
        wraps: bool = False,
        skipped: int = -1,
    ) -> StridedHandle:
        """Return the places that indices name as a vector of int64; -1 where one is out of range or is skipped."""
        out = self.empty(sizes, np.dtype(np.int64))
        if 0 not in sizes:
            # No elements are moved, so units do not matter.
            plan = make_plan(
                sizes,
                base,
                contiguous_strides(sizes),
                tuple([i for _, i in indices]),
                0,
                1,
                kind_of(op),
                wraps,
            )
            name = f"find_places<{plan.integer}, {len(indices)}>"
            self._launch(name, plan, (out, plan.layout, self.pointed(indices), skipped))
            self.backend.failures.launched()
        return out.view((out.nbytes // 8,), (1,))

    # --- copies ------------------------------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], dtype: DTypeLike) -> StridedHandle:
        """Return a handle without gaps over new memory."""
        return StridedHandle.empty(self.backend.memory, shape, dtype)

    def contiguous(self, handle: StridedHandle, shape: Shape | None = None) -> StridedHandle:
        """Return a handle without gaps, broadcast to a shape: itself, or a copy."""
        shape = handle.shape if shape is None else shape
        if handle.shape == shape and handle.is_contiguous:
            return handle
        out = self.empty(shape, handle.dtype)
        return self.take(
            out, handle, shape, broadcast_strides(handle.shape, handle.strides, shape), out.strides
        )

    def fill(self, handle: StridedHandle, value: bytes) -> StridedHandle:
        """Write one element, given by its bytes, everywhere; return the handle."""
        self.put(handle, value, handle.shape, handle.strides, handle.strides)
        return handle

    def copy_into(self, target: StridedHandle, source: StridedHandle) -> None:
        """Copy elements of the same dtype and shape."""
        self.put(target, source, target.shape, target.strides, source.strides)

    def fill_masked(
        self, out: StridedHandle, self_: StridedHandle, mask: StridedHandle, value: StridedHandle | bytes
    ) -> StridedHandle:
        """Write `self_` to `out`, and one value where the mask is true; `out` may be `self_`."""
        sizes = out.shape
        if 0 in sizes:
            return out
        along = Indexed(broadcast_strides(mask.shape, mask.strides, sizes), 0, 0, 0, False)
        base = broadcast_strides(self_.shape, self_.strides, sizes)
        plan = make_plan(sizes, base, out.strides, (along,), self_.dtype.itemsize)
        name = f"fill_masked<{plan.unit}, {plan.integer}>"
        is_number = isinstance(value, bytes)
        addresses = pointed(0, (), value if isinstance(value, bytes) else b"")
        self._launch(name, plan, (out, self_, mask, None if is_number else value, plan.layout, addresses))
        return out

    def scatter_masked(
        self, self_: StridedHandle, source: StridedHandle, mask: StridedHandle, ranks: StridedHandle
    ) -> None:
        """Write the elements of a source where a mask without gaps is true, of which ranks counts the true elements."""
        if 0 in self_.shape:
            return
        plan = make_plan(
            self_.shape, self_.strides, self_.strides, (), self_.dtype.itemsize, 1, kind_of("masked_scatter")
        )
        name = f"scatter_masked<{plan.unit}, {plan.integer}>"
        addresses = pointed(self.backend.failures.address)
        available = source.nbytes // source.dtype.itemsize
        self._launch(name, plan, (self_, source, mask, ranks, plan.layout, addresses, available))
        self.backend.failures.launched()

    def triangle(self, self_: StridedHandle, diagonal: int, upper: bool) -> StridedHandle:
        """Return a copy of matrices with zeros on one side of a diagonal."""
        out = self.empty(self_.shape, self_.dtype)
        if 0 not in out.shape:
            # Rows and columns stay apart from other dimensions, because the kernel compares their numbers.
            plan = make_plan(out.shape, self_.strides, out.strides, (), self_.dtype.itemsize, kept=2)
            name = f"copy_triangle<{plan.unit}, {plan.integer}>"
            self._launch(name, plan, (out, self_, plan.layout, pointed(0), diagonal, int(upper)))
        return out

    def rolled(self, self_: StridedHandle, shifts: Shape) -> StridedHandle:
        """Return a copy whose dimensions are shifted around their ends, each from 0 to before its size."""
        out = self.empty(self_.shape, self_.dtype)
        if 0 not in out.shape:
            along = (Indexed(shifts, 0, 0, 0, False),)
            # Each dimension has a shift of its own, so none are joined.
            plan = make_plan(
                out.shape, self_.strides, out.strides, along, self_.dtype.itemsize, kept=out.ndim
            )
            name = f"copy_rolled<{plan.unit}, {plan.integer}>"
            self._launch(name, plan, (out, self_, plan.layout, pointed(0)))
        return out


def one_value(mover: Mover, self: StridedHandle, value: StridedHandle | Scalar) -> StridedHandle | bytes:
    """Return one value that fills an array: a number by its bytes, a tensor in the dtype of the array."""
    if not isinstance(value, StridedHandle):
        return bytes_of(value, self.dtype)
    if value.ndim:
        raise ValueError("one value, which the shape rule demands")
    return value if value.dtype == self.dtype else mover.backend.cast(value, self.dtype)
