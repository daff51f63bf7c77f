"""`lobpcg`: a few eigenpairs, by products with the matrix."""

import numpy as np
import pytest
from scipy import linalg

import tt
from tt.core.errors import GradientError

KINDS = pytest.mark.parametrize("largest", [True, False])


def symmetric(size, seed=0, *, positive=False):
    square = np.random.default_rng(seed).normal(size=(size, size))
    return square @ square.T + size * np.eye(size) if positive else square + square.T


def expect_pairs(a, found, k, largest, b=None, rtol=1e-6):
    E, X = (part.numpy() for part in found)
    all_values = linalg.eigh(a, b)[0]
    expected = all_values[::-1][:k] if largest else all_values[:k]
    np.testing.assert_allclose(E, expected, rtol, 1e-6)
    bx = X if b is None else b @ X
    np.testing.assert_allclose(a @ X, bx * E, atol=1e-5 * np.abs(a).sum(1).max())
    np.testing.assert_allclose(X.T @ bx, np.eye(k), atol=1e-10)


@KINDS
@pytest.mark.parametrize("method", [None, "ortho", "basic"])
@pytest.mark.parametrize(("size", "k"), [(3, 1), (30, 3), (120, 5)])
def test_it_finds_the_eigenpairs_at_either_end(size, k, largest, method):
    a = symmetric(size)
    found = tt.lobpcg(tt.from_numpy(a), k, largest=largest, method=method)
    assert found._fields == ("eigenvalues", "eigenvectors")
    expect_pairs(a, found, k, largest)


@KINDS
def test_generalised_preconditioned_and_from_a_start(largest):
    a, b = symmetric(40, 1), symmetric(40, 2, positive=True)
    A, B = tt.from_numpy(a), tt.from_numpy(b)
    expect_pairs(a, tt.lobpcg(A, 2, B, largest=largest), 2, largest, b)
    near = tt.from_numpy(linalg.inv(symmetric(40, 3, positive=True)))
    expect_pairs(a, tt.lobpcg(A, 2, iK=near, n=4, largest=largest), 2, largest)
    steps = []
    start = tt.from_numpy(np.linalg.eigh(a)[1][:, ::-1][:, :2].copy())
    tt.lobpcg(A, X=start, tracker=lambda search: steps.append(search.ivars["istep"]))
    assert steps == [0]  # the eigenvectors themselves


def test_batches_sparse_matrices_and_repeated_eigenvalues():
    both = np.stack([symmetric(20, 1), symmetric(20, 2)])
    E, X = tt.lobpcg(tt.from_numpy(both), 2)
    for place in range(2):
        expect_pairs(both[place], (E[place], X[place]), 2, True)
    a = symmetric(25, 4) * (np.random.default_rng(0).random((25, 25)) < 0.1)
    a = a + a.T
    expect_pairs(a, tt.lobpcg(tt.from_numpy(a).to_sparse(), 2), 2, True)
    assert tt.lobpcg(tt.eye(12), 3).eigenvalues.tolist() == pytest.approx([1.0] * 3)
    assert tt.lobpcg(tt.zeros(12, 12), 3).eigenvalues.tolist() == [0.0] * 3
    assert tt.lobpcg(tt.ones(0, 9, 9), 2)[1].shape == (0, 9, 2)
    assert [tuple(part.shape) for part in tt.lobpcg(tt.ones(4, 9, 9, device="meta"), 2)] == [
        (4, 2),
        (4, 9, 2),
    ]


def test_steps_are_limited_and_seen_and_stopped():
    A, seen = tt.from_numpy(symmetric(60)), []
    tt.lobpcg(A, 2, niter=3, tol=1e-12, tracker=lambda search: seen.append(search.tvars["rerr"].max().item()))
    assert len(seen) == 4 and seen[-1] < seen[0]

    def stop(search):
        search.bvars["force_stop"] = search.ivars["istep"] == 2
        seen.append(search.X.shape)

    seen.clear()
    tt.lobpcg(A, 2, niter=-1, tol=0.0, tracker=stop)
    assert seen == [(60, 2)] * 3


def test_gradients_of_values_and_vectors():
    tt.manual_seed(0)
    a = tt.from_numpy(symmetric(7) * 0.1 + np.diag(np.arange(7.0)))
    for largest in (True, False):

        def both(matrix, largest=largest):
            even = (matrix + matrix.mT) / 2
            E, X = tt.lobpcg(even, 2, largest=largest, tol=1e-14)
            return E, X**2  # whatever the signs

        assert tt.testing.gradcheck(both, (a.clone().requires_grad_(),), eps=1e-5, atol=1e-4)
    with pytest.raises(GradientError, match=r"lobpcg\(\): the gradient with B is not implemented"):
        tt.lobpcg(a.requires_grad_(), 1, tt.eye(7, dtype=tt.float64))[0].backward()


def test_wrong_arguments_say_what_is_wrong():
    a = tt.eye(9)
    for call, error, message in (
        (lambda: tt.lobpcg(a[0]), RuntimeError, "lobpcg"),
        (lambda: tt.lobpcg(a[:, :4]), RuntimeError, "lobpcg"),
        (
            lambda: tt.lobpcg(a, 4),
            ValueError,
            r"at least 3 \* n = 12 rows, and it has 9\n  try: tt.linalg.eigh",
        ),
        (lambda: tt.lobpcg(a, 0), ValueError, "k must be between 1 and n=0"),
        (lambda: tt.lobpcg(a, 3, X=a[:, :2]), ValueError, "k must be between 1 and n=2"),
        (lambda: tt.lobpcg(a, B=a[:2, :2]), RuntimeError, "B must have the shape of A"),
        (lambda: tt.lobpcg(a, X=a[:4]), RuntimeError, "X must have 9 rows"),
        (lambda: tt.lobpcg(a, method="fast"), ValueError, "'fast'"),
        (lambda: tt.lobpcg(a.long()), RuntimeError, "int64"),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.torch
def test_values_and_gradients_agree_with_torch():
    torch = pytest.importorskip("torch")
    a = symmetric(9) * 0.1 + np.diag(np.arange(9.0))
    mine, theirs = tt.from_numpy(a.copy()).requires_grad_(), torch.from_numpy(a.copy()).requires_grad_()
    for library, matrix in ((tt, mine), (torch, theirs)):
        E, X = library.lobpcg(matrix, 2, tol=1e-13)
        (E.sum() + (X**4).sum()).backward()
    np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), atol=1e-9)


@KINDS
@pytest.mark.torch
def test_only_the_symmetric_part_of_a_matrix_counts_as_in_torch(largest):
    torch = pytest.importorskip("torch")
    a = symmetric(9) + np.triu(np.ones((9, 9)), 1)
    start = np.eye(9, 2)

    def run(lib):
        A = lib.from_numpy(a).requires_grad_()
        values, vectors = lib.lobpcg(A, 2, X=lib.from_numpy(start), largest=largest)
        (values.sum() + (vectors**4).sum()).backward()
        return values.detach().numpy(), vectors.detach().abs().numpy(), A.grad.numpy()

    for found, expected in zip(run(tt), run(torch), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@KINDS
@pytest.mark.parametrize("shape", [(6, 6), (2, 6, 6)])
def test_gradients_of_eigenpairs_are_those_of_finite_differences(largest, shape):
    start = tt.eye(6, 2, dtype=tt.float64).expand(*shape[:-1], 2)
    A = tt.from_numpy(
        np.stack([symmetric(6, seed, positive=True) for seed in (1, 2)][: 1 if len(shape) == 2 else 2])
    )
    A = A.reshape(shape).requires_grad_()

    def pairs(a):
        values, vectors = tt.lobpcg(a, 2, X=start, largest=largest)
        return values, vectors * vectors.gather(-2, vectors.abs().max(-2, keepdim=True).indices).sign()

    assert tt.autograd.gradcheck(pairs, A, atol=1e-4)
