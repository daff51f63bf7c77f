"""Shape rules of copies in another arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.errors import DataDependentError, IndexValueError, ShapeError
from tt.core.shapes.geometry import Described, wrap_dim, wrap_dims
from tt.core.shapes.pointwise import like_strides
from tt.core.shapes.registry import Result, RuleTable

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
        raise ShapeError(f"{op}(): `shifts` required")
    if dim_list or len(shift_list) != 1:
        if len(shift_list) != len(dim_list):
            raise ShapeError(
                f"{op}(): shifts and dimensions must align. shifts: {len(shift_list)}, dims:{len(dim_list)}"
            )
        for dim in dim_list:
            if not self.ndim:
                raise IndexValueError(f"{op}(): Dimension specified as {dim} but tensor has no dimensions")
            wrap_dim(op, dim, self.ndim)
    return self.shape


@rule("rot90")
def rot90(self: Described, k: int = 1, dims: Sequence[int] = (0, 1), *, op: str) -> Shape:
    """A plane of two dimensions rotated, as a copy."""
    if len(dims) != 2:
        raise ShapeError(f"{op}(): expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.ndim < 2:
        raise ShapeError(f"{op}(): expected total dims >= 2, but got total dims = {self.ndim}")
    first, second = wrap_dims(op, dims, self.ndim)
    shape = list(self.shape)
    if k % 2:
        shape[first], shape[second] = shape[second], shape[first]
    return tuple(shape)


@rule("triangle")
def triangle(self: Described, /, *, op: str) -> Shape:
    """A matrix with one triangle set to zero."""
    if self.ndim < 2:
        raise ShapeError(f"{op}(): input tensor must have at least 2 dimensions")
    return self.shape


@rule("diag_embed")
def diag_embed(self: Described, offset: int = 0, dim1: int = -2, dim2: int = -1, *, op: str) -> Shape:
    """The last dimension on a diagonal of two new ones."""
    ndim = self.ndim + 1
    first, second = wrap_dim(op, dim1, ndim), wrap_dim(op, dim2, ndim)
    if first == second:
        raise ShapeError(f"{op}(): diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not self.ndim:
        raise ShapeError(f"{op}(): needs a tensor of at least one dimension")
    size = self.shape[-1] + abs(offset)
    rest = iter(self.shape[:-1])
    return tuple(size if i in (first, second) else next(rest) for i in range(ndim))


@rule("constant_pad_nd")
def constant_pad_nd(self: Described, pad: Sequence[int], *, op: str) -> Shape:
    """Elements added before and after the last dimensions (negative: removed)."""
    if len(pad) % 2:
        raise ShapeError(f"{op}(): Length of pad must be even but instead it equals {len(pad)}")
    count = len(pad) // 2
    if count > self.ndim:
        raise ShapeError(
            f"{op}(): Length of pad should be no more than twice the number of dimensions of the input. Pad length "
            f"is {len(pad)} while the input has {self.ndim} dimensions."
        )
    shape = list(self.shape)
    for i in range(count):
        dim = self.ndim - 1 - i
        shape[dim] += pad[2 * i] + pad[2 * i + 1]
        if self.shape[dim] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0) < 0:
            raise ShapeError(
                f"{op}(): The input size {self.shape[dim]}, plus negative padding {pad[2 * i]} and {pad[2 * i + 1]}, "
                f"resulted in a negative output size at dimension {dim}"
            )
    return tuple(shape)


@rule("repeat_interleave_counts")
def repeat_interleave_counts(repeats: Described, output_size: int | None = None, *, op: str) -> Shape:
    """Each place of a vector of counts as often as it says."""
    if repeats.ndim != 1:
        raise ShapeError(f"{op}(): only accepts a 1D vector as repeats, got shape {list(repeats.shape)}")
    if output_size is None:
        raise DataDependentError(op, "meta")
    return (output_size,)
