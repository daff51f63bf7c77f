"""The plugin `rival_one`: kernels for the CPU, and names that its rival declares, too."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest(
        "rival_one",
        api_version="1.0",
        devices=("npu", "npu_one"),
        namespaces=("shared", "rival_one"),
        extends=("cpu",),
    )


@hookimpl
def tt_register(registry):
    import numpy as np

    from tt.library import ArrayApiBackend, CompositeTable, KernelTable, OpDefinition, Signature

    for device in ("npu", "npu_one"):
        backend = ArrayApiBackend(np, device)
        backend.brought_by = "one"
        registry.add_backend(backend)
        registry.add(backend.kernels())
    for name in ("shared::who", "rival_one::who"):
        signature = Signature.parse(f"{name}(Tensor x) -> Tensor")
        doc = "Tells which of the two packages serves."
        registry.add_definitions(OpDefinition(signature, "other", meta="like", dtypes="floating", doc=doc))
    cpu = KernelTable(device="cpu")
    for name in ("exp", "shared::who", "rival_one::who"):
        cpu.kernel(name, lambda x: x + 100, takes=("self" if name == "exp" else "x",), dtypes="floating")
    cpu.kernel("sin", np.sin, dtypes="floating", takes=("self",))
    registry.add(cpu)
    composites = CompositeTable()
    composites.composite("relu6", lambda self, inplace: self + 100)
    registry.add(composites)


@hookimpl
def tt_commands():
    return {"who": "tt_rival_one.plugin:who", "who-one": "tt_rival_one.plugin:who"}


def who():
    """Say which of the two it is."""
    print("one")
