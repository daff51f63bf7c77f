"""Factors on the CPU: their promises and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.backends.cpu.matrices import DTYPES, close, numbers

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


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
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize(
    "batches", [((), ()), ((2,), (2,)), ((2,), ()), ((), (2,)), ((3, 1), (2,)), ((0,), (1,))], ids=str
)
def test_equations_by_factors(batches, adjoint, left, dtype):
    for n, m in ((0, 2), (1, 1), (5, 3), (70, 50)):
        a = numbers(*batches[0], n, n, dtype=dtype) + 2 * n**0.5 * np.eye(n).astype(dtype)
        a = a[..., ::-1, :].copy()  # so that rows are exchanged
        b = numbers(*batches[1], *((n, m) if left else (m, n)), dtype=dtype, seed=1)
        found = tt.linalg.lu_solve(
            *tt.linalg.lu_factor(tt.from_numpy(a)), tt.from_numpy(b), left=left, adjoint=adjoint
        )
        theirs = torch.linalg.lu_solve(
            *torch.linalg.lu_factor(torch.from_numpy(a)), torch.from_numpy(b), left=left, adjoint=adjoint
        )
        close(found, theirs.resolve_conj().numpy(), dtype)


@pytest.mark.parametrize(
    ("solve", "what"),
    [
        (lambda: tt.cholesky_solve(tt.empty(0, 2), tt.empty(0, 3)), "square"),
        (lambda: tt.cholesky_solve(tt.ones(2, 2), tt.ones(3, 3)), "Incompatible shapes"),
        (lambda: tt.cholesky_solve(tt.empty(2, 0), tt.ones(3, 3)), "Incompatible shapes"),
        (lambda: tt.cholesky_solve(tt.ones(3), tt.ones(3, 3)), "at least 2 dimensions"),
        (lambda: tt.cholesky_inverse(tt.empty(0, 3)), "square"),
        (lambda: tt.cholesky_inverse(tt.ones(3)), "at least 2 dimensions"),
        (lambda: tt.linalg.lu_solve(tt.empty(0, 3), tt.empty(0, dtype=tt.int32), tt.empty(0, 2)), "square"),
        (lambda: tt.linalg.lu_solve(tt.eye(2), tt.tensor([1, 2]), tt.ones(2, 1)), "int32"),
        (
            lambda: tt.linalg.lu_solve(tt.eye(2), tt.ones(1, dtype=tt.int32), tt.ones(2, 1)),
            "number of pivots",
        ),
        (
            lambda: tt.linalg.lu_solve(tt.eye(2), tt.ones(2, dtype=tt.int32), tt.ones(3, 1)),
            "Incompatible shapes",
        ),
        (
            lambda: tt.linalg.lu_solve(tt.eye(2), tt.ones(2, dtype=tt.int32), tt.ones(2)),
            "at least 2 dimensions",
        ),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_factors_that_do_not_fit_are_refused(solve, what, native):
    with tt.mask_kernels("nothing" if native else "@non-core"), pytest.raises(RuntimeError, match=what):
        solve()


@pytest.mark.parametrize("left", [False, True])
def test_equations_by_factors_keep_infinities_apart(left):
    a, b = numbers(4, 4), np.ones((4, 4))
    b[(0, 2) if left else (2, 0)] = np.inf
    found = tt.linalg.lu_solve(*tt.linalg.lu_factor(tt.from_numpy(a)), tt.from_numpy(b), left=left).numpy()
    others = found[:, [0, 1, 3]] if left else found[[0, 1, 3]]
    assert np.isfinite(others).all() and not np.isfinite(found).all()


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


def test_a_matrix_that_is_not_positive_definite_is_named_with_its_minor():
    batch = tt.tensor(np.array([np.eye(3), np.diag([1.0, 2.0, -1.0])]))
    for context in (tt.mask_kernels("@non-core"), tt.mask_kernels("nothing")):
        with context, pytest.raises(tt.linalg.LinAlgError, match=r"\(Batch element 1\).*minor of order 3"):
            tt.linalg.cholesky(batch)
    assert tt.linalg.cholesky_ex(batch).info.tolist() == [0, 3]
    with pytest.raises(RuntimeError, match="minor of order 3"):
        tt.linalg.cholesky_ex(batch, check_errors=True)
