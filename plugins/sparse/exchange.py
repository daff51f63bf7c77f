"""Sparse tensors and the arrays of scipy.sparse; they share their memory where both store the same."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.core.library import Tensor, as_tensor, errors, handle_of, ops
from tt.plugins.sparse.check import check_compressed, check_coo
from tt.plugins.sparse.layouts import HANDLES

__all__ = ["from_scipy", "to_scipy"]

FORMATS: Final = {"sparse_coo": "coo", "sparse_csr": "csr", "sparse_csc": "csc", "sparse_bsr": "bsr"}
"""Layout -> format of SciPy that stores the same."""


def from_scipy(array: Any, *, requires_grad: bool = False, check_invariants: bool | None = None) -> Tensor:
    """Return a sparse array or matrix of SciPy as a tensor.

    The formats csr, csc and bsr become the layouts of those names, all others sparse_coo.  The tensor shares the memory
    of csr, csc and bsr, and the values of coo, whose coordinates SciPy keeps in several arrays.  It shares none where
    SciPy's indices are not sorted or not unique, nor with other formats.

    Parameters
    ----------
    array : scipy.sparse.sparray or scipy.sparse.spmatrix
        In any format.
    requires_grad : bool
        Whether autograd records operations on the tensor.
    check_invariants : bool, optional
        Whether every index is checked; None: by `tt.sparse.check_sparse_tensor_invariants`.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> import scipy.sparse, tt
    >>> matrix = scipy.sparse.csr_array([[0.0, 1.0], [2.0, 0.0]])
    >>> tensor = tt.sparse.from_scipy(matrix)
    >>> matrix.data[0] = 5.0
    >>> tensor.to_dense()
    tensor([[0., 5.],
            [2., 0.]], dtype=tt.float64)
    """
    import scipy.sparse

    if not scipy.sparse.issparse(array):
        raise errors.DataTypeError(
            f"from_scipy() takes an array of scipy.sparse, not {type(array).__name__}\n"
            "  try: tt.as_tensor(x).to_sparse()"
        )
    if array.format in ("csr", "csc", "bsr") and array.ndim == 2:
        tensor = _compressed(array, check_invariants)
    else:
        tensor = _coordinates(array if array.format == "coo" else array.tocoo(), check_invariants)
    return tensor.requires_grad_(True) if requires_grad else tensor


def _compressed(array: Any, check: bool | None) -> Tensor:
    if not array.has_canonical_format:
        # sum_duplicates() changes its array, which is the caller's.
        array = array.copy()
        array.sum_duplicates()
    layout = f"sparse_{array.format}"
    compressed, plain, values = (as_tensor(part) for part in (array.indptr, array.indices, array.data))
    shape = tuple(array.shape)
    check_compressed("from_scipy()", layout, compressed, plain, values, shape, check)
    return ops.sparse.compressed(compressed, plain, values, shape, layout)


def _coordinates(array: Any, check: bool | None) -> Tensor:
    indices, values = as_tensor(_joined(array.coords)), as_tensor(array.data)
    shape, coalesced = tuple(array.shape), bool(array.has_canonical_format)
    check_coo("from_scipy()", indices, values, shape, False, check)
    return ops.sparse.coo(indices, values, shape, coalesced and _is_row_major(array))


def _is_row_major(array: Any) -> bool:
    """Return whether coordinates that are sorted are sorted by rows: SciPy sorts them by columns."""
    if array.nnz < 2:
        return True
    numbers = np.ravel_multi_index(array.coords, array.shape)
    return bool((numbers[1:] > numbers[:-1]).all())


def _joined(coords: tuple[Any, ...]) -> Any:
    """Return coordinates as one array of int64, without a copy if they are the rows of one."""
    # `to_scipy` hands out the rows of one array, which are joined again on the way back.
    if len(coords) > 1 and all(row.dtype == np.int64 and row.flags.c_contiguous for row in coords):
        starts = [row.__array_interface__["data"][0] for row in coords]
        steps = set(np.diff(starts).tolist())
        if (
            steps == {coords[0].nbytes}
            and len({id(row.base) for row in coords}) == 1
            and coords[0].base is not None
        ):
            return np.lib.stride_tricks.as_strided(
                coords[0], (len(coords), len(coords[0])), (coords[0].nbytes, 8)
            )
    return np.array(coords, dtype=np.int64).reshape(len(coords), -1)


def to_scipy(tensor: Tensor) -> Any:
    """Return a sparse tensor as an array of scipy.sparse that shares its memory.

    The layouts sparse_coo, sparse_csr, sparse_csc and sparse_bsr become `coo_array`, `csr_array`, `csc_array` and
    `bsr_array`; SciPy converts to its further formats (`.todia()`).

    Parameters
    ----------
    tensor : Tensor
        On the CPU, without batch and dense dimensions.

    Raises
    ------
    LayoutError
        For tensors that SciPy has no array for.
    GradientError
        For a tensor that requires a gradient, which would be lost.
    DtypeError
        For a dtype that SciPy does not compute with.

    Examples
    --------
    >>> import tt
    >>> tt.sparse.to_scipy(tt.eye(3).to_sparse_csr()).sum()
    np.float32(3.0)
    """
    import scipy.sparse

    layout = tensor.layout.name
    if layout not in FORMATS:
        hint = "x.to_sparse_bsr(blocksize)" if layout == "sparse_bsc" else "x.to_sparse()"
        raise errors.LayoutError(
            f"to_scipy(): SciPy has no sparse arrays like the layout {tensor.layout}\n  try: {hint}"
        )
    if getattr(tensor, "requires_grad", False):
        raise errors.GradientError(
            "to_scipy() of a tensor that requires a gradient would lose it; use tensor.detach()"
        )
    if tensor.device.type != "cpu":
        raise errors.DeviceError(f"SciPy cannot reach the memory of {tensor.device}; call tensor.cpu() first")
    if tensor.dtype.name in ("float16", "bfloat16"):
        raise errors.DtypeError(f"SciPy does not compute with {tensor.dtype}\n  try: x.to(tt.float32)")
    handle = handle_of(tensor)
    dense = handle.ndim - handle.sparse_dim
    if dense:
        kind = "batch" if getattr(handle, "batch_ndim", 0) else "dense"
        raise errors.LayoutError(
            f"to_scipy(): SciPy has no arrays with {kind} dimensions, and this tensor of size {list(tensor.shape)} has "
            f"{dense}\n  try: x.to_dense().to_sparse(), which has sparse dimensions only"
        )
    from tt.plugins.sparse.cpu.bounds import check_indices

    check_indices(handle)  # SciPy reads and writes wherever an index points
    # The constructors would copy indices that fit into int32.
    kind = getattr(scipy.sparse, f"{FORMATS[layout]}_array")
    if layout == "sparse_coo":
        array = kind(tuple(tensor.shape), dtype=handle.values.dtype)
        array.coords, array.data = tuple(handle.indices), handle.values
        # SciPy sorts by columns, and what is coalesced here is sorted by rows.
        array.has_canonical_format = False
        return array
    blocks = {"blocksize": handle.blocksize} if HANDLES[layout].blocked else {}
    array = kind(tuple(tensor.shape), dtype=handle.values.dtype, **blocks)
    array.data, array.indices, array.indptr = handle.values, handle.plain, handle.compressed
    return array
