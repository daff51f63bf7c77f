"""Two tensors that exchange their identities."""

from __future__ import annotations

import copyreg
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
        If one is the result of a computation that is recorded, or their classes have different slots.

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
    slots = _slots_of(type(t1))
    if slots != _slots_of(type(t2)):
        raise RuntimeError("swap_tensors(): Cannot swap t1 and t2 if they have different slots")
    first, second = _taken(t1, slots), _taken(t2, slots)
    _put(t1, *second)
    _put(t2, *first)


def _slots_of(kind: type) -> set[str]:
    """Return the slots that subclasses of `Tensor` add."""
    added = kind.__mro__[: kind.__mro__.index(tt.Tensor)]
    return {name for cls in added for name in copyreg._slotnames(cls)} - set(copyreg._slotnames(tt.Tensor))  # type: ignore[attr-defined]


def _taken(tensor: tt.Tensor, slots: set[str]) -> tuple[Any, ...]:
    """Return the contents of a tensor, and take its gradient and the values of its slots from it."""
    grad, needs_grad = tensor.grad, tensor.requires_grad
    tensor.grad = None
    tensor.requires_grad_(False)
    values = {name: getattr(tensor, name) for name in slots if hasattr(tensor, name)}
    for name in values:
        delattr(tensor, name)
    return tensor.detach(), grad, needs_grad, type(tensor), tensor.__dict__, values


def _put(
    tensor: tt.Tensor,
    data: tt.Tensor,
    grad: tt.Tensor | None,
    needs_grad: bool,
    kind: type,
    attributes: dict[str, Any],
    values: dict[str, Any],
) -> None:
    replace_data(tensor, data)
    tensor.__class__ = kind
    tensor.__dict__ = attributes
    for name, value in values.items():
        setattr(tensor, name, value)
    tensor.requires_grad_(needs_grad)
    tensor.grad = grad
