"""The kernels of the CPU: its own, and those over the array API for the operators where NumPy has no better way."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Final

from tt.backends.cpu.backend import CpuBackend
from tt.backends.cpu.float8 import with_stored
from tt.core.library import KernelTable

__all__ = ["tables"]

FAMILIES: Final = (
    "pointwise",
    "binary",
    "reduction",
    "shaping",
    "indexing",
    "scattering",
    "sorting",
    "linalg",
    "decomposition",
    "factors",
    "equations",
    "random",
    "fft",
    "convolution",
    "pooling",
    "copies",
    "creation",
    "unary",
    "special",
    "activation",
    "norm",
    "statistics",
    "scan",
    "loss",
    "optimizer",
    "float8",
    "complex32",
)

NATIVE: Final = (
    "pointwise",
    "activation",
    "copies",
    "random",
    "reparametrization",
    "convolution",
    "reduction",
    "softmax",
    "norm",
    "normalization",
    "loss",
    "scan",
    "products",
    "bfloat_products",
    "indexing",
    "scattering",
    "pooling",
    "cross",
    "qr",
    "cholesky",
    "lu",
    "fourier",
    "distances",
    "sorting",
    "resampling",
    "ctc",
    "grid",
    "optimizer",
    "shaping",
    "creation",
    "recurrent",
)  # fmt: skip
"""The families with kernels in C, whose tables are empty where these are not compiled."""


def tables(backend: CpuBackend) -> list[KernelTable]:
    """Return the tables of every family, of the array API for the remaining operators, and of native kernels."""
    own = [_by_numpy(import_module(f"tt.backends.cpu.{family}").cpu) for family in FAMILIES]
    served = {
        kernel.op for table in own for kernel in table.kernels if kernel.dtypes not in ("float8", "complex32")
    }
    native = [import_module(f"tt.backends.cpu.native.{family}").cpu for family in NATIVE]
    return list(map(with_stored, [*own, backend.kernels(without=sorted(served)), *native]))


def _by_numpy(table: KernelTable) -> KernelTable:
    """Return a table whose kernels name NumPy as their library, unless they name another."""
    return replace(table, kernels=[replace(kernel, by=kernel.by or "NumPy") for kernel in table.kernels])
