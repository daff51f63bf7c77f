"""`copy` and `deepcopy`, and what pickles do as well."""

from __future__ import annotations

import copy

import pytest

import tt
from tests.core.methods.memory.test_pickling import Image, round_trip


@pytest.mark.parametrize("copier", [round_trip, copy.deepcopy])
@pytest.mark.parametrize(
    "make",
    [
        lambda: tt.tensor(3), lambda: tt.arange(6).reshape(2, 3), lambda: tt.arange(6).reshape(2, 3).t(),
        lambda: tt.arange(6)[::2], lambda: tt.ones(0, 3), lambda: tt.ones(3).expand(2, 3), lambda: tt.tensor([True]),
        lambda: tt.tensor([1.5, 2], dtype=tt.bfloat16), lambda: tt.tensor([1j]), lambda: tt.ones(2, requires_grad=True),
    ],
)  # fmt: skip
def test_copies_keep_values_dtype_strides_and_gradients(make, copier):
    x = make()
    y = copier(x)
    assert (
        type(y) is type(x)
        and y.dtype is x.dtype
        and y.shape == x.shape
        and y.requires_grad == x.requires_grad
    )
    assert y.stride() == x.stride() or x.numel() == 0
    assert y.tolist() == x.tolist()
    assert y.numel() == 0 or y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("copier", [round_trip, copy.deepcopy])
def test_views_that_travel_together_keep_sharing(copier):
    x = tt.zeros(2, 3)
    together = copier({"base": x, "view": x[1].t(), "again": x})
    base, view = together["base"], together["view"]
    assert together["again"] is base
    view += 1
    assert base.tolist() == [[0.0] * 3, [1.0] * 3]
    assert base._version == view._version == 1
    assert x.sum().item() == 0.0


@pytest.mark.parametrize("copier", [round_trip, copy.deepcopy, copy.copy])
def test_copies_keep_class_and_attributes(copier):
    x = tt.ones(2).as_subclass(Image)
    x.label = "cat"
    y = copier(x)
    assert type(y) is Image and y.label == "cat"


def test_a_shallow_copy_shares_memory():
    x = tt.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.requires_grad and y.is_leaf


def test_deepcopy_needs_leaves_and_copies_gradients():
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user \(graph leaves\)"):
        copy.deepcopy(x * 2)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [2.0, 2.0] and y.grad is not x.grad
