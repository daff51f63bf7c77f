"""Kernels that make tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors

__all__ = ["arange_size", "table"]


table = NamespaceTable()


def checked(size: Sequence[int]) -> tuple[int, ...]:
    """Return a size, none of whose dimensions is negative."""
    if any(n < 0 for n in size):
        raise ValueError("a size is negative")
    return tuple(size)


# --- of one value ---

table.kernel("empty", lambda xp, size, dtype: xp.empty(checked(size), dtype=dtype))
table.kernel("empty", Namespace.laid_out, takes=("size", "dtype", "memory_format"), check=True)
table.kernel("zeros", lambda xp, size, dtype: xp.zeros(checked(size), dtype=dtype))
table.kernel("ones", lambda xp, size, dtype: xp.ones(checked(size), dtype=dtype))
table.kernel("full", lambda xp, size, fill_value, dtype: xp.full(
    checked(size), fitting(xp, fill_value, dtype), dtype=dtype), half="native")  # fmt: skip
table.kernel("scalar_tensor", lambda xp, s, dtype: xp.asarray(fitting(xp, s, dtype), dtype=dtype))

# --- of increasing numbers ---


@table.kernel("arange.start_step", dtypes="real_number", half="native")
def arange(xp: Namespace, start: Any, end: Any, step: Any, dtype: Any) -> Any:
    integral = xp.isdtype(dtype, "integral")
    count = arange_size(start, end, step, wide=integral and dtype == xp.int64)
    if not integral:
        # Multiplied in double precision, not added up: no error grows with the length.
        values = xp.arange(count, dtype=xp.float64)
        values = values if step == 1 else values * float(step)
        return xp.astype(values + float(start) if start else values, dtype, copy=False)
    start, step = int(start), int(step)
    stop = start + count * step
    if step and max(abs(start), abs(stop)) < 2**63:
        return xp.astype(xp.arange(start, stop, step, dtype=xp.int64), dtype, copy=False)
    return xp.astype(xp.positions(count) * step + start, dtype, copy=False)  # wraps around


table.kernel(
    "arange",
    lambda xp, end, dtype: arange(xp, 0, end, 1, dtype),
    dtypes="real_number",
    half="native",
)
table.kernel(
    "arange.start",
    lambda xp, start, end, dtype: arange(xp, start, end, 1, dtype),
    dtypes="real_number",
    half="native",
)


def spaced(xp: Namespace, start: Any, end: Any, steps: int) -> Any:
    """Return numbers in equal distances in double precision, from both ends, so that the last one is exact."""
    if isinstance(start, complex) or isinstance(end, complex):
        # Part by part: a product of complex numbers would carry a NaN or infinity of one part into the other.
        real, imag = spaced(xp, start.real, end.real, steps), spaced(xp, start.imag, end.imag, steps)
        return complex_of_parts(xp, real, imag)
    position = xp.astype(xp.positions(steps), xp.float64)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    first = max(steps // 2, min(steps, 1))
    return xp.concat([start + position[:first] * step, end - (steps - 1 - position[first:]) * step])


def bounds(xp: Namespace, start: Any, end: Any, steps: int, dtype: Any) -> tuple[Any, Any]:
    """Return the bounds as numbers of the dtype: integers truncate them, half precision rounds them."""
    if steps < 0:
        raise ValueError("a number of steps is not negative")
    if isinstance(start, complex) or isinstance(end, complex):
        if not xp.isdtype(dtype, "complex floating"):
            raise errors.DtypeError(
                f"linspace(): complex bounds give complex numbers, which {dtype} cannot hold"
            )
        return start, end
    if xp.isdtype(dtype, "integral"):
        return int(start), int(end)
    if not xp.isdtype(dtype, "real floating"):
        return float(start), float(end)
    return rounded_to(xp, float(start), dtype), rounded_to(xp, float(end), dtype)


@table.kernel("linspace", dtypes="number", half="native")
def linspace(xp: Namespace, start: Any, end: Any, steps: int, dtype: Any) -> Any:
    return xp.astype(spaced(xp, *bounds(xp, start, end, steps, dtype), steps), dtype, copy=False)


@table.kernel("logspace", dtypes="number", half="native")
def logspace(xp: Namespace, start: Any, end: Any, steps: int, base: float, dtype: Any) -> Any:
    first, last = bounds(xp, start, end, steps, dtype)
    # One power alone keeps the fraction of its exponent.
    exponents = spaced(xp, first, last, steps) if steps > 1 else spaced(xp, start, end, steps)
    if xp.isdtype(dtype, "complex floating"):
        exponents = xp.astype(exponents, xp.complex128, copy=False)
    return xp.astype(xp.asarray(base, dtype=exponents.dtype) ** exponents, dtype, copy=False)


@table.kernel("eye")
def eye(xp: Namespace, n: int, m: int | None, dtype: Any) -> Any:
    columns = n if m is None else m
    checked((n, columns))
    # The library may lack `eye` for half precision or bool, but casts zeros and ones to all dtypes.
    return xp.astype(xp.eye(n, columns, dtype=xp.uint8), dtype, copy=False)


def complex_of_parts(xp: Namespace, real: Any, imag: Any) -> Any:
    """Return complex numbers whose parts may be infinite or NaN."""
    dtype = xp.complex128 if real.dtype == xp.float64 else xp.complex64
    # i times infinity or NaN has a real part that is NaN: these parts come from constants instead.
    finite = xp.isfinite(imag)
    parts = xp.astype(xp.where(finite, imag, xp.zeros_like(imag)), dtype) * 1j
    for value in (math.inf, -math.inf, math.nan):
        here = imag == value if value == value else xp.isnan(imag)
        parts = xp.where(here, xp.number(complex(0, value), dtype), parts)
    return xp.astype(real, dtype) + parts


def fitting(xp: Namespace, value: Any, dtype: Any) -> Any:
    """Return a number in the Python type of a dtype, which fills an array of it: 3.7 fills integers with 3."""
    if xp.isdtype(dtype, "bool"):
        return bool(value)
    if isinstance(value, complex) and not xp.isdtype(dtype, "complex floating"):
        if value.imag:
            raise errors.NumberRangeError(f"{value} is beyond the range of {dtype}")
        value = value.real
    if not xp.isdtype(dtype, "integral"):
        return value
    info = xp.iinfo(dtype)
    if isinstance(value, float) and not info.min <= value <= info.max:  # or NaN: only integers wrap
        raise errors.NumberRangeError(f"{value} is beyond the range of {dtype}")
    whole = int(value)
    if whole < 0 and xp.isdtype(dtype, "unsigned integer"):
        limit = int(info.max)
        return whole + limit + 1 if whole >= -limit else whole  # wraps, as in PyTorch
    return whole


def rounded_to(xp: Namespace, value: float, dtype: Any) -> float:
    """Return a number rounded to a floating point dtype, on the host: for an array, a device would be waited for."""
    for name in ("float32", "float16", "float64"):
        if xp.has(name) and xp.find(name) == dtype:
            with np.errstate(over="ignore"):
                return float(np.dtype(name).type(value))
    import ml_dtypes

    return float(ml_dtypes.bfloat16(value))


def arange_size(start: Any, end: Any, step: Any, *, wide: bool = False) -> int:
    """Return how many numbers there are from start to before end; `wide` counts with truncated ones, as int64 does.

    Raises
    ------
    ValueError
        For arguments that the shape rule of arange refuses.
    """
    if not math.isfinite(end) or not math.isfinite(start):
        raise ValueError("no such range")
    if wide:
        start, end, step = int(start), int(end), int(step)
    if step == 0 or (end - start) * step < 0:
        raise ValueError("no such range")
    whole = all(isinstance(value, int) for value in (start, end, step))
    # Whole numbers are counted in integers: a quotient of doubles is inexact beyond 2**53.
    count = int(-(-(end - start) // step)) if whole else math.ceil((end - start) / step)
    if count >= 2**60:  # libraries count to none where the number passes 63 bits
        raise ValueError("no such range")
    return count
