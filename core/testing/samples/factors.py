"""Samples of LAPACK's further factors, and of decompositions of low rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tt
from tt.core.schema.classes import dtype_names
from tt.core.testing.samples.base import OUT_OF_RANGE, FamilyTable, Inputs, Sample
from tt.core.types.dtype import int32

family = FamilyTable()

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


def regular(make: Inputs, *shape: int) -> Any:
    return make.of(make.array(shape, -1, 1) + 4 * np.eye(shape[-1]))


@family("lu_with_infos")
def lu_with_infos(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 3, 3)):
        for infos in (False, True):
            yield Sample((regular(make, *shape), True, infos), name=f"shape {shape}, infos {infos}")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("lu_solve_of_right")
def lu_solve_of_right(make: Inputs) -> Iterator[Sample]:
    if make.dtype.name not in dtype_names("linalg"):
        return
    for batch in ((), (2,)):
        factors = tt.linalg.lu_factor(regular(make, *batch, 3, 3))
        yield Sample((make.tensor(*batch, 3, 2), *factors), name=f"batch {batch}")
    yield Sample((make.tensor(2, 2, 2), *factors), name="error: sizes", error=RuntimeError)


# --- LDL -------------------------------------------------------------------------------------------------------


def symmetric(make: Inputs, *shape: int) -> Any:
    values = make.array(shape, -3, 3)
    return make.of(values + values.swapaxes(-1, -2))


@family("ldl_factor")
def ldl_factor(make: Inputs) -> Iterator[Sample]:
    for shape in ((1, 1), (3, 3), (6, 6), (2, 4, 4), (0, 0), (0, 3, 3)):
        for hermitian in (False, True):
            yield Sample(
                (symmetric(make, *shape),), {"hermitian": hermitian}, f"shape {shape}, hermitian {hermitian}"
            )
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
    def symmetric(*batch: int) -> Any:
        # Eigenvalues that are apart, the largest ones most.
        square = make.tensor(*batch, 9, 9, low=-0.1, high=0.1)
        return square + square.mT + (make.of(range(9)) * 2).diag()

    yield Sample((symmetric(),), name="one")
    yield Sample((symmetric(), 2), {"largest": False}, name="two smallest")
    yield Sample((symmetric(2), 2), name="batch")
    yield Sample((symmetric(), 1, symmetric() / 20 + make.of(np.eye(9))), name="B")
    yield Sample((symmetric(), None, None, make.tensor(9, 2)), {"iK": make.of(np.eye(9))}, name="X and iK")
    yield Sample((symmetric(), 4), name="error: too few rows", error=ValueError)
    yield Sample((make.tensor(4, 9),), name="error: not square", error=RuntimeError)
    yield Sample((symmetric(),), {"method": "fast"}, name="error: method", error=ValueError)
