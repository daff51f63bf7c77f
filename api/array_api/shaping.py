"""Functions that change the shape, or put arrays together and apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import tt
from tt.array_api._promotion import as_tuple, cast, promote_all

Array: TypeAlias = tt.Tensor
Axis: TypeAlias = int | tuple[int, ...] | None

__all__ = [
    "broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "matrix_transpose", "moveaxis", "permute_dims",
    "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip


def _one_dtype(arrays: Sequence[Array]) -> list[Array]:
    if not arrays:
        raise ValueError("there must be at least one array to join")
    for x in arrays:
        if not isinstance(x, tt.Tensor):
            raise TypeError(f"only arrays can be joined, not {type(x).__name__}")
    dtype = promote_all([x.dtype for x in arrays])
    return [cast(x, dtype) for x in arrays]


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return an array as a view of another shape.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.broadcast_to(xp.ones(2), (2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return tt.broadcast_to(x, as_tuple(shape))


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """Return arrays as views of one shape.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [tt.Size([2, 3]), tt.Size([2, 3])]
    """
    return list(tt.broadcast_tensors(list(arrays)))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis, or flattened for None.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.concat([xp.ones((1, 2)), xp.zeros((1, 2))], axis=None)
    tensor([1., 1., 0., 0.])
    """
    parts = _one_dtype(arrays)
    if axis is None:
        return tt.cat([part.reshape(-1) for part in parts], 0)
    # PyTorch leaves out vectors without elements, of whatever rank the others are.
    if any(part.ndim != parts[0].ndim for part in parts):
        raise ValueError(f"arrays of {sorted({part.ndim for part in parts})} dimensions cannot be joined")
    return tt.cat(parts, axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.stack([xp.ones(2), xp.zeros(2)], axis=1)
    tensor([[1., 0.],
            [1., 0.]])
    """
    return tt.stack(_one_dtype(arrays), axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the parts of an array along an axis, as views without it.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(tt.unbind(x, axis))


def expand_dims(x: Array, /, axis: int) -> Array:
    """Return a view with a new axis of size 1.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.expand_dims(xp.ones(3), 0).shape
    tt.Size([1, 3])
    """
    return tt.unsqueeze(x, axis)


def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Return a view without axes, whose sizes must be 1.

    Raises
    ------
    ValueError
        For an axis of another size.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.squeeze(xp.ones((1, 3)), 0).shape
    tt.Size([3])
    """
    axes = as_tuple(axis)
    for dim in axes:
        if x.shape[dim] != 1:
            raise ValueError(f"axis {dim} has size {x.shape[dim]}; only axes of size 1 can be removed")
    return tt.squeeze(x, axes)


def flip(x: Array, /, *, axis: Axis = None) -> Array:
    """Reverse the order along some axes, or all.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.flip(xp.asarray([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return tt.flip(x, tuple(range(x.ndim)) if axis is None else as_tuple(axis))


def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Array:
    """Move the elements along some axes, or through the flattened array; those that leave come in at the other end.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.roll(xp.asarray([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = as_tuple(shift)
    if axis is None:
        return tt.roll(x.reshape(-1), (sum(shifts),), (0,)).reshape(x.shape)
    axes = as_tuple(axis)
    if len(shifts) == 1:
        shifts *= len(axes)
    return tt.roll(x, shifts, axes)


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return a view with the axes in another order.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape
    tt.Size([3, 2])
    """
    return tt.permute(x, as_tuple(axes))


def moveaxis(x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """Return a view with some axes moved to other places.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    tt.Size([3, 4, 2])
    """
    return tt.movedim(x, as_tuple(source), as_tuple(destination))


def matrix_transpose(x: Array, /) -> Array:
    """Return a view with the last two axes exchanged.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.matrix_transpose(xp.ones((4, 2, 3))).shape
    tt.Size([4, 3, 2])
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose() takes at least two dimensions, not {x.ndim}")
    return tt.transpose(x, -2, -1)


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Return the elements in another shape.

    Parameters
    ----------
    copy : bool, optional
        True copies always, False raises where a view is not possible, None copies only there.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.reshape(xp.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    sizes = as_tuple(shape)
    if copy is False:
        try:
            return x.view(sizes)
        except RuntimeError as error:
            raise ValueError(f"an array of shape {tuple(x.shape)} cannot be viewed as {sizes}") from error
    return tt.reshape(tt.clone(x) if copy else x, sizes)


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Repeat a whole array along its axes.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    return tt.tile(x, as_tuple(repetitions))


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element, along an axis or flattened.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.repeat(xp.asarray([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, tt.Tensor):
        repeats = tt.broadcast_to(cast(repeats, tt.int64), (x.shape[axis],)) if repeats.ndim == 0 else repeats
        return tt.repeat_interleave(x, cast(repeats, tt.int64), axis)
    return tt.repeat_interleave(x, repeats, axis)
