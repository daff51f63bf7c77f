"""Samples of copies in another arrangement, and of copies with one part replaced."""

from __future__ import annotations

from collections.abc import Iterator

from tt.operators._samples.base import FamilyTable, Inputs, Sample
from tt.operators.shaping.samples import DIAGONALS, each, layouts

family = FamilyTable()

# --- repetition ------------------------------------------------------------------------------------------------


@family("repeat")
def repeat(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((3,), ((2,),)), ((2, 3), ((2, 1),)), ((2, 3), ((2, 1, 3),)), ((), ((2,),)), ((), ((),)), ((2, 3), ((0, 2),)),
        ((0, 3), ((2, 2),)), ((2, 3), ((1, 1),)),
        ((2, 3), ((2,),), RuntimeError), ((3,), ((-1,),), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, (2, 2))


@family("tile")
def tile(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((3,), ((2,),)), ((2, 3), ((2,),)), ((2, 3), ((),)), ((2, 3), ((2, 1, 3),)), ((), ((2,),)), ((2, 3), ((0,),)),
        ((3,), ((-1,),), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, (2,))


# --- another order ---------------------------------------------------------------------------------------------


@family("fliplr")
def fliplr(make: Inputs) -> Iterator[Sample]:
    yield from each(make, (((2, 3), ()), ((0, 3), ()), ((2, 3, 4), ()), ((3,), (), RuntimeError)))
    yield from layouts(make)


@family("flipud")
def flipud(make: Inputs) -> Iterator[Sample]:
    yield from each(make, (((3,), ()), ((2, 3), ()), ((0, 3), ()), ((2, 3, 4), ()), ((), (), RuntimeError)))
    yield from layouts(make)


@family("roll")
def roll(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((5,), (2,)), ((5,), (-7, 0)), ((2, 3), (4,)), ((2, 3), ((1, 2), (0, 1))), ((2, 3), ((1, 1), (1, 1))),
        ((2, 3), (0, -1)), ((), (1,)), ((0,), (1, 0)), ((2, 0), (1,)),
        ((), (1, 0), IndexError), ((3,), ((),), RuntimeError), ((3,), ((1, 2),), RuntimeError),
        ((3,), (1, 1), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 1, 1)


@family("rot90")
def rot90(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((2, 3), ()), ((2, 3), (2,)), ((2, 3), (-1,)), ((2, 3), (4,)), ((2, 3), (1, (1, 0))),
        ((2, 3, 4), (3, (0, -1))),
        ((0, 3), ()),
        ((3,), (), RuntimeError), ((2, 3), (1, (0,)), RuntimeError), ((2, 3), (1, (0, -2)), RuntimeError),
        ((2, 3), (1, (0, 2)), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make)


@family("pixel_shuffle")
def pixel_shuffle(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((4, 2, 3), (2,)), ((2, 8, 1, 2), (2,)), ((2, 3, 2), (1,)), ((0, 4, 2, 2), (2,)), ((2, 2, 4, 1, 1), (2,)),
        ((2, 2), (1,), RuntimeError), ((3, 2, 2), (2,), RuntimeError), ((4, 2, 2), (0,), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 2, shape=(4, 2, 3))


@family("pixel_unshuffle")
def pixel_unshuffle(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((1, 4, 6), (2,)), ((2, 2, 2, 4), (2,)), ((2, 3, 2), (1,)),
        ((2, 2), (1,), RuntimeError), ((1, 3, 2), (2,), RuntimeError), ((1, 2, 3), (2,), RuntimeError),
        ((1, 2, 2), (-1,), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, 2, shape=(2, 4, 2))


# --- diagonals -------------------------------------------------------------------------------------------------


@family("diag")
def diag(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((3,), ()), ((3,), (1,)), ((2,), (-2,)), ((0,), ()), ((2, 3), ()), ((2, 3), (1,)), ((2, 3), (-4,)),
        ((0, 3), ()),
        ((), (), RuntimeError), ((2, 3, 4), (), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make)


@family("diagflat")
def diagflat(make: Inputs) -> Iterator[Sample]:
    yield from each(make, (((), ()), ((3,), ()), ((2, 2), (1,)), ((2,), (-1,)), ((0, 3), ())))
    yield from layouts(make)


@family("diag_embed")
def diag_embed(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((3,), ()), ((2, 3), ()), ((2, 3), (1,)), ((2, 3), (-1, 0, 2)), ((2, 3), (0, 1, 0)), ((2, 0), ()),
        ((0, 3), (2,)),
        ((), (), IndexError), ((2,), (0, 0, 0), RuntimeError), ((2,), (0, 0, 3), IndexError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make)


# --- one part replaced -----------------------------------------------------------------------------------------


@family("diagonal_scatter")
def diagonal_scatter(make: Inputs) -> Iterator[Sample]:
    for shape, where in DIAGONALS:
        self = make.tensor(*shape)
        size = tuple(self.diagonal(*where).shape)
        yield Sample((self, make.tensor(*size), *where), name=f"shape {shape}, {where}")
    yield Sample((make.tensor(2, 3, layout="transposed"), make.tensor(2)), name="transposed")
    yield Sample((make.tensor(3, 3), make.tensor(2)), name="error: shape", error=RuntimeError)


@family("select_scatter")
def select_scatter(make: Inputs) -> Iterator[Sample]:
    for dim, index, size in ((0, 1, (3,)), (1, -1, (2,)), (-2, 0, (3,))):
        yield Sample((make.tensor(2, 3), make.tensor(*size), dim, index), name=f"dim {dim}, index {index}")
    yield Sample((make.tensor(2, 3, layout="transposed"), make.tensor(3), 0, 1), name="transposed")
    # Elements share memory, and the result must have its own.
    yield Sample((make.tensor(2, 3, layout="expanded"), make.tensor(3), 0, 1), name="expanded")
    yield Sample((make.tensor(2, 3), make.tensor(2), 0, 1), name="error: shape", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(3), 0, 2), name="error: index", error=IndexError)


@family("slice_scatter")
def slice_scatter(make: Inputs) -> Iterator[Sample]:
    for where, size in (
        ((), (4, 3)), ((0, 1, 3), (2, 3)), ((0, 0, 4, 2), (2, 3)), ((1, -2), (4, 2)), ((-1, 2, 1), (4, 0)),
        ((0, 1, None, 5), (1, 3)),
    ):  # fmt: skip
        yield Sample((make.tensor(4, 3), make.tensor(*size), *where), name=f"{where}")
    yield Sample(
        (make.tensor(4, 3), make.tensor(2, 3, layout="transposed"), 0, 0, 2), name="a transposed part"
    )
    yield Sample((make.tensor(4, 3, layout="transposed"), make.tensor(2, 3), 0, 0, 2), name="transposed")
    yield Sample((make.tensor(4, 3), make.tensor(1, 3), 0, 0, 2), name="error: shape", error=RuntimeError)


@family("as_strided_scatter")
def as_strided_scatter(make: Inputs) -> Iterator[Sample]:
    for size, stride, offset in (((2,), (2,), 1), ((2, 2), (1, 2), None), ((), (), 3), ((0, 2), (1, 1), 0)):
        call = (make.tensor(6), make.tensor(*size), size, stride, offset)
        yield Sample(call, name=f"size {size}, stride {stride}, offset {offset}")
    yield Sample((make.tensor(2, 3), make.tensor(3, 2), (3, 2), (1, 3)), name="a matrix")
    yield Sample((make.tensor(6), make.tensor(3), (2,), (1,)), name="error: shape", error=RuntimeError)
    yield Sample((make.tensor(6), make.tensor(9), (9,), (1,)), name="error: memory", error=RuntimeError)


# --- padding ---------------------------------------------------------------------------------------------------


@family("constant_pad_nd")
def constant_pad_nd(make: Inputs) -> Iterator[Sample]:
    calls = (
        ((3,), ((1, 2),)), ((3,), ((1, 2), make.number)), ((2, 3), ((1, 0),)), ((2, 3), ((0, 0, 2, 1), make.number)),
        ((2, 3), ((-1, 1),)), ((2, 3), ((-1, -1),)), ((2, 3), ((0, 0, -1, 0),)), ((2, 3), ((),)), ((0, 3),
        ((1, 1, 1, 1),)),
        ((2, 3), ((-3, 1),)), ((2, 1, 3), ((1, 1, 0, 2, 1, 0),)), ((), ((),)),
        ((3,), ((1,),), RuntimeError), ((3,), ((1, 1, 1, 1),), RuntimeError), ((3,), ((-2, -2),), RuntimeError),
    )  # fmt: skip
    yield from each(make, calls)
    yield from layouts(make, (1, 1))


@family("pad_places")
def pad_places(make: Inputs) -> Iterator[Sample]:
    for mode in ("reflect", "replicate", "circular"):
        for shape, counts in (
            ((4,), (1, 2)), ((2, 4), (3, -1)), ((3, 2, 3), (1, 2, 0, 1)), ((2, 3), (0, 0, 1, 1)), ((0, 3), (1, 1)),
        ):  # fmt: skip
            yield Sample((make.tensor(*shape), counts, mode), name=f"{mode} {shape}, {counts}")
        yield Sample((make.tensor(2, 3, layout="transposed"), (1, 1), mode), name=f"{mode}, transposed")
        yield Sample((make.tensor(2, 0), (1, 0), mode), name=f"error: {mode} of nothing", error=RuntimeError)
    yield Sample((make.tensor(3), (3, 0), "reflect"), name="error: reflect too far", error=RuntimeError)
    yield Sample((make.tensor(3), (4, 7), "circular"), name="around twice")
    yield Sample((make.tensor(3), (1, 0), "mirror"), name="error: mode", error=RuntimeError)


@family("pad")
def pad(make: Inputs) -> Iterator[Sample]:
    for added in ((1, 2), (0, 0, 1, 0), (-1, 2)):
        yield Sample((make.tensor(2, 3), added), name=f"constant {added}")
    yield Sample((make.tensor(2, 3), (1, 1), "constant", 2.0), name="constant 2.0")
    for mode in ("reflect", "replicate", "circular"):
        for shape, counts in (
            ((2, 4), (1, 2)), ((2, 2, 4), (3, -1)), ((1, 3, 3), (1, 2, 2, 0)), ((1, 2, 3, 3), (1, 1, 0, 2)),
            ((1, 2, 3, 2), (1, 0, 0, 2, 1, 1)), ((0, 2, 3), (1, 1)),
        ):  # fmt: skip
            yield Sample((make.tensor(*shape), counts, mode), name=f"{mode} {shape}, {counts}")
        yield Sample((make.tensor(2, 3, layout="transposed"), (1, 1), mode), name=f"{mode}, transposed")
        yield Sample(
            (make.tensor(3), (1, 1), mode), name=f"error: {mode} of a vector", error=NotImplementedError
        )
        yield Sample(
            (make.tensor(2, 3), (1, 1), mode, 1.0), name=f"error: {mode}, a value", error=RuntimeError
        )
    yield Sample((make.tensor(2, 3), (3, 0), "reflect"), name="error: reflect too far", error=RuntimeError)
    yield Sample((make.tensor(2, 3), (4, 0), "circular"), name="error: around twice", error=RuntimeError)
    yield Sample((make.tensor(2, 0), (1, 0), "replicate"), name="error: of nothing", error=RuntimeError)
    yield Sample((make.tensor(2, 3), (1, 0), "mirror"), name="error: mode", error=NotImplementedError)
    yield Sample((make.tensor(2, 3), (1, 0, 1)), name="error: odd", error=RuntimeError)


@family("channel_shuffle")
def channel_shuffle(make: Inputs) -> Iterator[Sample]:
    for shape, groups in (
        ((2, 6, 3), 3),
        ((1, 4, 2, 2), 2),
        ((2, 3, 1, 2, 1), 1),
        ((0, 4, 2), 2),
        ((2, 4, 0), 2),
    ):
        yield Sample((make.tensor(*shape), groups), name=f"{list(shape)}, {groups} groups")
    yield Sample((make.tensor(2, 4, 3, layout="transposed"), 2), name="transposed")
    yield Sample((make.tensor(4, 4), 2), name="error: dimensions", error=RuntimeError)
    yield Sample((make.tensor(2, 4, 3), 3), name="error: channels", error=RuntimeError)
    yield Sample((make.tensor(2, 4, 3), 0), name="error: groups", error=RuntimeError)
