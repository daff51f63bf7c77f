"""The entry point of the plugin `amp`, mixed precision; imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the layer, and what it takes from whoever defines an operator."""
    return Manifest("amp", layers=("autocast",), parts={"autocast policy": "autocast"})


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the layer."""
    from tt.plugins.amp.layer import AutocastLayer

    registry.add_layer(AutocastLayer())
