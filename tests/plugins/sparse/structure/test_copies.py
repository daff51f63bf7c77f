"""Copies of sparse tensors, and tensors like others."""

from __future__ import annotations

import copy
import pickle

import pytest

import tt
from tests.plugins.sparse.pairs import (
    LAYOUTS,
    MATRIX,
    ours,
    same,
    text,
    theirs,
    torch,
)
from tt.errors import LayoutError

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("quiet_torch")]

COMPRESSED = LAYOUTS[1:]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_share_nothing_and_keep_everything(layout):
    tensor = ours(layout)
    before = text(tensor)
    for other in (
        pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor), tensor.clone(), tensor.to(tt.float64).to(tt.float32)
    ):  # fmt: skip
        assert text(other) == before
        other._values().zero_()
        assert text(tensor) == before
    assert tensor.to(tt.float32) is tensor
    shallow = copy.copy(tensor)
    shallow._values().mul_(2)
    assert tensor._values().tolist() == shallow._values().tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_pickles_and_attributes_travel(layout):
    tensor = ours(layout).requires_grad_()
    tensor.note = "here"
    other = pickle.loads(pickle.dumps(tensor))
    assert (other.requires_grad, other.note, other.is_leaf) == (True, "here", True)
    assert not tensor.detach().requires_grad


def test_whether_coordinates_are_coalesced_travels():
    for coalesced in (False, True):
        made = tt.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), is_coalesced=coalesced)
        assert pickle.loads(pickle.dumps(made)).is_coalesced() is coalesced
        assert made.clone().is_coalesced() is coalesced
        assert made.to(tt.float64).is_coalesced() is coalesced


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tensor_takes_the_content_of_another_of_its_layout(layout):
    target, source = ours(layout), ours(layout).to(tt.float64)
    source._values().mul_(2)
    version = target._version
    assert target.copy_(source) is target
    assert target.dtype is tt.float32
    assert target.to_dense().tolist() == (2 * tt.tensor(MATRIX)).tolist()
    assert target._version == version + 1
    for other in (tt.zeros(4, 4), *(ours(name) for name in LAYOUTS if name != layout)):
        with pytest.raises(
            LayoutError, match=rf"between tensors of different layouts .* self is tt\.{layout}"
        ):
            target.copy_(other)
    with pytest.raises(tt.errors.ShapeError, match="sparse tensors are not broadcast"):
        target.copy_(ours(layout, [[0.0, 1.0], [2.0, 0.0]]))
    same(target.zero_(), theirs(layout).zero_())


def test_compressed_tensors_take_only_as_many_elements_as_they_have():
    with pytest.raises(
        LayoutError, match="same number of specified elements are supported, but self has 5 and src 4"
    ):
        ours("sparse_csr").copy_(tt.eye(4).to_sparse_csr())


@pytest.mark.parametrize("layout", COMPRESSED)
def test_likes_of_compressed_tensors_keep_the_pattern(layout):
    same(tt.ones_like(ours(layout)), torch.ones_like(theirs(layout)))
    assert tt.empty_like(ours(layout))._nnz() == ours(layout)._nnz()
    same(ours(layout).fill_(3), theirs(layout).fill_(3))


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
@pytest.mark.parametrize("draw", [tt.randn_like, tt.rand_like])
def test_random_likes_of_compressed_tensors_keep_the_pattern(layout, draw):
    blocksize = (2, 2) if layout in ("sparse_bsr", "sparse_bsc") else None
    x = tt.eye(4).to_sparse(layout=getattr(tt, layout), blocksize=blocksize)
    tt.manual_seed(3)
    y = draw(x)
    tt.manual_seed(3)
    expected = draw(x.values())
    assert y.layout is x.layout and y.shape == x.shape
    assert y.values().equal(expected) and x.to_dense().equal(tt.eye(4))


def test_random_likes_of_integers_keep_the_pattern_and_dense_ones_are_drawn():
    x = tt.eye(3).to_sparse_csr()
    assert tt.randint_like(x, 5, 6).values().tolist() == [5, 5, 5]
    assert tt.randint_like(x, 1, dtype=tt.int64).values().tolist() == [0, 0, 0]
    generators = [tt.Generator().manual_seed(1) for _ in range(2)]
    dense = tt.randn_like(x, layout=tt.strided, generator=generators[0])
    assert dense.equal(tt.randn(3, 3, generator=generators[1]))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_random_likes_that_would_fill_places_without_elements_are_refused(layout):
    chosen = getattr(tt, layout)
    with pytest.raises(tt.errors.LayoutError, match=f"rand_like.*tt.{layout} does not store all elements"):
        tt.rand_like(tt.eye(2), layout=chosen)
    if layout == "sparse_coo":
        with pytest.raises(tt.errors.LayoutError, match=r"randint_like.*does not store all elements"):
            tt.randint_like(tt.eye(2).to_sparse(), 3)
