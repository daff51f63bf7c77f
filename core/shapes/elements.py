"""Shape rules of views that read the same bytes as other elements."""

from __future__ import annotations

from typing import Any

from tt.core.errors import DtypeError, ShapeError
from tt.core.shapes.geometry import Described
from tt.core.shapes.registry import Result, RuleTable
from tt.core.shapes.shaping import view
from tt.core.shapes.slicing import select

rule = RuleTable()

Shape = tuple[int, ...]


# --- other element types ---------------------------------------------------------------------------------------


@rule("view_dtype")
def view_dtype(self: Described, dtype: Any, *, op: str) -> Result:
    """The same bytes read as another dtype."""
    old, new = self.dtype.itemsize, dtype.itemsize
    if old == new:
        return Result(self.shape, tuple(self.strides), self.offset, dtype)
    if not self.ndim:
        raise ShapeError(
            f"{op}(): self.dim() cannot be 0 to view {self.dtype} as {dtype} (different element sizes)"
        )
    if self.strides[-1] != 1:
        raise ShapeError(
            f"{op}(): self.stride(-1) must be 1 to view {self.dtype} as {dtype} (different element sizes), "
            f"but got {self.strides[-1]}"
        )
    if old > new:
        ratio = old // new
        return Result(
            (*self.shape[:-1], self.shape[-1] * ratio),
            (*(stride * ratio for stride in self.strides[:-1]), 1),
            self.offset * ratio,
            dtype,
        )
    ratio = new // old
    if self.shape[-1] % ratio or self.offset % ratio or any(stride % ratio for stride in self.strides[:-1]):
        raise ShapeError(
            f"{op}(): the last size ({self.shape[-1]}), the strides {list(self.strides[:-1])} and the storage offset "
            f"({self.offset}) must be divisible by {ratio} to view {self.dtype} as {dtype} (different element sizes)"
        )
    return Result(
        (*self.shape[:-1], self.shape[-1] // ratio),
        (*(stride // ratio for stride in self.strides[:-1]), 1),
        self.offset // ratio,
        dtype,
    )


@rule("view_as_real")
def view_as_real(self: Described, /, *, op: str) -> Result:
    """Complex numbers as a last dimension of two reals."""
    if not self.dtype.is_complex:
        raise DtypeError(f"{op} is only supported for complex tensors")
    real = self.dtype.to_real()
    strides = (*(2 * stride for stride in self.strides), 1)
    return Result((*self.shape, 2), strides, 2 * self.offset, real)


@rule("view_as_complex")
def view_as_complex(self: Described, /, *, op: str) -> Result:
    """A last dimension of two reals as complex numbers."""
    if not self.dtype.is_floating_point:
        raise DtypeError(f"{op} is only supported for floating point tensors, but got {self.dtype}")
    if not self.ndim or self.shape[-1] != 2:
        raise ShapeError(f"{op}(): Tensor must have a last dimension of size 2, got size {list(self.shape)}")
    if self.strides[-1] != 1:
        raise ShapeError(f"{op}(): Tensor must have a last dimension with stride 1")
    if any(stride % 2 for stride in self.strides[:-1]):
        raise ShapeError(f"{op}(): Tensor must have a stride divisible by 2 for all but last dimension")
    if self.offset % 2:
        raise ShapeError(f"{op}(): Tensor must have a storage_offset divisible by 2")
    strides = tuple(stride // 2 for stride in self.strides[:-1])
    return Result(self.shape[:-1], strides, self.offset // 2, self.dtype.to_complex())


@rule("real")
def real(self: Described, /, *, op: str) -> Result:
    """The real parts as a view; a real tensor itself."""
    if not self.dtype.is_complex:
        return view(self, self.shape, self.strides)
    return select(view_as_real(self, op=op).described(self.dtype.to_real()), -1, 0, op=op)


@rule("imag")
def imag(self: Described, /, *, op: str) -> Result:
    """The imaginary parts as a view."""
    if not self.dtype.is_complex:
        raise DtypeError(f"{op} is not implemented for tensors with non-complex dtypes.")
    return select(view_as_real(self, op=op).described(self.dtype.to_real()), -1, 1, op=op)


@rule("alias")
def alias(self: Described, /) -> Result:
    """The same memory as it is."""
    return view(self, self.shape, self.strides)
