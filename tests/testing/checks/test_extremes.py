"""Kernels that go astray at the edges of a dtype are found."""

from __future__ import annotations

import numpy as np

from tests.testing.checks.planted import found_with
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.library import KernelTable
from tt.testing.conformance import check_conformance


def test_right_kernels_pass():
    report = check_conformance(
        "cpu", ops=["neg", "maximum", "sum"], dtypes=["float16"], checks=["extreme", "many"]
    )
    assert report.failures == [] and report.checks["extreme"] and report.checks["many"]


def test_a_kernel_that_loses_nan_is_found():
    found = found_with("neg", lambda self: np.nan_to_num(-self, nan=0.0), checks=["extreme"])
    assert {f.check for f in found} == {"extreme"}


def test_a_sum_in_half_precision_is_found():
    def kernel(self, dtype):
        return np.asarray(
            np.add.accumulate(self.reshape(-1), dtype=self.dtype)[-1] if self.size else 0, self.dtype
        )

    table = KernelTable(device="cpu")
    table.kernel("sum", kernel, dtypes=("float16",), half="same", override=True, priority=100)
    with REGISTRY.add(table, Provider("the test")):
        found = check_conformance("cpu", ops=["sum"], dtypes=["float16"], checks=["many"]).failures
    assert {f.check for f in found} == {"many"}
