"""Functions that make quantized tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tt.core.library import QUANTIZED, Tensor, dtype, errors, from_numpy_dtype, layout_name, ops, to_dtype
from tt.plugins.quantized.handle import is_quantized, made, order_of, quantizer_of
from tt.plugins.quantized.quantizer import PerChannel, PerTensor
from tt.plugins.quantized.rounding import LIMITS, rounded

__all__ = ["empty_quantized", "over_integers", "quantize_per_channel", "quantize_per_tensor"]


def _checked(name: str, input: Any, dtype: Any) -> tuple[Tensor, dtype]:
    """Return the numbers without history, and the dtype."""
    if not isinstance(input, Tensor):
        raise errors.ArgumentError(name, f"argument 'input' must be Tensor, not {type(input).__name__}")
    if is_quantized(input):
        raise errors.UnsupportedError(
            f"{name}(): the tensor is quantized already\n  try: {name}(x.dequantize(), ...)"
        )
    if input.layout.name != "strided":
        raise errors.LayoutError(f"{name}(): expected a strided tensor, got {input.layout}")
    if input.dtype.name != "float32":
        raise errors.DtypeError(
            f"{name}(): quantize only works on a tensor of float32, got {input.dtype.name}\n  try: x.float()"
        )
    own = to_dtype(dtype)
    if own.kind != "quantized":
        names = ", ".join(f"tt.{name}" for name in LIMITS)
        raise errors.DtypeError(f"{name}(): dtype must be one of {names}, got {own}")
    result: Tensor = ops.contiguous(ops.detach(input), memory_format=order_of(input))
    return result, own


def _check_zero_point(name: str, point: int, dtype: dtype) -> None:
    low, high = LIMITS[dtype.name]
    if not low <= point <= high:
        bound = "above upper" if point > high else "below lower"
        raise errors.ValueRangeError(
            f"{name}(): zero_point {point} is {bound} bound: {dtype.name} holds integers from {low} to {high}"
        )


def _number(name: str, argument: str, value: Any) -> Any:
    """Return a number, or the only element of a tensor."""
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise errors.ShapeError(
                f"{name}(): a tensor with {value.numel()} elements is no number, for argument {argument!r}"
            )
        return ops.item(value)
    # A bool is an int to Python.
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise errors.ArgumentError(
            name, f"argument {argument!r} must be a number or a tensor, not {type(value).__name__}"
        )
    return value


def _scale(name: str, value: Any) -> float:
    number = _number(name, "scale", value)
    try:
        return float(number)
    except OverflowError:
        raise errors.ValueRangeError(f"{name}(): the scale is beyond the range of float64") from None


def _whole(name: str, value: Any) -> int:
    number = _number(name, "zero_point", value)
    if number % 1 != 0:  # of numbers that are not finite, too
        raise errors.ArgumentError(name, f"argument 'zero_point' must be a whole number, not {number}")
    return int(number)


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """Return a float32 tensor rounded to integers with one scale: q stands for (q - zero_point) * scale.

    The result has no history: quantizing is not differentiable.

    Parameters
    ----------
    input : Tensor or list of Tensor
        Of float32.
    scale : float or Tensor
        The distance of neighbouring numbers; of a list of tensors, a tensor with one for each.
    zero_point : int or Tensor
        The integer that stands for 0; of a list of tensors, a tensor with one for each.
    dtype : dtype
        `tt.quint8`, `tt.qint8` or `tt.qint32`.

    Returns
    -------
    Tensor or tuple of Tensor
        A tuple for a list.

    Raises
    ------
    DtypeError
        For a tensor of another dtype, or a dtype that is not a quantized one.
    ValueRangeError
        For a zero point that the dtype does not hold.
    ShapeError
        For scales that are not as many as the tensors.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_tensor(tt.tensor([-1.0, 0.0, 0.7, 99.0]), 0.5, 10, tt.quint8)
    >>> q
    tensor([-1.0000,  0.0000,  0.5000, 99.0000], size=(4,), dtype=tt.quint8,
           quantization_scheme=tt.per_tensor_affine, scale=0.5, zero_point=10)
    >>> q.int_repr()
    tensor([  8,  10,  11, 208], dtype=tt.uint8)
    """
    name = "quantize_per_tensor"
    if isinstance(input, list | tuple):
        return _list(name, input, scale, zero_point, dtype)
    x, own = _checked(name, input, dtype)
    quantizer = PerTensor(_scale(name, scale), _whole(name, zero_point))
    _check_zero_point(name, quantizer.zero_point, own)
    return made(rounded(x, quantizer, own), own, quantizer)


def _list(name: str, tensors: Sequence[Any], scales: Any, zero_points: Any, dtype: Any) -> tuple[Tensor, ...]:
    for argument, value in (("scale", scales), ("zero_point", zero_points)):
        if not isinstance(value, Tensor):
            raise errors.ArgumentError(
                name, f"argument {argument!r} of a list must be Tensor, not {type(value).__name__}"
            )
        if value.numel() != len(tensors):
            raise errors.ShapeError(
                f"{name}(): {len(tensors)} tensors need as many of {argument}, got {value.numel()}"
            )
    rows = zip(
        tensors, ops.reshape(scales, (-1,)).tolist(), ops.reshape(zero_points, (-1,)).tolist(), strict=True
    )
    return tuple(quantize_per_tensor(x, scale, point, dtype) for x, scale, point in rows)


def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> Tensor:
    """Return a float32 tensor rounded to integers with a scale for each place of a dimension.

    Parameters
    ----------
    input : Tensor
        Of float32.
    scales, zero_points : Tensor
        One number for each channel.  Zero points of a floating point dtype need not be whole numbers.
    axis : int
        The dimension of the channels, not negative.
    dtype : dtype
        `tt.quint8`, `tt.qint8` or `tt.qint32`.

    Raises
    ------
    DtypeError
        For a tensor of another dtype, or a dtype that is not a quantized one.
    ShapeError
        If there is not one scale and one zero point for each channel.
    ValueRangeError
        For an axis that the tensor does not have, or a zero point that the dtype does not hold.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([[1.0, 2.0], [1.0, 2.0]])
    >>> q = tt.quantize_per_channel(x, tt.tensor([0.5, 0.25]), tt.tensor([0, 10]), 0, tt.quint8)
    >>> q.int_repr()
    tensor([[ 2,  4],
            [14, 18]], dtype=tt.uint8)
    """
    name = "quantize_per_channel"
    x, own = _checked(name, input, dtype)
    quantizer = _of_channels(name, x, scales, zero_points, axis, own)
    return made(rounded(x, quantizer, own), own, quantizer)


def _of_channels(name: str, x: Tensor, scales: Any, zero_points: Any, axis: int, dtype: dtype) -> PerChannel:
    """Return the quantizer of channels, which fit the shape and the dtype."""
    for argument, value in (("scales", scales), ("zero_points", zero_points)):
        if not isinstance(value, Tensor):
            raise errors.ArgumentError(
                name, f"argument {argument!r} must be Tensor, not {type(value).__name__}"
            )
        if value.ndim != 1:
            raise errors.ShapeError(
                f"{name}(): {argument} have one dimension, not the shape {list(value.shape)}"
            )
    if scales.shape != zero_points.shape:
        raise errors.ShapeError(
            f"{name}(): number of elements in scales and zero_points must match, got {len(scales)} and "
            f"{len(zero_points)}"
        )
    if not 0 <= axis < x.ndim:
        raise errors.ValueRangeError(f"{name}(): axis must be from 0 to {x.ndim - 1}, got {axis}")
    if len(scales) != x.shape[axis]:
        raise errors.ShapeError(
            f"{name}(): length of scales must equal to channel: expected {x.shape[axis]}, got {len(scales)}"
        )
    # PyTorch has a scheme for fractional zero points, with both in float32.
    fractional = zero_points.dtype.is_floating_point
    points = ops.to.dtype(ops.detach(zero_points), "float32" if fractional else "int64").cpu().numpy().copy()
    if not fractional:
        for point in points.tolist():
            _check_zero_point(name, point, dtype)
    wide = ops.to.dtype(ops.detach(scales), "float32" if fractional else "float64").cpu().numpy().copy()
    return PerChannel(wide, points, axis)


def _own_dtype(name: str, input: Any) -> dtype:
    """Return the quantized dtype whose integers a tensor has."""
    if isinstance(input, Tensor) and input.layout.name == "strided":
        for own in QUANTIZED:
            if from_numpy_dtype(own.numpy) is input.dtype:
                return own
    kind = input.dtype if isinstance(input, Tensor) else type(input).__name__
    raise errors.DtypeError(f"{name}(): expected a strided tensor of int8, uint8 or int32, got {kind}")


def over_integers(ints: Tensor, scale: Any, zero_point: Any, axis: int | None = None) -> Tensor:
    """Return the quantized tensor of given integers, in their memory.

    Parameters
    ----------
    ints : Tensor
        Strided, of int8, uint8 or int32.
    scale, zero_point : float and int, or Tensor
        For the whole tensor, or one of each for each channel.
    axis : int, optional
        The dimension of the channels.

    Raises
    ------
    DtypeError, ShapeError, ValueRangeError
        As `quantize_per_tensor` and `quantize_per_channel` do.

    Examples
    --------
    >>> import tt
    >>> from tt.plugins.quantized.construct import over_integers
    >>> over_integers(tt.tensor([1, 2], dtype=tt.int8), 0.5, 0).dequantize()
    tensor([0.5000, 1.0000])
    """
    name = "over_integers"
    own = _own_dtype(name, ints)
    if axis is not None:
        return made(ints, own, _of_channels(name, ints, scale, zero_point, axis, own))
    quantizer = PerTensor(_scale(name, scale), _whole(name, zero_point))
    _check_zero_point(name, quantizer.zero_point, own)
    return made(ints, own, quantizer)


def empty_quantized(
    size: Sequence[int],
    qtensor: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor with the quantizer of another, whose integers are not set.

    Parameters
    ----------
    size : sequence of int
        Its shape.
    qtensor : Tensor
        The quantized tensor.
    dtype, layout, device, pin_memory, memory_format
        By default those of `qtensor`.  The dtype may only be the same.

    Raises
    ------
    ArgumentError
        When `qtensor` is not quantized.
    DtypeError
        For another dtype.
    ShapeError
        When the size does not have the channels of `qtensor`.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_tensor(tt.zeros(2), 0.5, 2, tt.quint8)
    >>> tt.empty_quantized([2, 3], q).q_zero_point()
    2
    """
    name = "empty_quantized"
    if not is_quantized(qtensor):
        raise errors.ArgumentError(name, "argument 'qtensor' must be a quantized tensor")
    if dtype is not None and to_dtype(dtype) is not qtensor.dtype:
        raise errors.DtypeError(f"{name}(): dtype must be that of qtensor, {qtensor.dtype}, not {dtype}")
    # Quantized tensors of PyTorch say that they are strided.
    if layout is not None and layout_name(layout) not in ("quantized", "strided"):
        raise errors.LayoutError(f"{name}(): a quantized tensor is not of the layout {layout}")
    quantizer, shape = quantizer_of(qtensor), list(size)
    if isinstance(quantizer, PerChannel) and (
        quantizer.axis >= len(shape) or shape[quantizer.axis] != len(quantizer.scales)
    ):
        raise errors.ShapeError(
            f"{name}(): dimension {quantizer.axis} has the {len(quantizer.scales)} channels of qtensor, got the size "
            f"{shape}"
        )
    target = qtensor.device if device is None else device
    kind = from_numpy_dtype(qtensor.dtype.numpy)
    ints = ops.empty(shape, dtype=kind, device=target, pin_memory=pin_memory, memory_format=memory_format)
    return made(ints, qtensor.dtype, quantizer)
