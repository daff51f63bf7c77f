"""Whether the indices of sparse tensors on CUDA are in range when they are used.

CuPy and cuSPARSE read and write wherever an index points, and indices can be changed after they were checked.  All
tests of one tensor are joined on the device, so that the host waits for one answer.
"""

from __future__ import annotations

from typing import Any, Final

from tt.plugins.sparse.check import index_changed
from tt.plugins.sparse.layouts import CooHandle

__all__ = ["check_indices"]

_UNSIGNED: Final = {4: "I", 8: "Q"}


def check_indices(handle: Any) -> None:
    """Refuse a tensor with an index out of range.

    Raises
    ------
    IndexValueError
        When a coordinate is outside the shape, or rows do not begin and end where elements are.
    """
    if isinstance(handle, CooHandle):
        fits = len(handle.values) == handle.nnz
        # Only the sparse dimensions have coordinates, and they are the first sizes.
        tests = [_within(row, size) for row, size in zip(handle.indices, handle.shape, strict=False)]
    else:
        starts = handle.compressed
        major, minor = handle.grid if handle.rows else handle.grid[::-1]
        fits = starts.shape[-1] == major + 1 and handle.values.shape[starts.ndim - 1] == handle.nnz
        tests = [
            (starts[..., :1] == 0).all(),
            (starts[..., -1:] == handle.nnz).all(),
            (starts[..., 1:] >= starts[..., :-1]).all(),
            _within(handle.plain, minor),
        ]
    fine = fits
    # On the device: a bool of each test would wait for it.
    for test in tests:
        fine = test & fine
    if not bool(fine):
        raise index_changed()


def _within(indices: Any, size: int) -> Any:
    """Return whether all indices are in range; without their sign, negative ones are above every size."""
    if not indices.size:
        return True
    return indices.view(_UNSIGNED[indices.dtype.itemsize]).max() < size
