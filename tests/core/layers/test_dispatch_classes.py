"""`__tt_dispatch__` of classes: printing, copies, views, metadata, and the arguments of a handler."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tt
from tests.core.dispatching import Kept
from tt.utils._pytree import tree_map_only


def test_printing():
    w = Kept(tt.ones(2, 2))
    assert repr(w) == "Kept(..., size=(2, 2), dtype=tt.float32)"
    assert repr(w.requires_grad_()) == "Kept(..., size=(2, 2), dtype=tt.float32, requires_grad=True)"
    assert repr(w * 2) == "Kept(..., size=(2, 2), dtype=tt.float32, grad_fn=<MulBackward0>)"
    assert repr([Kept(tt.ones(1))]) == "[Kept(..., size=(1,), dtype=tt.float32)]"


def test_values_are_asked_of_the_class_or_refused():
    w = Kept(tt.tensor([2.5]))
    assert w.item() == 2.5 and float(w) == 2.5 and bool(w) and (w > 1).item() is True
    for read in (lambda: w.tolist(), lambda: w.numpy(), lambda: np.asarray(w)):
        with pytest.raises(tt.errors.HiddenValuesError, match="a Kept has no values of its own"):
            read()
    with pytest.raises(TypeError, match="no data of its own"):
        w.as_subclass(tt.Tensor)


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_class_attributes_and_shape(copier, gradient):
    w = Kept(tt.tensor([[1.0, 2.0, 3.0]]).t(), note="mine")
    w.requires_grad_(gradient)
    w.name = "weight"
    q = copier(w)
    assert type(q) is Kept and q is not w and q.shape == w.shape and q.stride() == w.stride() == (1, 3)
    assert q.note == "mine" and q.name == "weight" and q.requires_grad is gradient
    assert q.inner.tolist() == [[1.0], [2.0], [3.0]] and (q.inner is w.inner) == (copier is copy.copy)
    w.name = "other"
    assert q.name == "weight" and (q * 2).sum().item() == 12.0


def test_copies_made_together_share_what_was_shared():
    inner = tt.ones(2)
    pair = copy.deepcopy([Kept(inner), Kept(inner)])
    pair[0].inner[0] = 5.0
    assert pair[1].inner.tolist() == [5.0, 1.0] and inner.tolist() == [1.0, 1.0]


def test_data_can_be_replaced():
    w = Kept(tt.ones(2), note="old").requires_grad_()
    w.data = Kept(tt.zeros(3), note="new")
    assert w.shape == (3,) and w.inner.tolist() == [0.0] * 3 and w.note == "new" and w.requires_grad
    assert type(w.data) is Kept and not w.data.requires_grad


def test_conversion_arrives():
    w = Kept(tt.ones(2))
    assert (
        w.to(tt.float64).dtype is tt.float64
        and type(w.to(tt.float64)) is Kept
        and w.double().inner.dtype is tt.float64
    )
    assert w.to("meta").inner.device.type == "meta" and w.to(tt.float32) is w


def test_views_share_the_version_of_what_they_view():
    w = Kept(tt.arange(4.0))
    v = w[1:]
    v.mul_(10)
    assert w.inner.tolist() == [0.0, 10.0, 20.0, 30.0] and w._version == v._version == 1 and v._base is w
    parts = w.split(2)
    parts[0].zero_()
    assert w.inner.tolist() == [0.0, 0.0, 20.0, 30.0] and w._version == 2


def test_changes_of_the_shape_in_place():
    w = Kept(tt.arange(6.0).reshape(2, 3))
    assert w.t_() is w and w.shape == (3, 2) and w.inner.shape == (3, 2) and w.stride() == (1, 3)
    assert w.unsqueeze_(0).shape == (1, 3, 2) and w.squeeze_().shape == (3, 2)


def test_composites_in_place_check_the_shape():
    w = Kept(tt.ones(2))
    assert w.zero_() is w and w.inner.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="cannot hold"):
        w.xlogy_(tt.ones(3, 2))


def test_out_and_the_gradient_of_accumulation():
    w, target = Kept(tt.ones(2)), Kept(tt.zeros(2))
    assert tt.add(w, 1, out=target) is target and target.inner.tolist() == [2.0, 2.0]
    p = Kept(tt.ones(2)).requires_grad_()
    for _ in range(3):
        (p * 2).sum().backward()
    assert type(p.grad) in (Kept, tt.Tensor) and (p.grad * 1).sum().item() == 12.0
    p.grad = None
    hooked = []
    p.register_hook(lambda g: hooked.append(type(g)))
    (p * 2).sum().backward()
    assert hooked


def test_wrappers_of_meta_and_fake_tensors():
    assert (Kept(tt.ones(2, device="meta")) + 1).inner.device.type == "meta"
    with tt.FakeMode():
        w = Kept(tt.ones(2, 3))
        y = w @ w.t()
    assert type(y) is Kept and y.shape == (2, 2) and repr(y.inner) == "FakeTensor(..., size=(2, 2))"
    real = Kept(tt.ones(2, 3))
    with tt.FakeMode():
        assert repr((real * 2).inner) == "FakeTensor(..., size=(2, 3))"
    assert real.inner.tolist() == [[1.0] * 3] * 2


def test_a_handler_is_below_autograd():
    """The computations of a handler are not recorded, with whatever tensors, and it gets the user's own tensors."""
    outside, seen = tt.ones(2, requires_grad=True), []

    class Peek(Kept):
        @classmethod
        def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
            product = outside * 2
            seen.append((args[0], args[0].requires_grad, product.requires_grad, tt.is_grad_enabled()))
            return super().__tt_dispatch__(func, types, args, kwargs)

    w = Peek(tt.ones(2)).requires_grad_()
    y = w.exp()
    assert seen[0][0] is w and seen[0][1:] == (True, False, True)
    assert y.requires_grad and (outside * 2).requires_grad


def test_a_class_with_data_of_its_own_and_the_protocol():
    seen = []

    class Logged(tt.Tensor):
        __tt_function__ = tt.overrides.disabled_tt_function_impl

        @classmethod
        def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(func.name)
            plain = tree_map_only(cls, lambda t: tt.tensor(t.plain), args)
            return func(*plain, **(kwargs or {}))

    x = tt.Tensor._make_subclass(Logged, tt.ones(2))
    x.plain = [1.0, 2.0]
    assert (x + 1).tolist() == [2.0, 3.0] and seen == ["add"]
    assert x.tolist() == [1.0, 1.0] and repr(x) == "Logged([1., 1.])" and seen == ["add"]
