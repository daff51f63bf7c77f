"""Traces and counts: which calls were made, and who served them."""

from __future__ import annotations

from typing import Any

import numpy as np

import tt
from tt.core.library import CompositeTable, ops


def test_a_trace_shows_calls_and_the_calls_inside_them(probe: Any) -> None:
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, self))
    probe.add(table)
    probe.kernel("mul", np.multiply)
    with tt.trace_calls() as trace:
        tt.exp(probe.tensor([1.0], tt.float32))
    assert [(c.operator, c.depth) for c in trace.calls] == [("exp", 0), ("mul", 1)]
    assert str(trace.calls[1]).startswith(
        "  mul(float32[1], float32[1]) -> kernel: probe-dist 1.0 (probe) numpy.multiply"
    )
    assert trace.calls[0].seconds >= trace.calls[1].seconds > 0


def test_counts_name_who_served(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0], tt.float32)
    with tt.count() as counts:
        for _ in range(3):
            tt.mul(x, x)
    assert counts.calls == {("mul", "functional", "kernel: probe-dist 1.0 (probe) numpy.multiply"): 3}


def test_where_nothing_is_recorded_the_kernel_below_a_composite_is_named() -> None:
    p, g = [tt.ones(3, requires_grad=True)], [tt.ones(3)]
    options = {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.25, "dampening": 0.0, "nesterov": False}
    with tt.trace_calls() as trace, tt.no_grad():
        ops._fused_sgd_(p, g, [], maximize=False, is_first_step=True, **options)
    assert (
        str(trace).partition(" -> ")[2].startswith("kernel: ")
    )  # printed where gradients are recorded again
    with tt.count() as counts, tt.no_grad():
        ops._fused_sgd_(p, g, [], maximize=False, is_first_step=True, **options)
    ((_, _, served_by),) = counts.calls
    assert served_by.startswith("kernel: ")
