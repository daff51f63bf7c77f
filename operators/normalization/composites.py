"""Composites that scale tensors to a common mean, variance or length."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DimensionCountError,
    DtypeError,
    DtypeNotServedError,
    ShapeError,
    ValueRangeError,
)
from tt.core.shapes.geometry import broadcast
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import finfo
from tt.operators.helpers import as_type, check_shapes, moments, widened
from tt.operators.normalization.shapes import check_parameters

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- over the last dimensions ----------------------------------------------------------------------------------


def _check_dtypes(op: str, input: Tensor, *parameters: Any) -> None:
    """Raise unless the input is floating point, and the parameters have its dtype or, for half types, float32."""
    if not input.dtype.is_floating_point:
        raise DtypeNotServedError(op, f"{op}(): is defined for floating point numbers, not for {input.dtype}")
    check_parameters(op, input, *parameters)


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return x * weight + bias, without those that are None."""
    x = x if weight is None else ops.mul(x, widened(weight))
    return x if bias is None else ops.add(x, widened(bias))


def _standardized(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """Return numbers with mean 0 and variance 1 along dimensions, and the scale."""
    var, mean = moments(x, dims, True)
    scale = ops.rsqrt(ops.add(var, eps))
    return ops.mul(ops.sub(x, mean), scale), scale


def _through(g: Tensor, x: Tensor, scale: Tensor, dims: tuple[int, ...], centred: bool = True) -> Tensor:
    """Return the gradient of what became x, with variance 1 (and mean 0), by a scale along dimensions."""
    # The derivative by the input is a projection: what mean and scale absorb does not reach the result.
    rest = ops.mul(x, ops.mean.dim(ops.mul(g, x), dims, True))
    if centred:
        rest = ops.add(rest, ops.mean.dim(g, dims, True))
    return ops.mul(ops.sub(g, rest), scale)


def _leading(x: Tensor, count: int) -> tuple[int, ...]:
    """Return all dimensions but the last ones."""
    return tuple(range(x.ndim - count))


def _summed(x: Tensor, dims: tuple[int, ...], dtype: Dtype) -> Tensor:
    """Return the sum along dimensions, of which there may be none."""
    return as_type(ops.sum.dim(x, dims) if dims else ops.clone(x), dtype)


@composite("layer_norm")
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    _check_dtypes("layer_norm", input)
    check_shapes("layer_norm", input, normalized_shape, weight, bias)
    dims = tuple(range(-len(normalized_shape), 0))
    return as_type(_affine(_standardized(widened(input), dims, eps)[0], weight, bias), input.dtype)


@composite("_layer_norm_backward")
def layer_norm_backward(
    grad: Tensor, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float
) -> tuple[Any, Any, Any]:
    check_shapes("_layer_norm_backward", grad, input, normalized_shape, weight)
    dims, before = tuple(range(-len(normalized_shape), 0)), _leading(input, len(normalized_shape))
    g, (x, scale) = widened(grad), _standardized(widened(input), dims, eps)
    return (
        as_type(_through(_affine(g, weight, None), x, scale, dims), input.dtype),
        _summed(ops.mul(g, x), before, input.dtype),
        _summed(g, before, input.dtype),
    )


def _root(x: Tensor, dims: tuple[int, ...], eps: float | None) -> Tensor:
    """Return one over the root of the mean of squares."""
    eps = finfo(x.dtype.to_real()).eps if eps is None else eps
    return ops.rsqrt(ops.add(ops.mean.dim(ops.square(x), dims, True), eps))


@composite("rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> Tensor:
    check_shapes("rms_norm", input, normalized_shape, weight)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise DtypeNotServedError("rms_norm", f"rms_norm(): is not defined for {input.dtype}")
    x = widened(input)
    scale = _root(x, tuple(range(-len(normalized_shape), 0)), eps)
    return as_type(_affine(ops.mul(x, scale), weight, None), input.dtype)


@composite("_rms_norm_backward")
def rms_norm_backward(
    grad: Tensor, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Any, Any]:
    check_shapes("_rms_norm_backward", grad, input, normalized_shape, weight)
    dims = tuple(range(-len(normalized_shape), 0))
    g, x = widened(grad), widened(input)
    scale = _root(x, dims, eps)
    # Conjugates, for the mean of squares (not of absolute values) of complex numbers.
    x = ops.conj(ops.mul(x, scale))
    scale = ops.conj(scale)
    slope = g if weight is None else ops.mul(g, ops.conj(widened(weight)))
    return (
        as_type(_through(slope, x, scale, dims, centred=False), input.dtype),
        _summed(ops.mul(g, x), _leading(input, len(normalized_shape)), input.dtype),
    )


# --- by channel ------------------------------------------------------------------------------------------------


def _by_channel(parameter: Tensor | None, ndim: int) -> Any:
    """Return one number a channel in a shape that broadcasts along dimension 1, in float32 at least."""
    return None if parameter is None else ops.reshape(widened(parameter), (1, -1, *(1,) * (ndim - 2)))


def _check_channels(op: str, input: Tensor, **parameters: Any) -> None:
    for name, value in parameters.items():
        if value is not None and (value.ndim != 1 or value.shape[0] != input.shape[1]):
            raise ShapeError(
                f"{op}(): {name} should contain {input.shape[1]} elements not {value.numel()} (shape "
                f"{list(value.shape)})"
            )


def _move(running: Any, towards: Tensor, momentum: float) -> None:
    """Move a running statistic towards the batch's, in place."""
    if running is not None:
        moved = ops.add(ops.mul(running, 1 - momentum), ops.mul(ops.detach(towards), momentum))
        ops.copy_(running, moved)


@composite("batch_norm")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    if training and eps <= 0:
        raise ValueRangeError(f"batch_norm(): eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueRangeError(f"batch_norm(): eps must be non-negative, but got {eps}")
    _check_dtypes("batch_norm", input, weight, bias, running_mean, running_var)
    if input.ndim < 2 and (not input.ndim or input.numel()):
        raise DimensionCountError(
            f"batch_norm(): expected an input of at least 2 dimensions, got {input.ndim}"
        )
    if input.ndim == 1:
        return ops.clone(input)
    count = input.shape.numel() // max(input.shape[1], 1)
    if training and count == 1:
        raise ValueRangeError(
            f"batch_norm(): training needs several values a channel, and the input has the shape {list(input.shape)}"
        )
    if not training and (running_mean is None or running_var is None):
        raise ValueRangeError("batch_norm(): without training, running_mean and running_var are needed")
    _check_channels(
        "batch_norm", input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var
    )
    w, b, m, v = (None if p is None else widened(p) for p in (weight, bias, running_mean, running_var))
    result, mean, var = ops._batch_norm(widened(input), w, b, m, v, training, eps)
    if training and count:  # a batch of no values has no statistics
        _move(running_mean, mean, momentum)
        # The variance of all numbers, of which the batch is a sample.
        if running_var is not None:
            _move(running_var, ops.mul(var, count / max(count - 1, 1)), momentum)
    return as_type(result, input.dtype)


@composite("_batch_norm")
def batch_norm_statistics(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    eps: float,
) -> tuple[Any, Any, Any]:
    check_shapes("_batch_norm", input, weight, bias, running_mean, running_var, training)
    x = widened(input)
    if training:
        dims = (0, *range(2, input.ndim))
        var, mean = moments(x, dims, True)
    else:
        mean, var = _by_channel(running_mean, input.ndim), _by_channel(running_var, input.ndim)
    scale = ops.rsqrt(ops.add(var, eps))
    scale = scale if weight is None else ops.mul(scale, _by_channel(weight, input.ndim))
    result = _affine(ops.mul(ops.sub(x, mean), scale), None, _by_channel(bias, input.ndim))
    # Copies: the result of a kernel shares no memory with its arguments.
    mean, var = (as_type(ops.clone(ops.reshape(s, (-1,))), input.dtype) for s in (mean, var))
    return as_type(result, input.dtype), mean, var


@composite("_batch_norm_backward")
def batch_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, var: Tensor, training: bool, eps: float
) -> tuple[Any, Any, Any]:
    check_shapes("_batch_norm_backward", grad, input, weight, mean, var)
    g, x, dims = widened(grad), widened(input), (0, *range(2, input.ndim))
    if training:
        # From the input, because the statistics do not record how they depend on it.
        x, scale = _standardized(x, dims, eps)
    else:
        scale = ops.rsqrt(ops.add(_by_channel(var, input.ndim), eps))
        x = ops.mul(ops.sub(x, _by_channel(mean, input.ndim)), scale)
    slope = g if weight is None else ops.mul(g, _by_channel(weight, input.ndim))
    to_input = _through(slope, x, scale, dims) if training else ops.mul(slope, scale)
    return (
        as_type(to_input, input.dtype),
        _summed(ops.mul(g, x), dims, input.dtype),
        _summed(g, dims, input.dtype),
    )


@composite("instance_norm")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    if not use_input_stats and (running_mean is None or running_var is None):
        raise ValueRangeError(
            "instance_norm(): without use_input_stats, running_mean and running_var are needed"
        )
    if input.ndim < 2:
        raise DimensionCountError(
            f"instance_norm(): expected an input of at least 2 dimensions, got {input.ndim}"
        )
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueRangeError(
            f"instance_norm(): training needs several values a channel, and the input has the shape {list(input.shape)}"
        )
    _check_channels(
        "instance_norm", input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var
    )
    if not use_input_stats:
        return ops.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    x, channels = widened(input), input.shape[1]
    if running_mean is not None or running_var is not None:
        count = prod(input.shape[2:])
        var, mean = moments(ops.detach(x), tuple(range(2, input.ndim)), True)
        batch = tuple(d for d in range(input.ndim) if d != 1)
        _move(running_mean, ops.mean.dim(mean, batch), momentum)
        _move(running_var, ops.mul(ops.mean.dim(var, batch), count / max(count - 1, 1)), momentum)
    if not channels:
        return ops.clone(input)
    w, b = (None if p is None else widened(p) for p in (weight, bias))
    # Each channel of each example by itself is a group of one channel.
    return as_type(ops.group_norm(x, channels, w, b, eps), input.dtype)


def _grouped(input: Tensor, num_groups: int, eps: float) -> tuple[Any, Any]:
    """Return groups of channels with mean 0 and variance 1, and the scale."""
    x = widened(input)
    size = prod(input.shape[2:]) * (input.shape[1] // num_groups)
    return _standardized(ops.reshape(x, (input.shape[0], num_groups, size)), (2,), eps)


@composite("group_norm")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    _check_dtypes("group_norm", input)
    check_shapes("group_norm", input, num_groups, weight, bias)
    if not input.numel():
        return ops.clone(input)
    result = ops.reshape(_grouped(input, num_groups, eps)[0], tuple(input.shape))
    if weight is None and bias is None:
        result = ops.clone(
            result
        )  # a program may change it in place, which a view of a tensor inside does not allow
    return as_type(
        _affine(result, _by_channel(weight, input.ndim), _by_channel(bias, input.ndim)), input.dtype
    )


@composite("_group_norm_backward")
def group_norm_backward(
    grad: Tensor, input: Tensor, num_groups: int, weight: Tensor | None, eps: float
) -> tuple[Any, Any, Any]:
    check_shapes("_group_norm_backward", grad, input, num_groups, weight)
    g, dims = widened(grad), (0, *range(2, input.ndim))
    if not input.numel():
        nothing = _summed(g, dims, input.dtype)
        return ops.clone(grad), nothing, ops.clone(nothing)
    groups, scale = _grouped(input, num_groups, eps)
    slope = g if weight is None else ops.mul(g, _by_channel(weight, input.ndim))
    to_input = _through(ops.reshape(slope, tuple(groups.shape)), groups, scale, (2,))
    x = ops.reshape(groups, tuple(input.shape))
    return (
        as_type(ops.reshape(to_input, tuple(input.shape)), input.dtype),
        _summed(ops.mul(g, x), dims, input.dtype),
        _summed(g, dims, input.dtype),
    )


@composite("local_response_norm")
def local_response_norm(input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    if input.ndim < 3:
        raise ValueRangeError(
            f"local_response_norm(): expected an input of at least 3 dimensions, got {input.ndim}"
        )
    if not input.numel():
        return ops.clone(input)
    if input.dtype.is_floating_point:
        return ops._local_response_norm(input, size, alpha, beta, k)
    # Means of integers are cut, as PyTorch's are.
    return ops.div.default(input, ops.pow(_response_divisor(input, size, alpha, k), beta))


def _mean_of_channels(x: Tensor, before: int, after: int) -> Tensor:
    """Return the means of each element and of its neighbours in so many channels; those outside count as zeros."""
    batch, channels = x.shape[:2]
    flat = ops.reshape(x, (batch, 1, channels, prod(x.shape[2:])))
    # Pooling's own padding is the same on both sides, and these differ where the size is even.
    padded = ops.constant_pad_nd(flat, (0, 0, before, after), 0)
    return ops.reshape(ops.avg_pool2d(padded, (before + after + 1, 1), 1), tuple(x.shape))


def _response_divisor(x: Tensor, size: int, alpha: float, k: float) -> Tensor:
    mean = _mean_of_channels(ops.square(x), size // 2, (size - 1) // 2)
    return ops.add(ops.mul(mean, alpha), k)


@composite("_local_response_norm")
def local_response_norm_parts(input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    check_shapes("_local_response_norm", input, size, alpha, beta, k)
    if not input.numel():
        return ops.clone(input)
    x = widened(input)
    return as_type(ops.div.default(x, ops.pow(_response_divisor(x, size, alpha, k), beta)), input.dtype)


@composite("_local_response_norm_backward")
def local_response_norm_backward(
    grad: Tensor, input: Tensor, size: int, alpha: float, beta: float, k: float
) -> Tensor:
    check_shapes("_local_response_norm_backward", grad, input, size, alpha, beta, k)
    if not input.numel():
        return ops.clone(grad)
    g, x = widened(grad), widened(input)
    divisor = _response_divisor(x, size, alpha, k)
    shares = ops.div.default(ops.mul(g, x), ops.pow(divisor, beta + 1))
    # The elements that an element divides are its neighbours in the opposite order.
    shared = ops.mul(x, _mean_of_channels(shares, (size - 1) // 2, size // 2))
    own = ops.div.default(g, ops.pow(divisor, beta))
    return as_type(ops.sub(own, ops.mul(shared, 2 * alpha * beta)), input.dtype)


# --- vectors ---------------------------------------------------------------------------------------------------


def unit(x: Tensor, dim: int, eps: float, p: float = 2) -> Tensor:
    """Return vectors divided by their norm, or by eps where that is smaller."""
    return ops.div.default(x, ops.clamp(ops.linalg_vector_norm(x, p, dim, True), eps))


@composite("normalize")
def normalize(input: Tensor, p: float, dim: int, eps: float) -> Tensor:
    return as_type(unit(widened(input), dim, eps, p), input.dtype)


def _statistics(x: Tensor, dims: tuple[int, ...], eps: float, dtype: Dtype, keepdim: bool) -> tuple[Any, Any]:
    """Return the mean, and the inverse of the standard deviation."""
    var, mean = moments(widened(x), dims, keepdim)
    return as_type(mean, dtype), as_type(ops.rsqrt(ops.add(var, eps)), dtype)


def _dtype(input: Tensor, weight: Tensor | None) -> Any:
    """Return the dtype of the statistics: that of a wider weight."""
    return input.dtype if weight is None else weight.dtype


@composite("native_layer_norm")
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Any, Any, Any]:
    result = ops.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return result, *_statistics(input, dims, eps, _dtype(input, weight), True)


@composite("native_group_norm")
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: int,
    channels: int,
    pixels: int,
    group: int,
    eps: float,
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
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
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


@composite("cosine_similarity")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    dtype = common_dtype(x1, x2)
    if not dtype.is_floating_point:
        raise DtypeError(
            f"cosine_similarity(): expected common dtype to be floating point, yet common dtype is {dtype}"
        )
    shape = broadcast("cosine_similarity", x1.shape, x2.shape)
    first, second = (unit(widened(ops.expand(as_type(x, dtype), shape)), dim, eps) for x in (x1, x2))
    return as_type(ops.sum.dim(ops.mul(first, second), dim), dtype)
