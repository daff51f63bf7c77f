"""Composites that make tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DispatchError, DtypeError, ShapeError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import bool_, float64, int32, int64
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.memory_format import ORDERS, is_preserve
from tt.core.types.promotion import get_default_dtype, promote_types
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import as_type, check_shapes, is_integral, number, python_value

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

MANY_BLOCKS: Final = 64
"""From so many blocks on, `block_diag` puts their elements into zeros."""

composites: Final = CompositeTable()
composite = composites.composite

# --- of one value ----------------------------------------------------------------------------------------------


def _filled(value: Any) -> Callable[..., Any]:
    def filled(size: Sequence[int], dtype: Any, layout: Any, device: Any) -> Tensor:
        return ops.full(size, value, dtype=dtype or get_default_dtype(), layout=layout, device=device)

    return filled


composite("zeros", _filled(0))
composite("ones", _filled(1))


@composite("scalar_tensor")
def scalar_tensor(s: Any, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    return ops.full((), s, dtype=dtype or get_default_dtype(), layout=layout, device=device)


@composite("empty_strided")
def empty_strided(
    size: Sequence[int], stride: Sequence[int], dtype: Dtype | None, layout: Any, device: Any
) -> Tensor:
    check_shapes("empty_strided", size, stride)
    extent = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    flat = ops.empty((extent,), dtype=dtype, layout=layout, device=device)
    return ops.as_strided(flat, size, stride, 0)


@composite("empty_permuted")
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], dtype: Dtype | None, layout: Any, device: Any
) -> Tensor:
    check_shapes("empty_permuted", size, physical_layout)
    memory = ops.empty(tuple(size[d] for d in physical_layout), dtype=dtype, layout=layout, device=device)
    return ops.permute(memory, tuple([*physical_layout].index(d) for d in range(len(size))))


# --- like another tensor ---------------------------------------------------------------------------------------


def _like(self: Tensor, memory_format: Any, make: Callable[[tuple[int, ...]], Any]) -> Any:
    """Return a new tensor with the size and the order of dimensions in memory of another."""
    shape = tuple(self.shape)
    stride = self.stride()
    if memory_format in ORDERS:
        order = list(ORDERS[memory_format])
        if len(shape) != len(order):
            raise ShapeError(
                f"required rank {len(order)} tensor to use {memory_format} format, got {len(shape)}"
            )
    # An expanded tensor has no order in memory that a dense one could have.
    elif not is_preserve(memory_format) or self.is_contiguous() or 0 in shape or 0 in stride:
        return make(shape)
    else:
        # From the largest stride to the smallest: the outermost dimension comes first.
        order = sorted(range(len(shape)), key=lambda d: (-stride[d], d))
    inverse = sorted(range(len(shape)), key=order.__getitem__)
    return ops.permute(make(tuple(shape[d] for d in order)), tuple(inverse))


def _options(self: Tensor, dtype: Dtype | None, layout: Any, device: Any) -> dict[str, Any]:
    return {"dtype": dtype or self.dtype, "layout": layout, "device": device or self.device}


@composite("empty_like")
def empty_like(self: Tensor, dtype: Dtype | None, layout: Any, device: Any, memory_format: Any) -> Any:
    return _like(self, memory_format, lambda size: ops.empty(size, **_options(self, dtype, layout, device)))


@composite("full_like")
def full_like(
    self: Tensor, fill_value: Any, dtype: Dtype | None, layout: Any, device: Any, memory_format: Any
) -> Any:
    options = _options(self, dtype, layout, device)
    return _like(self, memory_format, lambda size: ops.full(size, fill_value, **options))


composite("zeros_like", lambda self, *options: full_like(self, 0, *options))
composite("ones_like", lambda self, *options: full_like(self, 1, *options))


@composite("new_empty")
def new_empty(self: Tensor, size: Sequence[int], dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    return ops.empty(size, **_options(self, dtype, layout, device))


@composite("new_empty_strided")
def new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], dtype: Dtype | None, layout: Any, device: Any
) -> Tensor:
    return ops.empty_strided(size, stride, **_options(self, dtype, layout, device))


@composite("new_full")
def new_full(
    self: Tensor, size: Sequence[int], fill_value: Any, dtype: Dtype | None, layout: Any, device: Any
) -> Tensor:
    return ops.full(size, fill_value, **_options(self, dtype, layout, device))


composite("new_zeros", lambda self, size, *options: new_full(self, size, 0, *options))
composite("new_ones", lambda self, size, *options: new_full(self, size, 1, *options))

# --- of increasing numbers -------------------------------------------------------------------------------------


def _range(start: Any, end: Any, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    return ops.arange.start_step(start, end, 1, dtype=dtype, layout=layout, device=device)


composite("arange", lambda end, *options: _range(0, end, *options))
composite("arange.start", lambda start, end, *options: _range(start, end, *options))


@composite("range.step")
def range_step(start: Any, end: Any, step: Any, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    warn_user("range() is deprecated: arange() leaves out the end, as Python's range")
    check_shapes("arange.start_step", start, end, step)
    result_dtype = dtype or get_default_dtype()
    count = math.floor((end - start) / step) + 1
    steps = ops.arange(
        count, dtype=int64 if is_integral(result_dtype) else float64, layout=layout, device=device
    )
    if is_integral(result_dtype):
        start, step = int(start), int(step)
    return as_type(ops.add(ops.mul(steps, step), start), result_dtype)


composite("range", lambda start, end, *options: range_step(start, end, 1, *options))


def spaced(start: Any, end: Any, steps: int, dtype: Dtype, layout: Any, device: Any) -> Tensor:
    """Return equally spaced numbers in double precision, between the bounds as rounded to the dtype."""
    if not dtype.is_complex and dtype is not float64:
        # As in PyTorch: integers truncate the bounds, half precision rounds them.
        start, end = (_in_dtype(value, dtype) for value in (start, end))
    position = ops.arange.default(steps, dtype=float64, layout=layout, device=device)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    # From both ends, so that the last number is exact.
    up = ops.add(ops.mul(position, step), start)
    down = ops.sub(end + ops.mul(position, 0), ops.mul(ops.sub(position, steps - 1), -step))
    # A single number is the start.
    return ops.where.default(ops.lt(position, max(steps // 2, steps == 1)), up, down)


def _in_dtype(value: Any, dtype: Dtype) -> Any:
    return int(value) if is_integral(dtype) else ops.full((), float(value), dtype=dtype).item()


@composite("linspace")
def linspace(start: Any, end: Any, steps: int, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    check_shapes("linspace", start, end, steps)
    result_dtype = _spaced_dtype("linspace", start, end, dtype)
    return as_type(spaced(start, end, steps, result_dtype, layout, device), result_dtype)


@composite("logspace")
def logspace(
    start: Any, end: Any, steps: int, base: float, dtype: Dtype | None, layout: Any, device: Any
) -> Tensor:
    check_shapes("logspace", start, end, steps)
    result_dtype = _spaced_dtype("logspace", start, end, dtype)
    bounds = result_dtype if steps > 1 else float64  # one power alone keeps the fraction of its exponent
    exponents = spaced(start, end, steps, bounds, layout, device)
    return as_type(
        ops.pow.Scalar(complex(base) if result_dtype.is_complex else base, exponents), result_dtype
    )


def _spaced_dtype(op: str, start: Any, end: Any, dtype: Dtype | None) -> Any:
    default = common_dtype(common_dtype(start, end), 1.0)
    if dtype is not None and default.is_complex and not dtype.is_complex:
        raise DtypeError(f"{op}(): complex bounds give {default}, which {dtype} cannot hold")
    return dtype or default


def _of_tensors(op: str, call: Callable[..., Any]) -> None:
    """Define an operator whose bounds are tensors: the numbers in them decide, their dtypes do not."""

    def of_tensors(start: Any, end: Any, steps: int, *options: Any) -> Any:
        numbers = [_number(op, name, value) for name, value in (("start", start), ("end", end))]
        if None not in numbers:
            return call(*numbers, steps, *options)
        dtype, layout, device = options[-3:]
        tensors = [value for value in (start, end) if isinstance(value, TensorBase)]
        numbers = [1j if t.dtype.is_complex else 1.0 for t in tensors]
        dtype = _spaced_dtype(op, numbers[0], numbers[-1], dtype)
        return call(0, 1, steps, *options[:-3], dtype, layout, device or tensors[0].device)

    composite(f"{op}.tensors", of_tensors)


def _number(op: str, name: str, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        return value
    if value.ndim:
        raise DimensionCountError(
            f"{op}(): {name} is one number or a tensor without dimensions, and it has {value.ndim}"
        )
    return python_value(value)


_of_tensors("linspace", lambda start, end, steps, dtype, layout, device: ops.linspace.default(
    start, end, steps, dtype=dtype, layout=layout, device=device))  # fmt: skip
_of_tensors("logspace", lambda start, end, steps, base, dtype, layout, device: ops.logspace.default(
    start, end, steps, base, dtype=dtype, layout=layout, device=device))  # fmt: skip

# --- matrices --------------------------------------------------------------------------------------------------


@composite("eye")
def eye(n: int, m: int | None, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    check_shapes("eye", n, m)
    rows = ops.arange.default(n, layout=layout, device=device)
    columns = ops.arange.default(n if m is None else m, layout=layout, device=device)
    return as_type(ops.eq(ops.unsqueeze(rows, 1), columns), dtype or get_default_dtype())


def _triangle(op: str, keep: Callable[[Any, int], Any]) -> None:
    def indices(row: int, col: int, offset: int, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
        check_shapes(op, row, col, offset)
        if dtype not in (None, int32, int64):
            raise DispatchError(op, f"indices are of int32 or int64, not of {dtype}")
        positions = ops.nonzero(keep(ops.ones((row, col), dtype=bool_, device=device), offset))
        return as_type(ops.transpose(positions, 0, 1).contiguous(), dtype or int64)

    composite(op, indices)


_triangle("tril_indices", lambda mask, offset: ops.tril(mask, offset))
_triangle("triu_indices", lambda mask, offset: ops.triu(mask, offset))


@composite("block_diag")
def block_diag(tensors: Sequence[Any]) -> Any:
    for index, tensor in enumerate(tensors):
        if tensor.ndim > 2:
            raise DimensionCountError(
                f"block_diag(): takes tensors of at most two dimensions, and tensor {index} has {tensor.ndim}"
            )
    if not tensors:
        return ops.empty((1, 0))
    dtype = reduce(promote_types, (tensor.dtype for tensor in tensors))
    blocks = [
        as_type(ops.reshape(t, (1, -1) if t.numel() else (1, 0)) if t.ndim < 2 else t, dtype) for t in tensors
    ]
    if len(blocks) >= MANY_BLOCKS:
        return _scattered(blocks)
    width, before, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        height, columns = block.shape
        left = ops.new_zeros(block, (height, before))
        right = ops.new_zeros(block, (height, width - before - columns))
        rows.append(ops.cat([left, block, right], 1))
        before += columns
    return ops.cat(rows, 0)


def _scattered(blocks: Sequence[Any]) -> Any:
    """Write the elements of blocks into zeros: rows of zeros for each block would be made and copied."""
    shapes = [tuple(block.shape) for block in blocks]
    values = ops.cat([ops.reshape(block, (-1,)) for block in blocks], 0)
    height, width = (sum(along) for along in zip(*shapes, strict=True))
    whole = ops.new_zeros(values, (height * width,))
    heights, widths = (
        ops.stack([number(n, values, int64) for n in along], 0) for along in zip(*shapes, strict=True)
    )
    counts = ops.mul(heights, widths)
    # For each element its block, its place in that, and the places at which the block begins.
    block = ops.repeat_interleave.Tensor(counts, output_size=values.shape[0])
    first, top, left = (
        ops.index_select(ops.sub(ops.cumsum(sizes, 0), sizes), 0, block)
        for sizes in (counts, heights, widths)
    )
    position, columns = (
        ops.sub(ops.arange(values.shape[0], device=values.device), first),
        ops.index_select(widths, 0, block),
    )
    row, column = (
        ops.add(ops.floor_divide(position, columns), top),
        ops.add(ops.remainder(position, columns), left),
    )
    whole.scatter_(0, ops.add(ops.mul(row, width), column), values)
    return ops.reshape(whole, (height, width))
