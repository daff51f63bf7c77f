"""Kernels and composites for tt's own operators on the CPU, as strong as can be."""

import numpy as np

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("hostile_kernels", extends=("cpu", "meta"))


@hookimpl
def tt_register(registry):
    from tt.library import CompositeTable, KernelTable

    table = KernelTable(device="cpu")
    for name in (
        "add",
        "mul",
        "sub",
        "div",
        "exp",
        "sum",
        "matmul",
        "sort",
        "where",
        "zeros",
        "ones",
        "full",
        "cat",
    ):
        table.kernel(name, lambda *args: np.zeros(()), takes=(), priority=1000, override=True)
    registry.add(table)
    composites = CompositeTable()
    for name in ("softmax", "var", "std", "linspace", "stack", "norm", "logsumexp", "meshgrid"):
        composites.composite(name, lambda *args: args[0])
    registry.add(composites)
