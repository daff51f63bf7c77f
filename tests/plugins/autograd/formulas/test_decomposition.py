"""Gradients of decompositions: of what does not depend on signs and phases, against finite differences and torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt

DTYPES = [tt.float64, tt.complex128]
complete = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def matrix(dtype: tt.dtype, *shape: int, seed: int = 1) -> Any:
    """Return matrices with well separated singular values and eigenvalues."""
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape) / 3
    if dtype.is_complex:
        array = array + 1j * rng.standard_normal(shape) / 3
    array = array + np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1)
    return tt.tensor(array, requires_grad=True)


def hermitian(a: Any) -> Any:
    return a + a.mH


def positive(a: Any) -> Any:
    return a @ a.mH + tt.eye(a.shape[-1], dtype=a.dtype)


# --- functions of a matrix that no sign or phase changes ---------------------------------------------------------


def of_svd(a: Any, full_matrices: bool = False) -> tuple[Any, ...]:
    u, s, vh = tt.linalg.svd(a, full_matrices)
    k = s.shape[-1]
    return u[..., :k].abs(), s, vh[..., :k, :].abs(), (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]


def of_eigh(a: Any) -> tuple[Any, ...]:
    values, vectors = tt.linalg.eigh(hermitian(a))
    return values, vectors.abs(), (vectors * values.exp().unsqueeze(-2)) @ vectors.mH


def of_eig(a: Any) -> tuple[Any, ...]:
    values, vectors = tt.linalg.eig(a)
    return values.abs().sum(-1), vectors.abs().sum(-1), tt.linalg.solve(vectors, vectors * values, left=False)


def of_qr(a: Any) -> tuple[Any, ...]:
    q, r = tt.linalg.qr(a)
    return q.abs(), (r * r.conj()).real, q @ q.mH


CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "svd": (of_svd, [(3, 3), (4, 2), (2, 4), (2, 3, 2)]),
    "svd, full": (lambda a: of_svd(a, True), [(3, 3), (4, 2), (2, 4)]),
    "svdvals": (lambda a: tt.linalg.svdvals(a), [(3, 3), (4, 2), (2, 2, 4)]),
    "eigh": (of_eigh, [(3, 3), (2, 2, 2)]),
    "eigvalsh": (lambda a: tt.linalg.eigvalsh(hermitian(a), "U"), [(3, 3), (2, 2, 2)]),
    "eig": (of_eig, [(3, 3), (2, 2, 2)]),
    "eigvals": (lambda a: tt.linalg.eigvals(a).abs().sum(-1), [(3, 3), (2, 2, 2)]),
    "qr": (of_qr, [(3, 3), (4, 2), (2, 4), (2, 3, 2)]),
    "cholesky": (lambda a: tt.linalg.cholesky(positive(a)), [(3, 3), (2, 2, 2)]),
    "cholesky, upper": (lambda a: tt.linalg.cholesky(positive(a), upper=True), [(3, 3)]),
    "cholesky_ex": (lambda a: tt.linalg.cholesky_ex(positive(a)).L, [(3, 3)]),
    "lu": (lambda a: tt.linalg.lu(a), [(3, 3), (4, 2), (2, 4), (2, 3, 2)]),
    "pinv": (lambda a: tt.linalg.pinv(a), [(3, 3), (4, 2), (2, 4), (2, 3, 2)]),
    "pinv of less than full rank": (lambda a: tt.linalg.pinv(a[..., :2] @ a[..., :2].mH), [(3, 3)]),
    "pinv, hermitian": (lambda a: tt.linalg.pinv(hermitian(a), hermitian=True), [(3, 3)]),
    "lstsq": (lambda a: tt.linalg.lstsq(a, a[..., :1] * 2 + 1).solution, [(4, 2), (2, 4), (2, 3, 2)]),
    "lstsq, residuals": (lambda a: tt.linalg.lstsq(a, a.exp(), driver="gels").residuals, [(4, 2), (2, 3, 2)]),
    "lstsq, a vector": (lambda a: tt.linalg.lstsq(a, a[..., 0] + 1).solution, [(4, 2), (2, 3, 2)]),
    "det of a singular matrix": (
        lambda a: tt.linalg.det(a - a.detach() * tt.tensor([1.0, 0.0, 1.0])),
        [(3, 3)],
    ),
    "norms": (
        lambda a: [tt.linalg.matrix_norm(a, ord) for ord in ("fro", "nuc", 1, -1, 2, -2)],
        [(3, 3), (4, 2)],
    ),
    "cond": (lambda a: [tt.linalg.cond(a, p) for p in (None, -2, 1, "fro", "nuc")], [(3, 3), (2, 2, 2)]),
    "householder_product": (lambda a: tt.linalg.householder_product(a, a[..., 0, :] / 2), [(4, 2)]),
}
ALL = [
    pytest.param(name, shape, id=f"{name}-{shape}") for name, (_, shapes) in CASES.items() for shape in shapes
]
# A second derivative of the singular value decomposition of a singular matrix does not exist.
ONCE = {"det of a singular matrix"}


@complete
@pytest.mark.parametrize(("name", "shape"), ALL)
def test_a_gradient_agrees_with_finite_differences(
    name: str, shape: tuple[int, ...], dtype: tt.dtype
) -> None:
    function = CASES[name][0]
    if name == "pinv of less than full rank":
        # Small steps would leave the matrices of that rank.
        a = matrix(dtype, *shape)
        assert tt.autograd.gradcheck(lambda a: tt.linalg.pinv(a[..., :2] @ a[..., :2].mH, rtol=1e-4), a)
        return
    assert tt.autograd.gradcheck(function, matrix(dtype, *shape), fast_mode=True)


@pytest.mark.sampled(4)
@complete
@pytest.mark.parametrize(("name", "shape"), [case for case in ALL if case.values[0] not in ONCE])
def test_a_gradient_can_be_differentiated_again(name: str, shape: tuple[int, ...], dtype: tt.dtype) -> None:
    assert tt.autograd.gradgradcheck(CASES[name][0], matrix(dtype, *shape), fast_mode=True)


# --- torch -----------------------------------------------------------------------------------------------------


@pytest.mark.torch
@complete
@pytest.mark.parametrize("name", ["cholesky", "eigvalsh", "eigh", "pinv", "det", "slogdet"])
def test_a_gradient_is_that_of_torch(name: str, dtype: tt.dtype) -> None:
    torch = pytest.importorskip("torch")
    array = positive(matrix(dtype, 3, 3)).detach().numpy()
    found = []
    for lib in (tt, torch):
        a = lib.tensor(array, requires_grad=True)
        result = getattr(lib.linalg, name)(a)
        result = result[0] if name == "eigh" else result[1] if name == "slogdet" else result
        weights = lib.tensor(np.cos(np.arange(result.numel())).reshape(tuple(result.shape)))
        (result.real * weights).sum().backward()
        found.append(np.array(a.grad.numpy() if lib is tt else a.grad.resolve_conj().numpy()))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)


# --- what has no gradient --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda a: tt.linalg.qr(a, "r").R, (3, 3)),
        (lambda a: tt.linalg.qr(a, "complete").R, (3, 2)),
        (lambda a: tt.linalg.eigh(hermitian(a)).eigenvectors.real, (2, 2)),
        (lambda a: tt.linalg.eig(a).eigenvectors.real, (2, 2)),
        (lambda a: tt.linalg.svd(a).U.real, (2, 2)),
    ],
)
def test_a_loss_that_is_not_determined_is_refused(
    function: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    a = matrix(tt.complex128, *shape)
    with pytest.raises(RuntimeError, match=r"depends on|not differentiable"):
        function(a).abs().sum().backward() if "qr" in str(function) else function(a).sum().abs().backward()


def test_the_gradient_of_a_determinant_of_zero_is_the_matrix_of_cofactors() -> None:
    a = tt.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=tt.float64, requires_grad=True)
    tt.linalg.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)
    zeros = tt.zeros(3, 3, dtype=tt.float64, requires_grad=True)
    tt.linalg.det(zeros).backward()
    assert not zeros.grad.any()


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_gradient_of_eigenvectors_is_hermitian_as_the_matrix_is(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    a = (random.random((2, 3, 3)) + (1j * random.random((2, 3, 3)) if dtype == "complex128" else 0)).astype(
        dtype
    )
    a = a + a.conj().swapaxes(-1, -2)
    weights = random.random((3, 3))
    found = []
    for lib in (tt, torch):
        x = lib.tensor(a, requires_grad=True)
        values, vectors = lib.linalg.eigh(x)
        ((vectors.abs() * lib.tensor(weights)).sum() + (values * lib.tensor(weights[0])).sum()).backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[0], found[0].conj().swapaxes(-1, -2), rtol=1e-9, atol=1e-12)
