"""Modules of settings, as PyTorch's compilers have them: `config.patch(name=value)` sets some for a block."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tt.errors import ArgumentError

__all__ = ["patch_of"]


def patch_of(module: str) -> Callable[..., Any]:
    """Return the `patch` of a module of settings: a context manager, and a decorator, that sets some of them.

    Parameters
    ----------
    module : str
        The import name of the module.
    """

    @contextmanager
    def patch(*args: Any, **changes: Any) -> Iterator[None]:
        """Set some settings for a block: `patch(name=value)`, `patch("name", value)`, `patch({"name": value})`.

        Raises
        ------
        ArgumentError
            For other arguments.
        """
        if len(args) == 1 and isinstance(args[0], dict):
            changes = {**args[0], **changes}
        elif len(args) == 2 and isinstance(args[0], str):
            changes = {args[0]: args[1], **changes}
        elif args:
            raise ArgumentError("patch", "takes settings by name, one name and its value, or a dict of both")
        settings = vars(sys.modules[module])
        missing = object()
        before = {name: settings.get(name, missing) for name in changes}
        settings.update(changes)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is missing:
                    settings.pop(name, None)
                else:
                    settings[name] = value

    return patch
