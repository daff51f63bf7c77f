"""Sparse tensors on the emulated device: what every layout does on the CPU."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tt
from tests.plugins.sparse.cpu import test_bounds as bounds
from tests.plugins.sparse.making import COMPRESSED, LAYOUTS, layout_of, matrix, sparse_of

RIGHT = tt.tensor(matrix(3, 6, 3, 1.1))

PROGRAMS = {
    "dense": lambda s, d: s.to_dense(),
    "add": lambda s, d: s + s,
    "sub with a factor": lambda s, d: tt.sub(s, s * 2, alpha=3),
    "mul": lambda s, d: s * s,
    "mul by a number": lambda s, d: s * 2.5,
    "dense plus": lambda s, d: tt.ones(4, 6, dtype=s.dtype, device=d) + s,
    "matmul": lambda s, d: s @ RIGHT.to(d),
    "matmul with a vector": lambda s, d: s @ RIGHT.to(d)[:, 0],
    "left matmul": lambda s, d: RIGHT.to(d).t()[:, :4].contiguous() @ s,
    "square": lambda s, d: s @ s.transpose(0, 1),
    "sin": lambda s, d: s.sin(),
    "abs": lambda s, d: s.abs(),
    "sum": lambda s, d: s.sum(),
    "mean": lambda s, d: s.mean(),
    "any": lambda s, d: s.any(),
    "transposed": lambda s, d: s.transpose(0, 1),
    "clone": lambda s, d: s.clone(),
    "values": lambda s, d: s.coalesce().values() if s.layout == tt.sparse_coo else s.values(),
    "select": lambda s, d: s[1] if s.layout in (tt.sparse_coo, tt.sparse_csr) else s.to_sparse_csr()[1],
    "norm": lambda s, d: tt.linalg.vector_norm(s),
    "float32": lambda s, d: s.to(tt.float32),
    "neg": lambda s, d: -s,
    "like": lambda s, d: tt.zeros_like(s),
    "to csr": lambda s, d: s.to_sparse_csr(),
    "to csc": lambda s, d: s.to_sparse_csc(),
    "to coo": lambda s, d: s.to_sparse(),
    "to bsr": lambda s, d: s.to_sparse_bsr((2, 3)),
}


def same(found, expected):
    """Compare a tensor on the device with one on the CPU."""
    assert found.device == tt.device("cuda:0")
    here = found.cpu()
    assert (here.layout, here.shape, here.dtype) == (expected.layout, expected.shape, expected.dtype)
    if here.layout != tt.strided:
        assert here._nnz() == expected._nnz()
        here, expected = here.to_dense(), expected.to_dense()
    np.testing.assert_allclose(here.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_programs_agree_with_the_cpu(layout, name):
    here = sparse_of(layout, matrix(1))
    there = here.to("cuda")
    assert layout_of(there) == layout_of(here)
    same(PROGRAMS[name](there, tt.device("cuda")), PROGRAMS[name](here, tt.device("cpu")))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_agree_with_the_cpu(layout):
    def gradients(device):
        s = sparse_of(layout, matrix(1)).to(device).requires_grad_()
        right = RIGHT.clone().to(device).requires_grad_()
        (s @ right).sin().sum().backward()
        return s.grad, right.grad

    for found, expected in zip(gradients("cuda"), gradients("cpu"), strict=True):
        same(found, expected)


@pytest.mark.parametrize("layout", ["coo", *COMPRESSED])
def test_dense_tensors_become_sparse_there(layout):
    dense = tt.tensor(matrix(1), requires_grad=True, device="cuda")
    made = sparse_of(layout, dense.detach().cpu().numpy()).to("cuda")
    same(made, sparse_of(layout, matrix(1)))
    converted = dense.to_sparse() if layout == "coo" else dense.to_sparse(
        layout=made.layout, **({"blocksize": (2, 2)} if layout[0] == "b" else {})
    )  # fmt: skip
    same(converted.detach(), sparse_of(layout, matrix(1)))
    converted.to_dense().sum().backward()
    assert dense.grad.device == dense.device


@pytest.mark.parametrize("layout", ["coo", *COMPRESSED])
def test_they_are_printed_and_pickled(layout):
    there = sparse_of(layout, matrix(1)).to("cuda")
    assert "device='cuda:0'" in repr(there)
    again = pickle.loads(pickle.dumps(there))
    same(again, there.cpu())


@pytest.mark.parametrize("dtype", [tt.float32, tt.complex64, tt.int64, tt.bool, tt.float16], ids=str)
def test_dtypes(dtype):
    values = (matrix(1) * 10).round()
    here = tt.tensor(values).to(dtype).to_sparse()
    same(here.to("cuda") + here.to("cuda"), here + here)
    same(here.to("cuda").coalesce().to_dense(), here.to_dense())


def test_sampled_products_and_solving():
    for device in ("cpu", "cuda"):
        pattern = sparse_of("csr", matrix(1)).to(device)
        left, right = tt.tensor(matrix(4, 4, 5, 1.1)).to(device), tt.tensor(matrix(5, 5, 6, 1.1)).to(device)
        found = tt.sparse.sampled_addmm(pattern, left, right)
        system = sparse_of("csr", matrix(15, 4, 4) + 3 * np.eye(4)).to(device)
        solved = tt.sparse.spsolve(system, tt.ones(4, dtype=tt.float64, device=device))
        if device == "cpu":
            expected = found, solved
    same(found, expected[0])
    same(solved, expected[1])


def test_softmax_and_sums():
    for here in (sparse_of("coo", matrix(1)), sparse_of("hybrid", matrix(1))):
        there = here.to("cuda")
        for function in (
            lambda s: tt.sparse.softmax(s, 1), lambda s: tt.sparse.log_softmax(s, 0), lambda s: tt.sparse.sum(s, 0),
            lambda s: tt.sparse.sum(s, [0, 1]), lambda s: tt.sparse.sum(s),
        ):  # fmt: skip
            same(function(there), function(here))


@pytest.mark.parametrize(
    ("layout", "change", "use"), [case for case in bounds.CASES if case[2] != "to_scipy"]
)
def test_changed_indices_are_refused(layout, change, use):
    x, starts, plain = bounds.matrix(layout, "cuda")
    bounds.CHANGES[change](starts, plain)
    with pytest.raises(IndexError, match="an index of a sparse tensor is out of range, or out of order"):
        bounds.USES[use](x)


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_indices_that_are_filled_in_later_are_used(layout):
    starts, plain = tt.zeros(4, dtype=tt.int64, device="cuda"), tt.zeros(4, dtype=tt.int64, device="cuda")
    x = tt.sparse_compressed_tensor(
        starts,
        plain,
        tt.ones(4, dtype=tt.float64, device="cuda"),
        (3, 3),
        layout=getattr(tt, layout),
        check_invariants=False,
    )
    with pytest.raises(IndexError, match="was never checked"):
        x.to_dense()
    starts.copy_(tt.tensor([0, 2, 3, 4]))
    plain.copy_(tt.tensor([0, 2, 1, 2]))
    expected = tt.tensor([[1, 0, 1], [0, 1, 0], [0, 0, 1]], dtype=tt.float64)
    assert tt.equal(x.to_dense().cpu(), expected if layout == "sparse_csr" else expected.t())
