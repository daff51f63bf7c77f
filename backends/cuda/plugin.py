"""The plugin `cuda`: its manifest and registration.  Light: imports neither CuPy nor the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the device type."""
    return Manifest(
        "cuda",
        devices=("cuda",),
        accelerators=("cuda",),
        available="tt.backends.cuda.runtime.availability:reason",
    )


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the backend and its kernels; both import CuPy when they are first used."""
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.kernels import kernel_tables

    backend = CudaBackend()
    for table in kernel_tables(backend):
        registry.add(table)
    # Last: another thread that finds the backend finds its kernels.
    registry.add_backend(backend)
