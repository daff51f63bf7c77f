"""Making sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Device, Tensor, as_tensor, dtype, errors, ops

__all__ = ["sparse_coo_tensor"]


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """Return a tensor of the layout sparse_coo.

    Parameters
    ----------
    indices : array-like of int
        Coordinates, shape (sparse dimensions, elements).
    values : array-like
        Shape (elements, dense dimensions ...).
    size : sequence of int, optional
        By default the smallest that holds all coordinates.
    dtype : dtype, optional
        By default that of the values.
    device : Device or str, optional
        By default that of the values.
    requires_grad : bool
        Whether autograd shall record operations on the tensor.
    check_invariants : bool, optional
        False leaves out the checks of the coordinates.
    is_coalesced : bool, optional
        Promises that the coordinates are unique and in row-major order.

    Raises
    ------
    ShapeError
        When the shapes of coordinates, values and size do not fit together.
    IndexValueError
        When a coordinate lies outside of the size.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    elements = as_tensor(values, dtype=dtype, device=device)
    places = as_tensor(indices, device=elements.device)
    places = _as_coordinates(places)
    if elements.ndim == 0:
        elements = ops.expand(elements, (places.shape[1],))
    sparse_dims = places.shape[0]
    if elements.shape[0] != places.shape[1]:
        raise errors.ShapeError(
            f"sparse_coo_tensor(): {places.shape[1]} coordinates and {elements.shape[0]} values: indices have shape "
            f"{list(places.shape)}, values {list(elements.shape)}"
        )
    found = [int(n) + 1 for n in places.handle.max(axis=1)] if places.shape[1] else [0] * sparse_dims
    shape = (*found, *elements.shape[1:]) if size is None else tuple(int(n) for n in size)
    if check_invariants is not False:
        _check(places.handle, found, tuple(elements.shape), shape)
    made: Tensor = ops.sparse.coo(places, elements, shape, bool(is_coalesced))
    if requires_grad:
        made.requires_grad_(True)
    return made


def _as_coordinates(places: Tensor) -> Tensor:
    if places.dtype.kind not in ("signed", "unsigned") and places.shape[-1:] != (0,):
        raise errors.DtypeError(
            f"sparse_coo_tensor(): indices must be an int64 tensor, but got {places.dtype}"
        )
    if places.ndim == 1:
        places = ops.unsqueeze(places, 0)
    if places.ndim != 2:
        raise errors.ShapeError(
            f"sparse_coo_tensor(): indices must have shape (sparse dimensions, elements), but got {list(places.shape)}"
        )
    return ops._to_copy(places, dtype=_int64())  # type: ignore[no-any-return]


def _int64() -> dtype:
    from tt.core.library import to_dtype

    return to_dtype("int64")


def _check(places: Any, found: list[int], values: tuple[int, ...], shape: tuple[int, ...]) -> None:
    sparse_dims = len(found)
    if len(shape) != sparse_dims + len(values) - 1:
        raise errors.ShapeError(
            f"sparse_coo_tensor(): number of dimensions must be sparse_dim ({sparse_dims}) + dense_dim "
            f"({len(values) - 1}), but got size {list(shape)}"
        )
    if shape[sparse_dims:] != values[1:]:
        raise errors.ShapeError(
            f"sparse_coo_tensor(): values have the dense size {list(values[1:])}, but size ends with "
            f"{list(shape[sparse_dims:])}"
        )
    if places.size and int(places.min()) < 0:
        raise errors.IndexValueError(f"sparse_coo_tensor(): found negative index {int(places.min())}")
    for dim, (end, bound) in enumerate(zip(found, shape, strict=False)):
        if end > bound:
            raise errors.IndexValueError(
                f"sparse_coo_tensor(): size is inconsistent with indices: for dim {dim}, size is {bound} but found "
                f"index {end - 1}"
            )
