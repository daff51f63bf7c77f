"""Samples of functions of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample
from tt.core.testing.samples.decomposition import MATRICES, SQUARES, hermitian, regular, wrong_squares

family = FamilyTable()


def kind(value: Any) -> str:
    """Return a number as text, and a tensor's description."""
    return str(value) if isinstance(value, float | bool) else f"tensor {list(value.shape)}"


# --- norms -----------------------------------------------------------------------------------------------------


@family("linalg_matrix_norm")
def linalg_matrix_norm(make: Inputs) -> Iterator[Sample]:
    for ord in (1, -1, inf, -inf, *((2, -2) if make.dtype.itemsize > 2 else ())):
        for shape, dim in (((3, 3), (-2, -1)), ((2, 4), (-2, -1)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (1, 0))):
            for keepdim in (False, True):
                args = (make.tensor(*shape), ord, dim, keepdim)
                yield Sample(args, name=f"ord {ord}, shape {shape}, dim {dim}, keepdim {keepdim}")
    yield Sample((make.tensor(2, 2), 3), name="error: ord", error=RuntimeError)
    yield Sample((make.tensor(3), 1), name="error: a vector", error=RuntimeError)
    yield Sample((make.tensor(2, 2, 2), 1, (1, 1)), name="error: one dim twice", error=RuntimeError)


@family("linalg_matrix_norm_str")
def linalg_matrix_norm_str(make: Inputs) -> Iterator[Sample]:
    for ord in ("fro", *(("nuc",) if make.dtype.itemsize > 2 else ())):
        for shape, dim in (((3, 3), (-2, -1)), ((2, 4), (-2, -1)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (2, 0))):
            for keepdim in (False, True):
                args = (make.tensor(*shape), ord, dim, keepdim)
                yield Sample(args, name=f"ord {ord}, shape {shape}, dim {dim}, keepdim {keepdim}")
    yield Sample((make.tensor(2, 3),), name="no ord")
    yield Sample((make.tensor(2, 3), "x"), name="error: ord", error=RuntimeError)


@family("linalg_norm")
def linalg_norm(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (2, 3, 2), (0,)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
        yield Sample((make.tensor(*shape), None, None, True), name=f"shape {shape}, keepdim")
    for ord in (0, 1, 2, 3, inf, -inf, 0.5):
        yield Sample((make.tensor(3), ord), name=f"vector, ord {ord}")
        yield Sample((make.tensor(2, 3), ord, 1, True), name=f"rows, ord {ord}")
    for ord in (1, -1, inf, -inf):
        yield Sample((make.tensor(2, 3), ord), name=f"matrix, ord {ord}")
        yield Sample((make.tensor(2, 3, 2), ord, (2, 0)), name=f"matrices, ord {ord}")
    yield Sample((make.tensor(2, 2, 2), 1), name="error: no dim", error=RuntimeError)
    yield Sample((make.tensor(2, 2, 2), 1, (0, 1, 2)), name="error: three dims", error=RuntimeError)


@family("linalg_norm_str")
def linalg_norm_str(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(2, 3), "fro"), name="fro")
    yield Sample((make.tensor(2, 3, 2), "fro", (0, 1), True), name="fro, dims")
    if make.dtype.itemsize > 2:
        yield Sample((make.tensor(2, 3), "nuc"), name="nuc")
    yield Sample((make.tensor(3), "fro"), name="error: a vector", error=RuntimeError)


@family("linalg_cond")
def linalg_cond(make: Inputs) -> Iterator[Sample]:
    for p in (None, 1, -1, 2, -2, inf, -inf):
        for shape in ((3, 3), (2, 2, 2), (0, 2, 2)):
            yield Sample((make.of(regular(make, *shape)), p), name=f"p {p}, shape {shape}")
    yield Sample((make.tensor(2, 4),), name="not square")
    yield Sample((make.tensor(2, 4), 1), name="error: not square", error=RuntimeError)
    yield Sample((make.of(np.eye(2)), 5), name="error: p", error=RuntimeError)


@family("linalg_cond_str")
def linalg_cond_str(make: Inputs) -> Iterator[Sample]:
    for p in ("fro", "nuc"):
        yield Sample((make.of(regular(make, 2, 3, 3)), p), name=p)
    yield Sample((make.of(np.eye(2)), "x"), name="error: p", error=RuntimeError)


# --- rank, pseudoinverse ---------------------------------------------------------------------------------------


def ranked(make: Inputs) -> Iterator[tuple[str, Any]]:
    """Yield matrices of full rank and of less."""
    for shape in MATRICES:
        yield f"shape {shape}", make.tensor(*shape)
    yield "rank 1", make.of([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    yield "diagonal", make.of(np.diag([3.0, 1.0, 0.25]))


@family("linalg_pinv")
def linalg_pinv(make: Inputs) -> Iterator[Sample]:
    for name, a in ranked(make):
        yield Sample((a,), name=name)
    a = make.of([np.diag([3.0, 1.0, 0.25]), np.diag([5.0, 2.0, 1.0])])
    tolerance = make.of([0.3, 1.5], make.dtype.to_real())
    for options in ({"atol": 0.5}, {"rtol": 0.5}, {"atol": tolerance}, {"rtol": tolerance, "atol": 0.1}):
        yield Sample((a,), options, ", ".join(f"{k} {kind(v)}" for k, v in options.items()))
    yield Sample((make.of(hermitian(make, 2, 3, 3)),), {"hermitian": True}, "hermitian")
    yield Sample((make.of([[2.0, 9.0], [1.0, 3.0]]),), {"hermitian": True}, "only the lower triangle")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_pinv_rcond")
def linalg_pinv_rcond(make: Inputs) -> Iterator[Sample]:
    for rcond in (0.1, 0.5, make.of(0.5, make.dtype.to_real())):
        yield Sample((make.of(np.diag([3.0, 1.0, 0.25])), rcond), name=f"rcond {kind(rcond)}")
    yield Sample((make.of([[2.0, 9.0], [1.0, 3.0]]), 0.1, True), name="only the lower triangle")


@family("pinverse")
def pinverse(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(3, 2),), name="tall")
    yield Sample((make.of(np.diag([3.0, 1.0, 0.25])), 0.2), name="rcond")


@family("linalg_matrix_rank")
def linalg_matrix_rank(make: Inputs) -> Iterator[Sample]:
    for name, a in ranked(make):
        yield Sample((a,), name=name)
    a = make.of([np.diag([3.0, 1.0, 0.25]), np.diag([5.0, 2.0, 1.0])])
    tolerance = make.of([0.3, 1.5], make.dtype.to_real())
    for options in (
        {"atol": 0.5},
        {"rtol": 0.5},
        {"atol": tolerance},
        {"rtol": tolerance},
        {"hermitian": True},
    ):
        yield Sample((a,), options, ", ".join(f"{k} {kind(v)}" for k, v in options.items()))
    yield Sample((make.of([[1.0, 9.0], [1.0, 1.0]]),), {"hermitian": True}, "only the lower triangle")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_matrix_rank_tol")
def linalg_matrix_rank_tol(make: Inputs) -> Iterator[Sample]:
    a = make.of([np.diag([3.0, 1.0, 0.25]), np.diag([5.0, 2.0, 1.0])])
    for tol in (0.5, 1.5, make.of([0.3, 1.5], make.dtype.to_real())):
        yield Sample((a, tol), name=f"tol {kind(tol)}")
    yield Sample((a, 0.5, True), name="hermitian")
    yield Sample((make.of([[1.0, 9.0], [1.0, 1.0]]), 0.5, True), name="only the lower triangle")


# --- powers ----------------------------------------------------------------------------------------------------


@family("linalg_matrix_power")
def linalg_matrix_power(make: Inputs) -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 5):
        for shape in ((2, 2), (2, 2, 2), (0, 2, 2)):
            yield Sample((make.tensor(*shape, low=-1, high=1), n), name=f"shape {shape}, n {n}")
    if make.dtype.name in ("float32", "float64", "complex64", "complex128"):
        yield Sample((make.of(regular(make, 2, 2)), -2), name="n -2")
    yield Sample((make.tensor(2, 3), 2), name="error: not square", error=RuntimeError)


@family("linalg_matrix_exp")
def linalg_matrix_exp(make: Inputs) -> Iterator[Sample]:
    for shape in SQUARES:
        yield Sample((make.tensor(*shape, low=-1, high=1),), name=f"shape {shape}")
    yield Sample((make.tensor(3, 3, low=-2, high=2),), name="larger")
    yield from wrong_squares(make)


@family("linalg_vander")
def linalg_vander(make: Inputs) -> Iterator[Sample]:
    for shape, count in (((3,), None), ((2, 3), None), ((3,), 2), ((2,), 4)):
        yield Sample((make.tensor(*shape, low=-2, high=2),), {"N": count}, f"shape {shape}, N {count}")
    yield Sample((make.tensor(),), {"N": 3}, "no dimensions")
    yield Sample((make.tensor(3),), {"N": 1}, "error: N", error=RuntimeError)
    yield Sample((make.tensor(),), name="error: no dimensions", error=RuntimeError)


@family("vander")
def vander(make: Inputs) -> Iterator[Sample]:
    for count in (None, 0, 2, 4):
        for increasing in (False, True):
            yield Sample(
                (make.tensor(3, low=-2, high=2), count, increasing),
                name=f"N {count}, increasing {increasing}",
            )
    yield Sample((make.tensor(2, 3),), name="error: a matrix", error=RuntimeError)


# --- tensors as matrices ---------------------------------------------------------------------------------------


@family("linalg_tensorsolve")
def linalg_tensorsolve(make: Inputs) -> Iterator[Sample]:
    a = make.of(regular(make, 4, 4)).reshape(2, 2, 4)
    yield Sample((a, make.tensor(2, 2)), name="one dimension")
    yield Sample((a.permute(2, 0, 1), make.tensor(2, 2), [0]), name="dims")
    yield Sample((make.tensor(2, 3, 4), make.tensor(2, 3)), name="error: sizes", error=RuntimeError)


@family("linalg_tensorinv")
def linalg_tensorinv(make: Inputs) -> Iterator[Sample]:
    a = make.of(regular(make, 4, 4))
    yield Sample((a.reshape(2, 2, 4),), name="ind 2")
    yield Sample((a.reshape(4, 2, 2), 1), name="ind 1")
    yield Sample((a.reshape(2, 2, 4), 0), name="error: ind 0", error=RuntimeError)
    yield Sample((make.tensor(2, 3, 4),), name="error: sizes", error=RuntimeError)
