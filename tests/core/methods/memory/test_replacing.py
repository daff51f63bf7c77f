"""Members that give a tensor other memory, another size, or values of a Python function."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device


def test_set_shares_the_memory_of_another_tensor():
    x, y = tt.zeros(2), tt.tensor([1.0, 2.0, 3.0])
    assert x.set_(y) is x
    y[0] = 9
    assert x.tolist() == [9, 2, 3] and not x._is_view()


def test_set_takes_a_place_in_a_storage_or_in_the_memory_of_a_tensor():
    memory = tt.arange(6)
    x = tt.arange(0).set_(memory, 1, (2, 2), (2, 1))
    y = tt.arange(0).set_(memory.untyped_storage(), 4)
    assert x.tolist() == [[1, 2], [3, 4]] and y.tolist() == [4, 5]
    y[0] = 0
    assert x.tolist() == [[1, 2], [3, 0]]
    assert x.set_().shape == (0,)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda: tt.zeros(1).set_(tt.arange(2)), RuntimeError),
        (lambda: tt.zeros(1).set_(tt.zeros(2).untyped_storage(), 0, (3,)), ValueError),
        (lambda: tt.zeros(1).set_(tt.zeros(2), 0, (-1,)), ValueError),
        (lambda: tt.zeros(1).set_(3), TypeError),
        (lambda: tt.zeros(1, requires_grad=True).set_(tt.zeros(2)), RuntimeError),
        (lambda: tt.zeros(1, requires_grad=True).apply_(abs), RuntimeError),
        (lambda: tt.zeros(1, device="meta").apply_(abs), NotImplementedError),
        (lambda: tt.zeros(1).map_(tt.arange(1), max), RuntimeError),
        (lambda: tt.zeros(1).map_(1, max), TypeError),
        (lambda: tt.zeros(1).resize_as_([1]), TypeError),
    ],
)
def test_what_cannot_be_replaced_is_refused(change, error):
    with pytest.raises(error):
        change()


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_set_refuses_elements_of_another_dtype_and_takes_bytes():
    memory = tt.zeros(1, dtype=tt.float64).storage()
    with pytest.raises(
        RuntimeError, match=r"float32 tensor cannot use the memory of a storage of tt\.float64"
    ):
        tt.zeros(1).set_(memory)
    assert tt.zeros(1).set_(memory.untyped()).tolist() == [0.0, 0.0]


def test_functions_replace_elements_in_their_order():
    x = tt.tensor([[1, 2], [3, 4]]).t()
    assert x.apply_(lambda n: 10 * n).tolist() == [[10, 30], [20, 40]]
    assert x.map_(tt.tensor([1, 2]), lambda a, b: a + b).tolist() == [[11, 32], [21, 42]]
    assert tt.tensor([1]).map2_(tt.tensor([2]), tt.tensor([3]), lambda a, b, c: a + b * c).tolist() == [7]


def test_older_resizing_warns_and_keeps_the_number_of_elements():
    with pytest.warns(UserWarning, match="reshape"):
        assert tt.arange(4).resize(2, 2).tolist() == [[0, 1], [2, 3]]
    with pytest.warns(UserWarning, match="reshape_as"), pytest.raises(RuntimeError, match="4 elements"):
        tt.arange(4).resize_as(tt.zeros(3))
    assert tt.arange(4).resize_as_(tt.zeros(2, 2)).tolist() == [[0, 1], [2, 3]]


@pytest.mark.torch
def test_resize_as_takes_the_memory_format_of_the_other_tensor_where_that_is_asked_for():
    torch = pytest.importorskip("torch")

    def strides(m):
        images = m.zeros(2, 3, 4, 5)
        volumes = m.zeros(1, 2, 3, 4, 5)
        others = (
            images,
            images.contiguous(memory_format=m.channels_last),
            volumes.contiguous(memory_format=m.channels_last_3d),
            m.zeros(5, 24).t(),
        )
        formats = (None, m.preserve_format, m.contiguous_format)
        return [m.zeros(120).resize_as_(x, memory_format=f).stride() for x in others for f in formats]

    assert strides(tt) == strides(torch)


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


def test_data_may_come_from_another_device_but_not_to_or_from_meta():
    x = tt.zeros(2, requires_grad=True)
    with device(np, "numpy_arrays"):
        x.data = tt.ones(3, device="numpy_arrays")
        assert x.device.type == "numpy_arrays" and x.tolist() == [1, 1, 1] and x.requires_grad
        (x * 2).sum().backward()
        assert x.grad.device.type == "numpy_arrays" and x.grad.tolist() == [2, 2, 2]
        for one, other in ((x, tt.zeros(2, device="meta")), (tt.zeros(2, device="meta"), x)):
            with pytest.raises(RuntimeError, match="cannot be set"):
                one.data = other


REPLACED = {
    "alone": lambda m, x: None,
    "with a view": lambda m, x: x[:2],
    "with an alias": lambda m, x: x.detach(),
    "with data": lambda m, x: x.data,
}


@pytest.mark.torch
@pytest.mark.parametrize("name", REPLACED)
def test_replaced_data_keeps_the_number_of_changes(name):
    torch = pytest.importorskip("torch")

    def seen(m):
        x, new = m.zeros(4), m.ones(4)
        x.add_(1)
        other = REPLACED[name](m, x)
        x.data = new
        counts = [x._version, new._version]
        new.add_(1)
        x.add_(1)
        counts += [x._version, new._version, x.tolist(), new.tolist()]
        if other is not None:
            other.mul_(3)
            counts += [other._version, other.tolist(), x._version]
        x.data = m.zeros(2)
        counts += [x._version, x.data._version, x.add_(1)._version]
        return counts

    assert seen(tt) == seen(torch)


def test_a_view_of_replaced_data_is_a_view_of_what_is_there_now():
    x = tt.zeros(4)
    view = x[:2]
    x.data = tt.ones(4)
    x[1:].add_(1)
    assert x.tolist() == [1, 2, 2, 2] and view.tolist() == [0, 0] and view._version == x._version
    assert x.untyped_storage().nbytes() == 16 and x.data.add_(1).tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="part of the memory"):
        x[1:].add_(x.data[:3])


def test_deep_copies_of_a_tensor_and_its_data_share_memory():
    x = tt.arange(4)
    y, part = copy.deepcopy([x, x.data[1:3]])
    part.fill_(9)
    assert y.tolist() == [0, 9, 9, 3] and x.tolist() == [0, 1, 2, 3]


def test_data_is_not_deleted():
    x = tt.ones(2)
    with pytest.raises(RuntimeError, match="data of a tensor cannot be deleted"):
        del x.data
    assert x.tolist() == [1.0, 1.0]


def test_a_parameter_takes_other_memory_where_nothing_is_recorded():
    p = tt.nn.Parameter(tt.ones(3))
    with pytest.raises(RuntimeError, match="requires a gradient"):
        p.set_(tt.zeros(2))
    with tt.no_grad():
        p.set_(tt.zeros(2))
    assert p.tolist() == [0.0, 0.0] and p.requires_grad


@pytest.mark.torch
def test_functions_of_tensors_that_require_a_gradient_are_refused():
    torch = pytest.importorskip("torch")
    for library in (tt, torch):
        x, y = library.ones(2), library.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"requires? "):
            x.map2_(library.ones(2), y, lambda a, b, c: a)
        with pytest.raises(RuntimeError, match=r"requires? "):
            x.map_(y, lambda a, b: a)
