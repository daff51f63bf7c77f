"""The kernels over the array API that the CPU takes, where NumPy has no better way than the standard's functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from tt.backends.cpu.backend import CpuBackend
from tt.core.library import FamilyIndex, Kernel

__all__ = ["INDEX", "GeneralKernels"]


def _ops(module: Any) -> Iterable[str]:
    return dict.fromkeys(kernel.op for kernel in CpuBackend().kernels_of(module.__name__))


INDEX: Final = FamilyIndex("tt.backends.array_api", _ops)
"""Which modules have what NumPy serves by the standard's functions."""


class GeneralKernels:
    """The kernels over the array API by operator; a family is imported when one of its operators is first used.

    Parameters
    ----------
    backend : CpuBackend
        The backend for which they are.
    """

    def __init__(self, backend: CpuBackend) -> None:
        self._backend = backend
        self._index: Mapping[str, Sequence[str]] = INDEX.homes()
        self._made: dict[str, list[Kernel]] = {}

    @property
    def ops(self) -> Collection[str]:
        """The operators that have kernels."""
        return self._index.keys()

    def of(self, op: str) -> list[Kernel]:
        """Return the kernels of an operator."""
        return [k for module in self._index.get(op, ()) for k in self._family(module) if k.op == op]

    def _family(self, module: str) -> list[Kernel]:
        kernels = self._made.get(module)
        if kernels is None:
            kernels = self._made[module] = self._backend.kernels_of(module)
        return kernels
