"""The entry point of the autograd plugin; imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry

_MEMBERS = "tt.plugins.autograd.members:"


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the contents of the plugin."""
    members = [
        "requires_grad", "requires_grad_", "grad", "_grad", "grad_fn", "is_leaf", "backward",
        "retain_grad", "retains_grad", "register_hook", "register_post_accumulate_grad_hook", "output_nr",
        "_gradient_hooks", "is_inference",
    ]  # fmt: skip
    return Manifest(
        "autograd",
        layers=("autograd", "transform", "inference"),
        parts={"gradient": "autograd", "batching rule": "transform"},
        members={name: f"{_MEMBERS}{name}" for name in members},
    )


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the layers and the formulas."""
    from tt.plugins.autograd.formulas import FormulaFamilies
    from tt.plugins.autograd.record.inference import InferenceLayer
    from tt.plugins.autograd.record.layer import AutogradLayer
    from tt.plugins.autograd.transforms.layer import TransformLayer

    autograd = AutogradLayer()
    registry.add_layer(autograd)
    registry.add_layer(TransformLayer(autograd))
    registry.add_layer(InferenceLayer())
    registry.add(FormulaFamilies())
