"""Other sizes of the same arguments, and kernels that are wrong for them."""

from __future__ import annotations

import numpy as np

import tt
from tests.testing.checks.planted import faults_of, found_with
from tt.testing.checks.sizes import empties, resized, sizes
from tt.testing.conformance import check_conformance
from tt.testing.findings.log import Log
from tt.testing.opcheck.call import bind


def test_every_dim_of_a_size_is_resized():
    call = bind("matmul", (tt.ones(2, 3), tt.ones(3, 2)))
    larger = resized(call, 3, 5)
    assert [tuple(t.shape) for t in larger.args] == [(2, 5), (5, 2)]
    assert resized(call, 7, 1) is None
    assert [c.on for c in sizes(call, Log())] == ["sizes 4 instead of 2", "sizes 4 instead of 3"]
    assert [tuple(c.args[0].shape) for c in empties(call, Log())] == [(0, 3), (2, 0)]


def breaks_without_elements(x):
    return x + x + 0 * x.reshape(-1)[0]


def test_both_drivers_name_a_kernel_that_breaks_without_elements():
    assert faults_of("test_layouts", kernel=breaks_without_elements) == {"empty_fails"}
    found = found_with(
        "neg", lambda self: -self if self.size else self.reshape(0), checks=["empty"], takes=("self",)
    )
    assert "empty" in {f.check for f in found}


def test_a_dim_that_is_not_counted_from_the_end_is_found():
    def kernel(self, dim, dtype):
        return np.cumsum(self, axis=max(dim, 0)) if self.ndim else self.copy()

    assert {f.check for f in found_with("cumsum", kernel, checks=["dim"])} >= {"dim"}
    assert (
        check_conformance("cpu", ops=["cumsum"], dtypes=["float32"], checks=["dim", "empty"]).failures == []
    )
