"""Batch normalization in steps: statistics, their combination over processes, the result and the gradient.

Programs that normalize over several processes call these: each computes the statistics of its part, all exchange them,
and each normalizes with the combined ones.
"""

from __future__ import annotations

from typing import Any

import tt
from tt.errors import ShapeError
from tt.library import overridable

__all__ = [
    "batch_norm_backward_elemt",
    "batch_norm_backward_reduce",
    "batch_norm_elemt",
    "batch_norm_gather_stats",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_stats",
    "batch_norm_update_stats",
]

Tensor = Any

# --- helpers -----------------------------------------------------------------------------------------------------


def _wide(tensor: Tensor) -> Tensor:
    """Return a tensor in the precision of statistics: half precision in float32."""
    return tensor.float() if tensor.dtype in (tt.float16, tt.bfloat16) else tensor


def _dims(name: str, input: Tensor) -> tuple[int, ...]:
    if input.ndim < 2:
        raise ShapeError(
            f"{name}(): the input needs dimensions of examples and channels, and has {input.ndim}"
        )
    return (0, *range(2, input.ndim))


def _channels(vector: Tensor, like: Tensor) -> Tensor:
    """Return one number for each channel in a shape that broadcasts."""
    return vector.reshape(1, -1, *(1,) * (like.ndim - 2))


def _moved(running: Tensor | None, found: Tensor, momentum: float) -> None:
    """Move a running statistic towards what was found, in place."""
    if running is not None:
        running.copy_(running * (1 - momentum) + found.to(running.dtype) * momentum)


# --- forward -----------------------------------------------------------------------------------------------------


@overridable
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return the mean of each channel and the inverse of its standard deviation.

    Parameters
    ----------
    input : Tensor
        Of shape (N, C, ...).
    eps : float
        Added to the variances.

    Returns
    -------
    mean, invstd : Tensor
        Of shape (C,), of float32 for half precision.

    Raises
    ------
    ShapeError
        If the input has fewer than two dimensions.

    Examples
    --------
    >>> import tt
    >>> tt.batch_norm_stats(tt.tensor([[1.0, 0.0], [3.0, 0.0]]), 0.0)[0]
    tensor([2., 0.])
    """
    var, mean = tt.var_mean(_wide(input), _dims("batch_norm_stats", input), correction=0)
    return mean, tt.rsqrt(var + eps)


@overridable
def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Return mean and variance of each channel, and move the running statistics towards them, in place.

    Parameters
    ----------
    input : Tensor
        Of shape (N, C, ...).
    running_mean, running_var : Tensor, optional
        Of shape (C,); the variance moves towards the unbiased one.
    momentum : float
        The weight of the new statistics.

    Returns
    -------
    mean, var : Tensor
        Of shape (C,); the variance is the biased one.

    Raises
    ------
    ShapeError
        If the input has fewer than two dimensions.

    Examples
    --------
    >>> import tt
    >>> running = tt.zeros(1)
    >>> mean, var = tt.batch_norm_update_stats(tt.tensor([[1.0], [3.0]]), running, None, 0.5)
    >>> mean, var, running
    (tensor([2.]), tensor([1.]), tensor([1.]))
    """
    dims = _dims("batch_norm_update_stats", input)
    if not input.numel():
        raise ShapeError(
            f"batch_norm_update_stats(): the input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    var, mean = tt.var_mean(_wide(input), dims, correction=0)
    count = input.numel() // max(1, input.shape[1])
    with tt.no_grad():
        _moved(running_mean, mean, momentum)
        # As in PyTorch, the variance of one element is not a number.
        _moved(running_var, var * (count / (count - 1) if count > 1 else float("nan")), momentum)
    return mean, var


@overridable
def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    """Return the input normalized by given statistics, scaled and shifted.

    Parameters
    ----------
    input : Tensor
        Of shape (N, C, ...).
    weight, bias : Tensor, optional
        Of shape (C,).
    mean, invstd : Tensor
        Of shape (C,): what `batch_norm_stats` or `batch_norm_gather_stats_with_counts` returned.
    eps : float
        Not used: `invstd` has it.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([[1.0], [3.0]])
    >>> tt.batch_norm_elemt(x, None, None, *tt.batch_norm_stats(x, 0.0), 0.0)
    tensor([[-1.],
            [ 1.]])
    """
    _dims("batch_norm_elemt", input)
    result = (_wide(input) - _channels(mean, input)) * _channels(invstd, input)
    if weight is not None:
        result = result * _channels(_wide(weight), input)
    if bias is not None:
        result = result + _channels(_wide(bias), input)
    return result.to(input.dtype)


def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Combine the statistics of several processes, and move the running statistics, in place.

    Parameters
    ----------
    input : Tensor
        Of this process; only its dtype counts.
    mean, invstd : Tensor
        Of shape (processes, C).
    running_mean, running_var : Tensor, optional
        Of shape (C,).
    momentum : float
        The weight of the new statistics.
    eps : float
        The statistics in `invstd`, and those of the result.
    counts : Tensor
        How many elements a channel had in each process, of shape (processes,).

    Returns
    -------
    mean, invstd : Tensor
        Of shape (C,), of all elements.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([[1.0], [3.0], [8.0]])
    >>> parts = [tt.batch_norm_stats(part, 0.0) for part in (x[:2], x[2:])]
    >>> mean, invstd = (tt.stack(each) for each in zip(*parts))
    >>> invstd[1] = tt.inf  # one element has no deviation
    >>> tt.batch_norm_gather_stats_with_counts(x, mean, invstd, None, None, 0.1, 0.0, tt.tensor([2.0, 1.0]))[0]
    tensor([4.])
    """
    if mean.ndim != 2 or mean.shape != invstd.shape or counts.numel() != mean.shape[0]:
        raise ShapeError(
            "batch_norm_gather_stats_with_counts(): mean and invstd have the shape (processes, channels) and counts "
            f"one number for each process, not {list(mean.shape)}, {list(invstd.shape)} and {list(counts.shape)}"
        )
    mean, invstd = _wide(mean), _wide(invstd)
    weights = counts.reshape(-1, 1).to(mean.dtype)
    total = weights.sum()
    combined = (mean * weights).sum(0) / total
    within = invstd.square().reciprocal() - eps
    # The variance of the union is the mean variance within the parts plus that of their means.
    squares = ((within + (mean - combined).square()) * weights).sum(0)
    with tt.no_grad():
        _moved(running_mean, combined, momentum)
        _moved(running_var, squares / (total - 1), momentum)
    return combined, tt.rsqrt(squares / total + eps)


def batch_norm_gather_stats(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Combine the statistics of processes that had the same number of elements in each channel.

    Parameters
    ----------
    input, mean, invstd, running_mean, running_var, momentum, eps
        As for `batch_norm_gather_stats_with_counts`.
    count : int
        How many elements a channel had in each process.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([[1.0], [3.0], [5.0], [7.0]])
    >>> parts = [tt.batch_norm_stats(part, 0.0) for part in (x[:2], x[2:])]
    >>> mean, invstd = (tt.stack(each) for each in zip(*parts))
    >>> tt.batch_norm_gather_stats(x, mean, invstd, None, None, 0.1, 0.0, 2)[0]
    tensor([4.])
    """
    counts = tt.full((mean.shape[0],), float(count), device=mean.device)
    return batch_norm_gather_stats_with_counts(
        input, mean, invstd, running_mean, running_var, momentum, eps, counts
    )


# --- backward ----------------------------------------------------------------------------------------------------


def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Return the sums over a process's elements that the gradient needs.

    Parameters
    ----------
    grad_out, input : Tensor
        Of shape (N, C, ...).
    mean, invstd : Tensor
        Of shape (C,).
    weight : Tensor, optional
        Of shape (C,).
    input_g, weight_g, bias_g : bool
        Which gradients are needed.

    Returns
    -------
    sum_dy, sum_dy_xmu, grad_weight, grad_bias : Tensor or None
        The sums of the gradient and of its product with `input - mean` for each channel, and the gradients of weight
        and bias; None for those that are not needed.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([[1.0], [3.0]])
    >>> mean, invstd = tt.batch_norm_stats(x, 0.0)
    >>> tt.batch_norm_backward_reduce(tt.ones(2, 1), x, mean, invstd, None, True, False, False)
    (tensor([2.]), tensor([0.]), None, None)
    """
    dims = _dims("batch_norm_backward_reduce", input)
    grad = _wide(grad_out)
    sum_dy = grad.sum(dims)
    sum_dy_xmu = (grad * (_wide(input) - _channels(mean, input))).sum(dims)
    kind = weight.dtype if weight is not None else sum_dy.dtype
    return (
        sum_dy if input_g else None,
        sum_dy_xmu if input_g else None,
        (sum_dy_xmu * invstd).to(kind) if weight_g else None,
        sum_dy.to(kind) if bias_g else None,
    )


@overridable
def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """Return the gradient of the input from the sums over all processes.

    Parameters
    ----------
    grad_out, input : Tensor
        Of shape (N, C, ...).
    mean, invstd : Tensor
        Of shape (C,), of all processes.
    weight : Tensor, optional
        Of shape (C,).
    sum_dy, sum_dy_xmu : Tensor
        What `batch_norm_backward_reduce` returned, added up over all processes.
    count : Tensor
        How many elements a channel had in each process.

    Examples
    --------
    >>> import tt
    >>> x, grad = tt.tensor([[1.0], [3.0]]), tt.ones(2, 1)
    >>> mean, invstd = tt.batch_norm_stats(x, 0.0)
    >>> sums = tt.batch_norm_backward_reduce(grad, x, mean, invstd, None, True, False, False)
    >>> tt.batch_norm_backward_elemt(grad, x, mean, invstd, None, sums[0], sums[1], tt.tensor([2]))
    tensor([[0.],
            [0.]])
    """
    _dims("batch_norm_backward_elemt", input)
    share = 1 / count.sum().to(sum_dy.dtype)
    # The mean and the variance depend on each element: their parts of the gradient are taken off.
    slope = _channels(sum_dy_xmu * invstd.square() * share, input)
    centred = _wide(grad_out) - _channels(sum_dy * share, input)
    centred = centred - (_wide(input) - _channels(mean, input)) * slope
    scale = invstd if weight is None else invstd * _wide(weight)
    return (centred * _channels(scale, input)).to(input.dtype)
