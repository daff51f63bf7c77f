"""Arrow: columns of tables and frames as tensors and back, without a copy where the layout allows."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

import tt
from tt.errors import ArgumentError, DataTypeError, ValueRangeError

__all__ = ["from_arrow", "to_arrow"]

_DTYPES: Final = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip


def _pyarrow(function: str) -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise ImportError(
            f"{function}() needs pyarrow, which is not installed\n  try: pip install pyarrow"
        ) from None


def from_arrow(data: Any) -> Any:
    """Return an Arrow array as a tensor, or the columns of a table or frame as a dict of tensors.

    Arrow's memory is immutable: a tensor that shares it is read-only, `clone()` it to change it.  Several chunks and
    booleans, which are single bits in Arrow, are copied.

    Parameters
    ----------
    data : object
        An array, chunked array, record batch or table of pyarrow, or a frame or series that exports Arrow data (polars,
        pandas): anything with `__arrow_c_array__` or `__arrow_c_stream__`.

    Returns
    -------
    Tensor or dict of str to Tensor
        Lists of a fixed size become further dimensions.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    DataTypeError
        If tt has no dtype for the elements.
    ValueRangeError
        If elements are missing.
    ArgumentError
        If the object exports no Arrow data.

    Examples
    --------
    >>> import pytest, tt
    >>> pa = pytest.importorskip("pyarrow")
    >>> tt.from_arrow(pa.table({"x": [1.5, 2.5], "y": [0, 1]}))
    {'x': tensor([1.5000, 2.5000], dtype=tt.float64), 'y': tensor([0, 1])}
    """
    pa = _pyarrow("from_arrow")
    if not isinstance(data, pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
        if hasattr(data, "__arrow_c_stream__"):
            chunks = pa.chunked_array(data)
            data = pa.table(data) if pa.types.is_struct(chunks.type) else chunks
        elif hasattr(data, "__arrow_c_array__"):
            data = pa.array(data)
        else:
            raise ArgumentError(
                "from_arrow", f"{type(data).__name__} exports no Arrow data (it has no __arrow_c_array__)"
            )
    if isinstance(data, pa.Table | pa.RecordBatch):
        return {name: _tensor(pa, data.column(name), name) for name in data.schema.names}
    if pa.types.is_struct(data.type):
        names = [data.type.field(i).name for i in range(data.type.num_fields)]
        return {name: _tensor(pa, column, name) for name, column in zip(names, data.flatten(), strict=True)}
    return _tensor(pa, data, "the array")


def _tensor(pa: Any, array: Any, name: str) -> Any:
    """Return one column as a tensor."""
    if isinstance(array, pa.ChunkedArray):
        # Only several chunks have to be copied together.
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if array.null_count:
        raise ValueRangeError(
            f"from_arrow(): {name} misses {array.null_count} of {len(array)} elements\n  try: fill_null(...)"
        )
    kind = array.type
    if isinstance(array, pa.FixedShapeTensorArray):
        return _read_only(array.to_numpy_ndarray())
    if pa.types.is_fixed_size_list(kind):
        inner = _tensor(pa, array.flatten(), name)
        return inner.reshape(len(array), kind.list_size, *inner.shape[1:])
    if pa.types.is_boolean(kind):
        # Arrow stores bools as bits, so these are always copied.
        return tt.from_numpy(np.array(array.to_numpy(zero_copy_only=False), np.bool_))
    dtype = _dtype(kind)
    if dtype is None:
        raise DataTypeError(
            f"from_arrow(): tt has no dtype for {kind}, the type of {name}\n"
            "  try: cast(...) to numbers first; texts are read as NumPy or Python objects"
        )
    return _read_only(np.asarray(array.to_numpy(zero_copy_only=True)))


def _dtype(kind: Any) -> str | None:
    name = {"halffloat": "float16", "float": "float32", "double": "float64"}.get(str(kind), str(kind))
    return name if name in _DTYPES else None


def _read_only(array: np.ndarray[Any, Any]) -> Any:
    array.flags.writeable = False  # other holders of the data rely on that
    return tt.from_numpy(array)


def to_arrow(tensor: tt.Tensor) -> Any:
    """Return a tensor as an Arrow array that shares its memory.

    Parameters
    ----------
    tensor : Tensor
        A dense tensor on the CPU, at least one-dimensional.  Further dimensions become lists of a fixed size.

    Returns
    -------
    pyarrow.Array
        The array.  Arrow takes its memory for immutable: do not change the tensor afterwards.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    DataTypeError
        If Arrow has no type for the dtype.
    ValueRangeError
        If the tensor has no dimension.

    Examples
    --------
    >>> import pytest, tt
    >>> pa = pytest.importorskip("pyarrow")
    >>> tt.to_arrow(tt.arange(4).reshape(2, 2)).to_pylist()
    [[0, 1], [2, 3]]
    """
    pa = _pyarrow("to_arrow")
    if not tensor.dim():
        raise ValueRangeError("to_arrow(): an Arrow array has one dimension, and this tensor none")
    # Buffers of Arrow have no strides.
    array = np.ascontiguousarray(tensor.detach().numpy())
    if array.dtype == np.bool_:
        result = pa.array(array.reshape(-1))
    elif array.dtype.name in _DTYPES:
        count = array.size
        result = pa.Array.from_buffers(
            pa.from_numpy_dtype(array.dtype), count, [None, pa.py_buffer(array.reshape(-1))]
        )
    else:
        raise DataTypeError(f"to_arrow(): Arrow has no type for {tensor.dtype}")
    for size in reversed(array.shape[1:]):
        result = pa.FixedSizeListArray.from_arrays(result, size)
    return result
