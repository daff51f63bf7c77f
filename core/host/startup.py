"""Start-up: what happens at the first operator or tensor rather than at `import tt`."""

from __future__ import annotations

__all__ = ["start"]


def start() -> None:
    """Put the methods on `Tensor` and find the plugins; doing it twice does nothing."""
    from tt.core.host import host
    from tt.core.methods import methods

    methods.install()
    host.load()
