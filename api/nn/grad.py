"""Gradients of convolutions with respect to their input and their weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tt
import tt.nn.functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Size = int | Sequence[int]


def _gradient(
    conv: Callable[..., Any], input: Any, weight: Any, grad_output: tt.Tensor, options: tuple[Any, ...]
) -> tt.Tensor:
    """Return the gradient of the one of input and weight that is a size."""
    # Only the shape matters: convolution is linear in each operand, so its gradient does not read the
    # value.
    sized = tt.empty(
        tuple(weight if tt.is_tensor(input) else input), dtype=grad_output.dtype, device=grad_output.device
    ).requires_grad_()
    stride, padding, dilation, groups = options
    first, second = (input.detach(), sized) if tt.is_tensor(input) else (sized, weight.detach())
    # Callers may be in no_grad, as PyTorch's functions work there too.
    with tt.enable_grad():
        output = conv(first, second, None, stride, padding, dilation, groups)
    gradient: tt.Tensor | None = tt.autograd.grad(output, sized, grad_output)[0]
    assert gradient is not None
    return gradient


def conv1d_input(
    input_size: Sequence[int],
    weight: tt.Tensor,
    grad_output: tt.Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tt.Tensor:
    """Return the gradient of the input of `conv1d`.

    Parameters
    ----------
    input_size : sequence of int
        The shape of the input.
    weight, grad_output : Tensor
        The weight, and the gradient of the output.
    stride, padding, dilation, groups
        Those of the convolution.

    Examples
    --------
    >>> import tt
    >>> tt.nn.grad.conv1d_input((1, 1, 4), tt.ones(1, 1, 2), tt.ones(1, 1, 3)).sum()
    tensor(6.)
    """
    return _gradient(F.conv1d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: tt.Tensor,
    weight_size: Sequence[int],
    grad_output: tt.Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tt.Tensor:
    """Return the gradient of the weight of `conv1d`.

    Parameters
    ----------
    input : Tensor
        The input.
    weight_size : sequence of int
        The shape of the weight.
    grad_output : Tensor
        The gradient of the output.
    stride, padding, dilation, groups
        Those of the convolution.

    Examples
    --------
    >>> import tt
    >>> tt.nn.grad.conv1d_weight(tt.ones(1, 1, 4), (1, 1, 2), tt.ones(1, 1, 3)).sum()
    tensor(6.)
    """
    return _gradient(F.conv1d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Sequence[int],
    weight: tt.Tensor,
    grad_output: tt.Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tt.Tensor:
    """Return the gradient of the input of `conv2d`.

    Parameters
    ----------
    input_size : sequence of int
        The shape of the input.
    weight, grad_output : Tensor
        The weight, and the gradient of the output.
    stride, padding, dilation, groups
        Those of the convolution.

    Examples
    --------
    >>> import tt
    >>> tt.nn.grad.conv2d_input((1, 1, 4, 4), tt.ones(1, 1, 2, 2), tt.ones(1, 1, 3, 3)).sum()
    tensor(36.)
    """
    return _gradient(F.conv2d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: tt.Tensor,
    weight_size: Sequence[int],
    grad_output: tt.Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tt.Tensor:
    """Return the gradient of the weight of `conv2d`.

    Parameters
    ----------
    input : Tensor
        The input.
    weight_size : sequence of int
        The shape of the weight.
    grad_output : Tensor
        The gradient of the output.
    stride, padding, dilation, groups
        Those of the convolution.

    Examples
    --------
    >>> import tt
    >>> tt.nn.grad.conv2d_weight(tt.ones(1, 1, 4, 4), (1, 1, 2, 2), tt.ones(1, 1, 3, 3)).sum()
    tensor(36.)
    """
    return _gradient(F.conv2d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Sequence[int],
    weight: tt.Tensor,
    grad_output: tt.Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tt.Tensor:
    """Return the gradient of the input of `conv3d`.

    Parameters
    ----------
    input_size : sequence of int
        The shape of the input.
    weight, grad_output : Tensor
        The weight, and the gradient of the output.
    stride, padding, dilation, groups
        Those of the convolution.

    Examples
    --------
    >>> import tt
    >>> tt.nn.grad.conv3d_input((1, 1, 4, 4, 4), tt.ones(1, 1, 2, 2, 2), tt.ones(1, 1, 3, 3, 3)).sum()
    tensor(216.)
    """
    return _gradient(F.conv3d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: tt.Tensor,
    weight_size: Sequence[int],
    grad_output: tt.Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tt.Tensor:
    """Return the gradient of the weight of `conv3d`.

    Parameters
    ----------
    input : Tensor
        The input.
    weight_size : sequence of int
        The shape of the weight.
    grad_output : Tensor
        The gradient of the output.
    stride, padding, dilation, groups
        Those of the convolution.

    Examples
    --------
    >>> import tt
    >>> tt.nn.grad.conv3d_weight(tt.ones(1, 1, 4, 4, 4), (1, 1, 2, 2, 2), tt.ones(1, 1, 3, 3, 3)).sum()
    tensor(216.)
    """
    return _gradient(F.conv3d, input, weight_size, grad_output, (stride, padding, dilation, groups))
