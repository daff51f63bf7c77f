"""Arithmetic of sparse tensors of every layout, compared with that of dense ones, SciPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.making import COMPRESSED, LAYOUTS, layout_of, matrix, numpy_of, same, sparse_of
from tt.core.errors import LayoutError, NoKernelError, ShapeError, ValueRangeError

# --- sums and products of elements -----------------------------------------------------------------------------


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_two_sparse_tensors(first: str, second: str) -> None:
    a, b = matrix(8), matrix(9)
    left, right = sparse_of(first, a), sparse_of(second, b)
    kinds = {layout_of(left), layout_of(right)}
    expected = kinds.pop() if len(kinds) == 1 else "sparse_csr"
    for found, reference in (
        (left + right, a + b), (left - right, a - b), (left * right, a * b), (tt.add(left, right, alpha=3), a + 3 * b),
        (tt.sub(left, right, alpha=2), a - 2 * b), (left - left, a - a),
    ):  # fmt: skip
        if found is not left:
            assert layout_of(found) in (expected, layout_of(left))
        same(found, reference, atol=1e-15)
    assert layout_of(left + right) == expected
    reference = scipy.sparse.csr_array(a) + scipy.sparse.csr_array(b)
    same(left + right, reference.toarray())


@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
def test_a_sparse_and_a_dense_tensor(layout: str) -> None:
    a, b = matrix(10), matrix(11, density=1.1)
    made, dense = sparse_of(layout, a), tt.tensor(b)
    for found, reference in (
        (made + dense, a + b), (dense + made, a + b), (dense - made, b - a), (made - dense, a - b),
        (tt.add(dense, made, alpha=-2), b - 2 * a), (tt.add(made, dense, alpha=-2), a - 2 * b),
    ):  # fmt: skip
        assert found.layout is tt.strided
        same(found, reference)
    for found in (made * dense, dense * made):
        assert found.layout is made.layout
        same(found, a * b)
    same(made * tt.tensor(b[0]), a * b[0])
    for found, reference in (
        (made * 3, a * 3),
        (made / 4, a / 4),
        (made * tt.tensor(2.0), a * 2),
        (made / tt.tensor(2.0), a / 2),
    ):
        assert found.layout is made.layout
        same(found, reference)
    same(tt.div(made, 0.3, rounding_mode="floor"), np.floor(a / 0.3))
    changed = dense.clone()
    same(changed.add_(made, alpha=2), b + 2 * a)
    same(changed.sub_(made), b + a)
    same(changed.mul_(made), (b + a) * a)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_would_fill_a_sparse_tensor_is_refused(layout: str) -> None:
    made = sparse_of(layout, matrix(12))
    for call in (lambda: made + 1, lambda: made - 1):
        with pytest.raises(ValueRangeError, match=r"would fill it(.|\n)*try: self.to_dense\(\)"):
            call()
    for call in (lambda: made / made, lambda: made / tt.ones(4, 6), lambda: 1 / made):
        with pytest.raises((ValueRangeError, NoKernelError), match=r"to_dense\(\)"):
            call()
    with pytest.raises(ShapeError, match="must be the same"):
        made + sparse_of(layout, matrix(12, 6, 4))


def test_sizes_and_blocks_that_differ_are_refused() -> None:
    left, right = tt.ones(4, 4).to_sparse_bsr((2, 2)), tt.ones(4, 4).to_sparse_bsr((4, 4))
    with pytest.raises(ShapeError, match=r"the blocks \[2, 2\] and \[4, 4\] do not match"):
        left + right
    with pytest.raises(ShapeError, match="2 and 1 sparse dimensions do not match"):
        tt.ones(4, 4).to_sparse() + tt.ones(4, 4).to_sparse(1)


def test_batches_are_added_if_their_matrices_store_equally_many_elements() -> None:
    array = np.stack([matrix(13), matrix(13) * 2])
    made = tt.tensor(array).to_sparse_csr()
    same(made + made, array * 2)
    same(made * made, array * array)
    other = np.zeros_like(array)
    other[0, 0, 0], other[1, 0, 1] = 5, 5
    uneven = tt.tensor(other).to_sparse_csr()
    if np.count_nonzero((array + other)[0]) != np.count_nonzero((array + other)[1]):
        with pytest.raises(LayoutError, match="in a batch of the layout"):
            made + uneven


arrays = st.builds(
    lambda seed, rows, columns, density: (seed, 2 * rows, 2 * columns, density),
    st.integers(0, 10**6), st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.0, 0.1, 0.5, 1.1]),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(arrays, st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS))
def test_random_patterns_agree_with_dense_tensors(how: Any, first: str, second: str) -> None:
    seed, rows, columns, density = how
    a, b = matrix(seed, rows, columns, density), matrix(seed + 1, rows, columns, 0.3)
    left, right = sparse_of(first, a), sparse_of(second, b)
    same(left + right, a + b, atol=1e-15)
    same(left * right, a * b)
    same(left.tanh() - right, np.tanh(a) - b, atol=1e-15)
    same(left.sum(), a.sum(), atol=1e-13)


# --- against PyTorch -------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.parametrize("layout", ["coo", "uncoalesced", "hybrid", "csr"])
def test_layouts_values_and_dtypes_are_pytorchs(layout: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = matrix(18), matrix(19)
    calls: dict[str, Any] = {
        "add": lambda m, x, y, d: x + y, "mul": lambda m, x, y, d: x * y, "dense add": lambda m, x, y, d: d + x,
        "dense mul": lambda m, x, y, d: x * d, "number": lambda m, x, y, d: x * 2, "sum": lambda m, x, y, d: x.sum(),
        "sin": lambda m, x, y, d: x.sin(), "isnan": lambda m, x, y, d: x.isnan(),
    }  # fmt: skip
    if layout != "csr":
        calls |= {
            "sub": lambda m, x, y, d: x - y, "div": lambda m, x, y, d: x / 2, "norm": lambda m, x, y, d: x.norm(),
            "sum 0": lambda m, x, y, d: m.sparse.sum(x, 0), "softmax": lambda m, x, y, d: m.sparse.softmax(x, 1),
            "log_softmax": lambda m, x, y, d: m.sparse.log_softmax(x, 0), "any": lambda m, x, y, d: x.any(),
        }  # fmt: skip
    for name, call in calls.items():
        ours, theirs = (
            call(m, sparse_of(layout, a, m), sparse_of(layout, b, m), sparse_of("dense", b, m))
            for m in (tt, torch)
        )
        assert layout_of(ours) == layout_of(theirs), name
        assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2], name
        np.testing.assert_allclose(numpy_of(ours), numpy_of(theirs), err_msg=name, atol=1e-15)
        if ours.layout is tt.sparse_coo and layout != "uncoalesced":
            assert ours.is_coalesced() == theirs.is_coalesced(), name


def test_every_compressed_layout_is_tested() -> None:
    from tt.plugins.sparse.layouts import LAYOUTS as KNOWN

    assert {f"sparse_{name}" for name in ("coo", *COMPRESSED)} == set(KNOWN)
