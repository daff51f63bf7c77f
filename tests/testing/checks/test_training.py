"""A small network learns on every backend as on the CPU: what single calls do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.dispatch.call import cached_call
from tt.testing.checks.training import train
from tt.testing.conformance import check_conformance


def failures(device: str) -> list[str]:
    found = check_conformance(device, ops=["mm"], dtypes=["float32"], checks=["training"])
    assert found.checks["training"] == 1 and not found.missing
    return [failure.message for failure in found.failures]


def test_the_cpu_learns_and_so_does_a_device_whose_arrays_cannot_change(frozen: str) -> None:
    assert failures("cpu") == [] == failures(frozen)


def test_the_steps_are_those_of_gradient_descent() -> None:
    draw = np.random.default_rng(0)
    x, y, first, bias, second = (
        draw.standard_normal(shape).astype(np.float32) for shape in ((8, 4), (8, 2), (4, 5), (5,), (5, 2))
    )
    losses = []
    for _ in range(8):
        sums = x @ first + bias
        hidden = np.maximum(sums, 0)
        difference = hidden @ second - y
        losses.append(float((difference**2).mean()))
        slope = 2 * difference / difference.size
        below = (slope @ second.T) * (sums > 0)
        second, first, bias = (
            second - 0.1 * hidden.T @ slope,
            first - 0.1 * x.T @ below,
            bias - 0.1 * below.sum(0),
        )
    found, parameters = train("cpu")
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    for one, other in zip(parameters, (first, bias, second), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_a_step_that_changes_another_tensor_is_found(frozen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(entry: Any, args: Any, aliases: Any, result: Any) -> Any:
        return result

    monkeypatch.setattr(cached_call, "hand_back", lost)
    (message,) = failures(frozen)
    assert "`p -= step` under no_grad made another tensor than the parameter" in message


def test_gradients_that_pile_up_are_found(frozen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # On the device only: the CPU's own gradients are set to zero.
    zero = tt.Tensor.zero_
    monkeypatch.setattr(tt.Tensor, "zero_", lambda self: self if self.device.type == frozen else zero(self))
    found = failures(frozen)
    assert any("the losses are" in text for text in found) and any(
        "parameter 0 differs" in text for text in found
    )
