"""Memory layouts: names that become key bits."""

from __future__ import annotations

from typing import Any, Final

from tt.core import plugins
from tt.core.types.keys import KEYS

__all__ = ["LAYOUTS", "layout", "register_layout", "strided", "to_layout"]


class layout:  # noqa: N801 - PyTorch's name
    """How the elements of a tensor are stored.

    There is one object per layout, so `is` and `==` agree.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2).layout
    tt.strided
    """

    __slots__ = ("__weakref__", "bit", "name")

    def __init__(self, name: str, bit: int) -> None:
        self.name, self.bit = name, bit

    def __repr__(self) -> str:
        return f"tt.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return to_layout, (self.name,)


LAYOUTS: Final[dict[str, layout]] = {}


def register_layout(name: str) -> layout:
    """Return the layout of a name, making it at first use."""
    if name not in LAYOUTS:
        LAYOUTS[name] = layout(name, KEYS.bit("layout", name))
    return LAYOUTS[name]


strided: Final = register_layout("strided")


def to_layout(value: Any) -> layout:
    """Return the layout that a user means.

    Raises
    ------
    UnknownNameError
        When no plugin declares it.
    PluginMissingError
        When the plugin that brings it is known but not installed.
    """
    if isinstance(value, layout):
        return value
    name = str(value).removeprefix("tt.")
    if name in LAYOUTS:
        return LAYOUTS[name]
    plugins().require("layout", name)
    return register_layout(name)
