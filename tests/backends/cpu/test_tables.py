"""The kernels of the CPU: which modules a first call imports, and that every family is found."""

from __future__ import annotations

import inspect
import os
from importlib import import_module

import numpy as np
import pytest

from tests.processes import printed_by
from tt.backends.cpu.backend import CpuBackend
from tt.backends.cpu.native.loading import status
from tt.backends.cpu.tables import INDEX, NATIVE_INDEX, Kernels
from tt.core.library import Kernel

IMPORTED = """
import sys
import tt
tt.ones(2) + 1
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("tt.backends.cpu.")))
"""


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels(CpuBackend())


def test_a_first_call_imports_its_families_only() -> None:
    printed_by(IMPORTED)  # makes the index, if it is not there
    imported = printed_by(IMPORTED, {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}).split()
    assert {"creation", "pointwise"} <= {*imported}
    assert not {"factors", "convolution", "sorting", "fft", "lu", "recurrent"} & {*imported}


INDEXED = """
from tt.backends.cpu.native.loading import status
from tt.backends.cpu.tables import NATIVE_INDEX
print(status().active, bool(NATIVE_INDEX.homes()))
"""


@pytest.mark.parametrize("kernels", ["0", "1", "0"])
def test_a_process_without_native_kernels_does_not_hide_them_from_others(kernels: str) -> None:
    active, indexed = printed_by(INDEXED, {**os.environ, "TT_NATIVE": kernels}).split()
    assert active == indexed


def test_each_operator_has_the_kernels_of_its_families(kernels: Kernels) -> None:
    expected: dict[str, list[object]] = {}
    modules = INDEX.modules()
    if status().active:
        modules += NATIVE_INDEX.modules()
    for module in modules:
        for kernel in import_module(module).cpu.kernels:
            expected.setdefault(kernel.op, []).append(inspect.unwrap(kernel.function))
    found = {
        op: [inspect.unwrap(k.function) for k in kernels.of(op) if not is_general(k)]
        for op in kernels.table().ops
    }
    assert {op: functions for op, functions in found.items() if functions} == expected


def is_general(kernel: Kernel) -> bool:
    """Return whether a kernel is one over the array API; some of these are functions of NumPy itself."""
    if isinstance(inspect.unwrap(kernel.function), np.ufunc):
        return kernel.op not in INDEX.homes()
    return kernel.function.__module__.startswith("tt.backends.array_api.")


def test_kernels_that_move_elements_serve_stored_dtypes(kernels: Kernels) -> None:
    assert {k.dtypes for k in kernels.of("clone")} == {"any"}
    assert "any" not in {k.dtypes for k in kernels.of("exp")}


def test_a_kernel_names_numpy_unless_it_is_compiled(kernels: Kernels) -> None:
    assert {(k.native, k.by) for k in kernels.of("exp")} <= {(False, "NumPy"), (True, "")}
