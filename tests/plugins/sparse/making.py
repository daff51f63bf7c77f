"""Sparse tensors of every layout, of tt and of PyTorch, from dense arrays, for the tests of arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

import tt

COMPRESSED = ("csr", "csc", "bsr", "bsc")
LAYOUTS = ("coo", "uncoalesced", *COMPRESSED)


def sparse_of(layout: str, array: Any, library: Any = tt, dtype: Any = None) -> Any:
    """Return an array as a tensor of a layout: "coo", "uncoalesced", "hybrid", "csr", ..., or "dense".

    The elements of the uncoalesced one are stored in two parts.
    """
    dense = library.tensor(array, dtype=dtype)
    if layout == "dense":
        return dense
    if layout == "hybrid":
        return dense.to_sparse(1)
    if layout in COMPRESSED:
        return getattr(dense, f"to_sparse_{layout}")(*([(2, 2)] if layout[0] == "b" else []))
    whole = dense.to_sparse().coalesce()
    if layout == "coo":
        return whole
    indices, values = whole.indices(), whole.values()
    half = values / 2 if values.is_floating_point() or values.is_complex() else values
    rest = values - half if values.dtype is not library.bool else values
    return library.sparse_coo_tensor(
        library.cat([indices, indices.flip(1)], 1),
        library.cat([half, rest.flip(0)]),
        tuple(dense.shape),
        check_invariants=True,
    )


def numpy_of(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the content of a tensor of any layout and library as an array."""
    tensor = tensor.detach()
    dense = tensor if str(tensor.layout).endswith("strided") else tensor.to_dense()
    return np.asarray(dense.numpy())


def layout_of(tensor: Any) -> str:
    """Return the name of a layout, the same for both libraries."""
    return str(tensor.layout).partition(".")[2]


def matrix(seed: int, rows: int = 4, columns: int = 6, density: float = 0.5, dtype: Any = np.float64) -> Any:
    """Return a random array many of whose elements are zero, and none of the others near it."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.1, 0.9, (rows, columns)) * np.where(rng.random((rows, columns)) < 0.5, -1, 1)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * rng.uniform(0.1, 0.9, (rows, columns))
    if np.issubdtype(dtype, np.integer) or dtype is np.bool_:
        values = rng.integers(1, 4, (rows, columns))
    return np.where(rng.random((rows, columns)) < density, values, 0).astype(dtype)


def same(found: Any, expected: Any, **tolerances: Any) -> None:
    """Compare the content of a tensor of any layout with an array."""
    np.testing.assert_allclose(numpy_of(found), np.asarray(expected), **tolerances)


def same_sums(found: Any, expected: Any, **tolerances: Any) -> None:
    """Compare results whose sums are rounded in another order."""
    same(found, expected, **{"atol": 1e-14, **tolerances})


def random_pair(seed: int, shape=(5, 7), dtype=np.float64):
    """Return a sparse tensor with repeated coordinates, and the same as a SciPy matrix."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 20))
    indices = np.stack([rng.integers(0, size, count) for size in shape])
    values = rng.integers(-5, 6, count).astype(dtype)
    return tt.sparse_coo_tensor(indices, values, shape), scipy.sparse.coo_array(
        (values, tuple(indices)), shape
    )
