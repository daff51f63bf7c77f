"""Launches of the kernels of sources/indexing.cuh, which move elements between places."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import (
    BLOCK,
    GatherScatterPlan,
    Indexed,
    broadcast_strides,
    make_plan,
    pointed,
)
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.core.library import contiguous_strides, fitted_number, from_numpy_dtype

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["Mover", "along_dim", "bytes_of", "joint_shape", "slices_of"]

INDEXING: Final = Program("indexing.cuh")

_FLOATS: Final = {4: struct.Struct("@f"), 8: struct.Struct("@d")}

Index = tuple[StridedHandle, Indexed]
Shape = tuple[int, ...]


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


def bytes_of(value: Any, dtype: np.dtype[Any]) -> bytes:
    """Return a number as an element of a dtype."""
    number = fitted_number(value, from_numpy_dtype(dtype))
    if type(number) is float and dtype.kind == "f" and dtype.itemsize > 2 and -1e38 < number < 1e38:
        return _FLOATS[dtype.itemsize].pack(number)
    return np.asarray(number).astype(dtype).tobytes()


def _alignment(one: int, other: int) -> int:
    """Return which of 1, 2, 4, 8 and 16 both addresses are multiples of."""
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

    def empty(self, shape: Sequence[int], dtype: Any) -> StridedHandle:
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
        given = isinstance(value, bytes)
        addresses = pointed(0, (), value if isinstance(value, bytes) else b"")
        self._launch(name, plan, (out, self_, mask, None if given else value, plan.layout, addresses))
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
            plan = make_plan(out.shape, self_.strides, out.strides, (), self_.dtype.itemsize, kept=2)
            name = f"copy_triangle<{plan.unit}, {plan.integer}>"
            self._launch(name, plan, (out, self_, plan.layout, pointed(0), diagonal, int(upper)))
        return out

    def rolled(self, self_: StridedHandle, shifts: Shape) -> StridedHandle:
        """Return a copy whose dimensions are shifted around their ends, each from 0 to before its size."""
        out = self.empty(self_.shape, self_.dtype)
        if 0 not in out.shape:
            along = (Indexed(shifts, 0, 0, 0, False),)
            plan = make_plan(
                out.shape, self_.strides, out.strides, along, self_.dtype.itemsize, kept=out.ndim
            )
            name = f"copy_rolled<{plan.unit}, {plan.integer}>"
            self._launch(name, plan, (out, self_, plan.layout, pointed(0)))
        return out
