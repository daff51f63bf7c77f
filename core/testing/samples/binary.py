"""Samples of operators of two and three tensors, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import LAYOUTS, SHAPES, FamilyTable, Inputs, Sample
from tt.core.testing.samples.pointwise import binary, unary
from tt.core.types.dtype import float32, float64, int32

family = FamilyTable()


def takes_number_first(make: Inputs) -> bool:
    """Return whether the operator's first argument is a number."""
    return not make.definition.signature.arguments[0].type.is_tensor


def pairs(make: Inputs, values: list[Any]) -> tuple[Any, Any]:
    """Return each of some values with each other, as two tensors."""
    return (
        make.of([a for a in values for _ in values]),
        make.of([b for _ in values for b in values]),
    )


# --- two arguments ---------------------------------------------------------------------------------------------


@family("binary_extreme")
def binary_extreme(make: Inputs) -> Iterator[Sample]:
    yield from binary(make)
    if make.dtype.is_floating_point:
        values = make.extremes
        if make.definition.name == "copysign":
            values = [v for v in values if v == v]  # the sign of NaN gets lost between libraries
        yield Sample(pairs(make, values), name="extreme values")


@family("binary_nan")
def binary_nan(make: Inputs) -> Iterator[Sample]:
    yield from binary(make)
    if make.dtype.is_floating_point:
        values = [float("nan"), 1.0, -2.0, float("inf")]
        yield Sample(pairs(make, values), name="with NaN")


@family("binary_integral")
def binary_integral(make: Inputs) -> Iterator[Sample]:
    yield from binary(make, low=-5, high=12)
    yield Sample(pairs(make, [0, 1, 6, 12, 9, 5]), name="zeros and multiples")


@family("binary_same_dtype")
def binary_same_dtype(make: Inputs) -> Iterator[Sample]:
    for sample in binary(make, numbers=False):
        if sample.error is not None or sample.args[0].dtype is sample.args[1].dtype:
            yield sample
    yield Sample((make.of([0, 1, 0, 1]), make.of([1, 0, 0, 1])), name="at zero")
    other = float64 if make.dtype is float32 else float32
    mixed = (make.tensor(2), make.tensor(2, dtype=other))
    yield Sample(mixed, name=f"error: with {other.name}", error=RuntimeError)


@family("shift")
def shift(make: Inputs) -> Iterator[Sample]:
    if takes_number_first(make):
        for shape in SHAPES:
            yield Sample((5, make.tensor(*shape, low=0, high=6)), name=f"number and {shape}")
        return
    for sample in binary(make, low=0, high=6):
        if all(getattr(v, "dtype", make.dtype).kind != "bool" for v in sample.args):
            yield sample
    bits = make.dtype.itemsize * 8
    yield Sample((make.of(make.extremes * 2), make.of([bits - 1] * 4 + [bits] * 4)), name="all bits")


@family("binary_logarithm")
def binary_logarithm(make: Inputs) -> Iterator[Sample]:
    yield from binary(make)
    if make.dtype.is_floating_point:
        inf = float("inf")
        values = [inf, -inf, 0.0, 1.0]
        yield Sample(pairs(make, values), name="infinities")
        large = 0.9 * float(make.extremes[5])
        yield Sample((make.of([large, -large]), make.of([large, large])), name="large numbers")


@family("xlogy")
def xlogy(make: Inputs) -> Iterator[Sample]:
    if takes_number_first(make):
        for number in (0, 2.5):
            yield Sample((number, make.tensor(2, 3, low=0.5)), name=f"number {number}")
        yield Sample((0, make.of([0, 1])), name="zero")
        return
    yield from binary(make, low=0.5)
    yield Sample((make.of([0, 0, 1, 1]), make.of([0, 1, 0, 1])), name="zeros")


@family("float_power")
def float_power(make: Inputs) -> Iterator[Sample]:
    if takes_number_first(make):
        for shape in SHAPES:
            yield Sample((2, make.tensor(*shape, low=0, high=3)), name=f"number and {shape}")
        return
    for shape in SHAPES:
        yield Sample((make.tensor(*shape, low=1), make.tensor(*shape, low=0, high=3)), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, low=1, layout=layout), make.tensor(3, low=0, high=2)), name=layout)
    for exponent in (2, 0.5, -1, 0):
        yield Sample((make.tensor(2, 3, low=1), exponent), name=f"exponent {exponent}")


@family("ldexp")
def ldexp(make: Inputs) -> Iterator[Sample]:
    # uint64 does not promote with int32.
    whole = make.dtype if make.dtype.kind == "unsigned" else int32
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.tensor(*shape, dtype=whole)), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), make.tensor(3, dtype=whole)), name=layout)
    yield Sample((make.tensor(2, 1), make.tensor(1, 3, low=0)), name="exponents of the same dtype")
    if make.dtype in (float32, float64):
        limits = [1.0, 1e-30, 1e30, 0.0, float("inf")]
        far = make.of([0, 140, -140, 3000, -3000], int32)
        yield Sample((make.of(limits), far), name="far exponents")
    yield Sample((make.tensor(2, 3), make.tensor(2, dtype=whole)), name="error: shapes", error=RuntimeError)


@family("frexp")
def frexp(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-14, 1000.0, make.extremes[5], make.extremes[7]]
    yield Sample((make.of(values),), name="powers of two and limits")


# --- three arguments -------------------------------------------------------------------------------------------

TRIPLES = (
    ((2, 3), (2, 3), (2, 3)),
    ((2, 1), (3,), (1, 3)),
    ((), (2, 3), ()),
    ((0, 3), (1, 3), ()),
    ((), (), ()),
)


@family("ternary")
def ternary(make: Inputs) -> Iterator[Sample]:
    for a, b, c in TRIPLES:
        yield Sample((make.tensor(*a), make.tensor(*b), make.tensor(*c, low=1)), name=f"{a}, {b}, {c}")
    for layout in LAYOUTS:
        first = make.tensor(2, 3, layout=layout)
        yield Sample((first, make.tensor(2, 3, layout=layout), make.tensor(3, low=1)), name=layout)
    three = make.tensor(2, 3), make.tensor(3), make.tensor(2, 3, low=1)
    yield Sample(three, {"value": make.number}, "value")
    for other in make.partners():
        if other.kind != "bool":
            mixed = make.tensor(2, 3), make.tensor(3), make.tensor(2, 3, low=1, dtype=other)
            yield Sample(mixed, name=f"with {other.name}")
    wrong = make.tensor(2, 3), make.tensor(2), make.tensor(3, low=1)
    yield Sample(wrong, name="error: shapes", error=RuntimeError)
    if not make.dtype.is_complex:
        yield Sample(three, {"value": 1j}, "error: a complex value", (RuntimeError, TypeError))


@family("lerp")
def lerp(make: Inputs) -> Iterator[Sample]:
    number = not make.definition.signature.arguments[2].type.is_tensor
    for a, b, c in TRIPLES:
        weight = 0.3 if number else make.tensor(*c)
        yield Sample((make.tensor(*a), make.tensor(*b), weight), name=f"{a}, {b}, {c}")
    for layout in LAYOUTS:
        weight = 0.6 if number else make.tensor(2, 3, layout=layout)
        yield Sample((make.tensor(2, 3, layout=layout), make.tensor(3), weight), name=layout)
    for value in (0, 1, 0.25, 0.75, -1.5, 3.0):
        weight = value if number else make.of(value)
        yield Sample((make.tensor(2, 3), make.tensor(2, 3), weight), name=f"weight {value}")
    other = float64 if make.dtype is float32 else float32
    ends = make.tensor(2, 3), make.tensor(2, 3, dtype=other), weight
    yield Sample(ends, name=f"error: with {other.name}", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(2), weight), name="error: shapes", error=RuntimeError)


# --- complex numbers -------------------------------------------------------------------------------------------


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
