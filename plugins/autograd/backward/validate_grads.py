"""Fits gradients to the shape, dtype and device of their tensors; sums, copies and hooks."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from tt.core.library import (
    KEYS,
    OVERRIDDEN,
    REGISTRY,
    Tensor,
    TensorBase,
    TensorSpec,
    alias,
    errors,
    is_non_overlapping_and_dense,
    ops,
    seen,
)
from tt.plugins.autograd.record.graph import STATE

if TYPE_CHECKING:
    from tt.plugins.autograd.record.graph import AccumulateGrad, Node

TRANSFORM = KEYS.bit("layer", "transform")

__all__ = ["add", "adopt", "can_grow", "copy", "fit", "owns_parts", "sum_to_size"]


def sum_to_size(gradient: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient of what was broadcast: summed over the dims that broadcasting added or stretched."""
    leading = gradient.ndim - len(shape)
    if leading:
        gradient = ops.sum(gradient, tuple(range(leading)), False)
    sizes = gradient._handle.shape
    dims = tuple([i for i, size in enumerate(shape) if size == 1 and sizes[i] != 1])
    return ops.sum(gradient, dims, True) if dims else gradient


def _fits(found: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether a tensor of shape `shape` can have been broadcast to `found`."""
    leading = len(found) - len(shape)
    if leading < 0:
        return False
    return all([size == 1 or size == found[leading + i] for i, size in enumerate(shape)])  # noqa: C419  # half the time


class Named(Protocol):
    """What errors name: a node."""

    def name(self) -> str:
        """Return the name."""


def fit(gradient: Tensor, shape: tuple[int, ...], spec: TensorSpec, node: Named, position: int) -> Tensor:
    """Return a gradient in the shape, dtype and device of its tensor.

    Raises
    ------
    GradientError
        When a formula returned something that cannot be.
    """
    if not isinstance(gradient, TensorBase):
        raise errors.GradientError(
            f"gradient {position} of {node.name()} is a tensor or None, not {type(gradient).__name__}"
        )
    actual = tuple(gradient.shape)
    if actual != tuple(shape):
        if not _fits(actual, shape):
            raise errors.GradientError(
                f"gradient {position} of {node.name()} has shape {list(actual)}, which does not fit its input of shape "
                f"{list(shape)}"
            )
        gradient = sum_to_size(gradient, shape)
    # Promotion makes gradients wider than their tensor: float32 * float64 gives both one of float64.
    if gradient.dtype is not spec.dtype:
        # A real tensor can move along the real axis only; what is imaginary is no part of its gradient.
        if gradient.dtype.is_complex and not spec.dtype.is_complex:
            gradient = ops.real(gradient)
        if gradient.dtype is not spec.dtype:
            gradient = gradient.to(spec.dtype)
    if gradient.device != spec.device:
        # Numbers mix with tensors of any device, so a gradient of no dims may come from another one.
        if gradient.ndim:
            raise errors.GradientError(
                f"gradient {position} of {node.name()} lies on the wrong device: expected "
                f"{spec.device} but got {gradient.device}"
            )
        gradient = gradient.to(spec.device)
    return gradient


# --- sums and copies -------------------------------------------------------------------------------------------


def add(first: Tensor, second: Tensor) -> Tensor:
    """Return the sum of two gradients; a dense one comes first, which is what addition to sparse ones expects."""
    if first.layout is not second.layout and second.layout.name == "strided":
        first, second = second, first
    return ops.add(first, second)


def add_sent(held: Tensor, gradient: Tensor) -> Tensor:
    """Return the sum of two gradients that nodes sent to another; of sparse ones, the elements of the later come first.

    Nodes run from the last to the first: so the elements lie in the order in which the program used the tensor.
    """
    return add(held, gradient) if held.layout.name == "strided" else add(gradient, held)


def can_grow(held: Tensor, gradient: Tensor) -> bool:
    """Return whether a gradient can be added to another in place."""
    # A subclass may give `add_` a meaning of its own, and a tensor wrapped by a transform may have no room
    # for the sum.
    if (held._keys | gradient._keys) & (STATE.bit | OVERRIDDEN | TRANSFORM):
        return False
    spec, other = held._spec, gradient._spec
    if spec.layout.name != "strided":
        return False
    return spec is other or (spec.dtype is other.dtype and spec.device == other.device)


def can_grow_sparse(held: Tensor, gradient: Tensor) -> bool:
    """Return whether a sparse gradient can be added to a sparse `.grad`, which stays the same object, in place."""
    if (held._keys | gradient._keys) & (STATE.bit | OVERRIDDEN | TRANSFORM):
        return False
    return held.layout.name == "sparse_coo" and held._spec is gradient._spec


def owns_parts(gradient: Any) -> bool:
    """Return whether the arrays that a gradient of another layout is made of are its own, and dense.

    Those that somebody else holds could change later; an expanded one would change in many places at once.
    """
    spec = gradient._spec
    arrays = REGISTRY.backend(spec.device.type)
    for part in spec.backend.parts(gradient._handle).values():
        if not arrays.is_row_major(part):
            return False
        owner = arrays.storage_owner(part)
        # A view is its own if nothing else holds what it views: the names here, the argument and the view do.  An
        # owner of another kind, such as a device's buffer, does not say.
        if owner is not part and type(owner) is type(part) and getrefcount(owner) > 3:
            return False
        del owner
        # The name `part`, the argument, and the two places where a handle keeps a part.
        if getrefcount(part) > 4:
            return False
    return True


def adopt(gradient: Tensor) -> Tensor:
    """Return a gradient without history, which a pass that is not recorded may yet have brought from outside."""
    if gradient._keys & STATE.bit:
        return alias(gradient, STATE.bit)
    gradient._record = None
    return gradient


def copy(gradient: Any, leaf: Any = None) -> Tensor:
    """Return a copy of a gradient, with the strides of a leaf of the same backend if that is dense."""
    if leaf is None or leaf._spec.layout.name != "strided" or gradient._spec.layout.name != "strided":
        return ops.clone(gradient)
    if (leaf._keys | gradient._keys) & (OVERRIDDEN | TRANSFORM) or not leaf._spec.backend.has_views:
        return ops.clone(gradient)
    if (
        gradient.is_contiguous() and leaf.is_contiguous()
    ):  # the most frequent case is written down in one word
        return ops.clone(gradient)
    # An expanded leaf, or one with gaps, has no layout that a gradient could share.
    if leaf.is_contiguous() or not is_non_overlapping_and_dense(leaf.shape, leaf.stride()):
        return ops.clone(gradient, memory_format="contiguous_format")
    options = {"dtype": gradient.dtype, "device": gradient.device}
    return ops.copy_(ops.empty_strided(leaf.shape, leaf.stride(), **options), gradient)


# --- hooks -----------------------------------------------------------------------------------------------------


def call_hooks(node: Node, gradients: list[Any]) -> None:
    """Call the hooks on the gradients of a node's results, then keep those of `retain_grad`."""
    extras = node.extras
    for number, hooks in extras.tensor_hooks.items():
        # A copy: a hook may remove itself.
        for hook in list(hooks.values()):
            with seen():
                changed = hook(gradients[number])
            if changed is not None:
                if gradients[number] is None:
                    raise errors.GradientError(
                        f"hook {getattr(hook, '__name__', 'hook')!r} can't replace a None gradient with a non-None "
                        "value: nothing that this pass differentiates depends on the tensor"
                    )
                gradients[number] = _checked(changed, gradients[number], hook)
    # After the hooks, as in PyTorch: `.grad` shows the gradient that goes on.
    for number, retained in extras.retained.items():
        gradient = gradients[number]
        if gradient is not None:
            held = retained.gradient
            retained.gradient = copy(gradient) if held is None else add(held, gradient)


def call_before_hooks(node: Node, gradients: list[Any]) -> None:
    """Call the hooks of a node that is about to run."""
    for hook in list(node.extras.before.values()):
        with seen():
            changed = hook(tuple(gradients))
        if changed is not None:
            gradients[:] = _all_checked(changed, gradients, hook, "register_prehook")


def _checked(changed: Any, gradient: Tensor, hook: Any) -> Any:
    name = getattr(hook, "__name__", "hook")
    if not isinstance(changed, TensorBase):
        raise errors.ArgumentError(
            "register_hook",
            f"the gradient hook {name!r} must return a Tensor or None, not {errors.describe(changed)}",
        )
    if tuple(changed.shape) != tuple(gradient.shape):
        raise errors.GradientError(
            f"hook {name!r} has changed the size of value: from {list(gradient.shape)} to {list(changed.shape)}"
        )
    if changed.dtype is not gradient.dtype or changed.device != gradient.device:
        raise errors.GradientError(
            f"hook {name!r} has changed the type of value: from {gradient.dtype} on {gradient.device} to "
            f"{changed.dtype} on {changed.device}"
        )
    return changed


def _all_checked(changed: Any, gradients: Sequence[Any], hook: Any, function: str) -> list[Any]:
    """Return the gradients with which a node's hook replaces several others."""
    name = getattr(hook, "__name__", "hook")
    if isinstance(changed, TensorBase) and len(gradients) == 1:
        changed = (changed,)
    if not isinstance(changed, tuple | list):
        raise errors.ArgumentError(
            function, f"the hook {name!r} must return a tuple or None, not {errors.describe(changed)}"
        )
    if len(changed) != len(gradients):
        raise errors.GradientError(
            f"hook {name!r} has returned an incorrect number of values (got {len(changed)}, but expected "
            f"{len(gradients)})"
        )
    return [
        new if old is None or new is None else _checked(new, old, hook)
        for new, old in zip(changed, gradients, strict=True)
    ]


def call_after_hooks(node: Node, results: Sequence[Any], gradients: list[Any]) -> list[Any]:
    """Call the hooks on the results of a node."""
    for hook in list(node.extras.after.values()):
        with seen():
            changed = hook(tuple(results), tuple(gradients))
        if changed is not None:
            results = _all_checked(changed, list(results), hook, "register_hook")
    return list(results)


def call_accumulated_hooks(node: AccumulateGrad) -> None:
    """Call the hooks that run after a leaf got its gradient."""
    for hook in list(node.extras.accumulated.values()):
        with seen():
            result = hook(node.variable)
        if result is not None:
            name = getattr(hook, "__name__", "hook")
            text = f"the hook {name!r} must return None: nothing is left to replace"
            if isinstance(result, TensorBase):
                raise errors.GradientError(f"register_post_accumulate_grad_hook(): {text}")
            raise errors.ArgumentError("register_post_accumulate_grad_hook", text)


def apply_watched(node: Node, gradients: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
    """Run a node while anomalies are searched."""
    from tt.plugins.autograd.features import anomaly

    with anomaly.running(node):
        results = node.apply(gradients, wanted)
        if STATE.anomaly > 1:
            anomaly.check_gradients(node, results)
    return results


def refuse_unwanted(label: str, arguments: Sequence[Any], gradients: Sequence[Any]) -> None:
    """Refuse gradients of arguments that take no tensors.

    Raises
    ------
    GradientError
        With the name of the first such argument.
    """
    for argument, gradient in zip(arguments, gradients, strict=False):
        if gradient is not None and not argument.type.is_tensor:
            raise errors.GradientError(
                f"the backward of {label} returned a gradient of {argument.name!r}, which takes no tensor\n"
                "  try: return None for it"
            )


def raise_count(node: Node, found: int, expected: int) -> NoReturn:
    """Refuse a node that returned too few or too many gradients."""
    raise errors.GradientError(f"{node.name()} must return {expected} gradients, and it returned {found}")


def ones_like(tensor: Tensor) -> Tensor:
    """Return the gradient with which a backward pass from a scalar starts."""
    return ops.ones_like(tensor)
