"""Gradients of structural operators reach the stored elements."""

from __future__ import annotations

import pytest

import tt
from tests.plugins.sparse.pairs import LAYOUTS, ours
from tests.plugins.sparse.structure.test_structure import AS_DENSE, hybrid
from tt.errors import LayoutError, ShapeError, TTError

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("quiet_torch")]

REFUSED = [
    lambda x: x.split(2, 3),
    lambda x: x.split(-1),
    lambda x: x.split(0),
    lambda x: x.split([1, 5], 1),
    lambda x: x.split([-1, 4], 1),
    lambda x: x.split([1, 1], 5),
    lambda x: x.split_with_sizes([9]),
    lambda x: x.unbind(4),
    lambda x: x.unbind(-3),
    lambda x: x.squeeze((0, 0)),
    lambda x: x.squeeze(5),
    lambda x: x.select(3, 0),
    lambda x: x.index_select(4, tt.tensor([0])),
    lambda x: x.sum((0, 0)),
    lambda x: x.reshape(7),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*AS_DENSE, "select", "element", "unbind", "mask"])
def test_gradients_reach_the_stored_elements(layout, name):
    call = {
        **AS_DENSE,
        "select": lambda x: x[2],
        "element": lambda x: x[2, 2],
        "unbind": lambda x: x.unbind(1)[3],
        "mask": lambda x: x.sparse_mask(ours("sparse_coo")),
    }[name]
    pattern = ours(layout).to(tt.float64)

    def of_values(values):
        return call(tt.ops.sparse.with_values(pattern, values)).to_dense()

    values = pattern.values().clone().requires_grad_()
    try:
        of_values(values)
    except LayoutError:
        assert layout in ("sparse_bsr", "sparse_bsc")
        pytest.skip("blocks are not cut")
    assert tt.autograd.gradcheck(of_values, (values,))
    assert tt.autograd.gradgradcheck(of_values, (values,))


def test_gradients_reach_repeated_coordinates_and_dense_dimensions():
    first, _ = hybrid()
    indices = first._indices()
    for call in (
        lambda x: x[0], lambda x: x[0, 1], lambda x: x[:, :, 1], lambda x: x[1:], lambda x: tt.cat([x, x], 2),
        lambda x: tt.cat([x, x * 2], 1), lambda x: x.reshape(12, 2), lambda x: x.index_select(0, tt.tensor([0, 0])),
    ):  # fmt: skip
        values = first._values().to(tt.float64).requires_grad_()
        function = lambda v, call=call: call(tt.sparse_coo_tensor(indices, v, (3, 4, 2))).to_dense()  # noqa: E731
        assert tt.autograd.gradcheck(function, (values,))


def test_the_gradient_of_a_sparse_leaf_is_sparse():
    leaf = ours("sparse_csr").requires_grad_()
    leaf[1:3].sum().backward()
    assert leaf.grad.layout is tt.sparse_csr
    assert leaf.grad.to_dense().tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]


def test_a_sparse_index_of_a_strided_tensor_with_a_gradient_is_refused():
    x = tt.ones(3, 2, requires_grad=True)
    with pytest.raises(LayoutError, match="takes no sparse index"):
        tt.index_select(x, 0, tt.tensor([0, 1]).to_sparse())


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("call", REFUSED)
def test_what_dense_tensors_refuse_is_refused_with_a_gradient_and_without(layout, call):
    with pytest.raises(TTError) as refused:
        call(tt.ones(2, 3))
    for needs in (False, True):
        with pytest.raises(type(refused.value)):
            call(tt.ones(2, 3).to_sparse(layout=getattr(tt, layout)).requires_grad_(needs))


def test_dimensions_that_are_flipped_are_named_once():
    with pytest.raises(ShapeError, match="named twice"):
        tt.ones(2, 3).to_sparse().flip((1, -1))
