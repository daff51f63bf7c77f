"""Composites of normalization that return the statistics, too, as PyTorch's `native_` functions do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.composites.helpers import as_type, moments, widened
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ShapeError

composites: Final = CompositeTable()
composite = composites.composite


def _statistics(x: Any, dims: tuple[int, ...], eps: float, dtype: Any, keepdim: bool) -> tuple[Any, Any]:
    """Return the mean, and the inverse of the standard deviation."""
    var, mean = moments(widened(x), dims, keepdim)
    return as_type(mean, dtype), as_type(ops.rsqrt(ops.add(var, eps)), dtype)


def _dtype(input: Any, weight: Any) -> Any:
    """Return the dtype of the statistics: that of a wider weight."""
    return input.dtype if weight is None else weight.dtype


@composite("native_layer_norm")
def native_layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    result = ops.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return result, *_statistics(input, dims, eps, _dtype(input, weight), True)


@composite("native_group_norm")
def native_group_norm(
    input: Any, weight: Any, bias: Any, batch: int, channels: int, pixels: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    if (
        input.numel() != batch * channels * pixels
        or input.ndim < 2
        or tuple(input.shape[:2]) != (batch, channels)
    ):
        raise ShapeError(
            f"native_group_norm(): N={batch}, C={channels} and HxW={pixels} do not fit an input of shape "
            f"{list(input.shape)}"
        )
    result = ops.group_norm(input, group, weight, bias, eps)
    groups = ops.reshape(input, (batch, group, channels // group * pixels))
    return result, *_statistics(groups, (2,), eps, _dtype(input, weight), False)


@composite("native_batch_norm")
def native_batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, Any, Any]:
    result = ops.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    dtype = _dtype(input, weight)
    if not training:
        none = ops.empty((0,), dtype=dtype, device=input.device)
        return result, none, ops.clone(none)
    dims = (0, *range(2, input.ndim))
    return result, *_statistics(input, dims, eps, dtype, False)
