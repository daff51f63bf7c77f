"""Samples of joins, and of operators on several tensors."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.testing.samples.base import SHAPES, FamilyTable, Inputs, Sample
from tt.core.types.dtype import float32, int64

family = FamilyTable()


@family("stack_along")
def stack_along(make: Inputs) -> Iterator[Sample]:
    columns = make.definition.name == "column_stack"
    for shape in ((), (3,), (2, 3), (2, 3, 4), (0,), (2, 0)):
        yield Sample(([make.tensor(*shape), make.tensor(*shape)],), name=f"shape {shape}")
    yield Sample(([make.tensor(2, 3, layout="transposed"), make.tensor(2, 3)],), name="transposed")
    yield Sample(([make.tensor(2)],), name="one tensor")
    if columns:
        yield Sample(([make.tensor(2), make.tensor(2, 3)],), name="a vector and a matrix")
    for other in make.partners():
        yield Sample(([make.tensor(2), make.tensor(2, dtype=other)],), name=f"with {other.name}")
    yield Sample(([make.tensor(2, 2, 2), make.tensor(3, 3, 3)],), name="error: shapes", error=RuntimeError)
    if make.device == "cpu":  # without a tensor nothing says which device is meant
        yield Sample(([],), name="error: nothing", error=RuntimeError)


@family("cartesian_prod")
def cartesian_prod(make: Inputs) -> Iterator[Sample]:
    for sizes in ((3,), (2, 3), (2, 1, 3), (2, 0)):
        yield Sample(([make.tensor(n) for n in sizes],), name=f"sizes {sizes}")
    yield Sample(([make.tensor(3, layout="strided"), make.tensor(2)],), name="strided")
    yield Sample(([make.tensor(2), make.tensor(2, 2)],), name="error: a matrix", error=RuntimeError)
    yield Sample(([make.tensor()],), name="error: no dimension", error=RuntimeError)


@family("combinations")
def combinations(make: Inputs) -> Iterator[Sample]:
    for size, r in ((4, 2), (5, 3), (3, 1), (3, 0), (2, 3), (0, 2), (4, 4)):
        for repeated in (False, True):
            yield Sample((make.tensor(size), r, repeated), name=f"{r} of {size}, replacement {repeated}")
    yield Sample((make.tensor(4, layout="strided"),), name="strided")
    yield Sample((make.tensor(2, 2),), name="error: a matrix", error=RuntimeError)
    yield Sample((make.tensor(2), -1), name="error: r", error=RuntimeError)


@family("broadcast_shapes")
def broadcast_shapes(make: Inputs) -> Iterator[Sample]:
    yield Sample(((2, 1), 3, (1,)), name="shapes and a number")
    yield Sample(((2, 1),), name="one shape")
    yield Sample((2, 1), name="numbers")
    yield Sample((), name="nothing")
    yield Sample(((0, 3), [1, 1]), name="no elements")
    yield Sample(((2, 3), (4,)), name="error: shapes that do not broadcast", error=RuntimeError)
    yield Sample(((2, -1),), name="error: negative size", error=RuntimeError)


@family("broadcast_tensors")
def broadcast_tensors(make: Inputs) -> Iterator[Sample]:
    for shapes in (((3,),), ((3,), (2, 1)), ((), (2, 3)), ((2, 0, 3), (1, 3)), ((1, 3), (2, 1), (1,))):
        yield Sample(([make.tensor(*shape) for shape in shapes],), name=f"shapes {shapes}")
    yield Sample(([make.tensor(2, 3, layout="transposed"), make.tensor(3)],), name="transposed")
    yield Sample(([make.tensor(2), make.tensor(3)],), name="error: shapes", error=RuntimeError)


@family("at_least")
def at_least(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for size in ((3,), (2, 3)):
        yield Sample((make.tensor(*size, layout="strided"),), name=f"strided {size}")


@family("at_least_each")
def at_least_each(make: Inputs) -> Iterator[Sample]:
    yield Sample(([make.tensor(), make.tensor(3), make.tensor(2, 3)],), name="three")
    yield Sample(([make.tensor(3, dtype=int64), make.tensor()],), name="two dtypes")


@family("meshgrid")
def meshgrid(make: Inputs) -> Iterator[Sample]:
    for indexing in ("ij", "xy"):
        options = {"indexing": indexing}
        yield Sample(([make.tensor(2), make.tensor(3)],), options, name=f"two, {indexing}")
        yield Sample(([make.tensor(2)],), options, name=f"one, {indexing}")
        yield Sample(([make.tensor(2), make.tensor(), make.tensor(3)],), options, name=f"three, {indexing}")
        yield Sample(
            ([make.tensor(2, layout="strided"), make.tensor(0)],), options, name=f"empty, {indexing}"
        )
    ij = {"indexing": "ij"}
    yield Sample(([make.tensor(2), make.tensor(2, 2)],), ij, name="error: a matrix", error=RuntimeError)
    other = int64 if make.dtype is not int64 else float32
    yield Sample(
        ([make.tensor(2), make.tensor(2, dtype=other)],), ij, name="error: two dtypes", error=RuntimeError
    )
    yield Sample(([make.tensor(2)],), {"indexing": "yx"}, name="error: indexing", error=RuntimeError)
