"""The conditions of a cached call, and when it is resolved again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt


def test_a_change_of_the_default_dtype_reaches_cached_entries(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1, 2], tt.int64)
    for _ in range(3):
        assert tt.mul(x, 0.5).dtype is tt.float32
        with tt.default_dtype(tt.float64):
            assert tt.mul(x, 0.5).dtype is tt.float64


@pytest.mark.parametrize(
    "call", [lambda x: x.conj(), lambda x: x.real, lambda x: tt.real(x), lambda x: x.conj_physical()]
)
@pytest.mark.parametrize(
    "x",
    [tt.ones(2), tt.tensor([1, 2]), tt.ones(2, requires_grad=True), tt.ones(2, device="meta"), tt.eye(2).to_sparse()],
    ids=["float", "int", "grad", "meta", "sparse"],
)  # fmt: skip
def test_real_tensors_are_their_own_conjugates_and_real_parts(call, x):
    assert call(x) is x


def test_a_complex_tensor_has_another_conjugate_and_a_view_of_its_real_part():
    x = tt.tensor([1 + 2j])
    assert x.conj().tolist() == [1 - 2j] and x.real._base is x
    assert tt.func.vmap(lambda v: v.conj())(tt.tensor([[1.0, 2.0]])).tolist() == [[1.0, 2.0]]
