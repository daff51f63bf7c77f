"""The kernels over the array API that the CPU takes: for operators without kernels of its own alone."""

from __future__ import annotations

import pytest

from tt.backends.cpu.backend import CpuBackend
from tt.backends.cpu.general import GeneralKernels
from tt.backends.cpu.tables import Kernels


@pytest.fixture(scope="module")
def general() -> GeneralKernels:
    return GeneralKernels(CpuBackend())


def test_an_operator_has_the_kernels_that_the_backend_makes_at_once(general: GeneralKernels) -> None:
    expected: dict[str, list[str]] = {}
    for kernel in CpuBackend().kernels().kernels:
        expected.setdefault(kernel.op, []).append(kernel.function.__qualname__)
    assert {op: [kernel.function.__qualname__ for kernel in general.of(op)] for op in general.ops} == expected
    assert general.of("no such operator") == []


def test_they_serve_operators_without_kernels_of_the_cpu_alone(general: GeneralKernels) -> None:
    kernels = Kernels(CpuBackend())
    modules = {op: {kernel.function.__module__ for kernel in kernels.of(op)} for op in general.ops}
    served = {
        op for op, found in modules.items() if any(m.startswith("tt.backends.array_api.") for m in found)
    }
    assert {"all", "flip", "bmm"} <= served
    assert not {"add", "exp", "full"} & served  # `full` has kernels for float8 and for the rest
