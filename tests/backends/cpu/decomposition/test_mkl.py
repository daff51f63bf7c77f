"""Singular values and eigenvalues by LAPACK's interface: MKL's where it is installed, and SciPy's everywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tests.backends.cpu.matrices import DTYPES, close, numbers
from tests.backends.cpu.mkl_libraries import SciPyAsMkl, installed, needs_mkl
from tests.processes import printed_by
from tt.backends.cpu import mkl
from tt.backends.cpu.decomposition import factors as decomposition
from tt.backends.cpu.decomposition import mkl as module

SHAPES = [(60, 50), (50, 60), (2, 1, 49, 48)]
SQUARE = [(50, 50), (2, 1, 49, 49)]


@pytest.fixture(params=["scipy", pytest.param("mkl", marks=needs_mkl)])
def library(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What `load` returns for a test, and nothing of other tests in the caches."""
    found = SciPyAsMkl() if request.param == "scipy" else mkl.load()
    monkeypatch.setattr(module, "load", lambda: found)
    module.prepare.cache_clear()
    yield found
    module.prepare.cache_clear()


def laid_out(a: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Return the matrices by rows, by columns, with gaps and with negative strides."""
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    columns = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    return [a, columns, wide[..., ::2], np.ascontiguousarray(a[..., ::-1, :])[..., ::-1, :]]


def adjoint(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return a.conj().swapaxes(-1, -2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_are_orthonormal_and_multiply_to_the_matrix(library: Any, shape: Any, dtype: str) -> None:
    for a in laid_out(numbers(*shape, dtype=dtype)):
        before, least = a.copy(), min(shape[-2:])
        expected = np.linalg.svd(a.astype(np.result_type(dtype, np.float64)), compute_uv=False)
        for full in (True, False):
            U, S, V = module.svd(a, full, None)
            for part, like in zip((U, S, V), decomposition.svd(a, full, None), strict=True):
                assert (part.shape, part.dtype, part.strides) == (like.shape, like.dtype, like.strides)
            close(S, expected, dtype)
            close(U[..., :least] * S[..., None, :] @ V[..., :least, :], a, dtype)
            close(
                adjoint(U) @ U, np.broadcast_to(np.eye(U.shape[-1]), (*shape[:-2], *[U.shape[-1]] * 2)), dtype
            )
            close(
                V @ adjoint(V), np.broadcast_to(np.eye(V.shape[-2]), (*shape[:-2], *[V.shape[-2]] * 2)), dtype
            )
        close(module.svdvals(a, None), expected, dtype)
        np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
@pytest.mark.parametrize("uplo", ["L", "u"])
def test_a_triangle_is_the_matrix_whose_eigenvectors_are_found(
    library: Any, shape: Any, dtype: str, uplo: str
) -> None:
    for a in laid_out(numbers(*shape, dtype=dtype)):
        half = np.tril(a) if uplo in "Ll" else np.triu(a)
        inner = np.tril(half, -1) + np.triu(half, 1)
        whole = inner + adjoint(inner) + np.eye(shape[-1]) * a.real
        values, vectors = module.eigh(a, uplo)
        for part, like in zip((values, vectors), decomposition.eigh(a, uplo), strict=True):
            assert (part.shape, part.dtype, part.strides) == (like.shape, like.dtype, like.strides)
        close(vectors @ (adjoint(vectors) * values[..., None]), whole, dtype)
        expected = np.linalg.eigvalsh(whole.astype(np.result_type(dtype, np.float64)))
        close(values, expected, dtype)
        close(module.eigvalsh(a, uplo), expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_eigenvectors_of_any_matrix_solve_their_equation(library: Any, shape: Any, dtype: str) -> None:
    for a in laid_out(numbers(*shape, dtype=dtype)):
        values, vectors = module.eig(a)
        for part, like in zip((values, vectors), decomposition.eig(a), strict=True):
            assert (part.shape, part.dtype, part.strides) == (like.shape, like.dtype, like.strides)
        size = np.linalg.norm(a, 2, (-2, -1)).max()
        close(a @ vectors / size, vectors * values[..., None, :] / size, dtype)
        close(np.linalg.norm(vectors, axis=-2), np.ones(values.shape), dtype)
        close(module.eigvals(a).sum(-1) / size, np.trace(a, axis1=-2, axis2=-1) / size, dtype)


def test_real_eigenvalues_have_real_eigenvectors(library: Any) -> None:
    a = np.triu(numbers(50, 50)) + np.diag(np.arange(50.0) * 10)
    values, vectors = module.eig(a)
    assert not values.imag.any() and not vectors.imag.any()
    close(np.sort(values.real), np.sort(np.diag(a)), "float64")


def test_numbers_that_are_not_finite_are_refused_where_they_are_read(library: Any) -> None:
    a = numbers(2, 50, 50)
    a[1, 3, 40] = np.nan
    np.testing.assert_array_equal(module.eigh(a, "L")[0], decomposition.eigh(a, "L")[0])
    calls = (
        lambda: module.svd(a, True, None), lambda: module.svdvals(a, None), lambda: module.eigh(a, "U"),
        lambda: module.eigvalsh(a, "U"), lambda: module.eig(a), lambda: module.eigvals(a),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(tt.linalg.LinAlgError, match=r"Batch element 1.*infinite elements or NaN"):
            call()


def test_what_lapack_refuses_is_an_error(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = module.prepare

    def failing(name: str, constants: Any) -> Any:
        return prepare(name, constants)._replace(function=lambda *call: setattr(call[-1]._obj, "value", 3))

    failing.cache_clear = prepare.cache_clear  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "prepare", failing)
    for call in (lambda: module.svd(np.eye(50), True, None), lambda: module.eigh(np.eye(50), "L")):
        with pytest.raises(tt.linalg.LinAlgError, match="the iteration did not settle"):
            call()


def test_small_and_wrong_arguments_are_left_to_numpy(library: Any) -> None:
    small, wide = numbers(2, 5, 5), numbers(50, 60)
    np.testing.assert_array_equal(module.svd(small, True, None)[1], decomposition.svd(small, True, None)[1])
    assert module.svd(np.zeros((0, 60, 60)), True, None)[0].shape == (0, 60, 60)
    for call in (
        lambda: module.eigh(wide, "L"), lambda: module.eigh(wide[:, :50], "X"), lambda: module.eig(wide),
        lambda: module.svd(wide[0], True, None),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            call()
    with pytest.raises(tt.errors.ValueRangeError, match="driver"):
        module.svdvals(wide, "gesvd")
    if isinstance(library, SciPyAsMkl):
        assert library.called == []


@pytest.mark.parametrize(
    ("threads", "threaded", "serves"), [(2, False, True), (3, False, False), (3, True, True)]
)
def test_large_matrices_are_left_to_numpy_where_it_has_more_threads(
    monkeypatch: pytest.MonkeyPatch, threads: int, threaded: bool, serves: bool
) -> None:
    monkeypatch.setattr(module, "load", lambda: mkl.Mkl(None, "", threaded))  # type: ignore[arg-type]
    monkeypatch.setattr(module, "get_num_threads", lambda: threads)
    assert module.suits(np.zeros((600, 512))) is serves
    assert module.suits(np.zeros((600, 511)))


EXPLAINED = """
import tt
for op in ("svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals"):
    found = tt.explain(f"linalg_{op}", ["cpu:float64"]).resolution
    print(*(one.reason for one in found.candidates if one.taken))
x = tt.arange(3600.0).reshape(60, 60).sin()
print(tt.linalg.svdvals(x).sum().item())
"""


@pytest.mark.parametrize("asked", ["", "numpy", pytest.param("mkl", marks=needs_mkl)])
def test_mkl_serves_where_it_is_installed_unless_numpy_is_asked_to(asked: str) -> None:
    printed = printed_by(EXPLAINED, {**os.environ, "TT_LAPACK": asked})
    of_mkl = 6 if asked == "mkl" or (not asked and installed()) else 0
    assert (printed.count("by MKL"), printed.count("by NumPy")) == (of_mkl, 6 - of_mkl)
    expected = np.linalg.svd(np.sin(np.arange(3600.0)).reshape(60, 60), compute_uv=False).sum()
    assert float(printed.splitlines()[-1]) == pytest.approx(expected, rel=1e-5)


@needs_mkl
def test_results_have_the_same_bits_with_any_number_of_threads_and_after_a_fork() -> None:
    code = """
import os, re, tt
x = tt.arange(90000.0).reshape(300, 300).sin()
found = []
for count in (1, 2, 3):
    tt.set_num_threads(count)
    found.append((*tt.linalg.svd(x), *tt.linalg.eigh(x), *tt.linalg.eig(x)))
print(all(tt.equal(a, b) for others in found[1:] for a, b in zip(found[0], others)))
with open("/proc/self/maps") as file:
    print(not {"intel", "gnu", "tbb"}.intersection(re.findall(r"mkl_(\\w+)_thread", file.read())))
child = os.fork()
if child == 0:
    os._exit(0 if tt.equal(tt.linalg.svd(x)[0], found[0][0]) else 1)
print(os.waitpid(child, 0)[1])
"""
    assert printed_by(code).split() == ["True", "True", "0"]
