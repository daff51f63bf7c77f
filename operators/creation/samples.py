"""Samples of factories and random operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.types.dtype import float64, int64
from tt.operators._samples.base import LAYOUTS, SHAPES, FamilyTable, Inputs, Sample

family = FamilyTable()


def place(make: Inputs) -> dict[str, Any]:
    """Return the keyword arguments that say where and of which dtype the result is."""
    return {"dtype": make.dtype, "device": make.device}


def sized(make: Inputs, *before: Any, after: tuple[Any, ...] = ()) -> Iterator[Sample]:
    """Yield a sample for each size, and a negative one."""
    for shape in SHAPES:
        yield Sample((*before, shape, *after), place(make), f"size {shape}")
    yield Sample((*before, (2, -1), *after), place(make), "error: negative size", RuntimeError)


@family("factory")
def factory(make: Inputs) -> Iterator[Sample]:
    yield from sized(make)


@family("factory_undefined")
def factory_undefined(make: Inputs) -> Iterator[Sample]:
    yield from sized(make)
    for size, name in (
        ((2, 3, 4, 5), "channels_last"),
        ((2, 3, 4, 5, 6), "channels_last_3d"),
        ((2, 3), "contiguous_format"),
    ):
        yield Sample((size,), {**place(make), "memory_format": name}, name)
    yield Sample(((2, 3),), {**place(make), "memory_format": "channels_last"}, "error: rank", RuntimeError)
    yield Sample(
        ((2, 3),), {**place(make), "memory_format": "preserve_format"}, "error: preserve", RuntimeError
    )


@family("factory_strided")
def factory_strided(make: Inputs) -> Iterator[Sample]:
    for size, stride in (((2, 3), (3, 1)), ((2, 3), (1, 2)), ((), ()), ((2, 0), (1, 1)), ((2, 3), (6, 2))):
        yield Sample((size, stride), place(make), f"size {size}, stride {stride}")
    yield Sample(((2, 3), (1,)), place(make), "error: lengths", RuntimeError)
    yield Sample(((2,), (-1,)), place(make), "error: negative stride", RuntimeError)


@family("empty_permuted")
def empty_permuted(make: Inputs) -> Iterator[Sample]:
    for size, order in (((2, 3), (1, 0)), ((), ()), ((2, 3, 4), (2, 0, 1)), ((2, 0), (1, 0))):
        yield Sample((size, order), place(make), f"size {size}, order {order}")
    yield Sample(((2, 3), (0,)), place(make), "error: lengths", RuntimeError)
    yield Sample(((2, 3), (0, 0)), place(make), "error: twice", RuntimeError)
    yield Sample(((2, -3), (0, 1)), place(make), "error: negative size", RuntimeError)


@family("range", "range_step")
def range_of_numbers(make: Inputs) -> Iterator[Sample]:
    stepped = make.definition.name == "range.step"
    # The end is part of this range, if a step reaches it.
    calls: tuple[tuple[Any, ...], ...] = ((0, 8, 2), (0, 7, 2), (4, 4, 1)) if stepped else ((0, 4), (3, 3))
    if make.dtype.is_floating_point:
        calls += ((1, -1, -0.5),) if stepped else ((0.5, 3.25),)
    for call in calls:
        yield Sample(call, place(make), str(call))
    yield Sample(calls[0], {"device": make.device}, "default dtype")
    yield Sample((3, 1, 1) if stepped else (3, 1), place(make), "error: sign", RuntimeError)
    if stepped:
        yield Sample((0, 3, 0), place(make), "error: step 0", RuntimeError)


@family("new_empty_strided")
def new_empty_strided(make: Inputs) -> Iterator[Sample]:
    for sample in factory_strided(make):
        yield Sample((make.tensor(2), *sample.args), {}, sample.name, sample.error)


@family("full")
def full(make: Inputs) -> Iterator[Sample]:
    yield from sized(make, after=(make.number,))
    for value in (True, 3, 2.5):
        # Without a dtype that of the number is taken.
        yield Sample(((2,), value), {"device": make.device}, f"dtype of {value}")


@family("scalar_tensor")
def scalar_tensor(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.number,), place(make), "number")


@family("arange", "arange_start", "arange_start_step")
def arange(make: Inputs) -> Iterator[Sample]:
    name = make.definition.name
    calls: tuple[tuple[Any, ...], ...] = ((0,), (5,)) if name == "arange" else ((1, 5), (3, 3))
    if name == "arange.start_step":
        # An end that a step would reach is left out.
        calls = ((0, 10, 3), (1, 9, 2), (2, 2, 1), (9, 1, -2) if make.dtype.kind != "unsigned" else (0, 4, 4))
    if make.dtype.is_floating_point:
        calls += {"arange": ((2.5,),), "arange.start": ((0.5, 3),), "arange.start_step": ((0, 1, 0.25),)}[
            name
        ]
    for call in calls:
        yield Sample(call, place(make), str(call))
    yield Sample(calls[-1], {"device": make.device}, "dtype of the numbers")
    wrong: tuple[Any, ...] = {"arange": (-1,), "arange.start": (3, 1), "arange.start_step": (0, 3, -1)}[name]
    yield Sample(wrong, place(make), f"error: {wrong}", RuntimeError)
    if name == "arange.start_step":
        yield Sample((0, 3, 0), place(make), "error: step 0", RuntimeError)


@family("linspace")
def linspace(make: Inputs) -> Iterator[Sample]:
    # One step is the start alone.
    for start, end, steps in ((0, 10, 5), (0, 1, 2), (3, 3, 4), (0, 1, 1), (0, 1, 0)):
        yield Sample((start, end, steps), place(make), f"{start} to {end} in {steps}")
    if make.dtype.is_floating_point:
        yield Sample((-1.5, 2.25, 7), place(make), "fractions")
    if make.dtype.is_complex:
        yield Sample((1 - 1j, 2 + 3j, 4), place(make), "complex")
    yield Sample((0, 1, -1), place(make), "error: steps", RuntimeError)
    if make.dtype.is_floating_point:
        yield Sample((0, 1j, 3), place(make), "error: complex", RuntimeError)


@family("logspace")
def logspace(make: Inputs) -> Iterator[Sample]:
    for start, end, steps in ((0, 2, 3), (0, 1, 2), (2, 2, 4), (2, 1, 1), (0, 1, 0), (2, 0, 5)):
        yield Sample((start, end, steps), place(make), f"{start} to {end} in {steps}")
    yield Sample((0, 4, 5, 2.0), place(make), "base 2")
    if make.dtype.is_floating_point:
        yield Sample((-1.5, 2.25, 7, 2.5), place(make), "fractions")
    yield Sample((0, 1, -1), place(make), "error: steps", RuntimeError)


@family("linspace_tensors")
def linspace_tensors(make: Inputs) -> Iterator[Sample]:
    """The bounds are tensors without dimensions, or one of them is."""
    two, five = make.of(2, int64), make.of(5.0, float64)
    yield Sample((two, five, 4), place(make), "two tensors")
    yield Sample((two, 3, 3), place(make), "a tensor and a number")
    yield Sample((0, five, 1), place(make), "a number and a tensor")
    if make.definition.name.startswith("logspace"):
        yield Sample((two, five, 4, 2.0), place(make), "base 2")
    yield Sample((make.of([1.0], float64), 3, 2), place(make), "error: a vector", RuntimeError)


@family("triangle_indices")
def triangle_indices(make: Inputs) -> Iterator[Sample]:
    for args in ((3, 3), (2, 4), (4, 2), (3, 4, 1), (3, 4, -1), (3, 3, 9), (3, 3, -9), (0, 3), (3, 0)):
        yield Sample(args, place(make), str(args))
    yield Sample((-1, 3), place(make), "error: negative", RuntimeError)


@family("block_diag")
def block_diag(make: Inputs) -> Iterator[Sample]:
    # Vectors, numbers and matrices without elements are matrices, too.
    for shapes in (((2, 3), (1, 2)), ((3,), (), (2, 2)), ((2, 0), (0, 1)), ((2,), (0,)), ((1, 1),)):
        yield Sample(([make.tensor(*shape) for shape in shapes],), name=f"shapes {shapes}")
    for other in make.partners():
        yield Sample(([make.tensor(2, 2), make.tensor(1, 2, dtype=other)],), name=f"with {other.name}")
    yield Sample(([make.tensor(2, 2, 2)],), name="error: three dims", error=RuntimeError)


@family("eye")
def eye(make: Inputs) -> Iterator[Sample]:
    for args in ((3,), (2, 3), (3, 2), (0,), (2, 0)):
        yield Sample(args, place(make), str(args))
    yield Sample((-1,), place(make), "error: negative", RuntimeError)


@family("like")
def like(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout),), name=layout)
    yield Sample((make.tensor(2, 3),), {"dtype": float64}, "dtype=float64")
    for name, shape in FORMATS:
        yield Sample((make.tensor(*shape),), {"memory_format": name}, name)
    yield Sample((make.tensor(2, 3),), {"memory_format": "channels_last"}, "error: rank", RuntimeError)


FORMATS = (("contiguous_format", (2, 3)), ("preserve_format", (2, 3)), ("channels_last", (2, 3, 4, 5)))


@family("full_like")
def full_like(make: Inputs) -> Iterator[Sample]:
    for sample in like(make):
        # float64 has no complex numbers, which `make.number` may be.
        number = 2 if "dtype" in sample.kwargs else make.number
        yield Sample((*sample.args, number), sample.kwargs, sample.name, sample.error)


@family("new")
def new(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(2), shape), name=f"size {shape}")
    yield Sample((make.tensor(2), (3,)), {"dtype": float64}, "dtype=float64")
    yield Sample((make.tensor(2), (-1,)), name="error: negative size", error=RuntimeError)


@family("new_full")
def new_full(make: Inputs) -> Iterator[Sample]:
    for sample in new(make):
        number = 2 if "dtype" in sample.kwargs else make.number
        yield Sample((*sample.args, number), sample.kwargs, sample.name, sample.error)
