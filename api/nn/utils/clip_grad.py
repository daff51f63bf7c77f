"""Gradients that are clipped: by their common norm, or each by its value."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import tt
from tt.library import warn_user

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters: Any) -> list[tt.Tensor]:
    """Return the gradients of the parameters that have one."""
    if isinstance(parameters, tt.Tensor):
        parameters = [parameters]
    generated = isinstance(parameters, types.GeneratorType)
    parameters = list(parameters)
    if generated and not parameters:
        warn_user("the generator of parameters is empty: no gradient is clipped\n  (is it used up already?)")
    return [_gradient(p) for p in parameters if p.grad is not None]


def _gradient(parameter: Any) -> Any:
    """Return the gradient; of a parameter that is divided among ranks, as a part whose norm counts all of them."""
    gradient = parameter.grad
    if not hasattr(type(parameter), "to_local") or hasattr(type(gradient), "to_local"):
        return gradient
    return parameter.like(gradient, same_places=True)


def _groups(tensors: Iterable[tt.Tensor], foreach: bool | None) -> list[list[tt.Tensor]]:
    """Return the tensors by device and dtype: one call serves those of a group; single ones without `foreach`."""
    groups: dict[Any, list[tt.Tensor]] = {}
    for index, tensor in enumerate(tensors):
        key = (index,) if foreach is False or tensor.layout != tt.strided else (tensor.device, tensor.dtype)
        groups.setdefault(key, []).append(tensor)
    return list(groups.values())


def get_total_norm(
    tensors: tt.Tensor | Iterable[tt.Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> tt.Tensor:
    """Return the norm of tensors as if all their elements were one vector.

    Parameters
    ----------
    tensors : Tensor or iterable of Tensor
        The tensors.
    norm_type : float
        The order; infinity is the largest absolute value.
    error_if_nonfinite : bool
        Whether a norm that is infinite or not a number is an error.
    foreach : bool, optional
        False computes tensor by tensor; otherwise one call serves the tensors of a device and dtype.

    Raises
    ------
    RuntimeError
        If the norm is not finite and `error_if_nonfinite` is set.

    Examples
    --------
    >>> import tt
    >>> tt.nn.utils.get_total_norm([tt.tensor([3.0]), tt.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, tt.Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tt.tensor(0.0)
    first = tensors[0].device
    norms: list[tt.Tensor] = []
    with tt.no_grad():
        for group in _groups(tensors, foreach):
            if len(group) == 1:
                norms.append(tt.linalg.vector_norm(group[0], norm_type))
            else:
                norms.extend(tt.ops._foreach_norm(group, norm_type))
        # The norm of norms is the norm of all elements.
        total = tt.linalg.vector_norm(tt.stack([norm.to(first) for norm in norms]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"the total norm of order {norm_type} of the gradients is non-finite ({total.item()}): they cannot be "
            "clipped\n  try: error_if_nonfinite=False, to scale by it all the same"
        )
    return total


def clip_grads_with_norm_(
    parameters: tt.Tensor | Iterable[tt.Tensor],
    max_norm: float,
    total_norm: tt.Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients in place by max_norm / total_norm, where that is below one.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        The parameters whose gradients are scaled.
    max_norm : float
        The largest norm.
    total_norm : Tensor
        The norm that they have; see `get_total_norm`.
    foreach : bool, optional
        False computes tensor by tensor.
    """
    _scale(_gradients(parameters), float(max_norm), total_norm, foreach)


def _scale(grads: list[tt.Tensor], max_norm: float, total_norm: tt.Tensor, foreach: bool | None) -> None:
    if not grads:
        return
    with tt.no_grad():
        # Multiplied without a condition, whose answer a device would have to send back first.
        # The small number avoids a division by zero, and is PyTorch's.
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for group in _groups(grads, foreach):
            if len(group) > 1 and factor.device.type == "cpu":  # reading the number costs nothing
                tt.ops._foreach_mul_(group, factor.item())
                continue
            there = factor.to(group[0].device)
            if len(group) > 1:
                tt.ops._foreach_mul_(group, there)
            else:
                group[0].mul_(there)


def clip_grad_norm_(
    parameters: tt.Tensor | Iterable[tt.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> tt.Tensor:
    """Scale gradients in place so that their common norm is at most `max_norm`.

    Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        The parameters; those without a gradient are left out.
    max_norm : float
        The largest norm.
    norm_type, error_if_nonfinite, foreach
        As in `get_total_norm`.

    Returns
    -------
    Tensor
        The norm before.

    Examples
    --------
    >>> import tt
    >>> weight = tt.nn.Parameter(tt.zeros(2))
    >>> weight.grad = tt.tensor([3.0, 4.0])
    >>> tt.nn.utils.clip_grad_norm_(weight, 1.0), weight.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    grads = _gradients(parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    _scale(grads, float(max_norm), total, foreach)
    return total


def clip_grad_norm(
    parameters: tt.Tensor | Iterable[tt.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> tt.Tensor:
    """Call `clip_grad_norm_`; deprecated."""
    warn_user("nn.utils.clip_grad_norm is deprecated: use nn.utils.clip_grad_norm_", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: tt.Tensor | Iterable[tt.Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clip each element of gradients in place to ±clip_value.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        The parameters; those without a gradient are left out.
    clip_value : float
        The largest absolute value.
    foreach : bool, optional
        False clips tensor by tensor; otherwise two calls serve the gradients of a device and dtype.
    """
    bound = float(clip_value)
    with tt.no_grad():
        grads = _gradients(parameters)
        for group in _groups(grads, foreach):
            if len(group) > 1:
                tt.ops._foreach_clamp_min_(group, -bound)
                tt.ops._foreach_clamp_max_(group, bound)
                continue
            grad = group[0]
            stored = grad.coalesce() if grad.is_sparse else grad
            # What a sparse gradient does not store is zero, which stays.
            (stored.values() if "sparse" in str(stored.layout) else stored).clamp_(min=-bound, max=bound)
            if stored is not grad:
                grad.copy_(stored)
