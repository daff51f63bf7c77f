"""The log of a checkpoint: the operators of both runs, with the lines that called them and the first difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tt
from tt.plugins.autograd.features.checkpoint_log import OperatorLog, both_runs
from tt.utils.checkpoint import checkpoint


def test_a_log_has_arguments_results_and_lines() -> None:
    with OperatorLog() as log:
        tt.cat([tt.ones(2), tt.zeros(1)]).sum(dim=0, keepdim=True)
    (ones, _), (zeros, _), (cat, line), (total, _) = log.calls
    assert ones.startswith("ones([2]") and zeros.endswith("-> float32[1]")
    assert cat == "cat([float32[2], float32[1]]) -> float32[3]"
    assert total == "sum(float32[3], [0], True) -> float32[1]"
    assert line.startswith(f"{Path(__file__)}:") and line.endswith(
        "in test_a_log_has_arguments_results_and_lines"
    )


def test_a_log_begins_again_with_each_run() -> None:
    log = OperatorLog()
    for _ in range(2):
        with log:
            tt.ones(2)
    assert len(log.calls) == 1


def test_an_error_shows_both_runs_and_marks_the_difference() -> None:
    steps: list[Any] = [tt.sin, tt.exp, tt.cos]

    def run(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    y = checkpoint(run, tt.ones(2, requires_grad=True), use_reentrant=False, debug=True)
    steps[1:] = [tt.neg]
    with pytest.raises(tt.errors.CheckpointError) as caught:
        y.sum().backward()
    lines = str(caught.value).splitlines()
    assert "saved 3 tensors in the forward pass, and 1 when it ran again" in lines[0]
    calls = [line.strip().partition("   ")[0] for line in lines[1:]]
    assert calls == [
        "the operators of the forward pass:",
        "1. sin(float32[2]) -> float32[2]",
        "> 2. exp(float32[2]) -> float32[2]",
        "3. cos(float32[2]) -> float32[2]",
        "the operators of the second run:",
        "1. sin(float32[2]) -> float32[2]",
        "> 2. neg(float32[2]) -> float32[2]",
    ]


def test_a_run_without_operators_says_so() -> None:
    assert both_runs(OperatorLog(), OperatorLog()).splitlines() == [
        "the operators of the forward pass: none",
        "the operators of the second run: none",
    ]
