"""Forms that derive from each other, and what calls in place refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt


@pytest.mark.parametrize("form", ["functional", "ufunc", "inplace", "out"])
def test_every_form_derives_from_the_one_that_is_there(probe: Any, form: str) -> None:
    if form == "functional":
        probe.kernel("mul", lambda self, other: self * other)
    elif form == "ufunc":
        probe.kernel("mul", np.multiply)
    elif form == "inplace":
        probe.kernel("mul", lambda self, other: np.multiply(self, other, out=self), form="inplace")
    else:
        probe.kernel("mul", lambda self, other, out: np.multiply(self, other, out=out), form="out")
    x, y = probe.tensor([2.0, 3.0], tt.float32), probe.tensor([4.0, 5.0], tt.float32)
    assert tt.mul(x, y)._handle.tolist() == [8.0, 15.0]
    assert x._handle.tolist() == [2.0, 3.0]
    handle, version = x._handle, x._version
    assert x.mul_(y) is x
    assert x._handle is handle
    assert x._handle.tolist() == [8.0, 15.0]
    assert x._version == version + 1


def test_in_place_casts_the_result_to_the_target(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([2.0], tt.float32)
    x.mul_(probe.tensor([1.5], tt.float64))
    assert (x.dtype, x._handle.tolist()) == (tt.float32, [3.0])


def test_in_place_refuses_a_result_of_a_higher_category(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([2], tt.int64)
    with pytest.raises(
        RuntimeError, match=r"the result has dtype float32, which the target's int64 cannot hold"
    ):
        x.mul_(1.5)
    assert x._handle.tolist() == [2]
    # The other way round is another entry.
    y = probe.tensor([1.5], tt.float32)
    assert y.mul_(x)._handle.tolist() == [3.0]


def test_in_place_refuses_to_grow_the_target(probe: Any) -> None:
    probe.kernel("mul", lambda self, other: self * other)
    x = probe.tensor([2.0], tt.float32)
    with pytest.raises(
        RuntimeError, match=r"the result has shape \[3\], which the target of shape \[1\] cannot hold"
    ):
        x.mul_(probe.tensor([1.0, 2.0, 3.0], tt.float32))


def test_in_place_on_overlapping_elements_is_refused() -> None:
    x = tt.ones(1)
    with pytest.raises(RuntimeError, match="are one in memory"):
        x.expand(3).add_(1)
    assert x.tolist() == [1.0]


# --- lists whose tensors are parts of one ------------------------------------------------------------------------


def _step(params: list[Any], grads: list[Any]) -> None:
    tt.ops._fused_sgd_(
        params, grads, [], weight_decay=0.0, momentum=0.0, lr=1.0, dampening=0.0, nesterov=False, maximize=False,
        is_first_step=False,
    )  # fmt: skip


def test_lists_of_parts_of_one_tensor_are_changed() -> None:
    flat, slopes = tt.ones(3, 4), tt.arange(12.0).view(3, 4)
    _step(list(flat.unbind(0)), list(slopes.unbind(0)))
    assert flat.tolist() == (1 - slopes).tolist()


X, G = tt.ones(4), tt.ones(4)


@pytest.mark.parametrize(
    ("params", "grads"),
    [
        ([X[:2], X[1:3]], [G[:2], G[2:4]]),
        ([X[:2], X[:2]], [G[:2], G[2:4]]),
        ([X[:2], X], [G[:2], G]),
        ([X[:2]], [X[1:3]]),
    ],
)
def test_lists_whose_tensors_cover_parts_of_each_other_are_refused(
    params: list[Any], grads: list[Any]
) -> None:
    with pytest.raises(RuntimeError, match=r"same memory|a part of the memory"):
        _step(params, grads)
    assert X.tolist() == [1.0] * 4
