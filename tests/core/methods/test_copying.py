"""Pickles that claim more than they hold."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.methods.copying import rebuild_storage, rebuild_tensor


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "message"),
    [
        ((100,), (4,), 0, "is not part of memory of 16 bytes"),
        ((2,), (4,), -4, "is not part of memory of 16 bytes"),
        ((2,), (4,), 2**63, "is not part of memory of 16 bytes"),
        ((2,), (2**63,), 0, "is not part of memory of 16 bytes"),
        ((-1,), (4,), 0, "is not part of memory of 16 bytes"),
        ((2**40, 2**40), (0, 0), 0, "is not part of memory of 16 bytes"),
        ((2, 2), (4,), 0, "is not part of memory of 16 bytes"),
        ((4,), (-4,), 12, "stride in the given pickled tensor is negative"),
        ((2,), (1,), 0, "not a multiple of the element byte size"),
    ],
)
def test_places_outside_of_the_storage_are_refused(
    shape: Any, strides: Any, offset: int, message: str
) -> None:
    storage = rebuild_storage(np.zeros(16, np.uint8))
    with pytest.raises(ValueError, match=message):
        rebuild_tensor(tt.Tensor, ("place", storage, tt.float32, shape, strides, offset), False)


def test_arrays_whose_strides_tensors_do_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        rebuild_tensor(tt.Tensor, ("array", np.zeros(3)[::-1], "cpu", None), False)


def round_trip(value):
    return pickle.loads(pickle.dumps(value))


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


class Image(tt.Tensor):
    """A subclass; on module level, so that pickle finds it."""


def test_meta_tensors_are_pickled_without_values():
    x = round_trip(tt.zeros(2, 3, device="meta").t())
    assert x.is_meta and x.shape == (3, 2) and x.stride() == (1, 3)


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


def test_data_is_the_same_memory_unseen_by_autograd():
    x = tt.ones(2, requires_grad=True)
    y = x * x
    x.data.add_(1)
    assert x.tolist() == [2.0, 2.0] and x._version == 0 and not x.data.requires_grad
    y.sum().backward()
    x.data = tt.tensor([5.0, 6.0, 7.0])
    assert x.tolist() == [5.0, 6.0, 7.0] and x.requires_grad
    with pytest.raises(TypeError, match="data must be set to a Tensor"):
        x.data = [1]
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        x.data = tt.tensor([1])


def test_weak_references_and_attributes():
    x = tt.ones(2)
    x.note = "kept"
    reference = weakref.ref(x)
    assert reference() is x and x.note == "kept"
    del x
    gc.collect()
    assert reference() is None


def test_as_subclass_shares_memory_and_history():
    x = tt.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Image)
    assert isinstance(y, Image) and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="takes a subclass of Tensor"):
        x.as_subclass(int)


@pytest.mark.parametrize("version", [None, "2021.12", "2023.12", "2024.12"])
def test_the_array_namespace_of_every_version_is_the_same(version):
    assert tt.ones(1).__array_namespace__(api_version=version) is tt.array_api


def test_an_unknown_version_of_the_array_api_is_refused():
    with pytest.raises(ValueError, match=r"version '2099\.12' .*\n  versions: 2021\.12, "):
        tt.ones(1).__array_namespace__(api_version="2099.12")
