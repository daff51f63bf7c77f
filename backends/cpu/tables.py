"""The kernels of the CPU: its own, and those over the array API for the operators where NumPy has no better way.

The modules of the families are imported when an operator of theirs is first used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from tt.backends.cpu.backend import CpuBackend
from tt.backends.cpu.general import GeneralKernels
from tt.backends.cpu.native.extensions import RECORD
from tt.backends.cpu.native.loading import PACKAGE, status
from tt.backends.cpu.orders import with_shared_order
from tt.backends.cpu.stored import with_stored
from tt.core.library import FamilyIndex, Kernel, LazyKernelTable

__all__ = ["INDEX", "NATIVE_INDEX", "Kernels"]

STORED: Final = ("float8", "complex32")
"""Dtypes whose kernels serve them alone, so that another kernel of the operator is needed."""


def _ops(module: Any) -> Iterable[str]:
    return dict.fromkeys(
        kernel.op for kernel in module.cpu.kernels
    )  # in their order: builds are equal byte for byte


INDEX: Final = FamilyIndex("tt.backends.cpu", _ops)
"""Which modules have own kernels of an operator."""


def _form() -> str:
    return "native" if status().active else "numpy"


NATIVE_INDEX: Final = FamilyIndex(
    "tt.backends.cpu.native", _ops, also=[os.path.join(PACKAGE, RECORD)], form=_form
)
"""Which modules have kernels in C of an operator; their tables are empty where these are not compiled."""


class Kernels:
    """The kernels of the CPU by operator: its own, over the array API where these do not serve, and compiled ones.

    Parameters
    ----------
    backend : CpuBackend
        The backend for which they are.
    """

    def __init__(self, backend: CpuBackend) -> None:
        self._general = GeneralKernels(backend)
        self._own: Mapping[str, Sequence[str]] = INDEX.homes()
        self._native: Mapping[str, Sequence[str]] = {}
        if status().active:
            self._native = NATIVE_INDEX.homes()

    def table(self) -> LazyKernelTable:
        """Return the table for the registry."""
        ops = dict.fromkeys((*self._own, *self._general.ops, *self._native))
        return LazyKernelTable("cpu", ops, self.of)

    def of(self, op: str) -> list[Kernel]:
        """Return the kernels of an operator, the last of which counts."""
        own = _in_families(self._own, op)
        # A kernel that serves other dtypes, too, is NumPy's better way; see the design of NumPy's kernels.
        if all(kernel.dtypes in STORED for kernel in own):
            own += self._general.of(op)
        return [with_stored(with_shared_order(kernel)) for kernel in (*own, *_in_families(self._native, op))]


def _in_families(index: Mapping[str, Sequence[str]], op: str) -> list[Kernel]:
    return [kernel for module in index.get(op, ()) for kernel in _kernels(module).get(op, ())]


@cache
def _kernels(module: str) -> dict[str, list[Kernel]]:
    """Import a family, and return its kernels by operator."""
    by_op: dict[str, list[Kernel]] = {}
    for kernel in import_module(module).cpu.kernels:
        by_op.setdefault(kernel.op, []).append(kernel)
    return by_op
