"""Compiled libraries and modules that were built against PyTorch's: what they need, and that tt cannot load them."""

from __future__ import annotations

import mmap
import re
from functools import wraps
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType
from typing import Final

__all__ = ["explain_failed_imports", "explanation", "needs"]

_LIBRARY: Final = re.compile(rb"\blib(?:torch|c10)\w*\.(?:so|dylib)|\b(?:torch|c10)\w*\.dll")
"""The names of PyTorch's libraries, as a library that needs them writes them."""
_SYMBOL: Final = re.compile(
    rb"\b(?:_ZN?[KV]*(?:2at|3c10|5torch|8pybind11)\d\w+|aoti_torch_\w+|torch_library_\w+|THPVariable\w*)"
)
"""The symbols of PyTorch's libraries: functions of at, c10 and torch, and those of the stable interface."""


def needs(path: str) -> tuple[str, str] | None:
    """Return which of PyTorch's libraries a compiled file needs, and a symbol of it; None if it needs none."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            library = _LIBRARY.search(data)
            if library is None:
                return None
            symbol = _SYMBOL.search(data)
            return library[0].decode(), "" if symbol is None else symbol[0].decode()
    except (OSError, ValueError):  # absent, or empty
        return None


def explanation(path: str) -> str | None:
    """Return why tt cannot load a library that was built against PyTorch's; None for any other.

    Examples
    --------
    >>> from tt._compat.torch.foreign_libraries import explanation
    >>> explanation("absent.so") is None
    True
    """
    needed = needs(path)
    if needed is None:
        return None
    library, symbol = needed
    example = f" (its symbol {symbol}, for instance)" if symbol else ""
    return (
        f"it was built against PyTorch and needs {library}{example}, which tt does not have: tt cannot load compiled "
        "extensions of PyTorch"
    )


def explain_failed_imports() -> None:
    """Let the error of an extension module that was built against PyTorch's libraries say so."""
    create = ExtensionFileLoader.create_module
    if hasattr(create, "__wrapped__"):
        return

    @wraps(create)
    def create_module(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
        try:
            return create(self, spec)
        except ImportError as error:
            reason = explanation(self.path)
            if reason is None:
                raise
            raise ImportError(
                f"cannot import {spec.name}: {reason}", name=spec.name, path=self.path
            ) from error

    ExtensionFileLoader.create_module = create_module  # type: ignore[method-assign]
