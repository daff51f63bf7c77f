"""Whether the indices of sparse tensors are in range when they are used.

Indices are checked when a tensor is made, unless the caller switches that off, but they are tensors, or arrays of
NumPy, that anyone can write to afterwards.  SciPy's routines read and write wherever an index points, and NumPy takes
negative ones as counted from the end, so what hands indices to them looks at all of them first.  The compiled kernels
look at each index as they read it; they leave to their callers whether the rows hold all elements.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.plugins.sparse.check import index_changed
from tt.plugins.sparse.layouts import Array, CompressedHandle, CooHandle

__all__ = ["check_ends", "check_indices"]

# NumPy has two codes for integers of 64 bits, `l` and `q`.
_UNSIGNED: Final = {kind.dtype.char: kind.dtype.char.upper() for kind in map(np.empty(0).astype, "ilq")}


def check_indices(handle: Any) -> None:
    """Refuse a tensor with an index out of range.

    Raises
    ------
    IndexValueError
        When a coordinate is outside the shape, or rows do not begin and end where elements are.
    """
    if isinstance(handle, CooHandle):
        # Only the sparse dimensions have coordinates, and they are the first sizes.
        fine = len(handle.values) == handle.nnz and all(
            _within(row, size) for row, size in zip(handle.indices, handle.shape, strict=False)
        )
    else:
        starts = handle.compressed
        if starts.ndim == 1:
            check_ends(handle)
        elif (starts[..., 0] != 0).any() or (starts[..., -1] != handle.nnz).any():
            raise index_changed()
        major, minor = handle.grid if handle.rows else handle.grid[::-1]
        fine = starts.shape[-1] == major + 1 and handle.values.shape[starts.ndim - 1] == handle.nnz
        fine = fine and not (starts[..., 1:] < starts[..., :-1]).any() and _within(handle.plain, minor)
    if not fine:
        raise index_changed()


def check_ends(handle: CompressedHandle) -> None:
    """Refuse a single matrix by compressed rows whose rows do not hold all elements, at the cost of two looks.

    Raises
    ------
    IndexValueError
        When the first row does not begin, or the last one not end, where the elements do, or an element is missing.
    """
    starts = handle.compressed
    if starts.ndim != 1:
        return
    if starts[0] != 0 or starts[-1] != handle.nnz or len(handle.values) != handle.nnz:
        raise index_changed()


def _within(indices: Array, size: int) -> bool:
    """Return whether all indices are in range; without their sign, negative ones are above every size."""
    if not indices.size:
        return True
    return bool(indices.view(_UNSIGNED[indices.dtype.char]).max() < size)
