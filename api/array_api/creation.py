"""Functions that make arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

import tt
from tt.array_api._promotion import as_tuple, filled, promote_all

Array: TypeAlias = tt.Tensor
Dtype: TypeAlias = tt.dtype
Device: TypeAlias = tt.device | str | None
Number: TypeAlias = bool | int | float | complex

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def asarray(
    obj: Any, /, *, dtype: Dtype | None = None, device: Device = None, copy: bool | None = None
) -> Array:
    """Return numbers, nested sequences, a buffer or another array as an array.

    Parameters
    ----------
    copy : bool, optional
        True copies always, False raises where memory cannot be shared, None copies where that is necessary.

    Raises
    ------
    ValueError
        With `copy=False`, for numbers and sequences, and where dtype or device need a copy.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.asarray([1, 2], dtype=xp.float32)
    tensor([1., 2.])
    """
    if not isinstance(obj, tt.Tensor):
        if isinstance(obj, (list, tuple)) and _holds_tensors(obj):
            if copy is False:
                raise ValueError("a sequence of arrays cannot become an array without a copy")
            obj, copy = _stacked(obj), None
        else:
            if isinstance(obj, np.ndarray) and copy is not False and any(step < 0 for step in obj.strides):
                obj = obj.copy()  # tensors have no negative strides
            return tt.asarray(obj, dtype=dtype, device=device, copy=copy)
    # A tensor has the index of the current device, which the bare type means.
    target = obj.device if device is None else tt.empty(0, device=device).device
    kind = obj.dtype if dtype is None else dtype
    same = kind is obj.dtype and target == obj.device
    if copy is False and not same:
        raise ValueError(
            f"a {obj.dtype} array on {obj.device} cannot become {kind} on {target} without a copy"
        )
    if same:
        return tt.clone(obj) if copy else obj
    result: Array = obj.to(device=target, dtype=kind, copy=bool(copy))
    return result


def _holds_tensors(items: Any) -> bool:
    return any(
        isinstance(item, tt.Tensor) or (isinstance(item, (list, tuple)) and _holds_tensors(item))
        for item in items
    )


def _stacked(items: Any) -> Array:
    """Return a nested sequence with arrays in it as one array, so that gradients go through it."""
    parts = [
        item
        if isinstance(item, tt.Tensor)
        else _stacked(item)
        if isinstance(item, (list, tuple))
        else tt.tensor(item)
        for item in items
    ]
    dtype = promote_all([part.dtype for part in parts])
    target = next(
        (part.device for part, item in zip(parts, items, strict=True) if isinstance(item, tt.Tensor)), None
    )
    return tt.stack([part.to(device=target, dtype=dtype) for part in parts])


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Dtype | None = None,
    device: Device = None,
) -> Array:
    """Return the numbers from `start` to `stop`, which is not included; from 0 if only one is given.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.arange(1, 6, 2), xp.arange(3, 0)
    (tensor([1, 3, 5]), tensor([], dtype=tt.int64))
    """
    if stop is None:
        start, stop = 0, start
    if step and (stop - start) / step <= 0:
        # The standard returns an empty array where PyTorch refuses a step in the other direction.
        if dtype is None:
            numbers = (start, stop, step)
            dtype = (
                tt.int64 if all(isinstance(n, int | np.integer) for n in numbers) else tt.get_default_dtype()
            )
        return tt.empty((0,), dtype=dtype, device=device)
    return tt.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Dtype | None = None,
    device: Device = None,
    endpoint: bool = True,
) -> Array:
    """Return evenly spaced numbers, with or without the last one.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linspace(0, 1, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return tt.linspace(start, stop, num, dtype=dtype, device=device)
    # One more point, which is left out.
    return tt.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Dtype | None = None,
    device: Device = None,
) -> Array:
    """Return a matrix with ones on its diagonal `k`, zeros elsewhere.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    columns = n_rows if n_cols is None else n_cols
    if k == 0:
        return tt.eye(n_rows, columns, dtype=dtype, device=device)
    # `tt.eye` has the main diagonal only.
    result = tt.zeros((n_rows, columns), dtype=dtype, device=device)
    if -n_rows < k < columns:
        tt.diagonal(result, k).fill_(1)
    return result


def empty(shape: int | tuple[int, ...], *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array with any values.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.empty(3).shape
    tt.Size([3])
    """
    return tt.empty(as_tuple(shape), dtype=dtype, device=device)


def zeros(shape: int | tuple[int, ...], *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of zeros.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.zeros(2, dtype=xp.int64)
    tensor([0, 0])
    """
    return tt.zeros(as_tuple(shape), dtype=dtype, device=device)


def ones(shape: int | tuple[int, ...], *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of ones.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.ones((1, 2))
    tensor([[1., 1.]])
    """
    return tt.ones(as_tuple(shape), dtype=dtype, device=device)


def full(
    shape: int | tuple[int, ...], fill_value: Number, *, dtype: Dtype | None = None, device: Device = None
) -> Array:
    """Return an array of one number.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.full(2, 7)
    tensor([7, 7])
    """
    return filled(as_tuple(shape), fill_value, dtype, device)


def empty_like(x: Array, /, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array with any values, of the shape of another.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.empty_like(xp.ones(3)).shape
    tt.Size([3])
    """
    return tt.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Array, /, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of zeros, of the shape of another.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.zeros_like(xp.ones(2))
    tensor([0., 0.])
    """
    return tt.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Array, /, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of ones, of the shape of another.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.ones_like(xp.zeros(2))
    tensor([1., 1.])
    """
    return tt.ones_like(x, dtype=dtype, device=device)


def full_like(x: Array, /, fill_value: Number, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of one number, of the shape of another.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.full_like(xp.zeros(2), 3.0)
    tensor([3., 3.])
    """
    return full(tuple(x.shape), fill_value, dtype=dtype or x.dtype, device=device or x.device)


def from_dlpack(x: Any, /, *, device: Device = None, copy: bool | None = None) -> Array:
    """Return the array of another library, without a copy where possible.

    Examples
    --------
    >>> import numpy as np
    >>> from tt import array_api as xp
    >>> xp.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    return tt.from_dlpack(x, device=device, copy=copy)


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """Return the coordinates of the grid that vectors span.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))[0]
    tensor([[1, 2],
            [1, 2]])
    """
    if not arrays:
        return []
    if len(arrays) == 1:
        return [tt.clone(arrays[0]).reshape(-1)]
    return list(tt.meshgrid(list(arrays), indexing=indexing))


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangle of matrices, zeros above the diagonal `k`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return tt.tril(x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangle of matrices, zeros below the diagonal `k`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.triu(xp.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return tt.triu(x, k)
