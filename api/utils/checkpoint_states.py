"""Parts of PyTorch's checkpointing that reversible networks and others import: generators' states, detached inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tt
from tt.errors import ArgumentError
from tt.library import warn_user
from tt.utils._pytree import tree_leaves

__all__ = ["check_backward_validity", "detach_variable", "get_device_states", "set_device_states"]


def get_device_states(*args: Any) -> tuple[list[int], list[tt.Tensor]]:
    """Return the devices of tensors among the arguments, without the CPU, and the states of their generators.

    Parameters
    ----------
    *args : object
        Arguments of a function; tensors in lists, tuples and dicts count.

    Examples
    --------
    >>> import tt
    >>> tt.utils.checkpoint.get_device_states(tt.ones(1))
    ([], [])
    """
    tensors = [x for x in tree_leaves(args) if tt.is_tensor(x) and x.device.type not in ("cpu", "meta")]
    devices = [x.get_device() for x in tensors]
    return devices, [_module(x.device.type).get_rng_state(x.device) for x in tensors]


def set_device_states(
    devices: Sequence[int], states: Sequence[tt.Tensor], *, device_type: str | None = None
) -> None:
    """Restore the states that `get_device_states` returned.

    Parameters
    ----------
    devices : list of int
        The numbers of the devices.
    states : list of Tensor
        The states of their generators.
    device_type : str, optional
        The type of the devices; "cuda" by default.
    """
    kind = "cuda" if device_type is None else device_type
    for number, state in zip(devices, states, strict=False):
        _module(kind).set_rng_state(state, tt.device(kind, number))


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors of a tuple without their history; each requires a gradient as before.

    Parameters
    ----------
    inputs : tuple
        Objects that are not tensors stay as they are.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(1, requires_grad=True) * 2
    >>> tt.utils.checkpoint.detach_variable((x, 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise ArgumentError("detach_variable", f"takes a tuple of tensors, not {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if tt.is_tensor(x) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among the inputs requires a gradient.

    Parameters
    ----------
    inputs : iterable
        The arguments of a function that is checkpointed.
    """
    if not any(x.requires_grad for x in inputs if tt.is_tensor(x)):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


def _module(device_type: str) -> Any:
    return getattr(tt, device_type)
