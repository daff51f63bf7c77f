"""Making sparse tensors from their components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Device, Tensor, as_tensor, dtype, errors, layout, layout_name, ops, to_dtype
from tt.plugins.sparse.check import check_compressed, check_coo
from tt.plugins.sparse.layouts import COMPRESSED, HANDLES
from tt.plugins.sparse.parts import has_data

__all__ = [
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """Return a tensor of the layout sparse_coo.

    It shares the memory of tensors that it is made from.

    Parameters
    ----------
    indices : array-like of int
        Coordinates, shape (sparse dimensions, elements); alone, the size of a tensor without elements.
    values : array-like
        Shape (elements, dense dimensions ...).
    size : sequence of int, optional
        By default the smallest that holds all coordinates.
    dtype : dtype, optional
        By default the values' dtype.
    device : Device or str, optional
        By default the values' device.
    requires_grad : bool
        Whether autograd records operations on the tensor.
    check_invariants : bool, optional
        Whether every coordinate is checked; None: by `tt.sparse.check_sparse_tensor_invariants`.
    is_coalesced : bool, optional
        Whether the coordinates are unique and in row-major order.

    Raises
    ------
    ShapeError
        When the shapes of coordinates, values and size do not fit together.
    IndexValueError
        If a coordinate is out of range; the message says where.
    LayoutError
        If `is_coalesced` is wrong.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    >>> tt.sparse_coo_tensor((2, 3))._nnz()
    0
    """
    what = "sparse_coo_tensor()"
    if values is None:
        return _of_size(indices, dtype, device, requires_grad)
    elements = as_tensor(values, dtype=dtype, device=device)
    coordinates = _as_coordinates(what, as_tensor(indices, device=elements.device))
    # One number stands for the values of all elements.
    if elements.ndim == 0:
        elements = ops.expand(elements, (coordinates.shape[1],))
    shape = _smallest(coordinates, elements) if size is None else tuple(int(n) for n in size)
    check_coo(what, coordinates, elements, shape, bool(is_coalesced), check_invariants)
    result: Tensor = ops.sparse.coo(coordinates, elements, shape, bool(is_coalesced))
    return result.requires_grad_(True) if requires_grad else result


def _of_size(
    size: Sequence[int] | None, dtype: dtype | None, device: Device | str | None, requires_grad: bool
) -> Tensor:
    sizes = [*size] if isinstance(size, Sequence) else None
    if sizes is None or not all(isinstance(n, int) for n in sizes):
        raise errors.ArgumentError("sparse_coo_tensor", "needs indices and values, or a size alone")
    result: Tensor = ops.zeros(sizes, dtype=dtype, device=device, layout="sparse_coo")
    return result.requires_grad_(True) if requires_grad else result


def _smallest(places: Tensor, elements: Tensor) -> tuple[int, ...]:
    """Return the smallest size that holds all coordinates."""
    if places.shape[1] and has_data(places):
        low = ops.amin(places, 1).tolist()
        for dim, least in enumerate(low):
            if least < 0:
                at = int(ops.argmin(places[dim]))
                raise errors.IndexValueError(
                    f"sparse_coo_tensor(): found negative index {least} for dim {dim} at indices[{dim}, {at}]"
                )
        sizes = [n + 1 for n in ops.amax(places, 1).tolist()]
    else:
        sizes = [0] * places.shape[0]
    return (*sizes, *elements.shape[1:])


def _as_coordinates(what: str, places: Tensor) -> Tensor:
    if places.ndim != 2:
        raise errors.ShapeError(
            f"{what}: indices must be sparse_dim x nnz, but got: {list(places.shape)}: indices must have shape "
            "(sparse "
            "dimensions, elements)"
        )
    int64 = to_dtype("int64")
    return places if places.dtype is int64 else places.to(int64)


# --- compressed rows and columns -----------------------------------------------------------------------------------


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: dtype | None = None,
    layout: layout | str | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a tensor of one of the compressed layouts: sparse_csr, sparse_csc, sparse_bsr or sparse_bsc.

    It shares the memory of tensors that it is made from.

    Parameters
    ----------
    compressed_indices : array-like of int
        Where each row (column, row of blocks, column of blocks) begins; shape (batch ..., rows + 1).
    plain_indices : array-like of int
        The column (row) of each element or block; shape (batch ..., elements).
    values : array-like
        Shape (batch ..., elements, block ..., dense dimensions ...).
    size : sequence of int, optional
        By default the smallest that holds all elements.
    dtype : dtype, optional
        By default the values' dtype.
    layout : layout
        Which of the layouts.
    device : Device or str, optional
        By default the values' device.
    requires_grad : bool
        Whether autograd records operations on the tensor.
    check_invariants : bool, optional
        Whether every index is checked; None: by `tt.sparse.check_sparse_tensor_invariants`.

    Raises
    ------
    LayoutError
        If the layout is not a compressed one.
    DtypeError, ShapeError
        When the components do not fit together.
    IndexValueError
        If an index is out of range or out of order; the message says where.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_compressed_tensor([0, 1, 2], [0, 2], [1.0, 2.0], (2, 3), layout=tt.sparse_csr).to_dense()
    tensor([[1., 0., 0.],
            [0., 0., 2.]])
    """
    name = layout_name(layout)
    if name not in COMPRESSED:
        raise errors.LayoutError(
            f"sparse_compressed_tensor() expected a sparse compressed layout, but got {layout}\n"
            f"  try: layout=tt.{COMPRESSED[0]}"
        )
    return _compressed(
        "sparse_compressed_tensor()", name, compressed_indices, plain_indices, values, size,
        dtype, device, requires_grad, check_invariants,
    )  # fmt: skip


def _compressed(
    what: str,
    name: str,
    compressed: Any,
    plain: Any,
    values: Any,
    size: Sequence[int] | None,
    dtype: dtype | None,
    device: Device | str | None,
    requires_grad: bool,
    check_invariants: bool | None,
) -> Tensor:
    elements = as_tensor(values, dtype=dtype, device=device)
    starts = _as_indices(as_tensor(compressed, device=elements.device))
    columns = _as_indices(as_tensor(plain, device=elements.device))
    shape = _held(name, starts, columns, elements) if size is None else tuple(int(n) for n in size)
    check_compressed(what, name, starts, columns, elements, shape, check_invariants)
    result: Tensor = ops.sparse.compressed(starts, columns, elements, shape, name)
    return result.requires_grad_(True) if requires_grad else result


def _as_indices(places: Tensor) -> Tensor:
    # An empty list would become a float tensor.
    return (
        places
        if places.numel()
        else places.to(places.dtype if places.dtype.name == "int32" else to_dtype("int64"))
    )


def _held(name: str, starts: Tensor, places: Tensor, elements: Tensor) -> tuple[int, ...]:
    """Return the smallest size that holds all elements."""
    kind, batch = HANDLES[name], starts.ndim - 1
    most = int(ops.amax(places)) + 1 if places.numel() and has_data(places) else 0
    grid = (starts.shape[-1] - 1, most) if kind.rows else (most, starts.shape[-1] - 1)
    block = elements.shape[batch + 1 : batch + 3] if kind.blocked else (1, 1)
    dense = elements.shape[batch + 1 + 2 * kind.blocked :]
    whole = (n * part for n, part in zip(grid, block, strict=False))
    return (*starts.shape[:-1], *whole, *dense)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a tensor of the layout sparse_csr: compressed rows.

    Parameters
    ----------
    crow_indices : array-like of int
        Where each row begins, shape (batch ..., rows + 1).
    col_indices : array-like of int
        The column of each element, shape (batch ..., elements).
    values : array-like
        Shape (batch ..., elements, dense dimensions ...).
    size, dtype, device, requires_grad, check_invariants
        As for `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_csr_tensor([0, 1, 2], [0, 2], [1.0, 2.0]).to_dense()
    tensor([[1., 0., 0.],
            [0., 0., 2.]])
    """
    return _compressed(
        "sparse_csr_tensor()", "sparse_csr", crow_indices, col_indices, values, size,
        dtype, device, requires_grad, check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a tensor of the layout sparse_csc: compressed columns.

    Parameters
    ----------
    ccol_indices : array-like of int
        Where each column begins, shape (batch ..., columns + 1).
    row_indices : array-like of int
        The row of each element, shape (batch ..., elements).
    values : array-like
        Shape (batch ..., elements, dense dimensions ...).
    size, dtype, device, requires_grad, check_invariants
        As for `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_csc_tensor([0, 1, 2], [0, 2], [1.0, 2.0]).to_dense()
    tensor([[1., 0.],
            [0., 0.],
            [0., 2.]])
    """
    return _compressed(
        "sparse_csc_tensor()", "sparse_csc", ccol_indices, row_indices, values, size,
        dtype, device, requires_grad, check_invariants,
    )  # fmt: skip


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a tensor of the layout sparse_bsr: compressed rows of dense blocks.

    Parameters
    ----------
    crow_indices : array-like of int
        Where each row of blocks begins, shape (batch ..., rows of blocks + 1).
    col_indices : array-like of int
        The column of blocks of each block, shape (batch ..., blocks).
    values : array-like
        Shape (batch ..., blocks, rows of a block, columns of a block, dense dimensions ...).
    size, dtype, device, requires_grad, check_invariants
        As for `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_bsr_tensor([0, 1, 1], [1], [[[1.0, 2.0]]]).to_dense()
    tensor([[0., 0., 1., 2.],
            [0., 0., 0., 0.]])
    """
    return _compressed(
        "sparse_bsr_tensor()", "sparse_bsr", crow_indices, col_indices, values, size,
        dtype, device, requires_grad, check_invariants,
    )  # fmt: skip


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: dtype | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a tensor of the layout sparse_bsc: compressed columns of dense blocks.

    Parameters
    ----------
    ccol_indices : array-like of int
        Where each column of blocks begins, shape (batch ..., columns of blocks + 1).
    row_indices : array-like of int
        The row of blocks of each block, shape (batch ..., blocks).
    values : array-like
        Shape (batch ..., blocks, rows of a block, columns of a block, dense dimensions ...).
    size, dtype, device, requires_grad, check_invariants
        As for `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_bsc_tensor([0, 1, 1], [1], [[[1.0, 2.0]]]).to_dense()
    tensor([[0., 0., 0., 0.],
            [1., 2., 0., 0.]])
    """
    return _compressed(
        "sparse_bsc_tensor()", "sparse_bsc", ccol_indices, row_indices, values, size,
        dtype, device, requires_grad, check_invariants,
    )  # fmt: skip
