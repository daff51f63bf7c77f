"""Choosing scales and zero points: by the range of numbers, by a search, and by a moving average in training."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

import tt
from tt._compat.checks import require_tensor
from tt._compat.fake_quantization import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine
from tt.errors import DimensionError, DtypeError, ElementCountError, ValueRangeError

__all__ = [
    "choose_parameters", "choose_qparams_optimized", "fused_moving_avg_obs_fake_quant", "quantize_per_tensor_dynamic",
]  # fmt: skip

SMALLEST: Final = float(np.float32(6.1e-5))
"""The smallest scale: smaller ones are not normal numbers in half precision."""
_LIMITS: Final = {tt.qint8: (-128, 127), tt.quint8: (0, 255)}


def choose_parameters(
    low: float, high: float, first: int, last: int, symmetric: bool = False, single: bool = False
) -> tuple[float, int]:
    """Return the scale and the zero point for numbers of a range, which is extended to contain 0.

    Parameters
    ----------
    low, high : float
        The smallest and the largest number.
    first, last : int
        The smallest and the largest integer.
    symmetric : bool
        Whether 0 is in the middle of the integers, if there are numbers of both signs.
    single : bool
        Whether the zero point is computed with the scale in single precision.

    Examples
    --------
    >>> from tt._compat.choosing import choose_parameters
    >>> choose_parameters(-1.0, 1.5, 0, 5)
    (0.5, 2)
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueRangeError(f"a scale needs finite numbers, got a range from {low} to {high}")
    low, high = min(low, 0.0), max(high, 0.0)
    centred = symmetric and low < 0 < high
    if centred:
        half = (last - first) // 2
        largest = max(abs(low / -(half + 1)), abs(high / half))
        # PyTorch rounds these bounds to single precision, and the zero point depends on it.
        low, high = float(np.float32(-largest * (half + 1))), float(np.float32(largest * half))
    scale = (high - low) / (last - first)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.float32(1) / np.float32(scale)
        # PyTorch's value for a range of nothing but zeros.
        if np.isinf(inverse):
            scale = 0.1
    if scale < SMALLEST:
        if low == 0:
            high = SMALLEST * (last - first)
        elif high == 0:
            low = -SMALLEST * (last - first)
        else:
            wider = np.float32(SMALLEST) / np.float32(scale)
            low, high = float(np.float32(low) * wider), float(np.float32(high) * wider)
        scale = SMALLEST
    if single:
        scale = float(np.float32(scale))
    if centred:
        point = (first + last) / 2
    else:
        # The end with the smaller rounding error decides.
        left, right = abs(first) - abs(low / scale), abs(last) - abs(high / scale)
        point = first - low / scale if left < right else last - high / scale
    return scale, round(min(max(point, first), last))


def quantize_per_tensor_dynamic(input: tt.Tensor, dtype: tt.dtype, reduce_range: bool) -> Any:
    """Return a float32 tensor rounded to integers with the scale that its smallest and largest number ask for.

    Parameters
    ----------
    input : Tensor
        Of float32, with at least one element.
    dtype : dtype
        `tt.quint8` or `tt.qint8`; `tt.float16` converts to that.
    reduce_range : bool
        Whether integers have seven bits only.

    Raises
    ------
    DtypeError
        For another dtype.
    ElementCountError
        For a tensor without elements.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_tensor_dynamic(tt.tensor([0.0, 5.0, 25.5]), tt.quint8, False)
    >>> q.q_zero_point(), q.int_repr()
    (0, tensor([  0,  50, 255], dtype=tt.uint8))
    """
    name = "quantize_per_tensor_dynamic"
    require_tensor(name, input)
    if dtype is tt.float16:
        return input.detach().to(tt.float16)
    if dtype not in _LIMITS:
        raise DtypeError(f"{name}(): dtype {dtype} is not supported\n  try: tt.quint8 or tt.qint8")
    if not input.numel():
        raise ElementCountError(f"{name}(): a tensor without elements has no smallest and largest number")
    # With seven bits, instructions that add two products in 16 bits cannot overflow.
    first, last = (limit // 2 for limit in _LIMITS[dtype]) if reduce_range else _LIMITS[dtype]
    scale, point = choose_parameters(input.min().item(), input.max().item(), first, last)
    return tt.quantize_per_tensor(input, scale, point, dtype)


# --- by a search ----------------------------------------------------------------------------------------------------


def _loss(x: np.ndarray[Any, Any], low: np.float32, high: np.float32, bits: int) -> np.float32:
    """Return the root of the sum of squared errors of numbers that are rounded within a range."""
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the range of half precision no number is near
        # The rows of PyTorch's quantized embeddings store offset and scale in half precision.
        low = np.float32(np.float16(low))
        span, last = np.float32(high - low), np.float32(2**bits - 1)
        scale = np.float32(1) if span == 0 else np.float32(np.float16(span / last))
        inverse = np.float32(1) if scale == 0 else np.float32(1) / scale
        levels = np.clip(np.rint((x - low) * inverse), np.float32(0), last)
        differences = x - (levels * scale + low)
        # One after another, so that nearly equal losses compare as PyTorch's.
        return np.sqrt(np.add.accumulate(differences * differences)[-1])  # type: ignore[no-any-return]  # a scalar


def choose_qparams_optimized(
    input: Any, numel: int, n_bins: int, ratio: float, bit_width: int
) -> tuple[Any, Any]:
    """Return the range, as (largest, smallest), in which rounding loses least: it is narrowed step by step.

    Parameters
    ----------
    input : Tensor
        Of float32.
    numel : int
        How many of its elements count, from the first.
    n_bins : int
        The number of steps from the smallest to the largest element.
    ratio : float
        By how much the range may be narrowed, from 0 to 1.
    bit_width : int
        Bits of an integer.

    Raises
    ------
    DtypeError
        For another dtype.
    ValueRangeError
        When `numel` is not from 1 to the number of elements.

    Examples
    --------
    >>> import tt
    >>> high, low = tt.choose_qparams_optimized(tt.tensor([0.0, 1.0, 2.0, 3.0]), 4, 200, 0.16, 8)
    >>> high, low
    (tensor([3.]), tensor([0.]))
    """
    name = "choose_qparams_optimized"
    if not tt.is_tensor(input) or input.dtype.name != "float32":
        kind = input.dtype if tt.is_tensor(input) else type(input).__name__
        raise DtypeError(f"{name}(): the input is a tensor of float32, not {kind}")
    if not 0 < numel <= input.numel():
        raise ValueRangeError(f"{name}(): numel must be from 1 to {input.numel()}, got {numel}")
    if n_bins < 1:
        raise ValueRangeError(f"{name}(): n_bins must be positive, got {n_bins}")
    x = input.detach().cpu().reshape(-1).numpy()[:numel]
    low = current_low = x.min()
    high = current_high = x.max()
    step = np.float32((high - low) / np.float32(n_bins))
    narrowest = np.float32(int(n_bins * (1.0 - ratio)) * step)
    best = current = _loss(x, low, high, bit_width)
    while step > 0 and current_low + narrowest < current_high:
        left = _loss(x, current_low + step, current_high, bit_width)
        right = _loss(x, current_low, current_high - step, bit_width)
        if current < left and current < right and current < best:
            best, low, high = current, current_low, current_high
        # Greedy: the end whose step costs less moves inwards.
        if left < right:
            current_low, current = current_low + step, left
        else:
            current_high, current = current_high - step, right
    return tt.tensor([float(high)]), tt.tensor([float(low)])


# --- in training ----------------------------------------------------------------------------------------------------


def fused_moving_avg_obs_fake_quant(
    input: tt.Tensor,
    observer_on: tt.Tensor,
    fake_quant_on: tt.Tensor,
    running_min: tt.Tensor,
    running_max: tt.Tensor,
    scale: tt.Tensor,
    zero_point: tt.Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Any:
    """Return a tensor rounded to the numbers that quantized ones have, while averages of its range are kept.

    The gradient is that of `fake_quantize_per_tensor_affine`.

    Parameters
    ----------
    input : Tensor
        Of float32.
    observer_on, fake_quant_on : Tensor
        One number each: whether the range is observed, and whether the result is rounded.
    running_min, running_max : Tensor
        The averages, which are updated; infinite ones are replaced.
    scale, zero_point : Tensor
        Of float32 and int32; they are set to what the averages ask for.
    averaging_const : float
        The weight of the present range.
    quant_min, quant_max : int
        The range of the integers.
    ch_axis : int
        The dimension of the channels.
    per_row_fake_quant : bool
        Whether each channel has a range of its own.
    symmetric_quant : bool
        Whether 0 is in the middle of the integers.

    Raises
    ------
    DimensionError
        When the tensor does not have the dimension `ch_axis`.

    Examples
    --------
    >>> import tt
    >>> low, high, scale = tt.tensor([tt.inf]), tt.tensor([-tt.inf]), tt.ones(1)
    >>> on, point = tt.ones(1, dtype=tt.int64), tt.zeros(1, dtype=tt.int32)
    >>> x = tt.tensor([0.0, 0.99, 2.55])
    >>> tt.fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, point, 0.01, 0, 255, 0)
    tensor([0.0000, 0.9900, 2.5500])
    >>> high
    tensor([2.5500])
    """
    name = "fused_moving_avg_obs_fake_quant"
    if per_row_fake_quant and not -input.ndim <= ch_axis < input.ndim:
        raise DimensionError(name, ch_axis, input.ndim)
    axis = ch_axis % max(input.ndim, 1)
    if observer_on.item():
        _observe(
            input.detach(), axis if per_row_fake_quant else None, running_min, running_max, averaging_const
        )
        ranges = zip(running_min.reshape(-1).tolist(), running_max.reshape(-1).tolist(), strict=True)
        chosen = [
            choose_parameters(*range_, quant_min, quant_max, symmetric_quant, single=True)
            for range_ in ranges
        ]
        _set(scale, tt.tensor([step for step, _ in chosen]))
        _set(zero_point, tt.tensor([point for _, point in chosen]))
    if not fake_quant_on.item():
        return input
    if per_row_fake_quant:
        return fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max)
    return fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)


def _observe(
    x: tt.Tensor, axis: int | None, running_min: tt.Tensor, running_max: tt.Tensor, weight: float
) -> None:
    """Update the averages of the smallest and the largest number, of each channel if there is an axis."""
    dims = [d for d in range(x.ndim) if d != axis]
    for running, extreme in ((running_min, x.amin(dims)), (running_max, x.amax(dims))):
        before = (
            running.reshape(-1) if running.numel() == extreme.numel() else tt.full((extreme.numel(),), tt.inf)
        )
        now = extreme.reshape(-1)
        _set(running, tt.where(tt.isinf(before), now, before + weight * (now - before)))


def _set(target: tt.Tensor, values: tt.Tensor) -> None:
    """Write values into a tensor, which gets their number of elements."""
    if target.numel() != values.numel():
        target.resize_(values.numel())
    target.copy_(values.reshape(target.shape))
