"""Products of sparse matrices, vectors and batches of every layout, compared with NumPy, SciPy and PyTorch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.making import LAYOUTS, layout_of, matrix, numpy_of, sparse_of
from tt.core.errors import LayoutError, LinAlgError, ShapeError, ValueRangeError

DTYPES = (tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.int64, tt.complex64, tt.complex128)
PATTERNS = {
    "random": matrix(0),
    "empty": np.zeros((4, 6)),
    "full": matrix(1, density=1.1),
    "empty rows": matrix(2) * np.array([[1], [0], [0], [1]]),
}


def same(found: Any, expected: Any, **tolerances: Any) -> None:
    np.testing.assert_allclose(numpy_of(found), np.asarray(expected), **{"atol": 1e-14, **tolerances})


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sparse_and_a_dense_operand(layout: str, pattern: str) -> None:
    a, b, c = PATTERNS[pattern], matrix(3, 6, 5, 1.1), matrix(4, 3, 4, 1.1)
    made = sparse_of(layout, a)
    for found, expected in (
        (made @ tt.tensor(b), a @ b), (tt.mm(made, tt.tensor(b)), a @ b), (tt.sparse.mm(made, tt.tensor(b)), a @ b),
        (made @ tt.tensor(b[:, 0]), a @ b[:, 0]), (tt.mv(made, tt.tensor(b[:, 1])), a @ b[:, 1]),
        (tt.tensor(c) @ made, c @ a), (tt.mm(tt.tensor(c), made), c @ a), (tt.tensor(c[0]) @ made, c[0] @ a),
        (made @ tt.tensor(b.T.copy()).t(), a @ b), (tt.sparse.mm(tt.tensor(c), made), c @ a),
        (tt.addmm(tt.ones(4, 5, dtype=tt.float64), made, tt.tensor(b), beta=2, alpha=3), 2 + 3 * (a @ b)),
        (tt.sparse.addmm(tt.ones(4, 5, dtype=tt.float64), made, tt.tensor(b), beta=2, alpha=3), 2 + 3 * (a @ b)),
    ):  # fmt: skip
        assert found.layout is tt.strided
        assert found.is_contiguous()
        same(found, expected)


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_two_sparse_matrices(first: str, second: str) -> None:
    a, b = matrix(5), matrix(6, 6, 4)
    left, right = sparse_of(first, a), sparse_of(second, b)
    found = left @ right
    kinds = {layout_of(left), layout_of(right)}
    expected = "sparse_csr" if len(kinds) > 1 or kinds <= {"sparse_csc", "sparse_bsc"} else kinds.pop()
    assert layout_of(found) == expected
    same(found, a @ b)
    same(tt.sparse.mm(left, right), (scipy.sparse.csr_array(a) @ scipy.sparse.csr_array(b)).toarray())
    if expected == "sparse_csr":
        columns, starts = found.col_indices().numpy(), found.crow_indices().numpy()
        for begin, end in pairwise(starts):
            assert (np.diff(columns[begin:end]) > 0).all(), "the columns of each row increase"
    elif expected == "sparse_coo":
        assert found.is_coalesced()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_every_dtype(layout: str, dtype: Any) -> None:
    a, b = matrix(7, dtype=np.int64), matrix(8, 6, 3, dtype=np.int64)
    made, dense = sparse_of(layout, a.tolist(), dtype=dtype), tt.tensor(b).to(dtype)
    found = made @ dense
    assert found.dtype is dtype
    same(found.to(tt.complex128), a @ b)
    same((made @ dense[:, 0]).to(tt.complex128), a @ b[:, 0])
    both = made @ dense.to_sparse_csr()
    assert both.dtype is dtype
    same(both.to_dense().to(tt.complex128), a @ b)


@pytest.mark.parametrize("index", [tt.int32, tt.int64], ids=str)
def test_indices_of_32_bits(index: Any) -> None:
    made = tt.tensor(matrix(9)).to_sparse_csr()
    narrow = tt.sparse_csr_tensor(
        made.crow_indices().to(index), made.col_indices().to(index), made.values(), made.shape
    )
    b = matrix(10, 6, 20, 1.1)
    same(narrow @ tt.tensor(b), matrix(9) @ b)
    same(narrow @ narrow.t(), matrix(9) @ matrix(9).T)
    same(narrow.to_sparse_csc(), matrix(9))


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_batches(layout: str) -> None:
    a, b = np.stack([matrix(11), matrix(11)[::-1] * 2]), np.stack([matrix(12, 6, 3), matrix(13, 6, 3)])
    made = sparse_of(layout, a)
    same(tt.bmm(made, tt.tensor(b)), a @ b)
    same(made @ tt.tensor(b), a @ b)
    same(made @ tt.tensor(b[0]), a @ b[0])
    same(made @ tt.tensor(b[0, :, 0]), a @ b[0, :, 0])
    c = np.stack([matrix(14, 3, 4), matrix(15, 3, 4)])
    same(tt.bmm(tt.tensor(c), made), c @ a)
    same(tt.tensor(c[0]) @ made, c[0] @ a)
    same(tt.tensor(c[0, 0]) @ made, c[0, 0] @ a)
    same(tt.tensor(c) @ sparse_of(layout, a[0]), c @ a[0])
    same(sparse_of(layout, a[0]) @ tt.tensor(b), a[0] @ b)
    twice = sparse_of("coo", np.stack([matrix(16, 6, 2), matrix(17, 6, 2)]))
    if layout == "coo":
        found = tt.bmm(made, twice)
        assert found.layout is tt.sparse_coo
        same(found, a @ numpy_of(twice))
    diagonal = sparse_of(layout, np.stack([np.eye(4), 2 * np.eye(4)]))
    same(tt.bmm(diagonal, diagonal), np.stack([np.eye(4), 4 * np.eye(4)]))
    with pytest.raises(ShapeError, match="must be the same; they are not broadcast"):
        tt.bmm(made, tt.ones(3, 6, 2, dtype=tt.float64))


def test_operands_that_do_not_fit_are_refused() -> None:
    made = tt.tensor(matrix(18)).to_sparse_csr()
    with pytest.raises(ShapeError, match=r"cannot be multiplied|4x6 and 4x2"):
        made @ tt.ones(4, 2, dtype=tt.float64)
    with pytest.raises(ShapeError, match=r"without dense dimensions(.|\n)*to_dense"):
        tt.tensor(matrix(18)).to_sparse(1) @ tt.ones(6, 2, dtype=tt.float64)
    with pytest.raises(ShapeError, match="mat2 must be a matrix"):
        tt.sparse.mm(made, tt.ones(6, dtype=tt.float64))


arrays = st.tuples(st.integers(0, 10**6), st.integers(0, 5), st.integers(0, 40), st.integers(0, 70))


@settings(max_examples=40, deadline=None)
@given(arrays, st.sampled_from([0.0, 0.05, 0.5, 1.1]), st.sampled_from(["coo", "uncoalesced", "csr", "csc"]))
def test_random_sizes(how: Any, density: float, layout: str) -> None:
    seed, rows, inner, wide = how
    a, b = matrix(seed, rows, inner, density), matrix(seed + 1, inner, wide, 0.4)
    made = sparse_of(layout, a)
    same(made @ tt.tensor(b), a @ b)
    same(made @ tt.tensor(b).to_sparse_csr(), a @ b)
    same(tt.tensor(b.T.copy()) @ made.transpose(0, 1), b.T @ a.T)
    pattern = tt.tensor(matrix(seed + 2, rows, wide, 0.3)).to_sparse_csr()
    found = tt.sparse.sampled_addmm(pattern, tt.tensor(a), tt.tensor(b), beta=0.0)
    same(found, (a @ b) * (numpy_of(pattern) != 0))


# --- products of dense matrices at some places, and other sums ---------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sampled_products(layout: str) -> None:
    array, a, b = matrix(19), matrix(20, 4, 3, 1.1), matrix(21, 3, 6, 1.1)
    made = sparse_of(layout, array)
    mask = numpy_of(made) != 0
    if layout in ("bsr", "bsc"):
        mask = mask.reshape(2, 2, 3, 2).any(axis=(1, 3)).repeat(2, 0).repeat(2, 1)
    found = tt.sparse.sampled_addmm(made, tt.tensor(a), tt.tensor(b), beta=2.0, alpha=3.0)
    assert found.layout is made.layout
    same(found, 2 * array + 3 * (a @ b) * mask)
    with pytest.raises(ShapeError, match="does not have the size"):
        tt.sparse.sampled_addmm(made, tt.tensor(b), tt.tensor(a))
    with pytest.raises(LayoutError, match=r"Expected input to have a sparse layout(.|\n)*to_sparse_csr"):
        tt.sparse.sampled_addmm(tt.tensor(array), tt.tensor(a), tt.tensor(b))


def test_sampled_products_and_other_sums_without_data() -> None:
    made, a, b = (
        tt.tensor(matrix(22)).to_sparse_csr().to("meta"),
        tt.ones(4, 3, device="meta"),
        tt.ones(3, 6, device="meta"),
    )
    found = tt.sparse.sampled_addmm(made.to(tt.float32), a, b, beta=2.0)
    assert (found.layout, found.shape, found.dtype, found.device.type) == (
        tt.sparse_csr,
        (4, 6),
        tt.float32,
        "meta",
    )
    for reduce in ("sum", "amax"):
        assert tt.sparse.mm(made.to(tt.float32), b.t(), reduce).shape == (4, 3)
    assert (made @ made.transpose(0, 1)).layout is tt.sparse_csr


def test_sampled_products_of_batches() -> None:
    array = np.stack([matrix(22), matrix(22) * 2])
    a, b = np.stack([matrix(23, 4, 3)] * 2), np.stack([matrix(24, 3, 6), matrix(25, 3, 6)])
    for layout in ("coo", "csr"):
        found = tt.sparse.sampled_addmm(sparse_of(layout, array), tt.tensor(a), tt.tensor(b), beta=0.0)
        same(found, (a @ b) * (array != 0))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_other_sums_of_products(reduce: str) -> None:
    a, b = PATTERNS["empty rows"], matrix(26, 6, 3, 1.1)
    expected = np.zeros((4, 3))
    for row in range(4):
        stored = a[row] != 0
        products = a[row, stored, None] * b[stored]
        if stored.any():
            expected[row] = getattr(np, reduce)(products, axis=0)
    same(tt.sparse.mm(tt.tensor(a).to_sparse_csr(), tt.tensor(b), reduce), expected)


def test_other_sums_are_for_csr_and_have_names() -> None:
    made = tt.tensor(matrix(27))
    with pytest.raises(LayoutError, match=r"tt.sparse_csr and a dense one(.|\n)*mat1.to_sparse_csr"):
        tt.sparse.mm(made.to_sparse(), tt.ones(6, 1, dtype=tt.float64), "amax")
    with pytest.raises(ValueRangeError, match="reduce must be one of sum, mean, amax, amin, not 'prod'"):
        tt.sparse.mm(made.to_sparse_csr(), tt.ones(6, 1, dtype=tt.float64), "prod")


def test_products_with_a_sparse_result() -> None:
    a, b = matrix(28), matrix(29, 6, 4)
    made = tt.tensor(a).to_sparse()
    same(tt.smm(made, tt.tensor(b)), a @ b)
    found = tt.hspmm(made, tt.tensor(b))
    assert (found.sparse_dim(), found.dense_dim()) == (1, 1)
    same(found, a @ b)
    added = tt.sspaddmm(tt.tensor(matrix(30, 4, 4)).to_sparse(), made, tt.tensor(b), beta=2, alpha=3)
    assert added.layout is tt.sparse_coo
    same(added, 2 * matrix(30, 4, 4) + 3 * (a @ b))
    with pytest.raises(LayoutError, match="expected a sparse and a dense matrix"):
        tt.smm(tt.tensor(b), tt.tensor(b))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_systems_of_equations(layout: str) -> None:
    array, right = matrix(31, 4, 4) + 3 * np.eye(4), matrix(32, 4, 2, 1.1)
    made = sparse_of(layout, array)
    same(tt.sparse.spsolve(made, tt.tensor(right[:, 0])), np.linalg.solve(array, right[:, 0]))
    same(tt.sparse.spsolve(made, tt.tensor(right)), np.linalg.solve(array, right))
    same(tt.sparse.spsolve(made, tt.tensor(right.T.copy()), left=False), np.linalg.solve(array.T, right).T)
    assert tt.sparse.spsolve(made.to(tt.float32), tt.tensor(right).float()).dtype is tt.float32


def test_systems_without_a_solution_are_refused() -> None:
    singular = tt.tensor([[1.0, 2.0], [2.0, 4.0]]).to_sparse_csr()
    with pytest.raises(LinAlgError, match="the matrix A is singular"):
        tt.sparse.spsolve(singular, tt.ones(2))
    with pytest.raises(ShapeError, match="must be square"):
        tt.sparse.spsolve(tt.ones(2, 3).to_sparse_csr(), tt.ones(2))
    with pytest.raises(ShapeError, match="as many rows as A"):
        tt.sparse.spsolve(tt.eye(2).to_sparse_csr(), tt.ones(3))


# --- against PyTorch -------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_layouts_of_products_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    a, b = matrix(33), matrix(34, 6, 4)
    for pair in ("coo coo", "csr csr", "csr csc", "csc csr", "csc csc", "coo dense", "csr dense", "csc dense",
                 "dense csr", "dense coo"):  # fmt: skip
        first, second = pair.split()
        ours, theirs = (m.mm(sparse_of(first, a, m), sparse_of(second, b, m)) for m in (tt, torch))
        assert layout_of(ours) == layout_of(theirs), (first, second)
        np.testing.assert_allclose(numpy_of(ours), numpy_of(theirs))
    for reduce in ("sum", "mean", "amax", "amin"):
        ours, theirs = (
            m.sparse.mm(sparse_of("csr", a, m), sparse_of("dense", b, m), reduce) for m in (tt, torch)
        )
        np.testing.assert_allclose(numpy_of(ours), numpy_of(theirs))
