"""Samples of views of parts: diagonals, windows, pieces."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample
from tt.core.testing.samples.shaping import each, layouts
from tt.core.types.dtype import float32, int32, int64

family = FamilyTable()

# --- diagonals and windows -------------------------------------------------------------------------------------

DIAGONALS = (
    ((3, 3), ()), ((2, 4), (1,)), ((4, 2), (-1,)), ((2, 3), (5,)), ((2, 3), (-5,)), ((2, 3, 4), (0, 0, 2)),
    ((2, 3, 4), (1, -1, 1)), ((0, 3), ()), ((2, 0, 3), (0, 1, 2)), ((2, 3, 4, 2), (-1, 3, 1)),
)  # fmt: skip


@family("diagonal")
def diagonal(make: Inputs) -> Iterator[Sample]:
    yield from each(make, DIAGONALS)
    calls = (
        ((3,), (), IndexError), ((), (), IndexError), ((2, 3), (0, 1, 1), RuntimeError),
        ((2, 3), (0, 0, 2), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1)


@family("linalg_diagonal")
def linalg_diagonal(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(4, 2, 3),), name="a batch")
    yield Sample((make.tensor(4, 2, 3),), {"offset": 1, "dim1": 0, "dim2": 2}, name="other dimensions")
    yield Sample((make.tensor(4, 2, 3),), {"dim1": 0, "dim2": 1}, name="the first dimensions")
    yield Sample((make.tensor(3),), name="error: a vector", error=IndexError)


@family("unfold")
def unfold(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), (0, 3, 1)), ((5,), (0, 2, 2)), ((5,), (0, 1, 7)), ((5,), (-1, 5, 1)), ((5,), (0, 0, 2)),
        ((2, 4), (1, 2, 1)),
        ((4, 2), (0, 3, 1)), ((2, 4, 3), (-2, 3, 1)), ((), (0, 1, 1)), ((), (0, 0, 1)), ((0, 3), (1, 2, 1)),
        ((5,), (0, 6, 1), RuntimeError), ((5,), (0, -1, 1), RuntimeError), ((5,), (0, 2, 0), RuntimeError),
        ((5,), (1, 2, 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1, 2, 1)


# --- pieces ----------------------------------------------------------------------------------------------------


@family("narrow_tensor")
def narrow_tensor(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(5, 2), 0, make.of(1, int64), 3), name="from 1")
    yield Sample((make.tensor(5), 0, make.of(-2, int32), 2), name="from the end")
    yield Sample((make.tensor(5), 0, make.of([1], int64), 2), name="error: a vector", error=RuntimeError)
    yield Sample((make.tensor(5), 0, make.of(1.0, float32), 2), name="error: a float", error=RuntimeError)


@family("chunk")
def chunk(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), (2,)), ((5,), (9,)), ((4, 3), (2, -1)), ((0, 3), (3,)), ((6,), (4,)),
        ((), (1,), RuntimeError), ((3,), (0,), RuntimeError), ((3,), (1, 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 2, 1)


@family("tensor_split")
def tensor_split(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), (2,)), ((5,), (9,)), ((4, 3), (2, -1)), ((0, 3), (3,)),
        ((), (1,), RuntimeError), ((3,), (0,), RuntimeError), ((3,), (1, 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 2, 1)


@family("tensor_split_indices")
def tensor_split_indices(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), ((1, 3),)), ((5,), ((3, 1),)), ((5,), ((),)), ((5,), ((-2, 9),)), ((4, 3), ((1,), -1)),
        ((), ((1,),), RuntimeError), ((3,), ((1,), 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, (1, 2), 1)


@family("tensor_split_tensor")
def tensor_split_tensor(make: Inputs) -> Iterator[Sample]:
    if make.device != "cpu":
        return  # the tensor that says how to split must lie on the CPU
    yield Sample((make.tensor(5, 2), make.of(2, int64)), name="sections")
    yield Sample((make.tensor(2, 5), make.of([1, 3], int64), 1), name="indices")
    yield Sample((make.tensor(5), make.of([1.0], float32)), name="error: floats", error=RuntimeError)
    yield Sample((make.tensor(5), make.of([1], int32)), name="error: int32", error=RuntimeError)
    yield Sample((make.tensor(5), make.of([[1]], int64)), name="error: a matrix", error=RuntimeError)


@family("split_along")
def split_along(make: Inputs) -> Iterator[Sample]:
    for shape in ((4,), (4, 4), (4, 2, 4)):
        few = len(shape) < {"hsplit": 1, "vsplit": 2, "dsplit": 3}[make.definition.signature.name]
        yield Sample(
            (make.tensor(*shape), 2),
            name=f"{'error: ' if few else ''}shape {shape}",
            error=RuntimeError if few else None,
        )
    yield Sample((make.tensor(4, 4, 4, layout="transposed"), 4), name="transposed")
    yield Sample((make.tensor(3, 3, 3), 2), name="error: not divisible", error=RuntimeError)
    yield Sample((make.tensor(3, 3, 3), 0), name="error: no pieces", error=RuntimeError)
    yield Sample((make.tensor(), 1), name="error: a number", error=RuntimeError)


@family("split_along_indices")
def split_along_indices(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(4, 3, 5), (1, 2)), name="two indices")
    yield Sample((make.tensor(4, 3, 5), ()), name="no index")
    yield Sample((make.tensor(), (1,)), name="error: a number", error=RuntimeError)
