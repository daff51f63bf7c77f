"""Sparse tensors without data."""

from __future__ import annotations

import pickle

import pytest

import tt
from tests.plugins.sparse.pairs import (
    LAYOUTS,
    options_of,
    ours,
    same,
    torch,
)
from tt.errors import DataDependentError

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("quiet_torch")]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_meta_tensors_know_layout_size_and_dtype(layout):
    tensor = ours(layout)
    meta = tensor.to("meta")
    assert (meta.device.type, meta.layout, meta.shape, meta._nnz()) == (
        "meta",
        tensor.layout,
        (4, 4),
        tensor._nnz(),
    )
    assert meta.to_dense().shape == (4, 4)
    assert meta.to(tt.float64).dtype is tt.float64
    unknown = tt.zeros(4, 4, device="meta").to_sparse(layout=layout, **options_of(layout))
    assert (unknown.layout, unknown.shape) == (tensor.layout, (4, 4))
    for ask in (unknown._nnz, unknown.values):
        with pytest.raises(DataDependentError):
            ask()
    assert pickle.loads(pickle.dumps(unknown)).layout is tensor.layout


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fake_tensors_keep_device_and_layout(layout):
    with tt.fake_mode() as mode:
        fake = mode.from_tensor(ours(layout))
        dense = fake.to_dense()
        made = tt.zeros(4, 4, device="cuda").to_sparse(layout=layout, **options_of(layout))
    assert (fake.layout.name, fake.shape, fake.device.type) == (layout, (4, 4), "cpu")
    assert (dense.layout, dense.shape) == (tt.strided, (4, 4))
    assert (made.layout.name, made.device.type) == (layout, "cuda")
    assert repr(fake).startswith("FakeTensor(")


def test_fake_mode_makes_sparse_tensors_of_lists():
    with tt.fake_mode():
        made = tt.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
        rows = tt.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 3))
    assert (made.layout, made.shape, rows.layout, rows.shape) == (tt.sparse_coo, (3,), tt.sparse_csr, (2, 3))


def test_meta_prints_as_in_pytorch():
    same(tt.eye(3).to_sparse_csr().to("meta")._nnz(), 3)
    same(
        tt.empty(2, 3, layout=tt.sparse_coo, device="meta"),
        torch.empty(2, 3, layout=torch.sparse_coo, device="meta"),
    )
