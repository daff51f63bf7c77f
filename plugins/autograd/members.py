"""Autograd's tensor members: `requires_grad`, `grad`, `backward` and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import NOT_HANDLED, Tensor, TensorBase, errors, intercept, listening, warn_user
from tt.plugins.autograd.backward.functional import backward as run_backward
from tt.plugins.autograd.backward.functional import start_pass
from tt.plugins.autograd.backward.multi_hooks import watch_passes
from tt.plugins.autograd.record.graph import (
    STATE,
    AutogradMeta,
    Node,
    RemovableHandle,
    Retained,
    add_hook,
    clear_gradient,
    leaf_record,
)
from tt.plugins.autograd.record.inference import is_inference, is_inference_mode_enabled
from tt.plugins.autograd.record.views import refresh
from tt.plugins.autograd.transforms.levels import BIT as WRAPPED
from tt.plugins.autograd.transforms.levels import Dual, refuse_in_transforms, shown

__all__ = ["backward", "grad", "grad_fn", "is_inference", "is_leaf", "requires_grad", "requires_grad_"]


def _inside(self: Any) -> Any:
    """Return the tensor whose history a tensor with tangents has: its value's."""
    while self._keys & WRAPPED and isinstance(self._handle, Dual):
        self = self._handle.value
    return self


def _is_leaf(self: Any) -> bool:
    """Return whether the tensor is a leaf of the graph: made by the user, or without gradient."""
    self = shown(self)
    return not self._keys & STATE.bit or bool(_fresh_record(self).leaf)


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
    return bool(shown(self)._keys & STATE.bit)


def _set_requires_grad(self: Any, value: bool) -> None:
    if not isinstance(value, bool):
        raise errors.GradientError(f"requires_grad must be a bool, not {type(value).__name__}")
    self = _inside(self)
    if self._keys & WRAPPED:
        raise errors.GradientError(
            "a tensor that a transform wraps has no gradient: use tt.func.grad, or set it on the tensor inside"
        )
    if not _is_leaf(self):
        if not value:
            raise errors.GradientError(
                "requires_grad is changed on leaves only; of a computed tensor, detach() gives one without history"
            )
        return
    if value:
        if not STATE.floating >> self._spec.code & 1:
            raise errors.GradientError(
                f"floating point and complex tensors can require gradients, {self.dtype.name} cannot"
            )
        if self._keys & STATE.inference_bit and not is_inference_mode_enabled():
            raise errors.InferenceTensorError(
                "a tensor made in inference mode cannot require a gradient outside of it\n  try: clone() it first"
            )
        record = leaf_record(self)
        if record.node is not None and record.node.extras is not None:
            record.node.extras.frozen = False
        self._keys |= STATE.bit
    else:
        # The record stays: `.grad` and hooks are there again if the tensor requires a gradient once more, and calls
        # that were recorded before lead to the same end.
        self._keys &= ~STATE.bit
        if self._record is not None and self._record.node is not None:
            self._record.node.ensure_extras().frozen = True


def _delete_requires_grad(self: Any) -> None:
    raise errors.GradientError("requires_grad of a tensor cannot be deleted: set it to False")


requires_grad = property(_get_requires_grad, _set_requires_grad, _delete_requires_grad)


def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Set whether operations on the tensor are recorded; return the tensor.

    Raises
    ------
    GradientError
        When the dtype has no gradients, or when the tensor is not a leaf and `requires_grad` is False.
    UnsupportedError
        Inside a function that `tt.func` transforms.

    Examples
    --------
    >>> import tt
    >>> tt.ones(2).requires_grad_()
    tensor([1., 1.], requires_grad=True)
    """
    refuse_in_transforms("requires_grad_", "use tt.func.grad, vjp, jacrev, jacfwd or hessian")
    _set_requires_grad(self, requires_grad)
    return self


# --- the gradient ----------------------------------------------------------------------------------------------


def _get_grad(self: Any) -> Tensor | None:
    """The gradient that backward passes have added up, or None."""
    self = _inside(self)
    record = self._record
    if record is None or self._keys & WRAPPED:
        return None
    if record.leaf:
        gradient: Tensor | None = record.node.gradient
        return gradient
    if record.retained is not None:
        gradient = record.retained.gradient
        return gradient
    warn_user(
        "the .grad of a tensor that is not a leaf is read, and backward passes leave it None\n"
        "  try: retain_grad() before the backward pass, or the .grad of the leaf that was meant",
    )
    return None


def _set_grad(self: Any, value: Any) -> None:
    if value is None:
        if clear_gradient(self, WRAPPED):
            return
    else:
        if not isinstance(value, TensorBase):
            raise TypeError(f".grad is a tensor or None, not {type(value).__name__}")
        if value is self:
            raise errors.GradientError("a tensor is not its own .grad")
        if value.dtype is not self.dtype:
            raise errors.GradientError(
                f".grad of a tensor of {self.dtype.name} has the same dtype, not {value.dtype.name}"
            )
        if value.device != self.device:
            raise errors.GradientError(
                f".grad of a tensor on {self.device} lies on the same device, not on {value.device}"
            )
        if tuple(value.shape) != tuple(self.shape):
            raise errors.GradientError(
                f".grad of a tensor of shape {list(self.shape)} has the same shape, not {list(value.shape)}"
            )
    if _is_leaf(self):
        leaf_record(self).node.gradient = value
    else:
        if self._record.retained is None:
            self._record.retained = Retained()
        self._record.retained.gradient = value


def _delete_grad(self: Any) -> None:
    _set_grad(self, None)


grad = property(_get_grad, _set_grad, _delete_grad)


def _stored_grad(self: Any) -> Tensor | None:
    """The gradient of `grad`, without a warning where the tensor is not a leaf."""
    self = _inside(self)
    record = self._record
    if record is None or self._keys & WRAPPED or not (record.leaf or record.retained is not None):
        return None
    result: Tensor | None = record.node.gradient if record.leaf else record.retained.gradient
    return result


_grad = property(_stored_grad, _set_grad, _delete_grad)


def retain_grad(self: Any) -> None:
    """Keep the gradient of a non-leaf tensor in its `.grad` when a backward pass reaches it.

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
    if not self._keys & STATE.bit:
        raise errors.GradientError("retain_grad(): the tensor does not require a gradient")
    record = _fresh_record(self)
    if record.leaf:
        return
    if record.retained is None:
        record.retained = Retained()
    record.node.ensure_extras().retained[record.number] = record.retained


def _retains_grad(self: Any) -> bool:
    """Return whether the tensor is not a leaf and keeps its gradient."""
    record = self._record
    if record is None or record.leaf or record.retained is None or record.node is None:
        return False
    extras = record.node.extras
    return extras is not None and extras.retained.get(record.number) is record.retained


retains_grad = property(_retains_grad)


# --- history ---------------------------------------------------------------------------------------------------


def _fresh_record(self: Any) -> AutogradMeta:
    record: AutogradMeta = self._record
    refresh(self, record)
    return record


def _get_grad_fn(self: Any) -> Node | None:
    """The node of the operation that made the tensor; None for leaves."""
    self = shown(self)
    if not self._keys & STATE.bit:
        return None
    record = _fresh_record(self)
    return None if record.leaf else record.node.shown()


grad_fn = property(_get_grad_fn)


def _output_nr(self: Any) -> int:
    """The index of the tensor among the results of its node."""
    return int(_fresh_record(self).number) if self._keys & STATE.bit else 0


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
    # Nearly no program overrides `backward`: the checks of `tt.autograd.backward` for that are skipped.
    run: Callable[..., None] = start_pass
    if listening():
        run = run_backward
        options = {
            "gradient": gradient,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": inputs,
        }
        if intercept(backward, (self,), options) is not NOT_HANDLED:
            return
    refuse_in_transforms("backward", "use tt.func.grad or tt.func.vjp")
    run(self, gradient, retain_graph, create_graph, inputs=inputs)


# --- hooks -----------------------------------------------------------------------------------------------------


def _hooks_of(self: Any) -> dict[int, Callable[..., Any]] | None:
    """The hooks of `register_hook`, by the ids of their handles; None if there are none."""
    record = self._record
    if record is None or not self._keys & STATE.bit:
        return None
    extras = record.node.extras
    return extras.tensor_hooks.get(record.number) or None if extras is not None else None


_gradient_hooks = property(_hooks_of)


def register_hook(self: Any, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(gradient)` whenever the gradient of the tensor is computed; its result replaces the gradient.

    Returns
    -------
    RemovableHandle
        Its `remove()` takes the hook out.
    """
    if not self._keys & STATE.bit:
        raise errors.GradientError("a hook is for a tensor that requires a gradient, and this one does not")
    record = _fresh_record(self)
    hooks = record.node.ensure_extras().tensor_hooks.setdefault(record.number, {})
    return add_hook(hooks, hook)


def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` whenever a backward pass has added to the `.grad` of a leaf."""
    if not self._keys & STATE.bit:
        raise errors.GradientError("a hook is for a tensor that requires a gradient, and this one does not")
    if not self._record.leaf:
        raise errors.GradientError(
            "only leaves accumulate a .grad; for other tensors there is register_hook()"
        )
    watch_passes()
    return add_hook(self._record.node.ensure_extras().accumulated, hook)
