"""Arithmetic of sparse tensors of every layout, compared with that of dense ones, SciPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.making import COMPRESSED, LAYOUTS, layout_of, matrix, numpy_of, sparse_of
from tt.core.errors import LayoutError, NoKernelError, ShapeError, ValueRangeError
from tt.plugins.sparse.compute.pointwise import COMPARISONS, LINEAR, ZERO_PRESERVING

DTYPES = (tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.int32, tt.int64, tt.complex64, tt.complex128)
PATTERNS = {
    "random": matrix(0),
    "empty": np.zeros((4, 6)),
    "full": matrix(1, density=1.1),
    "empty rows": matrix(2) * np.array([[1], [0], [0], [1]]),
}
UNARY = [op for op in ZERO_PRESERVING if "." not in op and hasattr(tt, op)]


def same(found: Any, expected: Any, **tolerances: Any) -> None:
    np.testing.assert_allclose(numpy_of(found), np.asarray(expected), **tolerances)


# --- functions of one tensor -----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
@pytest.mark.parametrize("op", UNARY)
def test_functions_that_keep_zeros_keep_the_layout(op: str, layout: str) -> None:
    array = matrix(3, dtype=np.complex128) if op in ("real", "imag") else matrix(3)
    made, dense = sparse_of(layout, array), tt.tensor(array)
    function = getattr(tt, op)
    found = function(made)
    assert found.layout is made.layout
    same(found, numpy_of(function(dense)), rtol=1e-12)
    assert numpy_of(function(tt.zeros(1, dtype=dense.dtype)))[0] == 0, (
        "else it is no function for sparse tensors"
    )
    if layout == "uncoalesced":
        assert found.is_coalesced() == (op not in LINEAR)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_every_pattern(layout: str, pattern: str) -> None:
    array = PATTERNS[pattern]
    for op in ("sin", "abs", "neg", "relu", "isnan", "round"):
        made = sparse_of(layout, array)
        same(getattr(tt, op)(made), numpy_of(getattr(tt, op)(tt.tensor(array))), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_every_dtype(layout: str, dtype: Any) -> None:
    dense = tt.tensor(matrix(4, dtype=np.int64)).to(dtype)
    made = sparse_of(layout, dense.tolist(), dtype=dtype)
    for op in ("sin", "neg", "square", "sgn"):
        found, expected = getattr(tt, op)(made), getattr(tt, op)(dense)
        assert found.dtype is expected.dtype
        same(
            found.to_dense().to(tt.complex128),
            numpy_of(expected.to(tt.complex128)),
            rtol=1e-2 if dtype.itemsize == 2 else 1e-5,
        )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_in_place_and_with_out(layout: str) -> None:
    array = matrix(5)
    made = sparse_of(layout, array)
    assert made.sin_() is made
    same(made, np.sin(array))
    out = sparse_of(layout, array).clone()
    assert tt.neg(sparse_of(layout, array), out=out) is out
    same(out, -array)
    same(made.mul_(2).neg_(), -2 * np.sin(array))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_powers_and_comparisons_that_keep_zeros(layout: str) -> None:
    array = matrix(6)
    made = sparse_of(layout, array)
    same(made**2, array**2)
    same(made.abs().pow(0.5), np.abs(array) ** 0.5)
    for op, number in (("gt", 0.2), ("lt", -0.1), ("ne", 0), ("eq", 0.5), ("ge", 0.3), ("le", -0.3)):
        found = getattr(tt, op)(made, number)
        assert (found.dtype, found.layout) == (tt.bool, made.layout)
        same(found, COMPARISONS[op](array, number))
    for op, number in (("gt", -1), ("eq", 0), ("le", 0)):
        with pytest.raises(
            ValueRangeError, match=r"False where nothing is stored(.|\n)*try: self.to_dense\(\)"
        ):
            getattr(tt, op)(made, number)
    for exponent in (0, -1):
        with pytest.raises(ValueRangeError, match="it would make the result tensor dense"):
            made**exponent
    with pytest.raises(NoKernelError, match=r"try: self.to_dense\(\)"):
        made ** tt.ones(())
    with pytest.raises(ValueRangeError, match="raised to a number, not to a tensor"):
        made**made


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_function_that_does_not_keep_zeros_is_refused_with_the_conversion(layout: str) -> None:
    made = sparse_of(layout, matrix(7))
    for op in ("exp", "cos", "sigmoid"):
        with pytest.raises(NoKernelError, match=r"try: self.to_dense\(\)"):
            getattr(tt, op)(made)


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


# --- reductions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
def test_reductions_to_a_number(layout: str, pattern: str) -> None:
    array = PATTERNS[pattern]
    made = sparse_of(layout, array)
    same(made.sum(), array.sum())
    same(tt.sparse.sum(made), array.sum())
    same(made.mean(), array.mean())
    for order in (2, 1, 3.5, float("inf"), 0):
        same(
            tt.linalg.vector_norm(made, order),
            numpy_of(tt.linalg.vector_norm(tt.tensor(array), order)),
            atol=1e-15,
        )
    same(made.norm(), np.linalg.norm(array))
    assert made.any().item() == array.any()
    assert made.all().item() == array.all()
    np.testing.assert_array_equal(made.nonzero().numpy(), np.argwhere(array))
    assert made.to(tt.int32).sum().dtype is tt.int64
    assert made.sum(dtype=tt.float32).dtype is tt.float32


@pytest.mark.parametrize("dim", [0, 1, -1, (0, 1), 2, (0, 2), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("sparse_dims", [1, 2, 3])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_along_dimensions(dim: Any, sparse_dims: int, keepdim: bool) -> None:
    array = np.stack([matrix(14), matrix(15), np.zeros((4, 6))])
    made = tt.tensor(array).to_sparse(sparse_dims)
    found = made.sum(dim, keepdim=keepdim)
    dims = tuple(range(3)) if dim == () else dim
    same(found, array.sum(axis=dims, keepdims=keepdim))
    dims = {d % 3 for d in ((dims,) if isinstance(dims, int) else dims)}
    dense = all(d in dims for d in range(sparse_dims))
    assert (found.layout is tt.strided) == dense
    same(tt.sparse.sum(made, dims if isinstance(dims, int) else tuple(dims)), array.sum(axis=tuple(dims)))


def test_sums_of_rows_and_columns_of_compressed_matrices() -> None:
    array = matrix(16)
    made = tt.tensor(array).to_sparse_csr()
    for dim in (0, 1, (0, 1)):
        found = made.sum(dim, keepdim=True)
        assert found.layout is tt.sparse_csr
        same(found, array.sum(axis=dim, keepdims=True))
    with pytest.raises(LayoutError, match=r"keepdim=True\n  try: self.to_sparse\(\).sum\(dim\)"):
        made.sum(0)
    with pytest.raises(LayoutError, match=r"tt\.sparse_csc"):
        made.to_sparse_csc().sum(0, keepdim=True)
    with pytest.raises(LayoutError, match="dim cannot select some"):
        tt.linalg.vector_norm(made, dim=0)


@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_takes_what_is_not_stored_for_minus_infinity(layout: str, dim: int) -> None:
    array = matrix(17)
    stored = array != 0 if layout not in ("bsr", "bsc", "hybrid") else np.ones_like(array, bool)
    if layout in ("bsr", "bsc"):
        blocks = (array != 0).reshape(2, 2, 3, 2).any(axis=(1, 3))
        stored = blocks.repeat(2, 0).repeat(2, 1)
    if layout == "hybrid":
        stored = np.broadcast_to((array != 0).any(1, keepdims=True), array.shape)
    powers = np.where(stored, np.exp(array), 0)
    total = powers.sum(axis=dim, keepdims=True)
    expected = np.where(stored, powers / np.where(total == 0, 1, total), 0)
    made = sparse_of(layout, array)
    found = tt.sparse.softmax(made, dim)
    assert found.layout is made.layout
    same(found, expected)
    logarithms = numpy_of(tt.sparse.log_softmax(made, dim - 2))
    np.testing.assert_allclose(logarithms[stored], np.log(expected[stored]))
    assert tt.sparse.softmax(made, dim, dtype=tt.float32).dtype is tt.float32


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
