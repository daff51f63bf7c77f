"""Equations, determinants and exponentials on the CPU: promises, refusals, batches and views."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import tt
from tests.backends.cpu.matrices import DTYPES, close, numbers

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(
    "shapes", [((4, 2), (4, 3)), ((2, 4), (2, 1)), ((2, 4, 2), (2, 4)), ((0, 2), (0, 1))], ids=str
)
def test_least_squares(shapes, driver):
    a, b = numbers(*shapes[0]), numbers(*shapes[1], seed=1)
    ours = tt.linalg.lstsq(tt.from_numpy(a), tt.from_numpy(b), driver=driver)
    theirs = torch.linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b), driver=driver)
    for one, other in zip(ours, theirs, strict=True):
        assert tuple(one.shape) == tuple(other.shape) and str(one.dtype)[3:] == str(other.dtype)[6:]
        close(one, other.numpy(), "float64")


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 3, 3)], ids=str)
def test_least_squares_without_right_hand_sides_still_measure_the_matrix(shape, driver):
    *batch, m, n = shape
    found = tt.linalg.lstsq(tt.eye(m, n).expand(shape) * 2, tt.ones(*batch, m, 0), driver=driver)
    assert tuple(found.solution.shape) == (*batch, n, 0)
    if driver != "gels":
        assert found.rank.tolist() == np.full(batch, 3).tolist()
    if driver in ("gelsd", "gelss"):
        close(found.singular_values, np.full((*batch, 3), 2.0), "float32")


def test_least_squares_of_less_than_full_rank():
    a, b = tt.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), tt.ones(3, 1)
    for driver in ("gelsy", "gelsd", "gelss"):
        found = tt.linalg.lstsq(a, b, driver=driver)
        assert found.rank.item() == 1 and not found.residuals.numel()
        close(found.solution, [[0.6 / 7], [1.2 / 7]], "float32")
    with pytest.raises(tt.linalg.LinAlgError, match="not of full rank"):
        tt.linalg.lstsq(a * tt.tensor([1.0, 0.0]), b, driver="gels")


def test_batches_broadcast():
    a, b = numbers(2, 1, 3, 3), numbers(4, 3, 2)
    close(tt.linalg.solve(tt.from_numpy(a), tt.from_numpy(b)), np.linalg.solve(a, b), "float64")
    lower = np.tril(a) + 3 * np.eye(3)
    found = tt.linalg.solve_triangular(tt.from_numpy(lower), tt.from_numpy(b), upper=False)
    close(found, np.linalg.solve(lower, b), "float64")


def test_as_many_matrices_as_rows_are_no_vectors():
    a = numbers(2, 2, 2) + 3 * np.eye(2)
    close(tt.linalg.inv_ex(tt.from_numpy(a)).inverse, np.linalg.inv(a), "float64")
    b = numbers(2, 2)
    expected = torch.linalg.solve(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    close(tt.linalg.solve(tt.from_numpy(a), tt.from_numpy(b)), expected, "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("upper", [True, False])
def test_triangles_of_views(dtype, left, upper):
    a, b = numbers(6, 3, dtype=dtype)[::2].T, numbers(3, 6, dtype=dtype)[:, ::2]
    triangle = np.triu(a) if upper else np.tril(a)
    found = tt.linalg.solve_triangular(tt.from_numpy(a), tt.from_numpy(b), upper=upper, left=left)
    close(triangle @ found.numpy() if left else found.numpy() @ triangle, b, dtype)


@pytest.mark.parametrize("op", ["inv", "solve"])
def test_a_singular_matrix_is_named_with_its_column(op):
    batch = tt.tensor(np.array([np.eye(3), np.diag([1.0, 0.0, 2.0])]))
    arguments = (batch, tt.ones(3, 1, dtype=tt.float64)) if op == "solve" else (batch,)
    with pytest.raises(tt.linalg.LinAlgError, match=r"\(Batch element 1\).*column 2"):
        getattr(tt.linalg, op)(*arguments)
    found = getattr(tt.linalg, op + "_ex")(*arguments)
    assert found.info.tolist() == [0, 2]
    with pytest.raises(RuntimeError, match="column 2"):
        getattr(tt.linalg, op + "_ex")(*arguments, check_errors=True)
    with tt.mask_kernels("@non-core"), pytest.raises(RuntimeError, match="singular"):
        getattr(tt.linalg, op)(*arguments)


def test_a_logarithm_of_a_determinant_does_not_overflow():
    a = tt.eye(400, dtype=tt.float32) * 1e3
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context:
            sign, logabsdet = tt.linalg.slogdet(a)
            assert sign.item() == 1 and abs(logabsdet.item() - 400 * np.log(1e3)) < 1e-2
            assert tt.logdet(-a[:3, :3]).isnan()
            singular = tt.linalg.slogdet(tt.zeros(2, 2))
            assert singular.sign.item() == 0 and singular.logabsdet.item() == -np.inf


def test_the_exponential_of_a_large_matrix(same):
    a = torch.tensor(numbers(4, 4)) * 5
    same(lambda m, x: m.linalg.matrix_exp(x), a, tolerance=1e-9)
    with tt.mask_kernels("@non-core"):
        same(lambda m, x: m.linalg.matrix_exp(x), a, tolerance=1e-9)


def test_the_exponential_of_a_small_matrix_is_as_exact_beside_a_large_one():
    small, middle, large = (numbers(4, 4, seed=seed) * size for seed, size in enumerate((1e-3, 1.0, 60.0)))
    result = tt.linalg.matrix_exp(tt.from_numpy(np.stack([small, large, middle]))).numpy()
    series, term = np.eye(4), np.eye(4)
    for k in range(1, 8):
        term = term @ small / k
        series = series + term
    np.testing.assert_allclose(result[0], series, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        result[2], scipy.linalg.expm(middle), rtol=0, atol=1e-14 * np.abs(result[2]).max()
    )


def test_a_division_by_a_zero_pivot_is_infinite_as_in_lapack():
    a, b = tt.tensor([[2.0, 1.0], [0.0, 0.0]]), tt.ones(2, 1)
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context:
            assert tt.linalg.solve_triangular(a, b, upper=True).isinf().any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", ["plain", "transposed", "apart"])
@pytest.mark.parametrize(
    "shape", [(0, 0), (1, 1), (7, 7), (65, 65), (130, 130), (3, 20, 20), (2, 2, 97, 97), (0, 4, 4)], ids=str
)
def test_inverses_solutions_and_determinants_of_every_size(shape, way, dtype):
    n = shape[-1]
    a = (numbers(*shape) / max(n, 1) ** 0.5 + 1.3 * np.eye(n)).astype(dtype)
    if "complex" in dtype:
        a = a + (0.3j * numbers(*shape, seed=1) / max(n, 1) ** 0.5).astype(dtype)
    b = numbers(*shape, dtype=dtype, seed=2)
    if way == "transposed":
        a, b = (np.ascontiguousarray(one.swapaxes(-1, -2)).swapaxes(-1, -2) for one in (a, b))
    elif way == "apart":
        a, b = (np.repeat(one, 2, -1)[..., ::2] for one in (a, b))
    ours, theirs = [tt.from_numpy(one) for one in (a, b)], [torch.from_numpy(one) for one in (a, b)]
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    for call in (
        lambda m, x, y: m.linalg.inv(x),
        lambda m, x, y: m.linalg.inv_ex(x)[0],
        lambda m, x, y: m.linalg.solve(x, y),
        lambda m, x, y: m.linalg.solve(x, y, left=False),
        lambda m, x, y: m.linalg.solve_ex(x, y)[0],
        lambda m, x, y: m.linalg.solve_triangular(x, y, upper=False),
        lambda m, x, y: m.linalg.det(x),
        lambda m, x, y: m.linalg.slogdet(x)[0],
        lambda m, x, y: m.linalg.slogdet(x)[1],
    ):
        found, expected = call(tt, *ours).numpy(), call(torch, *theirs).resolve_conj().numpy()
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(
            found, expected, rtol=tolerance, atol=30 * tolerance * np.abs(expected).max(initial=0)
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [3, 30, 90])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_what_is_not_finite_gives_what_pytorch_gives(special, n, dtype):
    for place in ((0, 0), (n - 1, n - 1), (1, 0)):
        a = numbers(n, n, dtype=dtype) / 10 + 3 * np.eye(n, dtype=dtype)
        a[place] = special
        ours, theirs = tt.from_numpy(a), torch.from_numpy(a)
        for call in (
            lambda m, x: m.linalg.inv(x),
            lambda m, x: m.linalg.det(x),
            lambda m, x: m.linalg.lu_factor_ex(x)[2],
        ):
            found, expected = call(tt, ours).numpy(), call(torch, theirs).numpy()
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
