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
