"""Eigenvalues and singular values on the CPU: their promises, and what all of linear algebra refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt
from tests.backends.cpu.matrices import DTYPES, close, numbers

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


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
@pytest.mark.parametrize(
    "shape",
    [(3, 1), (1, 3), (40, 5), (5, 40), (2, 3, 30, 10), (2, 10, 30), (300, 64), (0, 3), (3, 0)],
    ids=str,
)
def test_singular_values_of_long_matrices(shape, dtype):
    a = numbers(*shape, dtype=dtype)
    for turned in (a, np.asfortranarray(a)):
        U, S, Vh = tt.linalg.svd(tt.from_numpy(turned), full_matrices=False)
        close((U * S.unsqueeze(-2).to(U.dtype)) @ Vh, a, dtype)
        unit = np.broadcast_to(np.eye(min(shape[-2:])), (*shape[:-2], *[min(shape[-2:])] * 2))
        close(U.mH @ U, unit, dtype)
        close(Vh @ Vh.mH, unit, dtype)
        close(S, torch.linalg.svdvals(torch.from_numpy(a)).numpy(), dtype)
        close(tt.linalg.svdvals(tt.from_numpy(turned)), S.numpy(), dtype)


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


def test_distances_neither_overflow_nor_cancel(same):
    far = torch.tensor([[1e30, 0.0]]), torch.tensor([[0.0, 1e30]])
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context:
            found = tt.cdist(tt.tensor([[1e30, 0.0]]), tt.tensor([[0.0, 1e30]]))
            assert abs(found.item() / (2**0.5 * 1e30) - 1) < 1e-6
            close_points = tt.cdist(tt.tensor([[1e4, 1e4]]), tt.tensor([[1e4, 1e4 + 1]]))
            assert close_points.item() == 1
    same(lambda m, x, y: m.cdist(x, y, p=float("inf")), *far)
