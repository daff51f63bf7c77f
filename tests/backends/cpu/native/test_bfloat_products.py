"""Native products of bfloat16: values against float64, for operands of any strides; what they leave to float32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tt.backends.cpu.native.linalg import bfloat_products
from tt.backends.cpu.native.loading import load

NATIVE = bfloat_products.NATIVE
RUNS = NATIVE is not None and NATIVE.supported()

here = pytest.mark.skipif(not RUNS, reason="this processor, or TT_ISA, has no products of bfloat16")

SIZES = st.sampled_from([0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 48, 50, 97])
WAYS = ("plain", "transposed", "every other", "reversed", "odd")


def array(seed: int, shape: tuple[int, ...], way: str = "plain") -> Any:
    """Return numbers of bfloat16 that lie in memory in some way."""
    x = np.random.default_rng(seed).standard_normal(shape).astype(ml_dtypes.bfloat16)
    if way == "transposed":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "every other":
        return np.repeat(x, 2, -1)[..., ::2]
    if way == "reversed":
        return x[..., ::-1]
    if way == "odd":  # rows that begin where no float could
        return np.concatenate([x, x[..., :1], x[..., :1]], -1)[..., 1 : shape[-1] + 1] if shape[-1] else x
    return x


def close(found: Any, expected: Any, terms: int) -> None:
    """Compare with float64: one rounding to bfloat16, and those of sums in float32."""
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        found.astype(np.float64), expected, rtol=2**-8, atol=1e-6 * max(terms, 4) ** 0.5
    )


def wide(*arrays: Any) -> Any:
    return [a.astype(np.float64) for a in arrays]


@here
@settings(max_examples=150, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(WAYS), st.sampled_from(WAYS), st.booleans())
def test_two_matrices(m: int, k: int, n: int, one: str, other: str, with_bias: bool) -> None:
    a, b = array(0, (m, k), one), array(1, (k, n), other)
    bias = array(2, (n,)) if with_bias else None
    found = NATIVE.product(a, b, bias)
    assert found.dtype == ml_dtypes.bfloat16
    close(found, np.matmul(*wide(a, b)) + (wide(bias)[0] if with_bias else 0), k)


@here
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 100), st.integers(1, 40), st.booleans(), st.booleans())
def test_a_row_and_columns_that_are_contiguous_along_the_sum(
    k: int, n: int, with_bias: bool, turned: bool
) -> None:
    x, w, bias = array(0, (1, k)), array(1, (n, k)), array(2, (n,))
    if turned and not with_bias:
        close(NATIVE.product(w, x.T, None), np.matmul(*wide(w, x.T)), k)
        return
    found = NATIVE.product(x, w.T, bias if with_bias else None)
    close(found, np.matmul(*wide(x, w.T)) + (wide(bias)[0] if with_bias else 0), k)


@here
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(130, 1300, 250), (700, 270, 40), (33, 520, 1100), (5, 9000, 600)])
def test_matrices_beyond_the_caches(shape: tuple[int, int, int], way: str) -> None:
    m, k, n = shape
    a, b = array(0, (m, k), way), array(1, (k, n), way)
    close(NATIVE.product(a, b, None), np.matmul(*wide(a, b)), k)


@here
@pytest.mark.parametrize("shape", [(5, 3, 4, 6), (2, 100, 90, 110), (1, 8, 8, 8), (3, 2, 0, 2)])
def test_batches(shape: tuple[int, int, int, int]) -> None:
    number, m, k, n = shape
    a, b = array(0, (number, m, k)), array(1, (number, k, n), "transposed")
    close(NATIVE.product(a, b, None), np.matmul(*wide(a, b)), k)


@here
def test_threads_do_not_change_results() -> None:
    threads = load("threads")
    a, b, x = array(0, (300, 600)), array(1, (600, 310)), array(2, (3, 90, 90))
    w = np.ascontiguousarray(b.T)
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            found.append(
                (NATIVE.product(a, b, None), NATIVE.product(x, x, None), NATIVE.product(a[:9], w.T, None),
                 NATIVE.product(a[:1], w.T, w[:, 0].copy()))
            )  # fmt: skip
    finally:
        threads.set_num_threads(before)
    for one, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_array_equal(one.view(np.uint16), other.view(np.uint16))


@here
def test_special_values_stay_in_their_rows_and_columns() -> None:
    a, b = array(0, (9, 21)), array(1, (21, 50))
    a[3, 20], b[2, 49] = np.nan, np.inf
    found = NATIVE.product(a, b, None).astype(np.float32)
    bad = np.zeros((9, 50), bool)
    bad[3] = bad[:, 49] = True
    np.testing.assert_array_equal(~np.isfinite(found), bad)


@here
def test_what_does_not_fit_is_refused() -> None:
    a, b = array(0, (2, 3)), array(1, (4, 5))
    for args in [
        (a, b, None), (a, b[0], None), (a, a.T.astype(np.float32), None), (a[None], b, None),
        (a, a.T, array(2, (3,))), (a, a.T, array(2, (4,))[::2]), ([[1.0]], [[1.0]], None),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            NATIVE.product(*args)


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        ("mm", [(3, 4), (4, 5)]),
        ("bmm", [(2, 3, 4), (2, 4, 5)]),
        ("matmul", [(3, 4), (4, 5)]),
        ("matmul", [(2, 3, 4), (2, 4, 5)]),
        ("matmul", [(2, 3, 4), (4, 5)]),
        ("matmul", [(2, 3, 4), (1, 4, 5)]),
        ("matmul", [(6, 2, 3, 4), (6, 2, 4, 5)]),
        ("matmul", [(4,), (4, 5)]),
        ("matmul", [(3, 4), (4,)]),
        ("matmul", [(0, 3, 4), (4, 5)]),
        ("addmm", [(5,), (3, 4), (4, 5)]),
        ("addmm", [(3, 5), (3, 4), (4, 5)]),
        ("addmm", [(1,), (3, 4), (4, 5)]),
        ("nn.functional.linear", [(3, 4), (5, 4), (5,)]),
        ("nn.functional.linear", [(3, 4), (5, 4)]),
        ("nn.functional.linear", [(2, 3, 4), (5, 4), (5,)]),
        ("nn.functional.linear", [(0, 3, 4), (5, 4), (5,)]),
        ("nn.functional.linear", [(4,), (5, 4), (5,)]),
        ("nn.functional.linear", [(2, 3, 4), (4,)]),
    ],
)
def test_each_operator_takes_the_shapes_that_it_takes_in_float32(
    op: str, shapes: list[tuple[int, ...]]
) -> None:
    function: Any = tt
    for name in op.split("."):
        function = getattr(function, name)
    args = [
        tt.from_numpy(np.random.default_rng(i).standard_normal(s)).bfloat16() for i, s in enumerate(shapes)
    ]
    expected = function(*(x.double() for x in args))
    found = function(*args)
    assert found.dtype == tt.bfloat16
    close(found.float().numpy(), expected.numpy(), 4)
    turned = [x.mT.contiguous().mT if x.ndim > 1 else x for x in args]
    close(function(*turned).float().numpy(), expected.numpy(), 4)


@pytest.mark.parametrize(("beta", "alpha"), [(1, 0.3), (0.3, 1), (0.7, -1.3), (0, 3), (2, 0)])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (1,)])
def test_sums_with_factors_are_rounded_once(shape: tuple[int, ...], beta: float, alpha: float) -> None:
    added, mat1, mat2 = (
        tt.from_numpy(np.random.default_rng(i).standard_normal(s)).bfloat16()
        for i, s in enumerate([shape, (3, 4), (4, 5)])
    )
    if beta == 0:
        added.fill_(float("nan"))
    found = tt.addmm(added, mat1, mat2, beta=beta, alpha=alpha)
    wide = tt.addmm(*(x.float() for x in (added, mat1, mat2)), beta=beta, alpha=alpha)
    assert found.dtype == tt.bfloat16
    assert found.tolist() == wide.bfloat16().tolist()
    target = added.expand(3, 5).contiguous()
    assert target.addmm_(mat1, mat2, beta=beta, alpha=alpha) is target
    assert target.tolist() == found.tolist()


@pytest.mark.parametrize(("one", "other"), [((3, 4), (5, 4)), ((3, 4), (4,)), ((2, 3, 4), (4, 5))])
def test_operators_refuse_what_they_refuse_in_float32(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    for dtype in (tt.float32, tt.bfloat16):
        with pytest.raises(tt.errors.ShapeError):
            tt.mm(tt.ones(one, dtype=dtype), tt.ones(other, dtype=dtype))


@here
@pytest.mark.parametrize("op", ["mm", "bmm", "matmul", "linear", "addmm"])
def test_products_of_bfloat16_are_not_computed_in_float32(op: str) -> None:
    count = 3 if op in ("linear", "addmm") else 2
    resolution = tt.explain(op, ["cpu:bfloat16"] * count).resolution
    kernel = next(candidate for candidate in resolution.candidates if candidate.taken)
    assert "bfloat_products" in kernel.source
    assert not resolution.casts
