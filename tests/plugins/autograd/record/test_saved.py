"""Saved tensors: which ones, changes of them, and graphs that were freed."""

from __future__ import annotations

import pytest

import tt


def test_a_formula_saves_only_what_a_wanted_gradient_needs() -> None:
    x, y = tt.ones(2, requires_grad=True), tt.ones(2)
    assert [t is y for t in (x * y).grad_fn.saved] == [True]
    assert len((x * x).grad_fn.saved) == 2
    assert (x + y).grad_fn.saved == (1,) or (x + y).grad_fn.saved == ()


def test_a_saved_tensor_that_was_changed_is_noticed() -> None:
    x = tt.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(tt.core.errors.SavedTensorError, match="needs was changed in place") as raised:
        y.sum().backward()
    assert (raised.value.node, raised.value.saved, raised.value.found) == ("ExpBackward0", 0, 1)
    w = tt.ones(3)
    z = (x * w).sum()
    w.mul_(2)
    with pytest.raises(tt.core.errors.SavedTensorError):
        z.backward()
    w[0] = 5.0
    ok = (x * w).sum()
    ok.backward()
    assert x.grad is not None and x.grad.tolist() == [5.0, 2.0, 2.0]


def test_a_freed_graph_says_how_to_keep_it() -> None:
    y = tt.ones(3, requires_grad=True).exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="the tensors that this graph had saved are gone"):
        y.backward()


def test_only_the_graph_makes_saved_tensors():
    with pytest.raises(RuntimeError, match="is made by the graph"):
        tt.autograd.SavedTensor()
