"""What autograd adds to tensors: `requires_grad`, `grad`, `backward` and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Tensor, TensorBase, errors
from tt.plugins.autograd.functional import backward as run_backward
from tt.plugins.autograd.graph import STATE, Node, Record, RemovableHandle, Retained, add_hook, leaf_record
from tt.plugins.autograd.views import refresh

__all__ = ["backward", "grad", "grad_fn", "is_leaf", "requires_grad", "requires_grad_"]


def _is_leaf(self: Any) -> bool:
    """Tell whether the tensor is a leaf of the graph: made by the user, or without gradient."""
    return not self.keys & STATE.bit or bool(self.record.leaf)


is_leaf = property(_is_leaf)


# --- requires_grad ---------------------------------------------------------------------------------------------


def _get_requires_grad(self: Any) -> bool:
    """Whether operations on the tensor are recorded, so that gradients flow to or through it.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2)
    >>> x.requires_grad = True
    >>> (x * 2).requires_grad
    True
    """
    return bool(self.keys & STATE.bit)


def _set_requires_grad(self: Any, value: bool) -> None:
    if not isinstance(value, bool):
        raise errors.GradientError(f"requires_grad must be a bool, not {type(value).__name__}")
    if not _is_leaf(self):
        if not value:
            raise errors.GradientError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        return
    if value:
        if not STATE.floating >> self.spec.code & 1:
            raise errors.GradientError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        leaf_record(self)
        self.keys |= STATE.bit
    else:
        self.keys &= ~STATE.bit


requires_grad = property(_get_requires_grad, _set_requires_grad)


def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Say whether operations on the tensor shall be recorded; return the tensor.

    Raises
    ------
    GradientError
        When the dtype has no gradients, or when the tensor is no leaf and `requires_grad` is False.

    Examples
    --------
    >>> import tt
    >>> tt.ones(2).requires_grad_()
    tensor([1., 1.], requires_grad=True)
    """
    _set_requires_grad(self, requires_grad)
    return self


# --- the gradient ----------------------------------------------------------------------------------------------


def _get_grad(self: Any) -> Tensor | None:
    """The gradient that backward passes have added up, or None."""
    record = self.record
    if record is None:
        return None
    if record.leaf:
        found: Tensor | None = record.node.gradient
        return found
    return None if record.retained is None else record.retained.gradient


def _set_grad(self: Any, value: Any) -> None:
    if value is not None:
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        if value is self:
            raise errors.GradientError("can't assign Variable as its own grad")
        if value.dtype is not self.dtype:
            raise errors.GradientError(
                f"attempting to assign a gradient with dtype {value.dtype.name!r} to a tensor with dtype "
                f"{self.dtype.name!r}. The gradient must match the tensor's dtype"
            )
        if value.device != self.device:
            raise errors.GradientError(
                f"attempting to assign a gradient located on device {str(value.device)!r} to a tensor located on "
                f"device {str(self.device)!r}"
            )
        if tuple(value.shape) != tuple(self.shape):
            raise errors.GradientError(
                f"attempting to assign a gradient of size {str(list(value.shape))!r} to a tensor of size "
                f"{str(list(self.shape))!r}. Please ensure that the gradient and the tensor are the same size"
            )
    if _is_leaf(self):
        leaf_record(self).node.gradient = value
    else:
        if self.record.retained is None:
            self.record.retained = Retained()
        self.record.retained.gradient = value


def _delete_grad(self: Any) -> None:
    _set_grad(self, None)


grad = property(_get_grad, _set_grad, _delete_grad)


def retain_grad(self: Any) -> None:
    """Keep the gradient of a tensor that is no leaf in its `.grad` when a backward pass reaches it.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> (y * 3).sum().backward()
    >>> y.grad
    tensor([3., 3.])
    """
    if not self.keys & STATE.bit:
        raise errors.GradientError("can't retain_grad on Tensor that has requires_grad=False")
    record = _fresh_record(self)
    if record.leaf:
        return
    if record.retained is None:
        record.retained = Retained()
    record.node.ensure_extras().retained[record.number] = record.retained


def _retains_grad(self: Any) -> bool:
    """Tell whether the tensor is no leaf and keeps its gradient."""
    record = self.record
    if record is None or record.leaf or record.retained is None or record.node is None:
        return False
    extras = record.node.extras
    return extras is not None and extras.retained.get(record.number) is record.retained


retains_grad = property(_retains_grad)


# --- history ---------------------------------------------------------------------------------------------------


def _fresh_record(self: Any) -> Record:
    record: Record = self.record
    refresh(self, record)
    return record


def _get_grad_fn(self: Any) -> Node | None:
    """The node of the operation that made the tensor; None for leaves."""
    if not self.keys & STATE.bit or self.record.leaf:
        return None
    node: Node = _fresh_record(self).node
    return node


grad_fn = property(_get_grad_fn)


def _output_nr(self: Any) -> int:
    """Which result of its node the tensor is."""
    return int(_fresh_record(self).number) if self.keys & STATE.bit else 0


output_nr = property(_output_nr)


def backward(
    self: Any,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Compute the gradients of the tensor with respect to the leaves and add them to their `.grad`.

    Parameters
    ----------
    gradient : Tensor, optional
        The gradient of something with respect to this tensor; may be left out for scalars.
    retain_graph, create_graph, inputs
        As in `tt.autograd.backward`.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> (x ** 2).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)


# --- hooks -----------------------------------------------------------------------------------------------------


def register_hook(self: Any, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(gradient)` whenever the gradient of the tensor is computed; what it returns replaces the gradient.

    Returns
    -------
    RemovableHandle
        Its `remove()` takes the hook out.
    """
    if not self.keys & STATE.bit:
        raise errors.GradientError("cannot register a hook on a tensor that doesn't require gradient")
    record = _fresh_record(self)
    hooks = record.node.ensure_extras().tensor_hooks.setdefault(record.number, {})
    handle: RemovableHandle = add_hook(hooks, hook)
    return handle


def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` whenever a backward pass has added to the `.grad` of a leaf."""
    if not self.keys & STATE.bit:
        raise errors.GradientError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.record.leaf:
        raise errors.GradientError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    handle: RemovableHandle = add_hook(self.record.node.ensure_extras().after, hook)
    return handle
