"""The same values elsewhere in memory: how they are laid out, and that kernels which mind are found."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.testing.checks.planted import faults_of, found_with
from tt.testing.checks.strides import arranged


@pytest.mark.parametrize("layout", ["transposed", "strided", "offset"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2), (2, 1, 3)])
def test_values_stay_where_memory_does_not(layout, shape):
    x = tt.arange(6.0)[: int(np.prod(shape))].reshape(shape).requires_grad_()
    found = arranged(x, layout)
    assert found.tolist() == x.tolist() and found.requires_grad and found.shape == x.shape
    if layout == "transposed" and shape == (2, 3):
        assert found.stride() == (1, 2)
    elif layout == "strided" and shape == (2, 3):
        assert found.stride() == (10, 3) and found.storage_offset() == 1
    elif shape == (3,):
        assert found.storage_offset() == 1


def test_between_the_elements_is_what_shows_when_it_is_read():
    memory = arranged(tt.ones(2, 2), "strided").as_strided((14,), (1,), 0)
    assert not np.isfinite(memory.numpy()).all()


def in_order_of_memory(x):
    return np.ascontiguousarray(x.T).reshape(x.shape) if not x.flags.c_contiguous else x + 0


def test_both_drivers_name_a_kernel_that_reads_memory_in_order():
    found = faults_of("test_layouts", kernel=in_order_of_memory, backward=None, tags=("nondifferentiable",))
    assert found == {"layout_wrong"}
    assert faults_of("test_layouts") == set()
    failures = found_with("neg", lambda self: -in_order_of_memory(self), checks=["layout"], takes=("self",))
    assert {f.check for f in failures} == {"layout"} and any("columns first" in f.message for f in failures)


def test_a_refusal_of_other_strides_is_found():
    def kernel(self):
        if not self.flags.c_contiguous:
            raise ValueError("contiguous arrays only")
        return -self

    assert any("contiguous arrays only" in f.message for f in found_with("neg", kernel, checks=["layout"]))
