"""autocast: what programs ask of mixed precision.

No layer casts the arguments of operators yet, so autocast exists in its disabled form, and enabling it raises.  As in
PyTorch, a request for CUDA on a machine without it warns and is disabled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, Self

import tt
from tt.amp import autocast_state as state
from tt.errors import UnsupportedError
from tt.library import warn_user

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

REASON = "mixed precision is not built yet: call model.to(tt.bfloat16), or leave it disabled"


class autocast(ContextDecorator):  # noqa: N801 - PyTorch's name
    """A context, or a decorator, in which operators would choose their precision: it can only be disabled yet.

    Parameters
    ----------
    device_type : str
        The devices whose operators are meant.
    dtype : dtype, optional
        The precision; bfloat16 for the CPU and float16 for CUDA by default.
    enabled : bool
        Whether anything is done; on a machine without CUDA, "cuda" is disabled with a warning.
    cache_enabled : bool, optional
        Whether casts of parameters would be kept.

    Raises
    ------
    UnsupportedError
        If it is enabled.

    Examples
    --------
    >>> import tt
    >>> with tt.autocast("cpu", enabled=False):
    ...     (tt.ones(1) @ tt.ones(1)).dtype
    tt.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: tt.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = state.get_autocast_dtype(device_type) if dtype is None else dtype
        self.enabled = may_enable("autocast()", device_type, enabled)
        self.cache_enabled = state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list[tuple[Any, bool]] = []

    def __enter__(self) -> Self:
        self._before.append((state.get_autocast_dtype(self.device), state.is_autocast_cache_enabled()))
        state.set_autocast_dtype(self.device, self.fast_dtype)
        state.set_autocast_cache_enabled(self.cache_enabled)
        state.autocast_increment_nesting()
        return self

    def __exit__(self, *error: object) -> None:
        dtype, cache = self._before.pop()
        if state.autocast_decrement_nesting() == 0:
            state.clear_autocast_cache()
        state.set_autocast_dtype(self.device, dtype)
        state.set_autocast_cache_enabled(cache)


def may_enable(function: str, device_type: str, enabled: bool) -> bool:
    """Return False; raise where enabling is meant, and warn where a machine has no such device."""
    if not enabled:
        return False
    if device_type == "cuda" and not tt.cuda.is_available():
        warn_user(f"{function}: CUDA is not available, so it is disabled")
        return False
    raise UnsupportedError(f"{function}: {REASON}")


def is_autocast_available(device_type: str) -> bool:
    """Return whether autocast can be enabled for devices of a type: not yet.

    Examples
    --------
    >>> import tt
    >>> tt.amp.is_autocast_available("cpu")
    False
    """
    tt.device(device_type)
    return False


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: tt.dtype | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of a `tt.autograd.Function`; without autocast it stays as it is.

    Parameters
    ----------
    fwd : callable, optional
        The function; without it, a decorator is returned.
    device_type : str
        The devices whose autocast is meant.
    cast_inputs : dtype, optional
        The precision of arguments under autocast.

    Examples
    --------
    >>> import tt
    >>> @tt.amp.custom_fwd(device_type="cuda")
    ... def forward(ctx, x):
    ...     return x
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of a `tt.autograd.Function`; without autocast it stays as it is.

    Examples
    --------
    >>> import tt
    >>> @tt.amp.custom_bwd(device_type="cuda")
    ... def backward(ctx, grad):
    ...     return grad
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    return bwd


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return whether operators choose their precision: not yet."""
    return False


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Enable or disable autocast for devices of a type; enabling raises UnsupportedError."""
    target, switched_on = ("cuda", device_type) if enabled is None else (str(device_type), enabled)
    may_enable("set_autocast_enabled()", target, bool(switched_on))
