"""Kernels that fill memory to which nothing is written, registered while deterministic algorithms are required.

A program that reads such memory by mistake then sees the same numbers in every run, and NaN where a dtype has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tt.backends.cpu import copies, shaping
from tt.backends.cpu.backend import Array, extent
from tt.core.library import REGISTRY, KernelTable, RegistrationHandle

__all__ = ["install"]


def install() -> RegistrationHandle:
    """Register the kernels; the handle's `remove()` takes them away again."""
    table = KernelTable(device="cpu")
    table.kernel("empty", _empty, check=True, override=True)
    table.kernel("empty_like", _empty_like, check=True, override=True)
    table.kernel("empty_strided", _empty_strided, check=True, override=True)
    table.kernel("resize", _resize, check=True, override=True)
    return REGISTRY.add(table)


def _fill(memory: Array) -> Array:
    """Write NaN, the largest integer or True everywhere."""
    kind = memory.dtype.kind
    if kind in "iu":
        memory[...] = np.iinfo(memory.dtype).max
    elif kind == "c":
        memory[...] = complex(np.nan, np.nan)
    else:
        memory[...] = True if kind == "b" else np.nan
    return memory


def _empty(size: Sequence[int], dtype: Any, memory_format: Any) -> Array:
    return _fill(copies.laid_out(size, dtype, memory_format))


def _empty_like(self: Any, dtype: Any, memory_format: Any) -> Array:
    return _fill(copies.empty_like(self, dtype, memory_format))


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: Any) -> Array:
    return _fill(shaping.empty_strided(size, stride, dtype))


def _resize(self: Array, size: Sequence[int]) -> Array:
    before, new = shaping.owner_of(self), copies.resize(self, size)
    memory = shaping.owner_of(new)
    if memory is not before:
        _fill(memory[extent(before) // memory.itemsize :])
    return new
