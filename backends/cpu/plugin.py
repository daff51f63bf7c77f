"""The plugin `cpu`: its manifest and registration.  Light: imports no kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the device type."""
    return Manifest("cpu", devices=("cpu",))


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the backend and its kernels."""
    from tt.backends.cpu.backend import CpuBackend
    from tt.backends.cpu.tables import Kernels

    backend = CpuBackend()
    registry.add(Kernels(backend).table())
    # Last: another thread that finds the backend finds its kernels.
    registry.add_backend(backend)
