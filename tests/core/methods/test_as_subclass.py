"""Tensors as instances of a subclass."""

from __future__ import annotations

import pytest

import tt


class Image(tt.Tensor):
    """A subclass that adds nothing."""


def test_as_subclass_shares_memory_and_history():
    x = tt.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Image)
    assert isinstance(y, Image) and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    for error in (TypeError, RuntimeError):
        with pytest.raises(error, match="takes a subclass of Tensor"):
            x.as_subclass(int)
