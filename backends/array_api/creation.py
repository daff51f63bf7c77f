"""Kernels that make tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tt.backends.array_api.kernel_builder import KernelBuilder
from tt.core.library import errors

__all__ = ["add_kernels", "arange_size"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    xp = builder.xp

    def checked(size: Sequence[int]) -> tuple[int, ...]:
        if any(n < 0 for n in size):
            raise ValueError("a size is negative")
        return tuple(size)

    # --- of one value ---

    builder.kernel("empty", lambda size, dtype: xp.empty(checked(size), dtype=dtype))
    builder.kernel("empty", builder.laid_out, takes=("size", "dtype", "memory_format"), check=True)
    builder.kernel("zeros", lambda size, dtype: xp.zeros(checked(size), dtype=dtype))
    builder.kernel("ones", lambda size, dtype: xp.ones(checked(size), dtype=dtype))
    builder.kernel("full", lambda size, fill_value, dtype: xp.full(
        checked(size), fitting(builder, fill_value, dtype), dtype=dtype), half="native")  # fmt: skip
    builder.kernel("scalar_tensor", lambda s, dtype: xp.asarray(fitting(builder, s, dtype), dtype=dtype))

    # --- of increasing numbers ---

    def arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
        integral = builder.is_dtype(dtype, "integral")
        count = arange_size(start, end, step, wide=integral and dtype == xp.int64)
        if integral:
            return xp.astype(builder.arange(count) * int(step) + int(start), dtype, copy=False)
        # Multiplied in double precision, not added up: no error grows with the length.
        return xp.astype(
            xp.astype(builder.arange(count), xp.float64) * float(step) + float(start), dtype, copy=False
        )

    builder.kernel("arange", lambda end, dtype: arange(0, end, 1, dtype), dtypes="real_number", half="native")
    builder.kernel(
        "arange.start",
        lambda start, end, dtype: arange(start, end, 1, dtype),
        dtypes="real_number",
        half="native",
    )
    builder.kernel("arange.start_step", arange, dtypes="real_number", half="native")

    def spaced(start: Any, end: Any, steps: int) -> Any:
        """Return numbers in equal distances in double precision, from both ends, so that the last one is exact."""
        if isinstance(start, complex) or isinstance(end, complex):
            # Part by part: a product of complex numbers would carry a NaN or infinity of one part into the other.
            real, imag = spaced(start.real, end.real, steps), spaced(start.imag, end.imag, steps)
            return complex_of_parts(builder, real, imag)
        place = xp.astype(builder.arange(steps), xp.float64)
        step = (end - start) / (steps - 1) if steps > 1 else 0.0
        first = max(steps // 2, min(steps, 1))
        return xp.concat([start + place[:first] * step, end - (steps - 1 - place[first:]) * step])

    def bounds(start: Any, end: Any, steps: int, dtype: Any) -> tuple[Any, Any]:
        """Return the bounds as numbers of the dtype: integers truncate them, half precision rounds them."""
        if steps < 0:
            raise ValueError("a number of steps is not negative")
        if isinstance(start, complex) or isinstance(end, complex):
            if not builder.is_dtype(dtype, "complex floating"):
                raise errors.DtypeError(
                    f"linspace(): complex bounds give complex numbers, which {dtype} cannot hold"
                )
            return start, end
        if builder.is_dtype(dtype, "integral"):
            return int(start), int(end)
        if not builder.is_dtype(dtype, "real floating"):
            return float(start), float(end)
        return rounded_to(builder, float(start), dtype), rounded_to(builder, float(end), dtype)

    @builder.kernel("linspace", dtypes="number", half="native")
    def linspace(start: Any, end: Any, steps: int, dtype: Any) -> Any:
        return xp.astype(spaced(*bounds(start, end, steps, dtype), steps), dtype, copy=False)

    @builder.kernel("logspace", dtypes="number", half="native")
    def logspace(start: Any, end: Any, steps: int, base: float, dtype: Any) -> Any:
        first, last = bounds(start, end, steps, dtype)
        # One power alone keeps the fraction of its exponent.
        exponents = spaced(first, last, steps) if steps > 1 else spaced(start, end, steps)
        if builder.is_dtype(dtype, "complex floating"):
            exponents = xp.astype(exponents, xp.complex128, copy=False)
        return xp.astype(xp.asarray(base, dtype=exponents.dtype) ** exponents, dtype, copy=False)

    @builder.kernel("eye")
    def eye(n: int, m: int | None, dtype: Any) -> Any:
        columns = n if m is None else m
        checked((n, columns))
        return xp.astype(xp.eye(n, columns, dtype=xp.uint8), dtype, copy=False)


def complex_of_parts(builder: KernelBuilder, real: Any, imag: Any) -> Any:
    """Return complex numbers whose parts may be infinite or NaN."""
    xp = builder.xp
    dtype = xp.complex128 if real.dtype == xp.float64 else xp.complex64
    # i times infinity or NaN has a real part that is NaN: these parts come from constants instead.
    finite = xp.isfinite(imag)
    parts = xp.astype(xp.where(finite, imag, xp.zeros_like(imag)), dtype) * 1j
    for value in (math.inf, -math.inf, math.nan):
        here = imag == value if value == value else xp.isnan(imag)
        parts = xp.where(here, builder.number(complex(0, value), dtype), parts)
    return xp.astype(real, dtype) + parts


def fitting(builder: KernelBuilder, value: Any, dtype: Any) -> Any:
    """Return a number in the Python type of a dtype, which fills an array of it: 3.7 fills integers with 3."""
    if builder.backend.is_kind(dtype, "bool"):
        return bool(value)
    if isinstance(value, complex) and not builder.backend.is_kind(dtype, "complex floating"):
        if value.imag:
            raise errors.NumberRangeError(f"{value} is beyond the range of {dtype}")
        value = value.real
    if not builder.backend.is_kind(dtype, "integral"):
        return value
    whole = int(value)
    if whole < 0 and builder.backend.is_kind(dtype, "unsigned integer"):
        limit = int(builder.xp.iinfo(dtype).max)
        return whole + limit + 1 if whole >= -limit else whole  # wraps, as in PyTorch
    return whole


def rounded_to(builder: KernelBuilder, value: float, dtype: Any) -> float:
    """Return a number rounded to a floating point dtype, on the host: for an array, a device would be waited for."""
    for name in ("float32", "float16", "float64"):
        if builder.has(name) and builder.find(name) == dtype:
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
    count = int(-(-(end - start) // step)) if whole else math.ceil((end - start) / step)
    if count >= 2**60:  # libraries count to none where the number passes 63 bits
        raise ValueError("no such range")
    return count
