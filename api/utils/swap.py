"""Two tensors that exchange their identities."""

from __future__ import annotations

from typing import Any

import tt
from tt.core.methods.memory.replacing import replace_data

__all__ = ["swap_tensors"]


def swap_tensors(t1: tt.Tensor, t2: tt.Tensor) -> None:
    """Exchange two tensors: each reference to the first then refers to the second, and vice versa.

    Data, dtype, shape, gradient, `requires_grad`, class and attributes change places.

    Parameters
    ----------
    t1, t2 : Tensor
        Leaves of the graph, on any devices.

    Raises
    ------
    RuntimeError
        If one is the result of a computation that is recorded.

    Examples
    --------
    >>> import tt
    >>> a, b = tt.ones(2), tt.zeros(3)
    >>> tt.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0., 0., 0.]), tensor([1., 1.]))
    """
    if t1 is t2:
        return
    for tensor in (t1, t2):
        if tensor.grad_fn is not None:
            raise RuntimeError("swap_tensors(): a tensor with a history cannot be swapped\n  try: t.detach()")
    first, second = (_taken(tensor) for tensor in (t1, t2))
    _put(t1, *second)
    _put(t2, *first)


def _taken(tensor: tt.Tensor) -> tuple[Any, ...]:
    """Return the contents of a tensor, and take its gradient from it."""
    grad, needs_grad = tensor.grad, tensor.requires_grad
    tensor.grad = None
    tensor.requires_grad_(False)
    return tensor.detach(), grad, needs_grad, type(tensor), dict(tensor.__dict__)


def _put(
    tensor: tt.Tensor,
    data: tt.Tensor,
    grad: tt.Tensor | None,
    needs_grad: bool,
    kind: type,
    attributes: dict[str, Any],
) -> None:
    replace_data(tensor, data)
    tensor.__class__ = kind
    tensor.__dict__.clear()
    tensor.__dict__.update(attributes)
    tensor.requires_grad_(needs_grad)
    tensor.grad = grad
