"""Samples of views, joins and rearrangements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.types.dtype import DTYPES, float32, int32, int64
from tt.operators._samples.base import LAYOUTS, SHAPES, FamilyTable, Inputs, Sample
from tt.operators.pointwise.samples import unary

family = FamilyTable()


def each(make: Inputs, calls: Any) -> Iterator[Sample]:
    """Yield a sample for each (shape, arguments) pair, and for each (shape, arguments, error) triple."""
    for shape, args, *error in calls:
        name = f"shape {shape}, {', '.join(map(str, args))}"
        kind = error[0] if error else None
        yield Sample((make.tensor(*shape), *args), name=f"error: {name}" if error else name, error=kind)


def layouts(make: Inputs, *args: Any, shape: tuple[int, ...] = (2, 3)) -> Iterator[Sample]:
    """Yield a sample for each memory layout."""
    for layout in LAYOUTS:
        name = ", ".join([layout, *map(str, args)])
        yield Sample((make.tensor(*shape, layout=layout), *args), name=name)


# --- the same elements in another shape ------------------------------------------------------------------------

SIZES = (
    ((), ((1, 1),)), ((3,), ((3, 1),)), ((2, 3), ((6,),)), ((2, 3), ((-1,),)), ((2, 3), ((3, -1),)), ((0, 3),
    ((0, 7),)),
    ((1,), ((),)), ((2, 3, 4), ((4, 6),)), ((2, 3), ((4,),), RuntimeError), ((2, 3), ((-1, -1),), RuntimeError),
    ((0, 3), ((0, -1),), RuntimeError), ((2, 3), ((-2, 3),), RuntimeError),
)  # fmt: skip


@family("view")
def view(make: Inputs) -> Iterator[Sample]:
    yield from each(make, SIZES)
    yield Sample((make.tensor(2, 4, layout="strided"), (2, 2, 2)), name="strided")
    yield Sample((make.tensor(2, 3, layout="transposed"), (6,)), name="error: transposed", error=RuntimeError)


@family("reshape")
def reshape(make: Inputs) -> Iterator[Sample]:
    yield from each(make, SIZES)
    yield from layouts(make, (6,))
    yield from layouts(make, (2, 3, 1))


@family("view_dtype")
def view_dtype(make: Inputs) -> Iterator[Sample]:
    for other in DTYPES:
        # Bytes of other dtypes are no valid bools, and what comes of them is undefined.
        if other.itemsize == make.dtype.itemsize and "bool" not in (other.name, make.dtype.name):
            yield Sample((make.tensor(2, 3), other), name=f"as {other.name}")
        elif other.itemsize != make.dtype.itemsize and "bool" not in (other.name, make.dtype.name):
            # 16 elements of one byte make one of the widest dtype.
            yield Sample((make.tensor(2, 16), other), name=f"as {other.name}")
            yield Sample((make.tensor(0, 16), other), name=f"no rows as {other.name}")
    yield Sample((make.tensor(2, 3, layout="transposed"), make.dtype), name="transposed")


@family("flatten")
def flatten(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    calls = (
        ((2, 3, 4), (0, 1)),
        ((2, 3, 4), (1, -1)),
        ((2, 3), (1, 1)),
        ((2, 3), (1, 0), RuntimeError),
        ((2, 3), (0, 2), IndexError),
    )
    yield from each(make, calls)
    yield from layouts(make)


@family("resize")
def resize(make: Inputs) -> Iterator[Sample]:
    # Only sizes that the memory holds: elements beyond it are undefined.
    yield from each(
        make,
        (
            ((2, 3), ((3, 2),)),
            ((2, 3), ((2,),)),
            ((2, 3), ((),)),
            ((2, 3), ((0, 4),)),
            ((2,), ((-1,),), RuntimeError),
        ),
    )


@family("reshape_as")
def reshape_as(make: Inputs) -> Iterator[Sample]:
    for shape, other in (((6,), (2, 3)), ((2, 3), (3, 2)), ((), (1, 1)), ((0, 3), (2, 0))):
        yield Sample((make.tensor(*shape), make.tensor(*other)), name=f"{shape} as {other}")
    yield Sample((make.tensor(6, layout="strided"), make.tensor(2, 3)), name="strided")
    yield Sample((make.tensor(5), make.tensor(2, 3)), name="error: size", error=RuntimeError)


@family("ravel")
def ravel(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield from layouts(make)


@family("unflatten")
def unflatten(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((6,), (0, (2, 3))), ((2, 6), (1, (-1, 2))), ((2, 6), (-1, (6,))), ((6, 0), (0, (3, 2))),
        ((0, 2), (0, (0, 3))),
        ((6,), (0, (4, 2)), RuntimeError), ((6,), (0, (-1, 4)), RuntimeError), ((6,), (0, ()), RuntimeError),
        ((6,), (1, (2, 3)), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1, (3, 1))


# --- the order of dimensions -----------------------------------------------------------------------------------


@family("t")
def t(make: Inputs) -> Iterator[Sample]:
    yield from each(make, (((), ()), ((3,), ()), ((2, 3), ()), ((0, 3), ()), ((2, 3, 4), (), RuntimeError)))
    yield from layouts(make)


@family("transpose")
def transpose(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((), (0, -1)), ((3,), (0, 0)), ((2, 3), (0, 1)), ((2, 3, 4), (0, -1)), ((2, 0, 3), (1, 2)),
        ((2, 3), (0, 2), IndexError), ((2, 3), (-3, 0), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 0, 1)


@family("permute")
def permute(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((), ((),)), ((2, 3), ((1, 0),)), ((2, 3, 4), ((2, 0, 1),)), ((2, 3, 4), ((-1, -3, -2),)), ((2, 0, 3),
        ((1, 2, 0),)),
        ((2, 3), ((0,),), RuntimeError), ((2, 3), ((0, 0),), RuntimeError), ((2, 3), ((0, 2),), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, (1, 0))


@family("flip")
def flip(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((3,), ((0,),)), ((2, 3), ((0,),)), ((2, 3), ((0, -1),)), ((2, 0, 3), ((0, 2),)), ((2, 3), ((),)), ((),
        ((),)),
        ((2, 3), ((0, 0),), RuntimeError), ((2, 3), ((2,),), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, (1,))


@family("reversed")
def reversed_dims(make: Inputs) -> Iterator[Sample]:
    yield from each(make, (((), ()), ((3,), ()), ((2, 3), ()), ((2, 3, 4), ()), ((0, 3), ())))
    yield from layouts(make)


@family("adjoint")
def adjoint(make: Inputs) -> Iterator[Sample]:
    yield from each(make, (((2, 3), ()), ((2, 3, 4), ()), ((0, 3), ()), ((3,), (), RuntimeError)))
    yield from layouts(make)


@family("conjugate_transpose")
def conjugate_transpose(make: Inputs) -> Iterator[Sample]:
    yield from each(
        make, (((), ()), ((2, 3), ()), ((0, 3), ()), ((3,), (), RuntimeError), ((2, 3, 4), (), RuntimeError))
    )
    yield from layouts(make)


@family("movedim")
def movedim(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((2, 3, 4), ((0,), (2,))), ((2, 3, 4), ((0, 1), (-1, 0))), ((2, 3), ((), ())), ((2, 0, 3), ((2, 1), (0, 1))),
        ((2, 3), ((0,), (0, 1)), RuntimeError), ((2, 3), ((0, 0), (0, 1)), RuntimeError), ((2, 3),
        ((2,), (0,)), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, (0,), (1,))


@family("movedim_int")
def movedim_int(make: Inputs) -> Iterator[Sample]:
    calls = (((2, 3, 4), (0, 2)), ((2, 3, 4), (-1, 0)), ((3,), (0, 0)), ((2, 3), (0, 2), IndexError))
    yield from each(make, calls)
    yield from layouts(make, 0, 1)


# --- dimensions of size one, repetition ------------------------------------------------------------------------


@family("squeeze")
def squeeze(make: Inputs) -> Iterator[Sample]:
    yield from each(make, (((), ()), ((1,), ()), ((2, 1, 3, 1), ()), ((0, 1), ()), ((2, 3), ())))
    yield from layouts(make, shape=(2, 1, 3))


@family("squeeze_dim")
def squeeze_dim(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((), (0,)), ((1,), (0,)), ((2, 1, 3), (1,)), ((2, 1, 3), (0,)), ((2, 1, 1), ((1, 2),)), ((2, 1), (-1,)),
        ((2, 1), (2,), IndexError), ((2, 1), ((1, 1),), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1, shape=(2, 1, 3))


@family("unsqueeze")
def unsqueeze(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((), (0,)),
        ((3,), (1,)),
        ((2, 3), (-1,)),
        ((2, 3), (-3,)),
        ((0, 3), (1,)),
        ((2, 3), (3,), IndexError),
    )
    yield from each(make, calls)
    yield from layouts(make, 1)


@family("expand")
def expand(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((), ((2, 3),)), ((1,), ((3,),)), ((2, 1), ((2, 3),)), ((3,), ((2, 3),)), ((2, 3), ((2, 3),)), ((1, 3),
        ((0, 3),)),
        ((3,), ((2,),), RuntimeError), ((2, 3), ((3,),), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    if make.definition.name == "expand":
        yield from each(make, (((2, 1), ((-1, 3),)), ((3,), ((2, -1),)), ((3,), ((-1, 3),), RuntimeError)))
    yield from layouts(make, (4, 2, 3))


@family("expand_as")
def expand_as(make: Inputs) -> Iterator[Sample]:
    for shape, other in (((3,), (2, 3)), ((), (2, 3)), ((2, 1), (2, 0)), ((2, 3), (2, 3))):
        yield Sample((make.tensor(*shape), make.tensor(*other)), name=f"{shape} as {other}")
    yield Sample((make.tensor(1, 3, layout="strided"), make.tensor(2, 3)), name="strided")
    yield Sample((make.tensor(2), make.tensor(2, 3)), name="error: size", error=RuntimeError)


# --- parts -----------------------------------------------------------------------------------------------------


@family("select")
def select(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((3,), (0, 1)), ((3,), (0, -3)), ((2, 3), (1, 2)), ((2, 3, 4), (-2, 0)), ((2, 0), (0, 1)), ((), (0, 0),
        IndexError),
        ((3,), (0, 3), IndexError), ((3,), (0, -4), IndexError), ((3,), (1, 0), IndexError), ((0,), (0, 0),
        IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1, 1)


@family("slice")
def slice_(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), (0, 1, 4)), ((5,), (0, 1, 4, 2)), ((5,), (0, -3, None)), ((5,), (0, None, -1)), ((5,),
        (0, 3, 1)), ((5,), (0, -9, 9)),
        ((2, 3), (1, 0, 2)), ((2, 3), (-1, 1)), ((2, 0), (1, 0, 3)), ((), (0, 0, 1), IndexError), ((3,),
        (0, 0, 3, 0), RuntimeError),
        ((3,), (1, 0, 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1, 1, 3)


@family("narrow")
def narrow(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), (0, 1, 3)), ((5,), (0, -2, 2)), ((2, 3), (1, 0, 2)), ((2, 3), (-1, 1, 0)), ((), (0, 0, 1),
        RuntimeError),
        ((3,), (0, 1, 3), RuntimeError), ((3,), (0, 4, 1), IndexError), ((3,), (0, 0, -1), RuntimeError),
        ((3,), (1, 0, 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1, 1, 2)


@family("split")
def split(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), (2,)), ((5,), (5,)), ((5,), (9,)), ((4, 3), (2, 0)), ((4, 3), (1, 1)), ((0,), (2,)), ((0,), (0,)),
        ((2, 3), (2, -1)), ((), (1,), RuntimeError), ((3,), (-1,), RuntimeError), ((3,), (0,), RuntimeError),
        ((3,), (1, 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 2, 1)


@family("split_sizes")
def split_sizes(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), ([2, 3],)), ((5,), ([0, 5],)), ((4, 3), ([1, 3], 0)), ((4, 3), ([1, 1, 1], -1)), ((0,), ([0],)),
        ((5,), ([2, 2],), RuntimeError), ((5,), ([6, -1],), RuntimeError), ((), ([1],), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, [1, 2], 1)


@family("unbind")
def unbind(make: Inputs) -> Iterator[Sample]:
    yield from each(
        make,
        (
            ((3,), ()),
            ((2, 3), (1,)),
            ((2, 3), (-1,)),
            ((0, 3), ()),
            ((3, 0), ()),
            ((), (), IndexError),
            ((3,), (1,), IndexError),
        ),
    )
    yield from layouts(make, 1)


@family("as_strided")
def as_strided(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((2, 3), ((3, 2), (1, 3))), ((6,), ((2, 2), (1, 2))), ((6,), ((2, 2), (2, 1), 1)), ((6,), ((), ())),
        ((6,), ((3, 2), (0, 1))),
        ((6,), ((0, 3), (9, 9))), ((6,), ((3, 3), (2, 2)), RuntimeError), ((6,), ((2,), (1, 1)), RuntimeError),
        ((6,), ((2,), (-1,)), RuntimeError), ((6,), ((2,), (1,), -1), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield Sample((make.tensor(3, 2, layout="offset"), (2, 2), (2, 1)), name="offset")


# --- several tensors -------------------------------------------------------------------------------------------


@family("cat")
def cat(make: Inputs) -> Iterator[Sample]:
    for shapes, dim in (
        ([(3,), (2,)], 0), ([(2, 3), (4, 3)], 0), ([(2, 3), (2, 1)], 1), ([(2, 3), (2, 1)], -1), ([(2, 3)], 0),
        ([(0,), (2, 3)], 1), ([(2, 3), (0, 3)], 0), ([(0,), (0,)], 0), ([(2, 1, 3), (2, 2, 3), (2, 0, 3)], 1),
    ):  # fmt: skip
        yield Sample(([make.tensor(*shape) for shape in shapes], dim), name=f"shapes {shapes}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample(([make.tensor(2, 3, layout=layout), make.tensor(2, 3)], 1), name=layout)
    for other in make.partners():
        yield Sample(([make.tensor(2), make.tensor(3, dtype=other)],), name=f"with {other.name}")
    wrong: tuple[tuple[list[tuple[int, ...]], int, type[Exception]], ...] = (
        ([(2, 3), (2, 4)], 0, RuntimeError), ([(2, 3), (3,)], 0, RuntimeError), ([()], 0, RuntimeError),
        ([(2, 3), (2, 3)], 2, IndexError), ([], 0, ValueError),
    )  # fmt: skip
    for parts, dim, error in wrong:
        tensors = [make.tensor(*shape) for shape in parts]
        if tensors or make.device == "cpu":  # without a tensor nothing says which device is meant
            yield Sample((tensors, dim), name=f"error: shapes {parts}, dim {dim}", error=error)


@family("stack")
def stack(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((), 0), ((3,), 0), ((3,), 1), ((2, 3), -1), ((2, 3), -3), ((2, 0), 1)):
        yield Sample(([make.tensor(*shape), make.tensor(*shape)], dim), name=f"shape {shape}, dim {dim}")
    yield Sample(([make.tensor(2, 3, layout="transposed"), make.tensor(2, 3)], 1), name="transposed")
    for other in make.partners():
        yield Sample(([make.tensor(2), make.tensor(2, dtype=other)],), name=f"with {other.name}")
    yield Sample(([make.tensor(2), make.tensor(3)],), name="error: shapes", error=RuntimeError)
    yield Sample(([make.tensor(2), make.tensor(2)], 2), name="error: dim", error=IndexError)


@family("triangle")
def triangle(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4), (4, 2), (0, 3), (2, 3, 3)):
        for diagonal in (0, 1, -1, 5):
            yield Sample((make.tensor(*shape), diagonal), name=f"shape {shape}, diagonal {diagonal}")
    yield from layouts(make)
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


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


# --- diagonals and windows -------------------------------------------------------------------------------------

# Square, wide and tall, beside the matrix, and of other dimensions in either order.
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


@family("real", "imag")
def parts(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)


@family("view_as_real")
def view_as_real(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)


@family("view_as_complex")
def view_as_complex(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape, 2),), name=f"shape {shape}")
    yield Sample((make.tensor(4, 3, 2)[1:3],), name="offset")
    yield Sample((make.tensor(3, 2, 2).permute(1, 0, 2),), name="transposed")
    yield Sample((make.tensor(2, 3),), name="error: no pairs", error=RuntimeError)
    yield Sample((make.tensor(),), name="error: a number", error=RuntimeError)
    yield Sample((make.tensor(2, 2).permute(1, 0),), name="error: pairs apart", error=RuntimeError)
