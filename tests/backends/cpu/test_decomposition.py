"""Decompositions and equations on the CPU: their promises, their refusals, and where LAPACK needs help."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "complex64", "complex128"]


def numbers(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return array.astype(dtype) if "complex" in dtype else array.real.astype(dtype)


def close(found, expected, dtype: str) -> None:
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    found = found.numpy() if isinstance(found, tt.Tensor) else found
    np.testing.assert_allclose(found, expected, atol=tolerance * max(1, np.abs(expected).max(initial=0)))


# --- what decompositions promise -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 4, 3), (0, 3), (3, 0), (0, 2, 2)], ids=str)
def test_lu_takes_a_matrix_apart(shape, dtype):
    a = numbers(*shape, dtype=dtype)
    P, L, U = tt.linalg.lu(tt.from_numpy(a))
    close(P @ L @ U, a, dtype)
    assert not tt.triu(L, 1).any() and not tt.tril(U, -1).any()
    theirs = torch.linalg.lu_factor(torch.from_numpy(a))
    ours = tt.linalg.lu_factor(tt.from_numpy(a))
    close(ours.LU, theirs.LU.numpy(), dtype)
    assert ours.pivots.tolist() == theirs.pivots.tolist()


def test_lu_without_exchanges():
    a = numbers(4, 4) + 5 * np.eye(4)
    P, L, U = tt.linalg.lu(tt.from_numpy(a), pivot=False)
    assert tuple(P.shape) == (0,)
    close(L @ U, a, "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 2), (0, 3), (3, 0)], ids=str)
def test_qr_takes_a_matrix_apart(shape, mode, dtype):
    a = numbers(*shape, dtype=dtype)
    Q, R = tt.linalg.qr(tt.from_numpy(a), mode)
    theirs = torch.linalg.qr(torch.from_numpy(a), mode)
    assert [tuple(Q.shape), tuple(R.shape)] == [tuple(t.shape) for t in theirs]
    if mode == "r":
        close(R.abs(), np.abs(theirs.R.numpy()), dtype)
    else:
        close(Q @ R, a, dtype)
        close(Q.mH @ Q, np.broadcast_to(np.eye(Q.shape[-1]), (*a.shape[:-2], *Q.shape[-1:] * 2)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors_solve_their_equation(dtype):
    a = numbers(2, 4, 4, dtype=dtype)
    values, vectors = tt.linalg.eig(tt.from_numpy(a))
    close(tt.from_numpy(a).to(vectors.dtype) @ vectors, (vectors * values.unsqueeze(-2)).numpy(), dtype)
    for triangle in "LU":
        values, vectors = tt.linalg.eigh(tt.from_numpy(a), triangle)
        lower = np.tril(a) if triangle == "L" else np.conj(np.swapaxes(np.triu(a), -2, -1))
        whole = np.tril(lower, -1) + np.conj(np.swapaxes(np.tril(lower), -2, -1))
        whole = np.where(np.eye(4, dtype=bool), whole.real, whole)
        close(vectors @ (vectors.mH * values.unsqueeze(-1)), whole, dtype)
        close(tt.linalg.eigvalsh(tt.from_numpy(a), triangle), values.numpy(), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle(dtype, upper):
    a = numbers(3, 3, dtype=dtype)
    whole = a @ a.conj().T + np.eye(3)
    half = np.triu(whole) if upper else np.tril(whole)
    factor = tt.linalg.cholesky(tt.from_numpy(half.astype(dtype)), upper=upper)
    close(factor.mH @ factor if upper else factor @ factor.mH, whole, dtype)
    right = numbers(3, 2, dtype=dtype)
    close(tt.cholesky_solve(tt.from_numpy(right), factor, upper), np.linalg.solve(whole, right), dtype)
    close(tt.cholesky_inverse(factor, upper), np.linalg.inv(whole), dtype)


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


def test_least_squares_of_less_than_full_rank():
    a, b = tt.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), tt.ones(3, 1)
    for driver in ("gelsy", "gelsd", "gelss"):
        found = tt.linalg.lstsq(a, b, driver=driver)
        assert found.rank.item() == 1 and not found.residuals.numel()
        close(found.solution, [[0.6 / 7], [1.2 / 7]], "float32")
    with pytest.raises(tt.linalg.LinAlgError, match="not of full rank"):
        tt.linalg.lstsq(a * tt.tensor([1.0, 0.0]), b, driver="gels")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "decompose",
    [tt.linalg.svd, tt.linalg.svdvals, tt.linalg.pinv, lambda a: tt.linalg.lstsq(a, a, driver="gelsd"),
     lambda a: tt.linalg.lstsq(a, a, driver="gelss")],
    ids=["svd", "svdvals", "pinv", "gelsd", "gelss"],
)  # fmt: skip
def test_singular_values_of_infinite_elements_are_refused_before_lapack_loops(decompose, number):
    a = tt.from_numpy(numbers(3, 33, 8))
    a[1, 5, 2] = float(number)
    with pytest.raises(tt.linalg.LinAlgError, match=r"Batch element 1.*infinite elements or NaN"):
        decompose(a)


# --- batches, layouts ------------------------------------------------------------------------------------------


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


# --- refusals -------------------------------------------------------------------------------------------


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


def test_a_matrix_that_is_not_positive_definite_is_named_with_its_minor():
    batch = tt.tensor(np.array([np.eye(3), np.diag([1.0, 2.0, -1.0])]))
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context, pytest.raises(tt.linalg.LinAlgError, match=r"\(Batch element 1\).*minor of order 3"):
            tt.linalg.cholesky(batch)
    assert tt.linalg.cholesky_ex(batch).info.tolist() == [0, 3]
    with pytest.raises(RuntimeError, match="minor of order 3"):
        tt.linalg.cholesky_ex(batch, check_errors=True)


def test_numbers_that_are_not_finite_are_refused_where_nothing_converges():
    nan = tt.full((2, 2), float("nan"))
    for op in ("svd", "svdvals", "eig", "eigvals"):
        with pytest.raises(RuntimeError, match="infinite elements or NaN"):
            getattr(tt.linalg, op)(nan)


@pytest.mark.parametrize("dtype", [tt.int64, tt.bool])
@pytest.mark.parametrize("op", ["inv", "det", "svd", "qr", "eigh", "cholesky"])
def test_integers_are_refused(op, dtype):
    with pytest.raises(RuntimeError):
        getattr(tt.linalg, op)(tt.eye(2, dtype=dtype))


def test_options_that_do_not_exist_are_refused(same):
    a = torch.eye(2)
    same(lambda m, x: m.linalg.qr(x, "economic"), a)
    same(lambda m, x: m.linalg.eigh(x, "X"), a)
    same(lambda m, x: m.linalg.lstsq(x, x, driver="best"), a)
    same(lambda m, x: m.linalg.svd(x, driver="gesvd"), a)
    same(lambda m, x: m.linalg.solve(x, x[0], left=False), a)
    same(lambda m, x: m.linalg.matrix_norm(x, 3), a)
    same(lambda m, x: m.linalg.cond(x, 3), a)


@pytest.mark.parametrize("p", [1, -1, math.inf, -math.inf, "fro", "nuc"])
def test_the_condition_number_of_a_matrix_without_inverse_is_infinite(p):
    matrices = tt.tensor([[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]])
    found = tt.linalg.cond(matrices, p)
    assert found[:2].isinf().all() and found[2].isfinite()


# --- numbers that are large, small or singular --------------------------------------------------------------------


def test_a_logarithm_of_a_determinant_does_not_overflow():
    a = tt.eye(400, dtype=tt.float32) * 1e3
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context:
            sign, logabsdet = tt.linalg.slogdet(a)
            assert sign.item() == 1 and abs(logabsdet.item() - 400 * np.log(1e3)) < 1e-2
            assert tt.logdet(-a[:3, :3]).isnan()
            singular = tt.linalg.slogdet(tt.zeros(2, 2))
            assert singular.sign.item() == 0 and singular.logabsdet.item() == -np.inf


def test_distances_neither_overflow_nor_cancel(same):
    far = torch.tensor([[1e30, 0.0]]), torch.tensor([[0.0, 1e30]])
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context:
            found = tt.cdist(tt.tensor([[1e30, 0.0]]), tt.tensor([[0.0, 1e30]]))
            assert abs(found.item() / (2**0.5 * 1e30) - 1) < 1e-6
            close_points = tt.cdist(tt.tensor([[1e4, 1e4]]), tt.tensor([[1e4, 1e4 + 1]]))
            assert close_points.item() == 1
    same(lambda m, x, y: m.cdist(x, y, p=float("inf")), *far)


def test_the_exponential_of_a_large_matrix(same):
    a = torch.tensor(numbers(4, 4)) * 5
    same(lambda m, x: m.linalg.matrix_exp(x), a, tolerance=1e-9)
    with tt.mask_kernels("@non-core"):
        same(lambda m, x: m.linalg.matrix_exp(x), a, tolerance=1e-9)


def test_a_division_by_a_zero_pivot_is_infinite_as_in_lapack():
    a, b = tt.tensor([[2.0, 1.0], [0.0, 0.0]]), tt.ones(2, 1)
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context:
            assert tt.linalg.solve_triangular(a, b, upper=True).isinf().any()


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (60, 60), (3, 0, 0), (0, 4, 4), (2, 3, 7, 7)])
@pytest.mark.parametrize("part", ["L", "U"])
def test_matrices_of_float32_are_decomposed_to_their_precision(shape, part):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    size, rough = shape[-1], 40 * np.finfo(np.float32).eps
    symmetric = x + x.mT
    other = np.full(shape, np.nan, np.float32)  # the triangle that is not read
    seen = np.tril(symmetric) + np.triu(other, 1) if part == "L" else np.triu(symmetric) + np.tril(other, -1)
    values, vectors = tt.linalg.eigh(tt.tensor(seen), UPLO=part)
    assert values.dtype == vectors.dtype == tt.float32
    expected = np.linalg.eigvalsh(symmetric.astype(np.float64))
    np.testing.assert_allclose(values.numpy(), expected, atol=rough * max(size, 1))
    np.testing.assert_array_equal(tt.linalg.eigvalsh(tt.tensor(seen), UPLO=part).shape, expected.shape)
    turned = vectors.numpy().astype(np.float64)
    np.testing.assert_allclose(
        turned * values.numpy()[..., None, :] @ turned.mT, symmetric, atol=rough * max(size, 1)
    )
    positive = (x @ x.mT + size * np.eye(size)).astype(np.float32)
    factor = tt.linalg.cholesky(tt.tensor(positive), upper=part == "U")
    assert factor.dtype == tt.float32
    assert factor.is_contiguous()
    lower = factor.numpy().astype(np.float64).mT if part == "U" else factor.numpy().astype(np.float64)
    np.testing.assert_array_equal(lower, np.tril(lower))
    np.testing.assert_allclose(lower @ lower.mT, positive, atol=rough * max(size, 1) ** 2)


@pytest.mark.parametrize("shape", [(1, 1), (60, 17), (17, 60), (4, 0), (0, 3, 3), (2, 3, 7, 5)])
def test_singular_values_of_float32_are_found_to_their_precision(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    for array in (tt.tensor(x), tt.tensor(x.mT.copy()).mT):
        for full in (True, False):
            U, S, Vh = (part.numpy() for part in tt.linalg.svd(array, full_matrices=full))
            assert U.dtype == S.dtype == Vh.dtype == np.float32
            np.testing.assert_allclose(S, expected, atol=2e-5)
            k = S.shape[-1]
            np.testing.assert_allclose(U[..., :k] * S[..., None, :] @ Vh[..., :k, :], x, atol=2e-5)
        np.testing.assert_allclose(tt.linalg.svdvals(array).numpy(), expected, atol=2e-5)


def test_a_large_matrix_of_float32_that_is_not_positive_definite_is_named_with_its_minor():
    A = tt.eye(80)
    A[60, 60] = -1
    with pytest.raises(tt.errors.LinAlgError, match="leading minor of order 61"):
        tt.linalg.cholesky(A)
    factor, info = tt.linalg.cholesky_ex(A)
    assert info.item() == 61
    assert factor.shape == (80, 80)
