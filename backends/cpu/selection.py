"""Choosing between numbers by a condition, without branches."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array

__all__ = ["FEW", "select"]

BITS: Final = {2: np.int16, 4: np.int32, 8: np.int64}
FEW: Final = 4096
"""Up to here one call of NumPy's costs less than several."""


def select(condition: Array, one: Array, other: Array) -> Any:
    """Return `one` where a condition is true and `other` elsewhere, both arrays of one dtype.

    `np.where` branches at every element, and an irregular condition makes the processor guess wrong at half of them.
    Masks of bits are several times as fast there.
    """
    if condition.size <= FEW:
        return np.where(condition, one, other)
    bits = BITS.get(one.dtype.itemsize)
    if bits is None or one.dtype != other.dtype:
        return np.where(condition, one, other)
    # The negatives of 0 and 1 are no bits and all bits.
    mask = np.negative(condition.view(np.int8), dtype=bits)
    first, second = one.view(bits), other.view(bits)
    # A number whose bits are all 0, as in relu, needs half of the operations.
    if not other.ndim and not second:
        return np.bitwise_and(first, mask).view(one.dtype)
    if not one.ndim and not first:
        return np.bitwise_and(second, np.invert(mask, out=mask)).view(one.dtype)
    differ = np.bitwise_and(np.bitwise_xor(first, second), mask)  # has the broadcast shape of all three
    return np.bitwise_xor(differ, second, out=differ).view(one.dtype)
