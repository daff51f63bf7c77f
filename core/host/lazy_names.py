"""Public namespaces whose members are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tt.core.by_name import module_named
from tt.core.startup import plugins

__all__ = ["lazy_names"]


def lazy_names(
    module: str,
    sources: Mapping[str, str],
    *,
    layer: str = "",
    modules: tuple[str, ...] = (),
    without: Collection[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a namespace.

    Parameters
    ----------
    module : str
        The name of the namespace, for instance "tt.autograd".
    sources : mapping of str to str
        The module from which each name comes.
    layer : str
        The layer without which the names are of no use: its plugin is activated first, or its absence explained.
    modules : tuple of str
        The modules below the namespace.
    without : collection of str
        The names that are of use without the layer, too, if its plugin is blocked or not installed.

    Examples
    --------
    >>> from tt.core.host.lazy_names import lazy_names
    >>> find, names = lazy_names("tt.example", {"Size": "tt.core.types.size"})
    >>> names(), find("Size")([1, 2]).numel()
    (['Size'], 2)
    """

    def find(name: str) -> Any:
        if name in modules:
            return module_named(f"{module}.{name}")
        source = sources.get(name)
        if source is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if layer and not (name in without and plugins().leaves_out("layer", layer)):
            plugins().require("layer", layer)
            plugins().activate("layer", layer)
        found = getattr(module_named(source), name)
        if module in sys.modules:
            setattr(sys.modules[module], name, found)
        return found

    def names() -> list[str]:
        return sorted({*sources, *modules})

    return find, names
