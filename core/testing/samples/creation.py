"""Samples of factories and random operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.dtype import float64
from tt.core.testing.samples.base import LAYOUTS, OPTION, SHAPES, FamilyTable, Inputs, Sample

family = FamilyTable()


def place(make: Inputs) -> dict[str, Any]:
    """Return the keyword arguments that say where and of which dtype the result is."""
    return {"dtype": make.dtype, "device": make.device}


def sized(make: Inputs, *before: Any, after: tuple[Any, ...] = ()) -> Iterator[Sample]:
    """Yield a sample for each size, and a negative one."""
    for shape in SHAPES:
        yield Sample((*before, shape, *after), place(make), f"size {shape}")
    yield Sample((*before, (2, -1), *after), place(make), "error: negative size", RuntimeError)


@family("factory", "factory_undefined", "random")
def factory(make: Inputs) -> Iterator[Sample]:
    yield from sized(make)


@family("factory_strided")
def factory_strided(make: Inputs) -> Iterator[Sample]:
    for size, stride in (((2, 3), (3, 1)), ((2, 3), (1, 2)), ((), ()), ((2, 0), (1, 1)), ((2, 3), (6, 2))):
        yield Sample((size, stride), place(make), f"size {size}, stride {stride}")
    yield Sample(((2, 3), (1,)), place(make), "error: lengths", RuntimeError)
    yield Sample(((2,), (-1,)), place(make), "error: negative stride", RuntimeError)


@family("full")
def full(make: Inputs) -> Iterator[Sample]:
    yield from sized(make, after=(make.number,))
    for value in (True, 3, 2.5):
        yield Sample(((2,), value), {"device": make.device}, f"dtype of {value}")


@family("scalar_tensor")
def scalar_tensor(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.number,), place(make), "number")


@family("arange", "arange_start", "arange_start_step")
def arange(make: Inputs) -> Iterator[Sample]:
    name = make.definition.name
    calls: tuple[tuple[Any, ...], ...] = ((0,), (5,)) if name == "arange" else ((1, 5), (3, 3))
    if name == "arange.start_step":
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
    for start, end, steps in ((0, 10, 5), (0, 1, 2), (3, 3, 4), (0, 1, 1), (0, 1, 0)):
        yield Sample((start, end, steps), place(make), f"{start} to {end} in {steps}")
    if make.dtype.is_floating_point:
        yield Sample((-1.5, 2.25, 7), place(make), "fractions")
    yield Sample((0, 1, -1), place(make), "error: steps", RuntimeError)


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


@family("full_like")
def full_like(make: Inputs) -> Iterator[Sample]:
    for sample in like(make):
        number = 2 if "dtype" in sample.kwargs else make.number
        yield Sample((*sample.args, number), sample.kwargs, sample.name)


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


# --- random ----------------------------------------------------------------------------------------------------


@family("randint")
def randint(make: Inputs) -> Iterator[Sample]:
    yield from sized(make, 10)
    yield Sample((0, (2,)), place(make), "error: no number", RuntimeError)


@family("randint_low")
def randint_low(make: Inputs) -> Iterator[Sample]:
    yield from sized(make, 2, 10)
    yield Sample((3, 3, (2,)), place(make), "error: no number", RuntimeError)


@family("randperm")
def randperm(make: Inputs) -> Iterator[Sample]:
    for count in (0, 1, 5):
        yield Sample((count,), place(make), str(count))
    yield Sample((-1,), place(make), "error: negative", RuntimeError)


@family("random_inplace")
def random_inplace(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), 1.0, 2.0), name="parameters")
    wrong = (2.0, 1.0) if make.definition.name == "uniform" else (0.0, -1.0)
    yield Sample((make.tensor(2), *wrong), name="error: parameters", error=OPTION)


@family("bernoulli")
def bernoulli(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape, low=0, high=1),), name=f"shape {shape}")
    yield Sample((make.of([0.5, 2.0]),), name="error: no probability", error=OPTION)


@family("bernoulli_p")
def bernoulli_p(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), 0.5), name=f"shape {shape}")
    yield Sample((make.tensor(2), 1.5), name="error: no probability", error=OPTION)


@family("dropout")
def dropout(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), 0.5), name=f"shape {shape}")
    for p, training in ((0.5, False), (0.0, True), (1.0, True)):
        yield Sample((make.tensor(2, 3), p, training), name=f"p {p}, training {training}")
    yield Sample((make.tensor(2), 1.5), name="error: no probability", error=OPTION)
