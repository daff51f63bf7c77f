"""Sizes and strides: what every shape rule needs.

Strides count elements, sizes are plain tuples.  The functions raise the same errors as PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as as_index
from typing import Any, Protocol

from tt.core.errors import (
    ArgumentError,
    BroadcastError,
    ChoiceError,
    DimensionError,
    ShapeError,
    ValueRangeError,
)
from tt.core.tensor.backend import contiguous_strides, is_non_overlapping_and_dense
from tt.core.types.size import Size

__all__ = [
    "Described",
    "broadcast",
    "broadcast_strides",
    "check_size",
    "common_shape",
    "contiguous_strides",
    "dense_strides",
    "dims_to_reduce",
    "infer_size",
    "is_channels_last",
    "is_contiguous",
    "is_described",
    "like_strides",
    "reduced_shape",
    "view_strides",
    "wrap_dim",
    "wrap_dims",
]

Shape = tuple[int, ...]


class Described(Protocol):
    """A tensor as shape rules see it."""

    @property
    def shape(self) -> Shape:
        """The sizes."""
        ...

    @property
    def strides(self) -> Shape:
        """In elements."""
        ...

    @property
    def offset(self) -> int:
        """Of the first element in the memory."""
        ...

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        ...

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        ...


def is_described(value: Any) -> bool:
    """Return whether a rule's argument is a tensor (and not a number, a list or None)."""
    return hasattr(value, "strides") and hasattr(value, "shape")


# --- dimensions ------------------------------------------------------------------------------------------------


def wrap_dim(op: str, dim: Any, ndim: int) -> int:
    """Return a dimension counted from the front; a zero-dimensional tensor has dimension 0 (and -1) here.

    Raises
    ------
    DimensionError
        When the tensor has no such dimension.
    """
    try:
        index = dim.__index__()
    except (AttributeError, TypeError):  # a class has the method, too
        raise ArgumentError(op, f"a dimension must be an int, not {type(dim).__name__}") from None
    limit = ndim or 1
    if not -limit <= index < limit:
        raise DimensionError(op, index, ndim)
    return int(index % limit)


def wrap_dims(op: str, dims: Sequence[int], ndim: int) -> Shape:
    """Return distinct dimensions counted from the front.

    Raises
    ------
    ShapeError
        When a dimension appears twice.
    """
    wrapped = tuple(wrap_dim(op, dim, ndim) for dim in dims)
    for position, index in enumerate(wrapped):
        if index in wrapped[:position]:
            raise ShapeError(f"{op}(): dimension {index} is named twice")
    return wrapped


def dims_to_reduce(op: str, dim: Any, ndim: int) -> Shape:
    """Return the dimensions that a reduction removes: all of them for None and for an empty list."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, (list, tuple)):
        dims = wrap_dims(op, dim, ndim) or tuple(range(ndim))
    else:
        dims = (wrap_dim(op, dim, ndim),)
    return dims if ndim else ()


def reduced_shape(shape: Shape, dims: Shape, keepdim: bool) -> Shape:
    """Return the shape after a reduction over `dims`."""
    if keepdim:
        return tuple(1 if i in dims else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in dims)


# --- sizes -----------------------------------------------------------------------------------------------------


def check_size(op: str, size: Any) -> Shape:
    """Return the shape of a new tensor.

    Raises
    ------
    ShapeError
        For a negative size.
    """
    values = tuple(size) if isinstance(size, (list, tuple)) else (size,)
    shape = []
    for value in values:
        try:
            shape.append(as_index(value))
        except TypeError:
            words = f"a size must be a list of ints, and {type(value).__name__} is none"
            raise ArgumentError(op, words) from None
    for index, value in enumerate(shape):
        if value < 0:
            raise ShapeError(f"{op}(): the size {value} at position {index} of {shape} is negative")
    return tuple(shape)


def infer_size(op: str, size: Sequence[int], numel: int) -> Shape:
    """Return the size of a view, its single -1 replaced by the remaining size.

    Raises
    ------
    ShapeError
        When the number of elements differs, for several -1, and for an ambiguous -1.
    """
    sizes = [int(value.__index__()) for value in size]
    free = [i for i, value in enumerate(sizes) if value == -1]
    if len(free) > 1:
        raise ShapeError(f"{op}(): the shape {sizes} leaves several sizes open; only one may be -1")
    for value in sizes:
        if value < -1:
            raise ShapeError(f"{op}(): {value} in the shape {sizes} is not a size")
    known = prod(value for value in sizes if value != -1)
    # Without elements in the known sizes, any size for -1 would fit or none.
    fits = known == numel if not free else known != 0 and numel % known == 0
    if free and known == 0 and numel == 0:
        raise ShapeError(
            f"{op}(): the shape {sizes} of a tensor without elements does not determine the size for -1\n"
            f"  try: write the size"
        )
    if not fits:
        raise ShapeError(f"{op}(): {numel} elements do not fill the shape {sizes}")
    if free:
        sizes[free[0]] = numel // known
    return tuple(sizes)


def broadcast(op: str, *shapes: Sequence[int]) -> Shape:
    """Return the common shape.

    Raises
    ------
    BroadcastError
        When there is none; it names the two shapes and the dimension.
    """
    result: Shape = ()
    for shape in shapes:
        result = _broadcast_two(op, result, tuple(shape))
    return result


def common_shape(*shapes: Sequence[int] | int) -> Size:
    """Return the shape to which tensors of the given shapes broadcast, as a user of `tt.broadcast_shapes` gives them.

    Parameters
    ----------
    *shapes : sequence of int, or int
        A number means a shape of one dimension.

    Raises
    ------
    BroadcastError
        When they do not broadcast.
    ValueRangeError
        For a negative size.

    Examples
    --------
    >>> from tt.core.shapes.geometry import common_shape
    >>> common_shape((2, 1), 3, (1,))
    tt.Size([2, 3])
    """
    checked = []
    for shape in shapes:
        dims = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
        try:
            sizes = tuple(as_index(size) for size in dims)
        except TypeError as error:
            words = f"a shape is an int or a sequence of ints, not {shape!r}"
            raise ChoiceError("broadcast_shapes", words) from error
        if any(size < 0 for size in sizes):
            raise ValueRangeError(f"broadcast_shapes(): the shape {list(sizes)} has a negative size")
        checked.append(sizes)
    return Size(broadcast("broadcast_shapes", *checked))


def _broadcast_two(op: str, left: Shape, right: Shape) -> Shape:
    if left == right or not right:
        return left
    ndim = max(len(left), len(right))
    padded_left = (1,) * (ndim - len(left)) + left
    padded_right = (1,) * (ndim - len(right)) + right
    result = []
    for dim in range(ndim - 1, -1, -1):
        # From the last dimension: of several that do not fit, the error names the one that PyTorch's names.
        a, b = padded_left[dim], padded_right[dim]
        if a != b and a != 1 and b != 1:
            raise BroadcastError(op, left, right, dim)
        result.append(b if a == 1 else a)
    return tuple(reversed(result))


# --- strides ---------------------------------------------------------------------------------------------------


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether the elements are in row-major order without gaps."""
    # Strides of an empty tensor are never used.
    if 0 in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether a tensor of four dimensions is in the order N, H, W, C."""
    if len(shape) != 4:
        return False
    step = 1
    for dim in (1, 3, 2, 0):
        if shape[dim] != 1 and strides[dim] != step:
            return False
        step *= shape[dim]
    return True


def broadcast_strides(tensor: Described, shape: Sequence[int]) -> Shape:
    """Return the strides that a tensor has when it is read with a larger shape."""
    lead = len(shape) - tensor.ndim
    return (0,) * lead + tuple(
        # A dimension of size 1 that grows is read again and again: its stride is zero.
        0 if own == 1 and size != 1 else stride
        for own, stride, size in zip(tensor.shape, tensor.strides, shape[lead:], strict=True)
    )


def dense_strides(shape: Shape, operands: Sequence[Described], *, scalars: bool = False) -> Shape:
    """Return the strides of a pointwise result: dense, in the order of dimensions that the operands share.

    Parameters
    ----------
    shape : tuple of int
        The broadcast shape.
    operands : sequence
        The tensors, in the order of the schema: the first that orders two dimensions decides.
    scalars : bool
        Python numbers take part, which count as zero-dimensional tensors.

    Notes
    -----
    The rule is PyTorch's (aten/src/ATen/TensorIterator.cpp, `compute_fast_setup_type` and `reorder_dimensions`).
    """
    ndim = len(shape)
    if ndim < 2 or not operands:
        return contiguous_strides(shape)
    # The short ways of PyTorch's TensorIterator, in its order; for sizes of 1 they give other strides than the sort.
    if all(t.shape == shape for t in operands) and not scalars:
        if all(is_contiguous(shape, t.strides) for t in operands):
            return contiguous_strides(shape)
        if all(is_channels_last(shape, t.strides) for t in operands):
            _, channels, height, width = shape
            return (channels * height * width, 1, channels * width, channels)
        first = tuple(operands[0].strides)
        if is_non_overlapping_and_dense(shape, first) and all(tuple(t.strides) == first for t in operands):
            return first
    table = [broadcast_strides(t, shape) for t in operands]
    # PyTorch's `reorder_dimensions`: the result has the order that the operands have in memory.
    order = _order(shape, table)
    if order == list(range(ndim - 1, -1, -1)):
        return contiguous_strides(shape)
    strides = [0] * ndim
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def _order(shape: Shape, table: Sequence[Shape]) -> list[int]:
    """Return the dimensions from the fastest to the slowest, by a stable insertion sort."""

    def comes_after(one: int, other: int) -> int:
        for strides in table:
            a, b = strides[one], strides[other]
            # Broadcast along one of them, this operand says nothing about their order.
            if a == 0 or b == 0:
                continue
            if a != b:
                return 1 if a > b else -1
            # Of equal strides, the shorter dimension is the faster.
            if shape[one] > shape[other]:
                return 1
        return 0

    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        moving = start
        for fixed in range(start - 1, -1, -1):
            # Zero is undecided: the dimension neither moves nor stops, and the next one is compared.
            comparison = comes_after(order[fixed], order[moving])
            if comparison > 0:
                order[fixed], order[moving] = order[moving], order[fixed]
                moving = fixed
            elif comparison < 0:
                break
    return order


def view_strides(shape: Sequence[int], strides: Sequence[int], size: Sequence[int]) -> Shape | None:
    """Return the strides with which the same memory is read in another shape, or None where a copy is needed.

    Parameters
    ----------
    shape, strides : tuple of int
        Of the tensor.
    size : tuple of int
        The new shape, of as many elements.

    Notes
    -----
    Neighbouring dimensions whose strides continue each other form a chunk; each chunk must split into new
    dimensions of its own.
    """
    if 0 in shape:
        return tuple(strides) if tuple(shape) == tuple(size) else contiguous_strides(size)
    if not shape:
        return (1,) * len(size)
    result = [1] * len(size)
    position = len(size) - 1
    base = strides[-1]
    # `chunk` counts the elements of old dimensions at even distances, and `new` those of new dimensions among them.
    chunk = new = 1
    for dim in range(len(shape) - 1, -1, -1):
        chunk *= shape[dim]
        # The next dimension continues this chunk; the stride of a single element does not matter.
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == chunk * base):
            continue
        # New dimensions of size 1 fit anywhere, and are taken along.
        while position >= 0 and (new < chunk or size[position] == 1):
            result[position] = new * base
            new *= size[position]
            position -= 1
        # A new dimension would reach from one chunk into the next.
        if new != chunk:
            return None
        if dim:
            base = strides[dim - 1]
            chunk = new = 1
    return tuple(result) if position == -1 else None


def like_strides(tensor: Described) -> tuple[int, ...]:
    """Return the strides of a fresh tensor that follows another: its own if dense, else dense in their order."""
    # `empty_like` keeps strides of a dense tensor as they are, those of size 1 too.
    if is_non_overlapping_and_dense(tensor.shape, tensor.strides):
        return tuple(tensor.strides)
    return dense_strides(tensor.shape, [tensor])
