"""Samples of decompositions and of what solves equations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import tt
from tt.core.schema.classes import dtype_names
from tt.core.types.dtype import int32
from tt.operators._samples.base import OPTION, OUT_OF_RANGE, FamilyTable, Inputs, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()

MATRICES = ((3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 3), (1, 1))
SQUARES = ((3, 3), (1, 1), (2, 3, 3), (2, 2, 2), (2, 1, 2, 2), (0, 0), (0, 2, 2))


# --- matrices with a property ----------------------------------------------------------------------------------


def regular(make: Inputs, *shape: int) -> Any:
    """Return the values of square matrices that have an inverse and well separated eigenvalues."""
    order = shape[-1]
    # The diagonal outweighs the rows, and its steps keep eigenvalues apart.
    return make.array(shape, -1, 1) + np.diag(np.arange(3, 3 + 2 * order, 2))


def positive(make: Inputs, *shape: int) -> Any:
    """Return the values of positive-definite matrices."""
    values = make.array(shape, -1, 1)
    # Twice the identity on top keeps the smallest eigenvalue well above rounding.
    return np.matmul(values, np.conj(np.swapaxes(values, -2, -1))) + 2 * np.eye(shape[-1])


def hermitian(make: Inputs, *shape: int) -> Any:
    """Return the values of Hermitian matrices with well separated eigenvalues."""
    values = regular(make, *shape)
    return values + np.conj(np.swapaxes(values, -2, -1))


def wrong_squares(make: Inputs) -> Iterator[Sample]:
    """Yield matrices that are not square."""
    yield Sample((make.tensor(2, 3),), name="error: not square", error=RuntimeError)
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


# --- decompositions --------------------------------------------------------------------------------------------


@family("linalg_svd")
def linalg_svd(make: Inputs) -> Iterator[Sample]:
    for shape in MATRICES:
        for full in (True, False):
            yield Sample((make.tensor(*shape), full), name=f"shape {shape}, full {full}")
    yield Sample((make.tensor(3, 2, layout="transposed"),), name="transposed")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("svd")
def svd(make: Inputs) -> Iterator[Sample]:
    for shape in MATRICES:
        for some in (True, False):
            yield Sample((make.tensor(*shape), some), name=f"shape {shape}, some {some}")
    yield Sample((make.tensor(3, 3), True, False), name="singular values only")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_svdvals")
def linalg_svdvals(make: Inputs) -> Iterator[Sample]:
    for shape in (*MATRICES, (2, 0, 3)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_qr")
def linalg_qr(make: Inputs) -> Iterator[Sample]:
    for shape in (*MATRICES, (3, 0), (0, 0)):
        for mode in ("reduced", "complete", "r"):
            yield Sample((make.tensor(*shape), mode), name=f"shape {shape}, {mode}")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)
    yield Sample((make.tensor(3, 3), "x"), name="error: mode", error=RuntimeError)


@family("qr")
def qr(make: Inputs) -> Iterator[Sample]:
    for shape in MATRICES:
        for some in (True, False):
            yield Sample((make.tensor(*shape), some), name=f"shape {shape}, some {some}")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_eigh")
def linalg_eigh(make: Inputs) -> Iterator[Sample]:
    for shape in SQUARES:
        for triangle in ("L", "U"):
            yield Sample((make.of(hermitian(make, *shape)), triangle), name=f"shape {shape}, {triangle}")
    # Not symmetric, so that the triangle that is read matters.
    yield Sample((make.of(regular(make, 3, 3)),), name="of one triangle")
    yield Sample((make.of(np.eye(2)), "X"), name="error: triangle", error=OPTION)
    yield from wrong_squares(make)


@family("linalg_eig")
def linalg_eig(make: Inputs) -> Iterator[Sample]:
    for shape in SQUARES:
        yield Sample((make.of(regular(make, *shape)),), name=f"shape {shape}")
    # Its eigenvalues are complex, though it is real.
    yield Sample((make.of([[1.0, -2.0], [3.0, 1.0]]),), name="a rotation")
    yield from wrong_squares(make)


@family("cholesky")
def cholesky(make: Inputs) -> Iterator[Sample]:
    for shape in SQUARES:
        for upper in (False, True):
            yield Sample(
                (make.of(positive(make, *shape)),), {"upper": upper}, f"shape {shape}, upper {upper}"
            )
    yield Sample((make.of(positive(make, 3, 3)).t(),), name="transposed")
    yield from wrong_squares(make)
    if make.definition.name == "linalg_cholesky":
        yield Sample((make.of(-np.eye(2)),), name="error: not positive-definite", error=RuntimeError)
    else:
        # The others of a batch must come out right.
        yield Sample((make.of([np.eye(2), -np.eye(2), np.diag([1, -1])]),), name="not positive-definite")
        how = {"check_errors": True}
        yield Sample((make.of(-np.eye(2)),), how, "error: not positive-definite", error=RuntimeError)


@family("cholesky_positional")
def cholesky_positional(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 2, 2), (0, 0)):
        for upper in (False, True):
            yield Sample((make.of(positive(make, *shape)), upper), name=f"shape {shape}, upper {upper}")
    yield from wrong_squares(make)
    yield Sample((make.of(-np.eye(2)),), name="error: not positive-definite", error=RuntimeError)


@family("cholesky_solve")
def cholesky_solve(make: Inputs) -> Iterator[Sample]:
    for factor, right in (((3, 3), (3, 2)), ((2, 3, 3), (3, 1)), ((2, 2), (3, 2, 1)), ((0, 0), (0, 2))):
        for upper in (False, True):
            # In complex numbers for all dtypes, as the values may be complex.
            values = np.linalg.cholesky(positive(make, *factor).astype(complex), upper=upper)
            values = values if make.dtype.is_complex else values.real
            yield Sample(
                (make.tensor(*right), make.of(values), upper), name=f"{factor}, {right}, upper {upper}"
            )
    yield Sample((make.tensor(2, 1), make.of(np.eye(3))), name="error: sizes", error=RuntimeError)
    yield Sample((make.tensor(3), make.of(np.eye(3))), name="error: a vector", error=RuntimeError)


@family("cholesky_inverse")
def cholesky_inverse(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 2, 2), (0, 0)):
        for upper in (False, True):
            factor = np.linalg.cholesky(positive(make, *shape).astype(complex), upper=upper)
            values = factor if make.dtype.is_complex else factor.real
            yield Sample((make.of(values), upper), name=f"shape {shape}, upper {upper}")
    yield from wrong_squares(make)


@family("lu")
def lu(make: Inputs) -> Iterator[Sample]:
    for shape in (*MATRICES, (3, 0)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    # A zero on the diagonal: without exchanged rows the factorization would divide by it.
    yield Sample((make.of([[0.0, 1.0], [2.0, 3.0]]).t(),), name="rows exchanged")
    if any(a.name == "check_errors" for a in make.definition.signature.arguments):
        yield Sample((make.of(np.zeros((2, 2))),), {"check_errors": True}, "error: singular", RuntimeError)
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("lu_unpack")
def lu_unpack(make: Inputs) -> Iterator[Sample]:
    for shape, pivots in (
        ((3, 3), [3, 3, 3]),
        ((3, 2), [2, 3]),
        ((2, 3), [1, 2]),
        ((2, 2, 2), [[2, 2], [1, 2]]),
    ):
        args = (make.tensor(*shape), make.of(pivots, int32))
        yield Sample(args, name=f"shape {shape}")
        yield Sample((*args, False, True), name=f"shape {shape}, pivots")
        yield Sample((*args, True, False), name=f"shape {shape}, data")
    yield Sample((make.tensor(2, 2), make.of([1, 2])), name="error: dtype of the pivots", error=RuntimeError)
    # Pivots count from 1, as LAPACK's do.
    for wrong in ([0, 2], [1, 3]):
        args = (make.tensor(2, 2), make.of(wrong, int32))
        yield Sample(args, name=f"error: pivots {wrong}", error=OUT_OF_RANGE)


@family("lu_solve")
def lu_solve(make: Inputs) -> Iterator[Sample]:
    for adjoint in (False, True):
        for left, right in ((True, (3, 2)), (False, (2, 3)), (True, (2, 3, 1)), (True, (3, 0))):
            args = (make.of(regular(make, 3, 3)), make.of([3, 2, 3], int32), make.tensor(*right))
            yield Sample(
                args, {"left": left, "adjoint": adjoint}, f"left {left}, adjoint {adjoint}, B {right}"
            )
    yield Sample((*args[:2], make.tensor(2, 2)), name="error: sizes", error=RuntimeError)


@family("linalg_householder_product")
def linalg_householder_product(make: Inputs) -> Iterator[Sample]:
    for shape, count in (((3, 3), 3), ((4, 2), 2), ((3, 2), 1), ((2, 3, 2), 2), ((3, 0), 0)):
        tau = make.tensor(*shape[:-2], count, low=-1, high=1)
        yield Sample((make.tensor(*shape, low=-1, high=1), tau), name=f"shape {shape}, {count} reflections")
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: wide", error=RuntimeError)
    yield Sample((make.tensor(3, 2), make.tensor(3)), name="error: tau", error=RuntimeError)


# --- equations -------------------------------------------------------------------------------------------------


@family("linalg_inv")
def linalg_inv(make: Inputs) -> Iterator[Sample]:
    for shape in SQUARES:
        yield Sample((make.of(regular(make, *shape)),), name=f"shape {shape}")
    yield Sample((make.of(np.eye(3) * 2 + np.tri(3)).t(),), name="transposed")
    yield from wrong_squares(make)
    if not make.definition.name.endswith("_ex"):
        yield Sample((make.of(np.zeros((2, 2))),), name="error: singular", error=RuntimeError)
    else:
        yield Sample((make.of(np.zeros((2, 2))),), {"check_errors": True}, "error: singular", RuntimeError)


@family("linalg_solve")
def linalg_solve(make: Inputs) -> Iterator[Sample]:
    for shape, right in (
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 1)),
        ((2, 3, 3), (3,)),
        ((0, 0), (0, 2)), ((0, 2, 2), (0, 2, 1)), ((2, 2), (2, 0)), ((1, 1), (1,)),
    ):  # fmt: skip
        yield Sample((make.of(regular(make, *shape)), make.tensor(*right)), name=f"{shape} and {right}")
    a = make.of(regular(make, 3, 3))
    yield Sample((a, make.tensor(2, 3)), {"left": False}, "from the right")
    yield Sample((a.t(), make.tensor(3, 2, layout="transposed")), name="transposed")
    yield Sample((a, make.tensor(2, 3)), name="error: sizes", error=RuntimeError)
    yield Sample((a, make.tensor(3)), {"left": False}, "error: a vector on the left", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: not square", error=RuntimeError)
    singular = (make.of(np.zeros((2, 2))), make.tensor(2))
    how = {"check_errors": True} if make.definition.name.endswith("_ex") else {}
    yield Sample(singular, how, "error: singular", error=RuntimeError)


@family("linalg_solve_triangular")
def linalg_solve_triangular(make: Inputs) -> Iterator[Sample]:
    for shape, right in (
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3, 1)),
        ((2, 2), (3, 2, 2)),
        ((0, 0), (0, 2)),
        ((2, 2), (2, 0)),
    ):
        for upper in (False, True):
            for unit in (False, True):
                args = (make.of(regular(make, *shape)), make.tensor(*right))
                options = {"upper": upper, "unitriangular": unit}
                yield Sample(args, options, f"{shape} and {right}, {options}")
    a = make.of(regular(make, 3, 3))
    for upper in (False, True):
        yield Sample(
            (a, make.tensor(2, 3)), {"upper": upper, "left": False}, f"from the right, upper {upper}"
        )
        yield Sample((a.t(), make.tensor(3, 2)), {"upper": upper}, f"transposed, upper {upper}")
    yield Sample((a, make.tensor(2, 3)), {"upper": True}, "error: sizes", error=RuntimeError)
    yield Sample((a, make.tensor(3)), {"upper": True}, "error: a vector", error=RuntimeError)


@family("triangular_solve")
def triangular_solve(make: Inputs) -> Iterator[Sample]:
    for upper in (False, True):
        for transpose in (False, True):
            args = (make.tensor(3, 2), make.of(regular(make, 3, 3)), upper, transpose)
            yield Sample(args, name=f"upper {upper}, transpose {transpose}")
    yield Sample((make.tensor(2, 3, 1), make.of(regular(make, 3, 3)), True, False, True), name="batch")
    yield Sample((make.tensor(2, 2), make.of(np.eye(3))), name="error: sizes", error=RuntimeError)


@family("linalg_lstsq")
def linalg_lstsq(make: Inputs) -> Iterator[Sample]:
    for driver in (None, "gels", "gelsy", "gelsd", "gelss"):
        for shape, right in (
            ((4, 2), (4, 3)),
            ((2, 4), (2, 1)),
            ((3, 3), (3, 2)),
            ((2, 4, 2), (2, 4)),
            ((2, 3, 2), (2, 3, 1)),
        ):
            # Of full rank, as gels requires.
            values = make.array(shape, -1, 1) + 2 * np.eye(*shape[-2:])
            args = (make.of(values), make.tensor(*right))
            yield Sample(args, {"driver": driver}, f"{shape} and {right}, {driver}")
    yield Sample((make.of(np.eye(3, 2)), make.tensor(3, 1)), {"rcond": 0.5}, "rcond")
    yield Sample((make.tensor(0, 2), make.tensor(0, 1)), name="no rows")
    yield Sample((make.tensor(2, 2), make.tensor(2, 1)), {"driver": "x"}, "error: driver", error=RuntimeError)
    yield Sample((make.tensor(2, 2), make.tensor(3, 1)), name="error: rows", error=RuntimeError)


@family("linalg_det")
def linalg_det(make: Inputs) -> Iterator[Sample]:
    for shape in SQUARES:
        yield Sample((make.of(regular(make, *shape)),), name=f"shape {shape}")
    # Two exchanges, which leave the sign as it is.
    yield Sample((make.of([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]),), name="rows exchanged")
    # A determinant of zero has no finite logarithm.
    if make.definition.signature.name.endswith("det") and "log" not in make.definition.name:
        yield Sample((make.of([[1.0, 2.0], [2.0, 4.0]]),), name="singular")
    yield from wrong_squares(make)


# --- reflections -----------------------------------------------------------------------------------------------


@family("geqrf")
def geqrf(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 3), (2, 0, 3), (1, 1)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield Sample((make.of([[1.0, 2.0], [0.0, 3.0]]),), name="triangular")
    for layout in ("transposed", "strided", "offset"):
        yield Sample((make.tensor(4, 3, layout=layout),), name=layout)
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("ormqr")
def ormqr(make: Inputs) -> Iterator[Sample]:
    for batch in ((), (2,)):
        a, tau = make.tensor(*batch, 4, 3, low=-1, high=1), make.tensor(*batch, 3, low=-1, high=1)
        for turned in (False, True):
            yield Sample((a, tau, make.tensor(*batch, 4, 2), True, turned), name=f"{batch}, left, {turned}")
            yield Sample((a, tau, make.tensor(*batch, 2, 4), False, turned), name=f"{batch}, right, {turned}")
    yield Sample((a[0], tau[0], make.tensor(3, 2)), name="error: sizes", error=RuntimeError)
    yield Sample((a, tau[0], make.tensor(2, 4, 2)), name="error: batch", error=RuntimeError)


# --- LU --------------------------------------------------------------------------------------------------------


def invertible(make: Inputs, *shape: int) -> Tensor:
    return make.of(make.array(shape, -1, 1) + 4 * np.eye(shape[-1]))


@family("lu_with_infos")
def lu_with_infos(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 3, 3)):
        for infos in (False, True):
            yield Sample((invertible(make, *shape), True, infos), name=f"shape {shape}, infos {infos}")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("lu_solve_of_right")
def lu_solve_of_right(make: Inputs) -> Iterator[Sample]:
    if make.dtype.name not in dtype_names("linalg"):
        return
    for batch in ((), (2,)):
        factors = tt.linalg.lu_factor(invertible(make, *batch, 3, 3))
        yield Sample((make.tensor(*batch, 3, 2), *factors), name=f"batch {batch}")
    yield Sample((make.tensor(2, 2, 2), *factors), name="error: sizes", error=RuntimeError)


# --- LDL -------------------------------------------------------------------------------------------------------


def symmetric(make: Inputs, *shape: int) -> Tensor:
    values = make.array(shape, -3, 3)
    return make.of(values + values.swapaxes(-1, -2))


@family("ldl_factor")
def ldl_factor(make: Inputs) -> Iterator[Sample]:
    for shape in ((1, 1), (3, 3), (6, 6), (2, 4, 4), (0, 0), (0, 3, 3)):
        for hermitian in (False, True):
            yield Sample(
                (symmetric(make, *shape),), {"hermitian": hermitian}, f"shape {shape}, hermitian {hermitian}"
            )
    # Zeros on the diagonal need a pivot of two rows.
    yield Sample((make.of([[0.0, 1.0], [1.0, 0.0]]),), name="block")
    yield Sample((symmetric(make, 4, 4).t(),), name="transposed")
    yield Sample((make.tensor(2, 3),), name="error: not square", error=RuntimeError)
    if make.definition.name.endswith("_ex"):
        yield Sample((make.of(np.zeros((2, 2))),), name="singular")
        yield Sample((make.of(np.zeros((2, 2))),), {"check_errors": True}, "error: singular", RuntimeError)
    else:
        yield Sample((make.of(np.zeros((2, 2))),), name="error: singular", error=RuntimeError)


@family("ldl_solve")
def ldl_solve(make: Inputs) -> Iterator[Sample]:
    if make.dtype.name not in dtype_names("linalg"):
        return
    for shape in ((1, 1), (3, 3), (6, 6), (2, 4, 4)):
        for hermitian in (False, True):
            factors = tt.linalg.ldl_factor(symmetric(make, *shape), hermitian=hermitian)
            right = make.tensor(*shape[:-1], 2)
            yield Sample((*factors, right), {"hermitian": hermitian}, f"shape {shape}, hermitian {hermitian}")
    factors = tt.linalg.ldl_factor(symmetric(make, 3, 3))
    yield Sample((*factors, make.tensor(2, 3, 2)), name="broadcast")
    yield Sample((*factors, make.tensor(3, 0)), name="no column")
    yield Sample((*factors, make.tensor(2, 2)), name="error: rows", error=RuntimeError)
    # Out of range, or negative without an equal neighbour: a block has two rows.
    for wrong in ([1, 2, 4], [0, 0, 3], [1, 2, -3], [1, -3, -2]):
        pivots = make.of(wrong, int32)
        yield Sample(
            (factors[0], pivots, make.tensor(3, 2)), name=f"error: pivots {wrong}", error=OUT_OF_RANGE
        )
    yield Sample((factors[0], factors[1][:2], make.tensor(3, 2)), name="error: pivots", error=RuntimeError)


# --- of low rank -----------------------------------------------------------------------------------------------


@family("svd_lowrank")
def svd_lowrank(make: Inputs) -> Iterator[Sample]:
    for shape in ((5, 4), (4, 5), (2, 5, 3)):
        yield Sample((make.tensor(*shape), 2), name=f"shape {shape}")
    yield Sample((make.tensor(5, 4), 2, 1, make.tensor(1, 4)), name="less a mean")
    yield Sample((make.tensor(4),), name="error: a vector", error=RuntimeError)


@family("pca_lowrank")
def pca_lowrank(make: Inputs) -> Iterator[Sample]:
    for shape in ((5, 4), (4, 5), (2, 5, 3)):
        yield Sample((make.tensor(*shape), 2), name=f"shape {shape}")
    yield Sample((make.tensor(5, 4), None, False), name="not centred")
    yield Sample((make.tensor(5, 4), 5), name="error: q", error=ValueError)
    yield Sample((make.tensor(5, 4), 2, True, -1), name="error: niter", error=ValueError)


@family("lobpcg")
def lobpcg(make: Inputs) -> Iterator[Sample]:
    def symmetric(*batch: int) -> Tensor:
        # Eigenvalues that are apart, the largest ones most.
        square = make.tensor(*batch, 9, 9, low=-0.1, high=0.1)
        return square + square.mT + (make.of(range(9)) * 2).diag()

    yield Sample((symmetric(),), name="one")
    yield Sample((symmetric(), 2), {"largest": False}, name="two smallest")
    yield Sample((symmetric(2), 2), name="batch")
    yield Sample((symmetric(), 1, symmetric() / 20 + make.of(np.eye(9))), name="B")
    yield Sample((symmetric(), None, None, make.tensor(9, 2)), {"iK": make.of(np.eye(9))}, name="X and iK")
    # The method needs three times as many rows as eigenvalues.
    yield Sample((symmetric(), 4), name="error: too few rows", error=ValueError)
    yield Sample((make.tensor(4, 9),), name="error: not square", error=RuntimeError)
    yield Sample((symmetric(),), {"method": "fast"}, name="error: method", error=ValueError)
