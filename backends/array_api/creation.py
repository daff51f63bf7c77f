"""Kernels that make tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt.backends.array_api.kit import Kit
from tt.core.library import errors

__all__ = ["add_kernels", "arange_size"]


def add_kernels(kit: Kit) -> None:
    """Add the kernels of this family."""
    xp = kit.xp

    def checked(size: Sequence[int]) -> tuple[int, ...]:
        if any(n < 0 for n in size):
            raise ValueError("a size is negative")
        return tuple(size)

    # --- of one value ---

    kit.kernel("empty", lambda size, dtype: xp.empty(checked(size), dtype=dtype))
    kit.kernel("zeros", lambda size, dtype: xp.zeros(checked(size), dtype=dtype))
    kit.kernel("ones", lambda size, dtype: xp.ones(checked(size), dtype=dtype))
    kit.kernel("full", lambda size, fill_value, dtype: xp.full(
        checked(size), fitting(kit, fill_value, dtype), dtype=dtype), half="native")  # fmt: skip
    kit.kernel("scalar_tensor", lambda s, dtype: xp.asarray(fitting(kit, s, dtype), dtype=dtype))

    # --- of increasing numbers ---

    def arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
        count = arange_size(start, end, step)
        if all(isinstance(value, int) for value in (start, end, step)):
            return xp.astype(kit.arange(count) * step + start, dtype, copy=False)
        # Multiplied in double precision, not added up: no error grows with the length.
        return xp.astype(
            xp.astype(kit.arange(count), xp.float64) * float(step) + float(start), dtype, copy=False
        )

    kit.kernel("arange", lambda end, dtype: arange(0, end, 1, dtype), half="native")
    kit.kernel("arange.start", lambda start, end, dtype: arange(start, end, 1, dtype), half="native")
    kit.kernel("arange.start_step", arange, half="native")

    @kit.kernel("linspace", half="native")
    def linspace(start: Any, end: Any, steps: int, dtype: Any) -> Any:
        if steps < 0:
            raise ValueError("a number of steps is not negative")
        if isinstance(start, complex) or isinstance(end, complex):
            place = xp.linspace(0.0, 1.0, steps, dtype=xp.float64)
            return xp.astype(start + xp.astype(place, xp.complex128) * (end - start), dtype, copy=False)
        return xp.astype(xp.linspace(float(start), float(end), steps, dtype=xp.float64), dtype, copy=False)

    @kit.kernel("eye")
    def eye(n: int, m: int | None, dtype: Any) -> Any:
        columns = n if m is None else m
        checked((n, columns))
        return xp.astype(xp.eye(n, columns, dtype=xp.uint8), dtype, copy=False)


def fitting(kit: Kit, value: Any, dtype: Any) -> Any:
    """Return a number in the Python type of a dtype, which fills an array of it: 3.7 fills integers with 3."""
    if kit.backend.is_kind(dtype, "bool"):
        return bool(value)
    if isinstance(value, complex) and not kit.backend.is_kind(dtype, "complex floating"):
        raise errors.DtypeError(f"value cannot be converted to type {dtype} without overflow: {value}")
    return int(value) if kit.backend.is_kind(dtype, "integral") else value


def arange_size(start: Any, end: Any, step: Any) -> int:
    """Return how many numbers there are from start to before end.

    Raises
    ------
    ValueError
        For what the shape rule of arange refuses.
    """
    if step == 0 or (end - start) * step < 0 or not math.isfinite(end) or not math.isfinite(start):
        raise ValueError("no such range")
    if all(isinstance(value, int) for value in (start, end, step)):
        return int(-(-(end - start) // step))
    count: int = math.ceil((end - start) / step)
    return count
