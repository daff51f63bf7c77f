"""Start-up: work at the first operator or tensor instead of at `import tt`, and access to the plugins.

Note [Imports of the host]
--------------------------
Imports of the core run one way, from `host` down to `types`.  But a plugin may bring an unknown device, layout, layer
or namespace, so modules below the host have to reach the host.  They do so only here; the imports are inside functions
because `import tt` must load neither the host nor the methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tt.core.host.host import Host

__all__ = ["plugins", "start"]


def start() -> None:
    """Put the methods on `Tensor` and find the plugins; doing it twice does nothing."""
    from tt.core.methods import methods  # see Note [Imports of the host]

    methods.install()
    plugins().load()


def plugins() -> Host:
    """Return the host of this process, which finds, loads and chooses plugins."""
    from tt.core.host.host import HOST  # see Note [Imports of the host]

    return HOST
