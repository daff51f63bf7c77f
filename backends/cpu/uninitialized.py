"""Kernels that fill memory to which nothing is written, registered while deterministic algorithms are required.

A program that reads such memory by mistake then sees the same numbers in every run, and NaN where a dtype has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tt.backends.cpu import copies, creation, shaping
from tt.backends.cpu.backend import Array, extent, owner_of
from tt.core.library import (
    REGISTRY,
    STORED,
    KernelTable,
    RegistrationHandle,
    encode_complex32,
    encode_float8,
    from_numpy_dtype,
)

__all__ = ["install"]


def install() -> RegistrationHandle:
    """Register the kernels; the handle's `remove()` takes them away again."""
    table = KernelTable(device="cpu")
    table.kernel("empty", _empty, dtypes="any", check=True, override=True)
    table.kernel("empty_like", _empty_like, dtypes="any", check=True, override=True)
    table.kernel("empty_strided", _empty_strided, dtypes="any", check=True, override=True)
    table.kernel("resize", _resize, dtypes="any", check=True, override=True)
    return REGISTRY.add(table)


def _fill(memory: Array) -> Array:
    """Write NaN, the largest integer or True everywhere."""
    dtype = from_numpy_dtype(memory.dtype)
    if dtype in STORED:
        memory[...] = encode_float8(np.asarray(np.nan, np.float32), memory.dtype)
    elif dtype.name == "complex32":
        # NumPy cannot assign to the dtypes that it does not know, so their bytes are computed.
        memory[...] = encode_complex32(np.asarray(complex(np.nan, np.nan), np.complex64))
    elif dtype.is_complex:
        memory[...] = complex(np.nan, np.nan)
    elif dtype.is_floating_point:
        memory[...] = np.nan
    else:
        # As in PyTorch, integers get the largest value, which shows in results.
        memory[...] = True if dtype.name == "bool" else np.iinfo(memory.dtype).max
    return memory


def _empty(size: Sequence[int], dtype: np.dtype[Any], memory_format: str | None) -> Array:
    return _fill(copies.laid_out(size, dtype, memory_format))


def _empty_like(self: Any, dtype: np.dtype[Any], memory_format: str | None) -> Array:
    return _fill(creation.empty_like(self, dtype, memory_format))


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: np.dtype[Any]) -> Array:
    return _fill(creation.empty_strided(size, stride, dtype))


def _resize(self: Array, size: Sequence[int]) -> Array:
    before, new = owner_of(self), shaping.resize(self, size)
    memory = owner_of(new)
    if memory is not before:
        # Only what was added; the old elements keep their values.
        _fill(memory[extent(before) // memory.itemsize :])
    return new
