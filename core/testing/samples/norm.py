"""Samples of norms and distances."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tt.core.testing.samples.base import LAYOUTS, FamilyTable, Inputs, Sample
from tt.core.testing.samples.reduction import DIMS, LISTS, argument_type
from tt.core.types.dtype import complex128, float64

family = FamilyTable()

ORDERS = (2, 1, 0, 3, 2.5, 0.5, -1, -2.5, math.inf, -math.inf)


@family("vector_norm", "vector_norm_of_order")
def vector_norm(make: Inputs) -> Iterator[Sample]:
    for order in ORDERS:
        fails = order < 0 or order == math.inf
        for size in ((), (3,), (2, 3)):
            yield Sample((make.tensor(*size), order), name=f"order {order}, shape {size}")
        for dim in (0, -1, [0, 2], [], None):
            for keepdim in (False, True):
                name = f"order {order}, dim {dim}, keepdim {keepdim}"
                yield Sample((make.tensor(2, 3, 4), order, dim, keepdim), name=name)
        empty = RuntimeError if fails else None
        yield Sample(
            (make.tensor(0), order), name=f"{'error: ' if fails else ''}empty, order {order}", error=empty
        )
        yield Sample((make.tensor(0, 3), order, 1), name=f"empty result, order {order}")
        yield Sample((make.of([3.0, 0.0, -4.0]), order), name=f"a zero, order {order}")
    for shape, dim in (*DIMS, *LISTS):
        yield Sample((make.tensor(*shape), 2, dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 2, 1), name=layout)
    if argument_type(make, "dtype") is not None:
        name = "p" if make.definition.name == "norm.Scalar" else "ord"
        wide = complex128 if make.dtype.is_complex else float64
        yield Sample((make.tensor(2, 3),), {name: 2, "dtype": wide}, "dtype")
    for order in (2, 3, 1, math.inf, 0):
        yield Sample((make.of([1.0, float("nan"), 2.0]), order), name=f"nan, order {order}")
        yield Sample((make.of([1.0, float("inf"), 2.0]), order), name=f"infinity, order {order}")
    yield Sample((make.tensor(2, 3), 2, 2), name="error: dim", error=IndexError)
    yield Sample((make.tensor(2, 3), 2, [0, 0]), name="error: dim twice", error=RuntimeError)
    yield Sample((make.tensor(3), 1j), name="error: complex order", error=RuntimeError)


@family("norm_name")
def norm_name(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0,)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for dim in (0, [0, 1], [2, 1], None):
        for keepdim in (False, True):
            yield Sample((make.tensor(2, 3, 4), "fro", dim, keepdim), name=f"dim {dim}, keepdim {keepdim}")
    if make.dtype.itemsize > 2:  # PyTorch decomposes no matrices of half precision
        yield Sample((make.tensor(3, 2), "nuc"), name="nuclear")
        for dim in ([0, 1], [2, 0]):
            for keepdim in (False, True):
                name = f"nuclear, dim {dim}, keepdim {keepdim}"
                yield Sample((make.tensor(2, 3, 4), "nuc", dim, keepdim), name=name)
    yield Sample((make.tensor(2, 3), "max"), name="error: order", error=RuntimeError)
    yield Sample((make.tensor(3), "nuc"), name="error: nuclear norm of a vector", error=RuntimeError)
    yield Sample((make.tensor(2, 3, 4), "nuc"), name="error: nuclear norm over three", error=RuntimeError)


@family("dist")
def dist(make: Inputs) -> Iterator[Sample]:
    for order in (2, 1, 0, 3, math.inf, -math.inf):
        for one, other in (((3,), (3,)), ((2, 3), (3,)), ((), (2,)), ((2, 1), (1, 3))):
            yield Sample(
                (make.tensor(*one), make.tensor(*other), order), name=f"{one} and {other}, order {order}"
            )
    yield Sample((make.tensor(2), make.tensor(3)), name="error: shapes", error=RuntimeError)
