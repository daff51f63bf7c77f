"""Members that give a tensor other memory, another size, or values of a Python function."""

from __future__ import annotations

import itertools

import pytest

import tt


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
        (lambda: tt.zeros(1).new(2.5), TypeError),
        (lambda: tt.zeros(1).new(tt.arange(2)), TypeError),
        (lambda: tt.zeros(1, 2).dim_order(ambiguity_check=True), RuntimeError),
        (lambda: tt.zeros(1, 2).dim_order(ambiguity_check=3), TypeError),
    ],
)
def test_what_cannot_be_replaced_is_refused(change, error):
    with pytest.raises(error):
        change()


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


def test_new_makes_tensors_of_the_same_dtype():
    x = tt.zeros(1, dtype=tt.float64)
    assert x.new([1, 2]).dtype == x.new(3).dtype == tt.float64
    assert x.new(2, 3).shape == (2, 3) and x.new().shape == (0,)
    assert x.new(x).data_ptr() == x.data_ptr()


def test_facts_of_devices_and_dtypes_that_do_not_exist_are_false():
    x = tt.zeros(1)
    names = ["is_ipu", "is_mkldnn", "is_mps", "is_mtia", "is_quantized", "is_vulkan", "is_xla", "is_xpu"]
    assert [getattr(x, name) for name in names] == [False] * len(names)
    assert not x.is_distributed() and x.const_data_ptr() == x.data_ptr()


@pytest.mark.torch
def test_orders_of_dimensions_are_those_of_pytorch():
    import torch

    formats = [(tt.contiguous_format, torch.contiguous_format), (tt.channels_last, torch.channels_last)]
    for shape in itertools.product((1, 2, 3), repeat=4):
        for order in itertools.permutations(range(4)):
            ours, theirs = tt.empty(shape).permute(order), torch.empty(shape).permute(order)
            assert ours.dim_order() == theirs.dim_order()
            for check, same in ((True, True), *(([a], [b]) for a, b in formats)):
                assert refused(ours, check) == refused(theirs, same), (shape, order, check)
    for order in itertools.permutations(range(3)):
        ours, theirs = (m.empty(2, 3, 4).permute(order)[:, None].expand(-1, 5, -1, -1) for m in (tt, torch))
        assert ours.dim_order() == theirs.dim_order()


def refused(x, check):
    """Return whether a check of the order of dimensions raises."""
    try:
        x.dim_order(ambiguity_check=check)
    except RuntimeError:
        return True
    return False
