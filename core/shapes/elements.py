"""Shape rules of views that read the same bytes as other elements."""

from __future__ import annotations

from typing import Any

from tt.core.errors import DtypeError, ShapeError
from tt.core.shapes.geometry import Described
from tt.core.shapes.registry import Result, RuleTable
from tt.core.shapes.shaping import view
from tt.core.shapes.slicing import select
from tt.core.types.dtype import float16, float32, float64

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
            f"{op}(): a tensor without dimensions of {self.dtype} cannot be read as {dtype}, which has another size"
        )
    if self.strides[-1] != 1:
        raise ShapeError(
            f"{op}(): {self.dtype} read as {dtype}, which has another size, needs a last stride of 1, but it is "
            f"{self.strides[-1]}"
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
            f"({self.offset}) must be multiples of {ratio} to read {self.dtype} as {dtype}"
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
        raise DtypeError(f"{op}(): the tensor must be complex, but is {self.dtype}")
    real = self.dtype.to_real()
    strides = (*(2 * stride for stride in self.strides), 1)
    return Result((*self.shape, 2), strides, 2 * self.offset, real)


@rule("view_as_complex")
def view_as_complex(self: Described, /, *, op: str) -> Result:
    """A last dimension of two reals as complex numbers."""
    if self.dtype not in (float16, float32, float64):
        raise DtypeError(f"{op}(): the tensor must be of float16, float32 or float64, but is {self.dtype}")
    if not self.ndim or self.shape[-1] != 2:
        raise ShapeError(f"{op}(): the last dimension must have size 2, but the shape is {list(self.shape)}")
    if self.strides[-1] != 1:
        raise ShapeError(f"{op}(): the last stride must be 1, but is {self.strides[-1]}")
    if any(stride % 2 for stride in self.strides[:-1]):
        raise ShapeError(f"{op}(): every stride but the last must be even, but they are {list(self.strides)}")
    if self.offset % 2:
        raise ShapeError(f"{op}(): the storage offset must be even, but is {self.offset}")
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
        raise DtypeError(f"{op}(): the tensor must be complex, but is {self.dtype}")
    return select(view_as_real(self, op=op).described(self.dtype.to_real()), -1, 1, op=op)


@rule("alias")
def alias(self: Described, /) -> Result:
    """The same memory as it is."""
    return view(self, self.shape, self.strides)
