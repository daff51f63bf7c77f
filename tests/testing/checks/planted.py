"""Planted faults: kernels that are wrong, and the findings of both drivers of the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.testing.opcheck.made import Made, X
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.library import KernelTable
from tt.library import opcheck
from tt.testing.conformance import Failure, check_conformance

__all__ = ["faults_of", "found_with"]


def found_with(
    op: str, kernel: Callable[..., Any], checks: Sequence[str] | None = None, **options: Any
) -> list[Failure]:
    """Return the failed checks of conformance of an operator while the CPU has another kernel for it."""
    table = KernelTable(device="cpu")
    table.kernel(op, kernel, override=True, priority=100, **options)
    with REGISTRY.add(table, Provider("the test")):
        return check_conformance("cpu", ops=[op], dtypes=["float32"], checks=checks).failures


def faults_of(test: str, *args: Any, **parts: Any) -> set[str]:
    """Return the faults that one test of opcheck finds in an operator from its parts, right ones by default."""
    with Made(**parts) as op:
        report = opcheck(op, args or (X,), test_utils=test, raise_exception=False)
    return {failure.fault for failure in report.failures}
