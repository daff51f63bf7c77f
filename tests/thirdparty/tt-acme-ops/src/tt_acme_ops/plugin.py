"""The plugin `acme`."""

from pathlib import Path

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("acme", namespaces=("acme",))


@hookimpl
def tt_register(registry):
    registry.add_definitions(Path(__file__).with_name("ops.yaml"))
    from tt_acme_ops import gradients, operators

    registry.add(operators.composites)
    registry.add(operators.kernels)
    registry.add(gradients.formulas)


@hookimpl
def tt_commands():
    return {"acme": "tt_acme_ops.command:acme"}
