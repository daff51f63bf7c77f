"""Fallbacks: their policies, and their counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.dispatch.resolve.fallback import FALLBACKS
from tt.core.errors import NoKernelError, UnknownNameError
from tt.core.library import CompositeTable, ops


def test_nothing_falls_back_by_default(probe: Any) -> None:
    probe.backend.fallback = "cpu"
    with pytest.raises(NoKernelError, match=r"fallback to cpu \(policy: error\)|fallback .*policy: error"):
        tt.exp(probe.tensor([0.0], tt.float32))


def test_a_permitted_fallback_is_counted_and_returns_to_its_device(probe: Any) -> None:
    probe.backend.fallback = "cpu"
    x = probe.tensor([0.0, 1.0], tt.float32)
    before = FALLBACKS["exp", "probe", "cpu"]
    with (
        tt.fallback_policy("warn", "probe"),
        pytest.warns(UserWarning, match="exp has no kernel for probe and runs on cpu"),
    ):
        result = tt.exp(x)
    assert FALLBACKS["exp", "probe", "cpu"] == before + 1
    assert str(result.device) == "probe"
    np.testing.assert_allclose(result._handle, np.exp(np.array([0.0, 1.0], np.float32)), rtol=1e-6)
    with tt.fallback_policy("silent"):
        tt.exp(x)
    with pytest.raises(NoKernelError):
        tt.exp(x)


def test_a_policy_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown fallback policy 'wran'; did you mean 'warn'"):
        tt.set_fallback_policy("wran")


def test_the_fallback_can_go_before_composites(probe: Any) -> None:
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, 100.0))
    probe.add(table)
    probe.kernel("mul", np.multiply)
    x = probe.tensor([0.0], tt.float32)
    probe.backend.fallback = "cpu"
    with tt.fallback_policy("silent", "probe"):
        assert tt.exp(x)._handle.tolist() == [0.0]
        probe.backend.prefer_fallback = True
        ops.exp.operator.invalidate()
        assert tt.exp(x)._handle.tolist() == [1.0]
