"""Implementations of flash attention that other packages bring: registered by name, and activated by the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tt.errors import ValueRangeError
from tt.library import warn_user

__all__ = [
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
]


class FlashAttentionHandle(Protocol):
    """What an implementation returns when it is activated."""

    def remove(self) -> None:
        """Take its kernels away again."""


class _State:
    """The implementations by name, and the one that is active."""

    registered: dict[str, Callable[[], FlashAttentionHandle | None]] = {}  # noqa: RUF012 - one for the process
    active: tuple[str, FlashAttentionHandle] | None = None


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Register an implementation by name; it serves once it is activated.

    Parameters
    ----------
    impl : str
        The name.
    register_fn : callable
        Called without arguments on activation: it registers kernels, for instance with `tt.library.register_kernel`,
        and returns an object whose `remove()` takes them away.

    Examples
    --------
    >>> from tt.nn.attention import list_flash_attention_impls, register_flash_attention_impl
    >>> register_flash_attention_impl("mine", register_fn=lambda: None)
    >>> "mine" in list_flash_attention_impls()
    True
    """
    _State.registered[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """Return the names of the registered implementations, in order."""
    return sorted(_State.registered)


def activate_flash_attention_impl(impl: str) -> None:
    """Let a registered implementation bring its kernels, after the one before took its own away.

    Raises
    ------
    ValueError
        If nothing is registered by the name.

    Examples
    --------
    >>> import tt
    >>> tt.nn.attention.activate_flash_attention_impl("none")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tt.core.errors.ValueRangeError: activate_flash_attention_impl(): nothing is registered as 'none'...
    """
    if impl not in _State.registered:
        raise ValueRangeError(
            f"activate_flash_attention_impl(): nothing is registered as {impl!r}; "
            f"registered are {list_flash_attention_impls()}"
        )
    # Before the new one is registered, since it may replace the same operators.
    _remove()
    handle = _State.registered[impl]()
    if handle is not None:
        _State.active = impl, handle


def current_flash_attention_impl() -> str | None:
    """Return the name of the active implementation; None is tt's own, and one that returned nothing to remove.

    Examples
    --------
    >>> import tt
    >>> tt.nn.attention.current_flash_attention_impl()
    """
    return None if _State.active is None else _State.active[0]


def restore_flash_attention_impl() -> None:
    """Take the kernels of the active implementation away; with a warning if there is none."""
    if not _remove():
        warn_user("restore_flash_attention_impl(): no implementation is active")


def _remove() -> bool:
    """Remove the active implementation, and return whether there was one."""
    active, _State.active = _State.active, None
    if active is None:
        return False
    active[1].remove()
    return True
