"""The plugin `quantized`: its manifest and registration.  Light: imports no kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry

DEVICES: Final = ("cpu", "cuda", "meta")
MEMBERS: Final = (
    "int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale", "q_zero_point",
    "qscheme",
)  # fmt: skip


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the layout and the members of quantized tensors."""
    return Manifest(
        "quantized",
        layouts=("quantized",),
        members={name: f"tt.plugins.quantized.members:{name}" for name in MEMBERS},
    )


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the backends and their kernels."""
    from tt.plugins.quantized.backend import QuantizedBackend
    from tt.plugins.quantized.tables import tables

    for device in DEVICES:
        registry.add_backend(QuantizedBackend(device))
    for device in DEVICES:
        for table in tables(device):
            registry.add(table)
