"""Native kernels of the derivatives of random numbers by the parameters of their distributions."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.pointwise import both_forms
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("reparametrization")

if NATIVE is not None:
    both_forms(cpu, "_standard_gamma_grad", NATIVE.standard_gamma_grad, ("self", "output"))
    both_forms(cpu, "_dirichlet_grad", NATIVE.dirichlet_grad, ("x", "alpha", "total"))
