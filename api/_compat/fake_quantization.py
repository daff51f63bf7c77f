"""Rounding to the values that quantized numbers have, in floating point, for training that anticipates quantization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tt
from tt._compat.checks import require_tensor
from tt.errors import DimensionError, DtypeError, ShapeError, ValueRangeError

if TYPE_CHECKING:
    from tt.autograd.function import FunctionCtx

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


class _Rounded(tt.autograd.Function):
    """Rounds to a grid; the gradient passes where the number lies within the grid's range."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        x: tt.Tensor,
        scale: tt.Tensor,
        zero_point: tt.Tensor,
        limits: tuple[int, int],
        late: bool,
    ) -> Any:
        wide = x.float() if x.dtype in (tt.float16, tt.bfloat16) else x
        # Multiplied by the inverse, as in PyTorch: a division would round some halves differently.
        steps = wide * (1 / scale)
        # Whole zero points are added after rounding, so that halves are rounded as without one.
        level = tt.round(steps + zero_point) if late else tt.round(steps) + zero_point
        ctx.save_for_backward((level >= limits[0]) & (level <= limits[1]))
        # fmax and fmin drop NaN, so it becomes the lower limit, as in PyTorch.
        held = tt.fmin(tt.fmax(level, tt.tensor(float(limits[0]))), tt.tensor(float(limits[1])))
        if not scale.ndim:
            held = held.float()  # PyTorch multiplies by the scale of a whole tensor in single precision
        return ((held - zero_point) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Any) -> Any:
        (inside,) = ctx.saved_tensors
        return grads[0] * inside, None, None, None, None


def _check(name: str, input: tt.Tensor, quant_min: int, quant_max: int) -> None:
    require_tensor(name, input)
    if not input.dtype.is_floating_point:
        raise DtypeError(f"{name}(): the input is of a floating point dtype, not of {input.dtype}")
    if quant_min > quant_max:
        raise ValueRangeError(f"{name}(): quant_min={quant_min} is above quant_max={quant_max}")


def fake_quantize_per_tensor_affine(
    input: tt.Tensor, scale: float | tt.Tensor, zero_point: int | tt.Tensor, quant_min: int, quant_max: int
) -> Any:
    """Return a tensor rounded to (q - zero_point) * scale for whole numbers q from quant_min to quant_max.

    The gradient passes unchanged where a number lies within that range, and is 0 elsewhere.

    Parameters
    ----------
    input : Tensor
        Of a floating point dtype.
    scale : float or Tensor of one element
        The distance of neighbouring values; used in float32.
    zero_point : int or Tensor of one element
        The q of the value 0.
    quant_min, quant_max : int
        The range of q.

    Raises
    ------
    ValueRangeError
        If quant_min is above quant_max, or zero_point not between them.
    DtypeError
        If the input is not of a floating point dtype.

    Examples
    --------
    >>> import tt
    >>> tt.fake_quantize_per_tensor_affine(tt.tensor([-1.0, 0.3, 9.0]), 0.25, 1, 0, 7)
    tensor([-0.2500,  0.2500,  1.5000])
    """
    name = "fake_quantize_per_tensor_affine"
    _check(name, input, quant_min, quant_max)
    point = zero_point.item() if tt.is_tensor(zero_point) else zero_point
    if not tt.is_tensor(zero_point) and not quant_min <= point <= quant_max:
        raise ValueRangeError(f"{name}(): zero_point={point} is not between {quant_min} and {quant_max}")
    step = tt.as_tensor(scale, dtype=tt.float32, device=input.device).detach().reshape(())
    return _Rounded.apply(input, step, point, (quant_min, quant_max), False)


def fake_quantize_per_channel_affine(
    input: tt.Tensor, scale: tt.Tensor, zero_point: tt.Tensor, axis: int, quant_min: int, quant_max: int
) -> Any:
    """Return a tensor rounded as by `fake_quantize_per_tensor_affine`, with a grid for each channel.

    Parameters
    ----------
    input : Tensor
        Of a floating point dtype.
    scale : Tensor
        The distances of neighbouring values, one for each channel.
    zero_point : Tensor
        The q of the value 0, one for each channel; of int32, or of float32 or float16, where q is not shifted by
        whole numbers.
    axis : int
        The dimension of the channels.
    quant_min, quant_max : int
        The range of q.

    Raises
    ------
    ShapeError
        If there is not one scale and one zero point for each channel.
    ValueRangeError
        If quant_min is above quant_max, or a zero point of int32 not between them.
    DtypeError
        For other dtypes.

    Examples
    --------
    >>> import tt
    >>> scale, zero_point = tt.tensor([0.5, 0.1]), tt.zeros(2, dtype=tt.int32)
    >>> tt.fake_quantize_per_channel_affine(tt.tensor([[0.7], [0.7]]), scale, zero_point, 0, -8, 7)
    tensor([[0.5000],
            [0.7000]])
    """
    name = "fake_quantize_per_channel_affine"
    _check(name, input, quant_min, quant_max)
    if scale.dtype is not tt.float32:
        raise DtypeError(f"{name}(): scale is of float32, not of {scale.dtype}")
    whole = zero_point.dtype is tt.int32
    if not whole and zero_point.dtype not in (tt.float32, tt.float16):
        raise DtypeError(f"{name}(): zero_point is of int32, float32 or float16, not of {zero_point.dtype}")
    if not 0 <= axis < input.ndim:
        raise DimensionError(name, axis, input.ndim)
    if not scale.ndim == zero_point.ndim == 1 or not len(scale) == len(zero_point) == input.shape[axis]:
        raise ShapeError(
            f"{name}(): scale and zero_point have one number for each of the {input.shape[axis]} channels, not the "
            f"shapes {list(scale.shape)} and {list(zero_point.shape)}"
        )
    if whole and bool(((zero_point < quant_min) | (zero_point > quant_max)).any()):
        raise ValueRangeError(f"{name}(): a zero point is not between {quant_min} and {quant_max}")
    shape = [-1 if d == axis else 1 for d in range(input.ndim)]
    steps, points = scale.detach().reshape(shape), zero_point.detach().reshape(shape).float()
    return _Rounded.apply(input, steps, points, (quant_min, quant_max), not whole)
