"""Imports by name: modules and objects that data names, such as a plugin's "module:attribute".

Every import of the core whose name is not in the source goes through here.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["module_named", "object_named"]


def module_named(name: str) -> ModuleType:
    """Return a module, importing it at first use.

    Examples
    --------
    >>> from tt.core.by_name import module_named
    >>> module_named("tt.core.types.size").__name__
    'tt.core.types.size'
    """
    return import_module(name)


def object_named(reference: str) -> Any:
    """Return the object that "module:attribute" names; the attribute may be a path with dots.

    Raises
    ------
    ImportError, AttributeError
        When the module or the attribute does not exist.

    Examples
    --------
    >>> from tt.core.by_name import object_named
    >>> object_named("tt.core.types.size:Size.numel").__name__
    'numel'
    """
    module, _, path = reference.partition(":")
    value: Any = import_module(module)
    for part in path.split("."):
        value = getattr(value, part)
    return value
