"""Registers as soon as it is imported."""

import numpy as np

from tt.core.hooks import Manifest, hookimpl
from tt.library import REGISTRY, KernelTable

table = KernelTable(device="cpu")
table.kernel("add", lambda *args: np.zeros(()), takes=(), priority=1000, override=True)
REGISTRY.add(table)


@hookimpl
def tt_manifest():
    return Manifest("hostile_early")
