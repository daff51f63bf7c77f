"""Shape rules of copies in another arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.errors import (
    DataDependentError,
    DimensionCountError,
    IndexValueError,
    ShapeError,
    UnsupportedError,
)
from tt.core.shapes.geometry import Described, wrap_dim, wrap_dims
from tt.core.shapes.pointwise import like_strides
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import int32, int64

rule = RuleTable()

Shape = tuple[int, ...]


# --- rearranged copies -----------------------------------------------------------------------------------------


@rule("flip")
def flip(self: Described, dims: Sequence[int], *, op: str) -> Result:
    """Some dimensions reversed, as a copy."""
    wrap_dims(op, dims, self.ndim)
    return Result(self.shape, like_strides(self))


@rule("roll")
def roll(self: Described, shifts: Any, dims: Any = (), *, op: str) -> Shape:
    """Elements shifted along dimensions, as a copy."""
    shift_list = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    dim_list = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if not shift_list:
        raise ShapeError(f"{op}(): no shift is given")
    if dim_list or len(shift_list) != 1:
        if len(shift_list) != len(dim_list):
            raise ShapeError(
                f"{op}(): {len(shift_list)} shifts for {len(dim_list)} dimensions; each dimension needs one"
            )
        for dim in dim_list:
            if not self.ndim:
                raise IndexValueError(f"{op}(): dimension {dim} does not exist: the tensor has none")
            wrap_dim(op, dim, self.ndim)
    return self.shape


@rule("triangle")
def triangle(self: Described, /, *, op: str) -> Shape:
    """A matrix with one triangle set to zero."""
    if self.ndim < 2:
        raise DimensionCountError(
            f"{op}(): only matrices have triangles, and the tensor has {self.ndim} dimensions"
        )
    return self.shape


@rule("diag_embed")
def diag_embed(self: Described, offset: int = 0, dim1: int = -2, dim2: int = -1, *, op: str) -> Shape:
    """The last dimension on a diagonal of two new ones."""
    ndim = self.ndim + 1
    first, second = wrap_dim(op, dim1, ndim), wrap_dim(op, dim2, ndim)
    if first == second:
        raise ShapeError(
            f"{op}(): a diagonal runs through two dimensions, and {dim1} and {dim2} are the same"
        )
    if not self.ndim:
        raise ShapeError(f"{op}(): needs a tensor of at least one dimension")
    size = self.shape[-1] + abs(offset)
    rest = iter(self.shape[:-1])
    return tuple(size if i in (first, second) else next(rest) for i in range(ndim))


@rule("constant_pad_nd")
def constant_pad_nd(self: Described, pad: Sequence[int], *, op: str) -> Shape:
    """Elements added before and after the last dimensions (negative: removed)."""
    if len(pad) % 2:
        raise ShapeError(
            f"{op}(): pad holds two counts for each dimension, before and after it, and {len(pad)} is odd"
        )
    count = len(pad) // 2
    if count > self.ndim:
        raise ShapeError(f"{op}(): pad holds counts for {count} dimensions, and the tensor has {self.ndim}")
    shape = list(self.shape)
    for i in range(count):
        dim = self.ndim - 1 - i
        shape[dim] += pad[2 * i] + pad[2 * i + 1]
        if self.shape[dim] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0) < 0:
            raise ShapeError(
                f"{op}(): pad ({pad[2 * i]}, {pad[2 * i + 1]}) takes more away from dimension {dim} than its size, "
                f"{self.shape[dim]}"
            )
    return tuple(shape)


@rule("pad_places")
def pad_places(self: Described, pad: Sequence[int], mode: str, *, op: str) -> Shape:
    """Elements of the tensor itself added before and after the last dimensions."""
    shape = constant_pad_nd(self, pad, op=op)
    modes = ("reflect", "replicate", "circular")
    if mode not in modes:
        raise ShapeError(f"{op}(): unknown mode {mode!r}\n  there are: {', '.join(modes)}")
    for place, count in enumerate(pad):
        size = self.shape[self.ndim - 1 - place // 2]
        if count > 0 and (count >= size if mode == "reflect" else size == 0):
            raise ShapeError(f"{op}(): mode {mode!r} cannot add {count} elements to a dimension of {size}")
    return shape


@rule("repeat_interleave_counts")
def repeat_interleave_counts(repeats: Described, output_size: int | None = None, *, op: str) -> Shape:
    """Each index of a vector of counts, repeated by its count."""
    if repeats.dtype not in (int32, int64):
        raise UnsupportedError(f"{op}(): repeats must have the dtype int32 or int64, not {repeats.dtype}")
    if repeats.ndim != 1:
        raise ShapeError(f"{op}(): only accepts a 1D vector as repeats, got shape {list(repeats.shape)}")
    if output_size is None:
        raise DataDependentError(op, "meta")
    return (output_size,)
