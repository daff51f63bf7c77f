"""Kernels of a table, called with NumPy's arrays in place of the device's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tt.backends.cuda.launch.programs import Program


class Running:
    """The kernels of families on the host.

    Parameters
    ----------
    backend : CudaBackend
        Whose engine runs kernels on the host.
    families : modules
        Each has `tables`.
    """

    def __init__(self, backend: Any, *families: Any) -> None:
        self.backend = backend
        self._kernels = {
            (kernel.op, kernel.form): kernel.function
            for family in families
            for table in family.tables(backend)
            for kernel in table.kernels
        }

    def handle(self, value: Any) -> Any:
        """Return an array, or those in a list, as handles over the same memory."""
        if isinstance(value, list):
            return [self.handle(item) for item in value]
        return self.backend.normalise(value) if isinstance(value, np.ndarray) else value

    def __call__(self, op: str, *args: Any) -> Any:
        """Return the results of a kernel as arrays; without a functional form, the changed copy of the first."""
        if (op, "functional") not in self._kernels:
            changed = self.copied(args[0])
            self.inplace(op, changed, *args[1:])
            return changed
        found = self._kernels[op, "functional"](*(self.handle(arg) for arg in args))
        return tuple(f.array for f in found) if isinstance(found, tuple) else found.array

    def inplace(self, op: str, *args: Any) -> None:
        """Run a kernel that changes its arguments."""
        self._kernels[op, "inplace"](*(self.handle(arg) for arg in args))

    @staticmethod
    def copied(value: Any) -> Any:
        """Return copies of arrays, each with the strides of its array."""
        if isinstance(value, list):
            return [Running.copied(item) for item in value]
        order = sorted(range(value.ndim), key=lambda d: -abs(value.strides[d]))
        return value.transpose(order).copy().transpose(np.argsort(order))


def prepared(engine: Any, program: Program, names: Iterable[str]) -> None:
    """Compile kernels together, which takes a fraction of the time of one by one."""
    engine.prepare([program.kernel(name) for name in names])
