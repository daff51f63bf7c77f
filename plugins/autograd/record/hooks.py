"""Hooks of nodes and tensors: adding one returns the handle that removes it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Self

__all__ = ["RemovableHandle", "add_hook"]


class RemovableHandle:
    """Removes a hook; also usable in a `with` statement."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], key: int) -> None:
        self._hooks = hooks
        self._key = key

    def remove(self) -> None:
        """Remove the hook; doing it twice does nothing."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


# No key is used twice, so that a handle cannot remove a later hook.
_hook_keys = count()


def add_hook(hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle:
    """Add a hook to a dict of hooks and return the handle that removes it."""
    key = next(_hook_keys)
    hooks[key] = hook
    return RemovableHandle(hooks, key)
