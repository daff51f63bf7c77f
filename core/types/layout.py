"""Memory layouts: names that become key bits."""

from __future__ import annotations

from typing import Any, Final

from tt.core import plugins
from tt.core.types.keys import KEYS
from tt.core.types.spelling import SPELLING

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
        return f"{SPELLING.package}.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return to_layout, (self.name,)


LAYOUTS: Final[dict[str, layout]] = {}


def register_layout(name: str) -> layout:
    """Return the layout of a name, making it at first use."""
    if name not in LAYOUTS:
        LAYOUTS[name] = layout(name, KEYS.bit("layout", name))
    return LAYOUTS[name]


strided: Final = register_layout("strided")


def layout_name(value: Any) -> str:
    """Return the name of a layout, given as such or by its name (with a module in front or not).

    Examples
    --------
    >>> from tt.core.types.layout import layout_name, strided
    >>> layout_name(strided), layout_name("tt.sparse_csr")
    ('strided', 'sparse_csr')
    """
    return value.name if isinstance(value, layout) else str(value).rpartition(".")[2]


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
    name = layout_name(value)
    if name in LAYOUTS:
        return LAYOUTS[name]
    plugins().require("layout", name)
    return register_layout(name)
