"""Fallbacks: operators that a backend lacks run on another device or on strided tensors, by policy and counted.

The policy is "error" (the default: nothing falls back), "warn" or "silent".
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from tt.core.dispatch.call.kernel_errors import method_failed
from tt.core.dispatch.call.mutation import targets_of, with_targets_of
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.resolve.mixed_devices import transfer
from tt.core.errors import UnknownNameError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import wrap
from tt.core.types.device import Device
from tt.core.types.state import STATE, changed
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall

__all__ = [
    "FALLBACKS",
    "Policy",
    "fallback_policy",
    "policy_of",
    "run_fallback",
    "run_strided",
    "set_fallback_policy",
]

Policy = Literal["error", "warn", "silent"]
_POLICIES = ("error", "warn", "silent")

FALLBACKS: Counter[tuple[str, str, str]] = Counter()
"""(operator, from device, to device) -> how often; of layouts, ("exp", "cpu/sparse_csr", "cpu")."""


def policy_of(device_type: str) -> Policy:
    """Return the policy for a device type or a layout."""
    return STATE.get(("fallback", device_type)) or STATE.get(("fallback", "*")) or "error"


def set_fallback_policy(policy: Policy, device: str = "*") -> None:
    """Set the policy for a device type or a layout, or for all.

    Parameters
    ----------
    policy : {"error", "warn", "silent"}
        The action when a backend lacks an operator that its fallback device has, or a layout one that strided tensors
        have.
    device : str
        A device type, or a layout; "*" for all that have no policy of their own.
    """
    STATE.change(("fallback", device), _setting(policy))


def _setting(policy: Policy) -> Policy | None:
    if policy not in _POLICIES:
        raise UnknownNameError("fallback policy", policy, _POLICIES)
    return None if policy == "error" else policy


def fallback_policy(policy: Policy, device: str = "*") -> AbstractContextManager[None]:
    """Use another fallback policy inside a `with` block.

    Examples
    --------
    >>> import tt
    >>> with tt.fallback_policy("warn"):
    ...     pass
    """
    return changed(("fallback", device), _setting(policy))


def run_fallback(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Move the tensors to the fallback device, run there, and move the results back."""
    backend, operator = cached.backend, cached.operator
    here, there = backend.device_type, str(backend.fallback)
    FALLBACKS[operator.name, here, there] += 1
    if policy_of(here) == "warn":
        warn_user(f"{operator.name} has no kernel for {here} and runs on {there}")
    first = (
        next(v for v in args if isinstance(v, TensorBase))
        if any(isinstance(v, TensorBase) for v in args)
        else None
    )
    home = first.device if first is not None else Device(here)
    moved = tuple(_move(value, Device(there)) for value in args)
    # A factory would otherwise ask for a kernel of the device that has none.
    if operator.device_at >= 0 and moved[operator.device_at] is not None:
        moved = (*moved[: operator.device_at], Device(there), *moved[operator.device_at + 1 :])
    # `execute` and not `dispatch`: modes have seen the call already.
    result = operator.overload(cached.form).execute(moved)
    if cached.form == "inplace":
        return ops.copy_(args[0], result)
    if operator.mutates:
        for target, new in zip(targets_of(operator, args), targets_of(operator, moved), strict=True):
            ops.copy_(target, _move(new, home))
        result = with_targets_of(operator, args, result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return operator.return_type([_move(item, home) for item in result])
    return _move(result, home)


def run_strided(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run a call of another layout on strided tensors; the result stays strided."""
    backend, operator = cached.backend, cached.operator
    here = f"{backend.device_type}/{backend.layout}"
    FALLBACKS[operator.name, here, backend.device_type] += 1
    if policy_of(backend.layout) == "warn":
        warn_user(f"{operator.name} has no kernel for {here} and runs on strided tensors")
    strided = tuple(_strided(value) for value in args)
    # The functional form, whose result is copied into the target: a strided copy of that is not the target.
    result = operator.overload("functional" if cached.form == "inplace" else cached.form).execute(strided)
    if cached.form == "inplace":
        return ops.copy_(args[0], result)  # which refuses unless the target is strided
    return result


def _strided(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value if value.layout.name == "strided" else strided_tensor(value)
    if isinstance(value, list | tuple) and any(isinstance(item, TensorBase) for item in value):
        return type(value)(_strided(item) for item in value)
    return value


def strided_tensor(tensor: TensorBase) -> TensorBase:
    """Return the content of a tensor of another layout as a strided tensor."""
    backend = tensor._spec.backend
    strided = REGISTRY.backend(backend.device_type)
    device = tensor.device if tensor.device.type == strided.device_type else None
    try:
        handle = backend.to_strided(tensor._handle)
    except Exception as error:
        method_failed(error, backend, "to_strided", "a call on strided tensors", tensor._handle)
    return wrap(handle, strided.spec(tensor.dtype, device))


def _move(value: Any, device: Device) -> Any:
    if isinstance(value, TensorBase):
        return value if value.device == device else transfer(value, device)
    if isinstance(value, list | tuple) and any(isinstance(item, TensorBase) for item in value):
        return type(value)(_move(item, device) for item in value)
    return value
