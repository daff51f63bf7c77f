"""Samples of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.dtype import float64, int64
from tt.core.testing.samples.base import FamilyTable, Inputs, Layout, Sample

family = FamilyTable()


def products(make: Inputs, shapes: Any, wrong: Any, *before: Any) -> Iterator[Sample]:
    """Yield products of shapes, of other layouts, of dtypes that do not go together, and of wrong shapes."""
    for left, right in shapes:
        yield Sample((*before, small(make, left), small(make, right)), name=f"{left} and {right}")
    left, right = shapes[0]
    layouts: tuple[Layout, ...] = ("transposed", "strided", "offset")
    for layout in layouts:
        yield Sample((*before, small(make, left, layout), small(make, right, layout)), name=layout)
    for left, right in wrong:
        yield Sample(
            (*before, small(make, left), small(make, right)),
            name=f"error: {left} and {right}",
            error=RuntimeError,
        )
    other = int64 if make.dtype is float64 else float64
    left, right = shapes[0]
    two = (make.tensor(*left), make.tensor(*right, dtype=other))
    yield Sample((*before, *two), name=f"error: with {other.name}", error=RuntimeError)


def small(make: Inputs, shape: tuple[int, ...], layout: Layout = "contiguous") -> Any:
    """Return a tensor whose products stay small."""
    return make.tensor(*shape, low=-2, high=2, layout=layout)


@family("mm")
def mm(make: Inputs) -> Iterator[Sample]:
    shapes = (((2, 3), (3, 4)), ((1, 3), (3, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((5, 5), (5, 5)))
    yield from products(make, shapes, (((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 3), (3,))))


@family("bmm")
def bmm(make: Inputs) -> Iterator[Sample]:
    shapes = (((2, 2, 3), (2, 3, 4)), ((0, 2, 3), (0, 3, 4)), ((1, 2, 0), (1, 0, 3)))
    yield from products(make, shapes, (((2, 2, 3), (1, 3, 4)), ((2, 2, 3), (2, 2, 3)), ((2, 3), (3, 4))))


@family("mv")
def mv(make: Inputs) -> Iterator[Sample]:
    yield from products(
        make, (((2, 3), (3,)), ((0, 3), (3,)), ((2, 0), (0,))), (((2, 3), (2,)), ((3,), (3,)))
    )


@family("dot")
def dot(make: Inputs) -> Iterator[Sample]:
    yield from products(make, (((3,), (3,)), ((0,), (0,)), ((1,), (1,))), (((3,), (2,)), ((2, 3), (3,))))


@family("matmul")
def matmul(make: Inputs) -> Iterator[Sample]:
    shapes = (
        ((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((2, 1, 2, 3), (5, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    )  # fmt: skip
    yield from products(make, shapes, (((2, 3), (2, 3)), ((), (3,)), ((2, 2, 3), (3, 3, 4)), ((3,), (2,))))


@family("outer")
def outer(make: Inputs) -> Iterator[Sample]:
    for left, right in (((2,), (3,)), ((0,), (3,)), ((1,), (1,))):
        yield Sample((make.tensor(*left), make.tensor(*right)), name=f"{left} and {right}")
    for other in make.partners():
        yield Sample((make.tensor(2), make.tensor(3, dtype=other)), name=f"with {other.name}")
    yield Sample((make.tensor(2, 3), make.tensor(3)), name="error: a matrix", error=RuntimeError)


@family("addmm")
def addmm(make: Inputs) -> Iterator[Sample]:
    for shape in ((2, 4), (4,), (1, 4), (2, 1), ()):
        yield Sample((small(make, shape), small(make, (2, 3)), small(make, (3, 4))), name=f"self {shape}")
    args = (small(make, (2, 4)), small(make, (2, 3)), small(make, (3, 4)))
    yield Sample(args, {"beta": 2, "alpha": 3}, "beta and alpha")
    yield Sample(args, {"beta": 0}, "beta 0")
    yield Sample((small(make, (2, 0)), small(make, (2, 3)), small(make, (3, 0))), name="no columns")
    yield Sample((args[0], args[1].t(), args[2]), name="error: shapes", error=RuntimeError)
    yield Sample((small(make, (3, 4)), args[1], args[2]), name="error: self", error=RuntimeError)


# --- decompositions --------------------------------------------------------------------------------------------

MATRICES = ((3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 3), (1, 1))


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
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_inv")
def linalg_inv(make: Inputs) -> Iterator[Sample]:
    import numpy as np

    for shape in ((3, 3), (1, 1), (2, 3, 3), (0, 0), (0, 2, 2)):
        values = make.array(shape, -1, 1) + 4 * np.eye(shape[-1])
        yield Sample((make.of(values),), name=f"shape {shape}")
    yield Sample((make.of(np.eye(3) * 2 + np.tri(3)).t(),), name="transposed")
    yield Sample((make.tensor(2, 3),), name="error: not square", error=RuntimeError)
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)
    yield Sample((make.of(np.zeros((2, 2))),), name="error: singular", error=RuntimeError)
