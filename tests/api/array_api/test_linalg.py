"""Linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.api.array_api.comparing import check
from tt import array_api as xp

M = "a([[2.0, 1.0], [1.0, 3.0]])"
S = "a([[[2.0, 1.0], [1.0, 3.0]], [[5.0, 0.0], [0.0, 1.0]]])"
X = "a([[1, 2, 3], [4, 5, 6]])"
CASES = [
    f"xp.matmul({X}, a([1, 2, 3]))", f"xp.matmul({X}, xp.ones((3, 2), dtype=xp.int8))", f"xp.matmul({S}, {M})",
    "xp.matmul(a([1, 2], 'int8'), a([3, 4], 'int16'))", "xp.vecdot(a([[1, 2], [3, 4]]), a([1, 1]))",
    "xp.vecdot(a([1 + 1j, 2j]), a([1 + 0j, 1j]))", "xp.vecdot(a([[1.0], [2.0]]), a([[3.0], [4.0]]), axis=-2)",
    f"xp.tensordot({X}, {X})", f"xp.tensordot({X}, a([[1], [2], [3]]), axes=1)",
    f"xp.tensordot({X}, {X}, axes=((1,), (1,)))", "xp.tensordot(a([1, 2]), a([3, 4]), axes=0)",
    f"xp.matmul({S}, {M})", f"xp.matrix_transpose({X})", f"xp.linalg.matmul({S}, {M})",
    f"xp.linalg.vecdot({X}, a([1, 2, 3]))", f"xp.linalg.tensordot({X}, {X}, axes=2)",
    f"xp.linalg.matrix_transpose({X})", "xp.linalg.outer(a([1, 2], 'uint8'), a([3, 4], 'int8'))",
    "xp.linalg.cross(a([1, 0, 0]), a([[0, 1, 0], [0, 0, 1]]))",
    "xp.linalg.cross(xp.ones((3, 2)), xp.ones((3, 1)), axis=-2)", f"xp.linalg.det({S})", f"xp.linalg.inv({S})",
    f"xp.linalg.diagonal({S})", f"xp.linalg.diagonal({X}, offset=-1)", f"xp.linalg.trace({X})",
    f"xp.linalg.trace({S}, offset=1)", "xp.linalg.trace(a([[1, 2], [3, 4]], 'uint8'))",
    f"xp.linalg.trace({X}, dtype=xp.int8)", f"xp.linalg.eigh({S}).eigenvalues", f"xp.linalg.eigvalsh({M})",
    f"xp.linalg.svdvals({S})", f"xp.linalg.svd({M}).S", f"xp.linalg.cholesky({S})",
    f"xp.linalg.cholesky({M}, upper=True)", f"xp.linalg.slogdet({S})", f"xp.linalg.matrix_power({M}, 3)",
    f"xp.linalg.matrix_power({M}, -1)", f"xp.linalg.matrix_power({M}, 0)", f"xp.linalg.matrix_norm({S})",
    f"xp.linalg.matrix_norm({M}, ord=1, keepdims=True)", f"xp.linalg.matrix_norm({M}, ord=xp.inf)",
    f"xp.linalg.matrix_norm({M}, ord='nuc')", f"xp.linalg.matrix_norm({M}, ord=-2)", f"xp.linalg.matrix_rank({S})",
    "xp.linalg.matrix_rank(a([[1.0, 1.0], [1.0, 1.0]]))", f"xp.linalg.matrix_rank({M}, rtol=0.9)",
    f"xp.linalg.pinv({S})", "xp.linalg.pinv(a([[2.0], [0.0]]), rtol=0.1)", "xp.linalg.vector_norm(a([3.0, 4.0]))",
    f"xp.linalg.vector_norm({S}, axis=1)", f"xp.linalg.vector_norm({S}, axis=(0, -1))",
    f"xp.linalg.vector_norm({S}, axis=0, keepdims=True, ord=1)", f"xp.linalg.vector_norm({M}, ord=xp.inf)",
    f"xp.linalg.vector_norm({M}, ord=0)", f"xp.linalg.vector_norm({M}, ord=-1)",
    "xp.linalg.vector_norm(a([3 + 4j]))", f"xp.linalg.solve({M}, a([1.0, 2.0]))", f"xp.linalg.solve({S}, {M})",
    f"xp.linalg.solve({M}, {S})", f"xp.linalg.solve({S}, a([1.0, 2.0]))",
    "xp.linalg.solve(a([[2.0]], 'float32'), a([[4.0]], 'float64'))",
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
def test_equals_the_strict_library(call):
    check(call)


@pytest.mark.parametrize("dtype", [xp.float32, xp.float64, xp.complex64, xp.complex128])
def test_decompositions_multiply_to_the_matrix(dtype):
    x = xp.astype(xp.reshape(xp.arange(6.0), (3, 2)), dtype)
    close = {"rtol": 1e-4, "atol": 1e-4}
    for mode, size in (("reduced", 2), ("complete", 3)):
        q, r = xp.linalg.qr(x, mode=mode)
        assert q.shape == (3, size) and r.shape == (size, 2)
        np.testing.assert_allclose((q @ r).numpy(), x.numpy(), **close)
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(((u * s) @ vh).numpy(), x.numpy(), **close)
    assert xp.linalg.svd(x).U.shape == (3, 3) and xp.isdtype(s.dtype, "real floating")
    symmetric = x.mT.conj() @ x
    values, vectors = xp.linalg.eigh(symmetric)
    np.testing.assert_allclose((vectors * values @ vectors.mT.conj()).numpy(), symmetric.numpy(), **close)


def test_norms_of_single_elements():
    x = xp.asarray([-3.0, 0.0])
    assert xp.linalg.vector_norm(x, axis=()).tolist() == [3.0, 0.0]
    assert xp.linalg.vector_norm(x, axis=(), ord=0).tolist() == [1.0, 0.0]


def test_results_have_the_names_of_the_standard():
    x = xp.eye(2)
    names = {
        "eigh": ("eigenvalues", "eigenvectors"),
        "qr": ("Q", "R"),
        "slogdet": ("sign", "logabsdet"),
        "svd": ("U", "S", "Vh"),
    }
    for name, fields in names.items():
        assert getattr(xp.linalg, name)(x)._fields == fields


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: xp.vecdot(xp.ones(2), xp.ones(2), axis=0), ValueError, "must be negative"),
        (lambda: xp.vecdot(xp.ones(2), xp.ones(1)), ValueError, "sizes 2 and 1 have no product"),
        (lambda: xp.vecdot(xp.ones(2), xp.ones((2, 2)), axis=-2), IndexError, "axis -2 is out of range"),
        (lambda: xp.linalg.cross(xp.ones(2), xp.ones(2)), ValueError, "vectors of three, not of 2"),
        (lambda: xp.linalg.qr(xp.eye(2), mode="r"), ValueError, 'must be "reduced" or "complete"'),
        (lambda: xp.linalg.cholesky(-xp.eye(2)), RuntimeError, "positive-definite|positive definite"),
    ],
)  # fmt: skip
def test_what_the_standard_forbids_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_gradients_go_through_solutions():
    x = tt.tensor([[2.0]]).requires_grad_()
    xp.sum(xp.linalg.solve(x, xp.asarray([4.0]))).backward()
    assert x.grad.tolist() == [[-1.0]]
