"""What quantized tensors tell of themselves: functions of the package tt and members of tensors."""

from __future__ import annotations

from typing import Any

from tt.core.library import Tensor, as_tensor, errors, ops, overridable
from tt.plugins.quantized.handle import ints_of, is_quantized, per_tensor, quantizer_of
from tt.plugins.quantized.quantizer import PerChannel
from tt.plugins.quantized.quantizer import qscheme as Scheme

__all__ = [
    "int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale", "q_zero_point",
    "qscheme",
]  # fmt: skip


def _expect(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise errors.ArgumentError(name, f"argument 'input' must be Tensor, not {type(input).__name__}")
    if not is_quantized(input):
        raise errors.UnsupportedError(
            f"{name}(): a tensor of {input.dtype} is not quantized\n"
            "  try: tt.quantize_per_tensor(x, scale, zero_point, tt.quint8)"
        )


def _channels(name: str, input: Any) -> PerChannel:
    _expect(name, input)
    quantizer = quantizer_of(input)
    if not isinstance(quantizer, PerChannel):
        raise errors.LayoutError(
            f"{name}(): expected a tensor with a scale for each channel, got {quantizer.scheme}\n"
            "  try: x.q_scale() and x.q_zero_point()"
        )
    return quantizer


@overridable
def int_repr(input: Tensor) -> Tensor:
    """Return a copy of the integers of a quantized tensor, as uint8, int8 or int32.

    Raises
    ------
    UnsupportedError
        For a tensor that is not quantized.

    Examples
    --------
    >>> import tt
    >>> tt.int_repr(tt.quantize_per_tensor(tt.tensor([-1.0, 0.5]), 0.5, 2, tt.quint8))
    tensor([0, 3], dtype=tt.uint8)
    """
    _expect("int_repr", input)
    return ops.clone(ints_of(input))


def qscheme(input: Tensor) -> Scheme:
    """Return the scheme of a quantized tensor.

    Raises
    ------
    UnsupportedError
        For a tensor that is not quantized.

    Examples
    --------
    >>> import tt
    >>> tt.quantize_per_tensor(tt.zeros(2), 0.5, 2, tt.quint8).qscheme()
    tt.per_tensor_affine
    """
    _expect("qscheme", input)
    return quantizer_of(input).scheme


@overridable
def q_scale(input: Tensor) -> float:
    """Return the scale of a quantized tensor that has one.

    Raises
    ------
    UnsupportedError, LayoutError
        For a tensor that is not quantized, or has a scale for each channel.

    Examples
    --------
    >>> import tt
    >>> tt.q_scale(tt.quantize_per_tensor(tt.zeros(2), 0.5, 2, tt.quint8))
    0.5
    """
    _expect("q_scale", input)
    return per_tensor("q_scale", input).scale


@overridable
def q_zero_point(input: Tensor) -> int:
    """Return the integer that stands for 0 in a quantized tensor with one scale.

    Raises
    ------
    UnsupportedError, LayoutError
        For a tensor that is not quantized, or has a zero point for each channel.

    Examples
    --------
    >>> import tt
    >>> tt.q_zero_point(tt.quantize_per_tensor(tt.zeros(2), 0.5, 2, tt.quint8))
    2
    """
    _expect("q_zero_point", input)
    return per_tensor("q_zero_point", input).zero_point


@overridable
def q_per_channel_scales(input: Tensor) -> Tensor:
    """Return the scales of the channels of a quantized tensor, in float64, or float32 if zero points are fractions.

    Raises
    ------
    UnsupportedError, LayoutError
        For a tensor that is not quantized, or has one scale.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_channel(tt.ones(2, 1), tt.tensor([0.5, 0.25]), tt.tensor([0, 1]), 0, tt.qint8)
    >>> tt.q_per_channel_scales(q)
    tensor([0.5000, 0.2500], dtype=tt.float64)
    """
    # A copy: writing to the result must not change the tensor.
    return as_tensor(_channels("q_per_channel_scales", input).scales.copy(), device=input.device)


@overridable
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """Return the zero points of the channels of a quantized tensor, in int64, or float32 if they are fractions.

    Raises
    ------
    UnsupportedError, LayoutError
        For a tensor that is not quantized, or has one zero point.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_channel(tt.ones(2, 1), tt.tensor([0.5, 0.25]), tt.tensor([0, 1]), 0, tt.qint8)
    >>> tt.q_per_channel_zero_points(q)
    tensor([0, 1])
    """
    return as_tensor(_channels("q_per_channel_zero_points", input).zero_points.copy(), device=input.device)


@overridable
def q_per_channel_axis(input: Tensor) -> int:
    """Return the dimension of the channels of a quantized tensor.

    Raises
    ------
    UnsupportedError, LayoutError
        For a tensor that is not quantized, or has one scale.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_channel(tt.ones(1, 2), tt.tensor([0.5, 0.25]), tt.tensor([0, 1]), 1, tt.qint8)
    >>> tt.q_per_channel_axis(q)
    1
    """
    return _channels("q_per_channel_axis", input).axis
