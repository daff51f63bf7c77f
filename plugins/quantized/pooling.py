"""Pooling, resampling and normalization of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.core.library import REGISTRY, Tensor, errors, ops
from tt.plugins.quantized.compute import by_level
from tt.plugins.quantized.copies import real_of
from tt.plugins.quantized.handle import ints_of, is_quantized, like, made, per_tensor
from tt.plugins.quantized.quantizer import PerTensor
from tt.plugins.quantized.rounding import rounded

__all__ = [
    "POOLING", "quantized_batch_norm", "quantized_max_pool1d", "quantized_max_pool2d", "quantized_max_pool3d",
]  # fmt: skip

Sizes = int | Sequence[int]


def _max_pool(op: str) -> Callable[..., Any]:
    """Return a pool that takes the largest integer of each window."""

    def kernel(input: Tensor, *args: Any) -> Any:
        per_tensor(op, input)
        # Single precision holds the integers of eight bits, and double those of 32.
        wide = ops.to.dtype(ints_of(input), "float32" if input.dtype.itemsize == 1 else "float64")
        result = REGISTRY.overload(op).execute((wide, *args))
        if isinstance(result, Tensor):
            return like(input, ops.to.dtype(result, ints_of(input).dtype))
        values, indices = result
        return like(input, ops.to.dtype(values, ints_of(input).dtype)), indices

    return kernel


def interpolate(input: Tensor, size: Any, scale_factor: Any, mode: str, *options: Any) -> Tensor:
    """Return the tensor at another size, by the nearest element or by linear interpolation."""
    if mode not in ("nearest", "nearest-exact", "bilinear"):
        raise errors.UnsupportedError(
            f"interpolate(): quantized tensors are resampled by nearest, nearest-exact or bilinear, not {mode!r}\n"
            "  try: input.dequantize()"
        )
    result: Tensor = by_level("interpolate")(input, size, scale_factor, mode, *options)
    return result


AVERAGES: Final = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
)  # fmt: skip
POOLING: Final[dict[str, Callable[..., Any]]] = {
    **{op: by_level(op) for op in AVERAGES},
    **{op: _max_pool(op) for op in ("max_pool1d", "max_pool2d", "max_pool3d")},
    "interpolate": interpolate,
}
"""Operator -> its function."""


# --- functions of the package tt ------------------------------------------------------------------------------------


def _pooled(
    dims: int,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> Tensor:
    name = f"quantized_max_pool{dims}d"
    _expect(name, input)
    operator = f"max_pool{dims}d"
    step = stride if isinstance(stride, int) or len(stride) else None
    result: Tensor = getattr(ops, operator)(input, kernel_size, step, padding, dilation, ceil_mode)
    return result


def _expect(name: str, input: Any) -> None:
    if not is_quantized(input):
        kind = f"{input.dtype}" if isinstance(input, Tensor) else type(input).__name__
        raise errors.LayoutError(
            f"{name}(): expected a quantized tensor, got {kind}\n"
            "  try: tt.quantize_per_tensor(x, scale, zero_point, tt.quint8)"
        )


def quantized_max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the largest number in each window of a quantized tensor.

    Parameters
    ----------
    input : Tensor
        Quantized with one scale, of shape (N, C, L) or (C, L).
    kernel_size, stride, padding, dilation, ceil_mode
        As of `tt.nn.functional.max_pool1d`.

    Raises
    ------
    LayoutError
        For a tensor that is not quantized, or with a scale for each channel.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_tensor(tt.tensor([[0.0, 2.0, 1.0, 3.0]]), 0.5, 0, tt.quint8)
    >>> tt.quantized_max_pool1d(q, 2).dequantize()
    tensor([[2., 3.]])
    """
    return _pooled(1, input, kernel_size, stride, padding, dilation, ceil_mode)


def quantized_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the largest number in each window of quantized images; see `quantized_max_pool1d`.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_tensor(tt.tensor([[[0.0, 2.0], [1.0, 3.0]]]), 0.5, 0, tt.quint8)
    >>> tt.quantized_max_pool2d(q, 2).dequantize()
    tensor([[[3.]]])
    """
    return _pooled(2, input, kernel_size, stride, padding, dilation, ceil_mode)


def quantized_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the largest number in each window of quantized volumes; see `quantized_max_pool1d`.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_tensor(tt.arange(8.0).reshape(1, 2, 2, 2), 0.5, 0, tt.quint8)
    >>> tt.quantized_max_pool3d(q, 2).dequantize()
    tensor([[[[7.]]]])
    """
    return _pooled(3, input, kernel_size, stride, padding, dilation, ceil_mode)


def quantized_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Tensor:
    """Return quantized images or volumes normalized by known statistics, with a scale of their own.

    Parameters
    ----------
    input : Tensor
        Quantized with one scale, of shape (N, C, H, W) or (N, C, D, H, W).
    weight, bias : Tensor, optional
        A factor and a summand for each channel.
    mean, var : Tensor
        The statistics of each channel.
    eps : float
        Added to the variance.
    output_scale, output_zero_point : float, int
        Of the result.

    Raises
    ------
    LayoutError
        For a tensor that is not quantized, or with a scale for each channel.
    ShapeError
        For other numbers of dimensions.

    Examples
    --------
    >>> import tt
    >>> q = tt.quantize_per_tensor(tt.arange(4.0).reshape(1, 1, 2, 2), 0.5, 0, tt.quint8)
    >>> tt.quantized_batch_norm(q, None, None, tt.ones(1), tt.ones(1), 0.0, 1.0, 10).int_repr()
    tensor([[[[ 9, 10],
              [11, 12]]]], dtype=tt.uint8)
    """
    name = "quantized_batch_norm"
    _expect(name, input)
    per_tensor(name, input)
    if input.ndim not in (4, 5):
        raise errors.ShapeError(f"{name}(): expected four or five dimensions, got {list(input.shape)}")
    parameters = [None if p is None else ops.detach(p) for p in (weight, bias, mean, var)]
    result = ops.batch_norm(
        real_of(input), parameters[2], parameters[3], parameters[0], parameters[1], False, 0.0, eps
    )
    quantizer = PerTensor(float(output_scale), int(output_zero_point))
    return made(rounded(result, quantizer, input.dtype), input.dtype, quantizer)
