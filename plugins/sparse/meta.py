"""Sparse tensors without data: what is known of conversions and of elements that depend on data."""

from __future__ import annotations

from typing import Any

from tt.core.library import MetaHandle, contiguous_strides, to_dtype
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.layouts import HANDLES, CooHandle, SparseHandle

__all__ = ["convert", "unknown"]


def _empty(shape: tuple[int, ...], dtype: Any) -> MetaHandle:
    return MetaHandle(shape, dtype, contiguous_strides(shape), 0, 0)


def unknown(wanted: Conversion, shape: tuple[int, ...], dtype: Any) -> SparseHandle:
    """Return the handle of a tensor that stores nobody knows how many elements."""
    int64, kind = to_dtype("int64"), HANDLES[wanted.layout]
    dense = shape[len(shape) - wanted.dense_dim :]
    if kind is CooHandle:
        made: SparseHandle = CooHandle(
            _empty((wanted.sparse_dim, 0), int64), _empty((0, *dense), dtype), shape, known=False
        )
        return made
    end = len(shape) - wanted.dense_dim
    batch, matrix = shape[: end - 2], shape[end - 2 : end]
    block = wanted.blocksize or (1, 1)
    axis = 0 if kind.rows else 1
    starts = (*batch, matrix[axis] // block[axis] + 1)
    values = (*batch, 0, *(block if kind.blocked else ()), *dense)
    return kind(  # type: ignore[no-any-return]  # one of the classes in HANDLES
        _empty(starts, int64), _empty((*batch, 0), int64), _empty(values, dtype), shape, known=False
    )


def convert(handle: Any, wanted: Conversion) -> Any:
    """Return what is known of a converted handle."""
    if isinstance(handle, SparseHandle) and handle.layout == wanted.layout and wanted.blocksize is None:
        return handle
    dtype = handle.dtype if isinstance(handle, MetaHandle) else handle.values.dtype
    return unknown(wanted, tuple(handle.shape), dtype)
