"""Making jagged tensors of rows, of values and offsets, and of dense tensors."""

from __future__ import annotations

import pytest

import tt
from tests.backends.strict_device import strict_device
from tests.plugins.nested.batches import assert_same, rows_of


@pytest.fixture
def rows():
    return rows_of()


def test_rows_of_a_list_are_copied(rows):
    x = tt.nested.nested_tensor(rows, layout=tt.jagged)
    assert_same(x, [row.clone() for row in rows])
    rows[0].zero_()
    assert x.unbind()[0].sum() > 0
    one = tt.ones(3)
    tt.nested.nested_tensor([one]).values().zero_()
    assert one.sum() == 3


def test_lists_of_numbers_are_rows():
    x = tt.nested.nested_tensor([[1, 2], [3]], dtype=tt.float64, requires_grad=True)
    assert (x.dtype, x.requires_grad, x.is_leaf, x.values().tolist()) == (
        tt.float64, True, True, [1.0, 2.0, 3.0],
    )  # fmt: skip


def test_any_one_dimension_may_be_ragged():
    x = tt.nested.as_nested_tensor([tt.ones(2, 3), tt.ones(2, 5)])
    assert (repr(x.shape), tuple(x.values().shape)) == ("tt.Size([2, 2, j(3, 5)])", (2, 8))
    assert tuple(tt.nested.as_nested_tensor([tt.ones(2, 3), tt.ones(2, 3)]).values().shape) == (4, 3)


def test_a_dense_tensor_is_a_batch_of_equal_rows():
    dense = tt.arange(6.0).reshape(2, 3).requires_grad_()
    x = tt.nested.as_nested_tensor(dense, dtype=tt.float64)
    assert (x.offsets().tolist(), x.dtype) == ([0, 3, 6], tt.float64)
    x.sum().backward()
    assert dense.grad.tolist() == [[1.0] * 3] * 2
    assert tt.nested.as_nested_tensor(x) is x


def test_values_and_offsets_make_rows_without_a_copy():
    values = tt.arange(10.0).reshape(5, 2)
    x = tt.nested.nested_tensor_from_jagged(values, tt.tensor([0, 2, 5]), min_seqlen=2, max_seqlen=3)
    values[0, 0] = 7
    assert x[0][0, 0] == 7
    by_lengths = tt.nested.nested_tensor_from_jagged(values, lengths=tt.tensor([2, 3], dtype=tt.int32))
    assert tt.equal(by_lengths, x)
    turned = tt.nested.nested_tensor_from_jagged(values.t(), tt.tensor([0, 2, 5]), jagged_dim=2)
    assert repr(turned.shape) == "tt.Size([2, 2, j(2, 3)])"


def test_parts_of_dense_rows_share_their_memory():
    dense = tt.zeros(2, 4)
    x = tt.nested.narrow(dense, 1, 1, tt.tensor([2, 3]), layout=tt.jagged)
    x.unbind()[1].fill_(1)
    assert dense.tolist() == [[0.0] * 4, [0.0, 1.0, 1.0, 1.0]]
    assert (x.is_contiguous(), x.contiguous().lengths()) == (False, None)
    whole = tt.nested.narrow(dense, 1, 0, 4, layout=tt.jagged)
    assert whole.is_contiguous()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: tt.nested.nested_tensor([]), tt.errors.ShapeError, "empty tensor list"),
        (lambda: tt.nested.nested_tensor([1, 2]), tt.errors.ShapeError, "zero-dim tensors"),
        (lambda: tt.nested.nested_tensor(3), TypeError, "expected a list"),
        (lambda: tt.nested.nested_tensor([tt.ones(2), tt.ones(2, 2)]), tt.errors.ShapeError, "row 1 2"),
        (lambda: tt.nested.nested_tensor([tt.ones(2, 3), tt.ones(3, 2)]), tt.errors.ShapeError, "differ in 2"),
        (lambda: tt.nested.nested_tensor([[1]], layout=tt.strided), tt.errors.LayoutError, "layout=tt.jagged"),
        (lambda: tt.nested.nested_tensor([[1]], layout=tt.sparse_coo), tt.errors.LayoutError, "is tt.jagged"),
        (lambda: tt.nested.as_nested_tensor(tt.ones(3)), tt.errors.ShapeError, "at least two dimensions"),
        (lambda: tt.nested.nested_tensor_from_jagged(tt.ones(3)), TypeError, "at least one of offsets"),
        (lambda: from_jagged([0, 2]), ValueError, r"end with the size of the values, 3"),
        (lambda: from_jagged([0, 2, 1, 3]), ValueError, "must not decrease"),
        (lambda: from_jagged([0, 5]), ValueError, "outside of the values"),
        (lambda: from_jagged([0.0, 3.0]), tt.errors.DtypeError, "int64 or int32"),
        (lambda: from_jagged([[0, 3]]), tt.errors.ShapeError, "one dimension"),
        (lambda: from_jagged([0]), tt.errors.ShapeError, "an element more"),
        (lambda: from_jagged([0, 3], jagged_dim=2), ValueError, "jagged_dim must be from 1 to 1"),
        (lambda: from_jagged([0, 3], max_seqlen=2), ValueError, "max_seqlen is 2"),
        (lambda: from_jagged([0, 2, 3], lengths=tt.tensor([1, 1, 1])), tt.errors.ShapeError, "each of the 2 rows"),
        (lambda: tt.nested.narrow(tt.ones(2, 3), 0, 0, 1), ValueError, "dimension 1, not 0"),
        (lambda: tt.nested.narrow(tt.ones(2, 3), 1, 1, 3), ValueError, "row 0 has 3 places"),
        (lambda: tt.nested.narrow(tt.ones(2, 3), 1, tt.tensor([0]), 3), tt.errors.ShapeError, "2 rows"),
        (lambda: tt.nested.masked_select(tt.ones(2), tt.ones(2) > 0), tt.errors.ShapeError, "two dimensions"),
        (lambda: tt.nested.masked_select(tt.ones(2, 2), tt.ones(2, 2)), tt.errors.DtypeError, "bools"),
        (lambda: tt.empty(2, 3, layout=tt.jagged), tt.errors.NoKernelError, "jagged"),
        (lambda: tt.ones(2).offsets(), tt.errors.LayoutError, "as_nested_tensor"),
        (lambda: tt.ones(2).to_padded_tensor(0), tt.errors.LayoutError, "needs no padding"),
        (lambda: tt.ones(2).values(), tt.errors.LayoutError, "stores values"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


def from_jagged(offsets, **options):
    return tt.nested.nested_tensor_from_jagged(tt.ones(3), tt.tensor(offsets), **options)


@pytest.mark.parametrize("offsets", [[0, 3, 6], [0, 2, 6]])
def test_a_device_without_jagged_tensors_makes_none(offsets):
    with strict_device() as device:
        values = tt.arange(12.0, device=device).view(6, 2)
        with pytest.raises(tt.errors.DeviceError, match="'strict' has no tensors of layout 'jagged'"):
            tt.nested.nested_tensor_from_jagged(values, tt.tensor(offsets, device=device))
