"""Members that the plugin gives to tensors."""

from __future__ import annotations

import warnings

import pytest

import tt


def test_the_gradient_of_what_is_no_leaf_is_warned_of():
    x = tt.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf is read"):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and tt.ones(1).grad is None and y.detach().grad is None
        y.retain_grad()
        assert y.grad is None
        y.sum().backward()
        assert y.grad.tolist() == [1.0, 1.0]


def test_grad_has_a_second_name_that_never_warns():
    x = tt.ones(2, requires_grad=True)
    x._grad = tt.tensor([3.0, 4.0])
    assert x.grad.tolist() == [3.0, 4.0] and x._grad is x.grad
    with pytest.raises(RuntimeError, match="same shape"):
        x._grad = tt.ones(3)
    del x._grad
    assert x.grad is None and "_grad" not in x.__dict__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (x * 2)._grad is None and tt.ones(1)._grad is None
