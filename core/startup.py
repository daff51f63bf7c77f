"""Start-up: what happens at the first operator or tensor rather than at `import tt`, and the way to the plugins.

Note [The way up]
-----------------
Imports of the core run one way, from `host` down to `types`.  But an unknown device, layout, layer or namespace may be
one that a plugin brings, so modules below the host have to reach it.  They do so here and nowhere else; the imports
stand in functions because `import tt` shall load neither the host nor the methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tt.core.host.host import Host

__all__ = ["plugins", "start"]


def start() -> None:
    """Put the methods on `Tensor` and find the plugins; doing it twice does nothing."""
    from tt.core.methods import methods  # see Note [The way up]

    methods.install()
    plugins().load()


def plugins() -> Host:
    """Return the host of this process, which finds, loads and chooses plugins."""
    from tt.core.host.host import HOST  # see Note [The way up]

    return HOST
