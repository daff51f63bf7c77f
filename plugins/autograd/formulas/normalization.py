"""Formulas of normalization.  g is the gradient of the result.

Each has an operator for all gradients at once, which computes mean and variance again: the graph keeps nothing but the
input.  Second derivatives go through the composites of these operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Tensor, ops, promote_types
from tt.plugins.autograd.formulas.helpers import size_of
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

Gradients = tuple[Any, ...]


def wanted(found: Gradients, *arguments: Any) -> Gradients:
    """Return the gradient of the input, and the gradients of the given parameters."""
    return found[0], *(None if a is None else f for f, a in zip(found[1:], arguments, strict=True))


def in_wider_dtype(
    backward: Callable[..., Gradients], g: Tensor, input: Tensor, rest: tuple[Any, ...], *parameters: Any
) -> Gradients:
    """Return the gradients, in the dtype of the parameters where that is wider than the input's.

    The operators round all gradients to the dtype of the input.  Those of float32 parameters are sums over a batch of
    half precision, so they would lose what keeping the parameters in float32 is for.
    """
    dtype = next((p.dtype for p in parameters if p is not None), input.dtype)
    if dtype is input.dtype or promote_types(dtype, input.dtype) is not dtype:
        return wanted(backward(g, input, *rest), *parameters)
    grads = wanted(backward(g.to(dtype), input.to(dtype), *rest), *parameters)
    return grads[0].to(input.dtype), *grads[1:]


def layer_norm(
    g: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Gradients:
    """Through numbers with mean 0 and variance 1: g minus its mean and its component along them."""
    return in_wider_dtype(ops._layer_norm_backward, g, input, (normalized_shape, weight, eps), weight, bias)


def rms_norm(
    g: Tensor, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: Any
) -> Gradients:
    """Through numbers whose squares have the mean 1: g minus its component along them."""
    return in_wider_dtype(ops._rms_norm_backward, g, input, (normalized_shape, weight, eps), weight)


def group_norm(
    g: Tensor, input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Gradients:
    """As for layer_norm, in groups of channels."""
    return in_wider_dtype(ops._group_norm_backward, g, input, (num_groups, weight, eps), weight, bias)


def batch_norm(
    gs: Sequence[Tensor | None],
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    training: bool,
    eps: float,
) -> Gradients:
    """As for layer_norm, in channels; without training, through the running statistics instead."""
    g, to_mean, to_var = gs
    grads: Gradients = (None, None, None)
    if g is not None:
        parts = ops._batch_norm_backward(g, input, weight, mean, var, training, eps)
        grads = wanted(parts, weight, bias)
        # Mean and variance are arguments then, and may have a history of their own.
        if not training:
            square = 1 / (var + eps)
            scale = square if weight is None else weight * square
            root = ops.sqrt(square)
            to_mean = plus(to_mean, -parts[2] * (root if weight is None else weight * root))
            to_var = plus(to_var, parts[1] * scale * -0.5)
    if not training:
        return *grads, to_mean, to_var
    shape = (-1, *(1,) * (input.ndim - 2))
    count = max(size_of(input.shape, None) // max(input.shape[1], 1), 1)  # without elements, by any number
    more = None if to_mean is None else ops.expand(ops.reshape(to_mean / count, shape), tuple(input.shape))
    if to_var is not None:
        apart = input - ops.reshape(mean, shape)
        more = plus(more, ops.reshape(to_var * (2 / count), shape) * apart)
    return plus(grads[0], more), *grads[1:], None, None


def plus(one: Tensor | None, other: Tensor | None) -> Any:
    """Return the sum of two gradients that may be absent."""
    return other if one is None else one if other is None else one + other


d.joint("layer_norm", layer_norm)
d.joint("rms_norm", rms_norm)
d.joint("group_norm", group_norm)
d.joint("_batch_norm", batch_norm)


# --- neighbouring channels -------------------------------------------------------------------------------------

d.of(
    "_local_response_norm",
    input=lambda g, input, size, alpha, beta, k: ops._local_response_norm_backward(
        g, input, size, alpha, beta, k
    ),
)
