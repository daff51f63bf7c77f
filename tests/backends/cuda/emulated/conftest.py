"""Tests on an emulated CUDA device, which a process has from its beginning: `test_emulated.py` starts them."""

from __future__ import annotations

import os

from tests.backends.cuda import emulation

if emulation.DEVICES in os.environ:
    emulation.install(
        int(os.environ[emulation.DEVICES]),
        own_kernels=os.environ.get(emulation.KERNELS) != "0",
        products=os.environ.get(emulation.PRODUCTS) == "1",
    )
else:
    collect_ignore_glob = ["test_*.py"]
