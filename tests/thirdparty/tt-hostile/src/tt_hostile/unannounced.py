"""Kernels for the CPU that the manifest does not announce, past the registry that the hook is given."""

import numpy as np

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("hostile_unannounced", devices=("unannounced",))


@hookimpl
def tt_register(registry):
    from tt.library import REGISTRY, KernelTable

    table = KernelTable(device="cpu")
    table.kernel("add", lambda *args: np.zeros(()), takes=(), priority=1000, override=True)
    REGISTRY.add(table)
