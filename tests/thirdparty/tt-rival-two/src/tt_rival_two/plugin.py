"""The plugin `rival_two`: kernels for the CPU, and names that its rival declares, too."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest(
        "rival_two",
        api_version="1.0",
        devices=("npu", "npu_two"),
        namespaces=("shared", "rival_two"),
        extends=("cpu",),
    )


@hookimpl
def tt_register(registry):
    import numpy as np

    from tt.library import ArrayApiBackend, CompositeTable, KernelTable, OpDefinition, Signature

    for device in ("npu", "npu_two"):
        backend = ArrayApiBackend(np, device)
        backend.brought_by = "two"
        registry.add_backend(backend)
        registry.add(backend.kernels())
    for name in ("shared::who", "rival_two::who"):
        signature = Signature.parse(f"{name}(Tensor x) -> Tensor")
        doc = "Tells which of the two packages serves."
        registry.add_definitions(OpDefinition(signature, "other", meta="like", dtypes="floating", doc=doc))
    cpu = KernelTable(device="cpu")
    for name in ("exp", "shared::who", "rival_two::who"):
        cpu.kernel(name, lambda x: x + 200, takes=("self" if name == "exp" else "x",), dtypes="floating")
    cpu.kernel("sin", np.sin, dtypes="floating", takes=("self",))
    registry.add(cpu)
    composites = CompositeTable()
    composites.composite("relu6", lambda self, inplace: self + 200)
    registry.add(composites)


@hookimpl
def tt_commands():
    return {"who": "tt_rival_two.plugin:who", "who-two": "tt_rival_two.plugin:who"}


def who():
    """Say which of the two it is."""
    print("two")
