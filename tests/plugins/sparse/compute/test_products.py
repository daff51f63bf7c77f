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
from tests.plugins.sparse.making import same_sums as same
from tt.core.errors import ShapeError

DTYPES = (tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.int64, tt.complex64, tt.complex128)
PATTERNS = {
    "random": matrix(0),
    "empty": np.zeros((4, 6)),
    "full": matrix(1, density=1.1),
    "empty rows": matrix(2) * np.array([[1], [0], [0], [1]]),
}


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


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_a_matrix_of_strided_and_expanded_parts_is_multiplied(layout: str) -> None:
    def strided(values: list[float]) -> tt.Tensor:
        part = tt.tensor(values)
        return tt.stack([part, part + 9], 1)[:, 0]

    make = tt.sparse_csr_tensor if layout == "sparse_csr" else tt.sparse_csc_tensor
    pointers, indices = strided([0, 1, 3, 4]), strided([0, 1, 2, 0])
    dense = tt.arange(9.0).reshape(3, 3)
    for values in (strided([1.0, 2.0, 3.0, 4.0]), tt.full((1,), 2.0).expand(4)):
        x = make(pointers, indices, values, (3, 3))
        whole = x.to_dense()
        for product in (
            lambda a: a @ dense,
            lambda a: dense @ a,
            lambda a: a.t() @ dense,
            lambda a: a @ dense[0],
        ):
            assert product(x).equal(product(whole))
        assert (x @ x).to_dense().equal(whole @ whole)
