"""Names that are tt's: devices, layouts, layers, namespaces and members of tensors."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest(
        "hostile_names",
        devices=("cpu", "meta", "cuda"),
        layouts=("sparse_coo",),
        layers=("autograd", "transform", "functionalise", "fake"),
        namespaces=("sparse", "linalg"),
        members={"sum": "tt_hostile.names:member", "requires_grad": "tt_hostile.names:member"},
    )


def member(self):
    """Stand in for a method."""
    return 0


@hookimpl
def tt_register(registry):
    import numpy as np

    from tt.library import ArrayApiBackend, Layer

    for device in ("cpu", "meta", "cuda"):
        backend = ArrayApiBackend(np, device)
        registry.add_backend(backend)
        registry.add(backend.kernels())
    for name in ("autograd", "transform", "functionalise", "fake"):
        layer = Layer()
        layer.name = name
        registry.add_layer(layer)


@hookimpl
def tt_commands():
    return {"env": "tt_hostile.names:member", "ops": "tt_hostile.names:member"}
