"""tt without any backend or plugin: schema, dispatcher, tensors, plugin host.

Note [The way up]
-----------------
Imports of the core run one way, from `host` down to `types`.  But a plugin may bring an unknown device, layout, layer
or namespace, so what is below the host has to ask it; and the methods of tensors, which are above the dispatcher, must
be there when the first tensor is.  The package `tt`, which Python runs before any of its modules and which may import
all of them, therefore gives the core both (`provide`), as functions that import when they are called: `import tt` loads
neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tt.core.host.host import Host

__all__ = ["plugins", "provide", "start"]


class _Above:
    """What the core is given; see Note [The way up]."""

    install_methods: Callable[[], None]
    host: Callable[[], Host]


_ABOVE: Final = _Above()


def provide(install_methods: Callable[[], None], host: Callable[[], Host]) -> None:
    """Take what puts the methods on `Tensor`, and what returns the host of this process."""
    _ABOVE.install_methods, _ABOVE.host = install_methods, host


def start() -> None:
    """Put the methods on `Tensor` and find the plugins; doing it twice does nothing."""
    _ABOVE.install_methods()
    plugins().load()


def plugins() -> Host:
    """Return the host of this process, which finds, loads and chooses plugins."""
    return _ABOVE.host()
