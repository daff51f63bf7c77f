"""Ranges of NVTX nest, and every operator has one."""

from __future__ import annotations

import pytest

import tt


def test_ranges_nest_and_every_operator_has_one(cuda):
    x = tt.ones(2, 3, device="cuda")
    log = cuda.driver.log
    log.clear()
    assert tt.cuda.nvtx.range_push("outer") == 0
    with tt.cuda.nvtx.range("step {}", 3):
        tt.cuda.nvtx.mark("here")
    assert tt.cuda.nvtx.range_pop() == 0
    tt.cuda.nvtx.range_end(tt.cuda.nvtx.range_start("apart"))
    assert log == [("push", "outer"), ("push", "step 3"), ("mark", "here"), ("pop",), ("pop",),
                   ("range start", "apart"), ("range end", 6)]  # fmt: skip
    log.clear()
    with tt.autograd.profiler.emit_nvtx(record_shapes=True):
        x.exp()
    with tt.autograd.profiler.emit_nvtx(enabled=False):
        x.exp()
    with pytest.raises(RuntimeError), tt.autograd.profiler.emit_nvtx():
        x.reshape(7)
    pushed = [entry[1] for entry in log if entry[0] == "push"]
    assert pushed == ["tt::exp, sizes = [[2, 3]]", "tt::reshape"]
    assert [entry[0] for entry in log].count("pop") == 2
