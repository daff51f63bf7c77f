"""Samples of pointwise operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import LAYOUTS, OPTION, SHAPES, FamilyTable, Inputs, Sample
from tt.core.types.dtype import bool_, float32, float64, int64

family = FamilyTable()

PAIRS = (
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((0, 3), (1, 3)),
    ((2, 1, 3), (4, 1)),
    ((), ()),
)


# Operators whose results at the edges of a dtype are beyond dispute.
EXACT = ("neg", "abs", "sign", "floor", "ceil", "trunc", "logical_not", "relu", "clone")


# --- one argument ----------------------------------------------------------------------------------------------


def unary(make: Inputs, low: float = -5, high: float = 5) -> Iterator[Sample]:
    """Every number of dimensions, every layout."""
    for shape in SHAPES:
        yield Sample((make.tensor(*shape, low=low, high=high),), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, low=low, high=high, layout=layout),), name=layout)


@family("unary_pointwise", "logical_unary", "bitwise_unary", "clone")
def unary_pointwise(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    if (
        make.definition.name == "sign" and make.dtype.is_floating_point
    ):  # of NaN PyTorch's is 0 and NumPy's NaN
        yield Sample((make.of([v for v in make.extremes if v == v]),), name="extreme values")
    elif make.definition.name in EXACT:
        yield Sample((make.of(make.extremes),), name="extreme values")


@family("unary_positive")
def unary_positive(make: Inputs) -> Iterator[Sample]:
    yield from unary(make, low=0.1)
    yield Sample((make.of([0, 1]),), name="zero and one")


@family("unary_nonzero")
def unary_nonzero(make: Inputs) -> Iterator[Sample]:
    yield from unary(make, low=0.5)
    yield Sample((make.of([1, 0]),), name="zero")


@family("unary_nonfinite")
def unary_nonfinite(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    yield Sample((make.of(make.extremes),), name="extreme values")


@family("round")
def rounding(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    yield Sample(
        (make.of([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5] if make.dtype.is_floating_point else [0, 1, 2]),),
        name="halves",
    )
    if make.dtype.is_floating_point:
        yield Sample((make.tensor(5),), {"decimals": 1}, "decimals")
        yield Sample((make.tensor(5, low=-500, high=500),), {"decimals": -1}, "negative decimals")


# --- two arguments ---------------------------------------------------------------------------------------------


def binary(make: Inputs, low: float = -5, high: float = 5, *, numbers: bool = True) -> Iterator[Sample]:
    """Equal and broadcast shapes, layouts, mixed dtypes, Python numbers, shapes that do not fit."""
    scalar_first = not make.definition.signature.arguments[0].type.is_tensor
    if scalar_first:
        for shape in SHAPES:
            yield Sample((make.number, make.tensor(*shape, low=low, high=high)), name=f"number and {shape}")
        return
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.tensor(*shape, low=low, high=high)), name=f"shape {shape}")
    for left, right in PAIRS:
        yield Sample(
            (make.tensor(*left), make.tensor(*right, low=low, high=high)), name=f"{left} and {right}"
        )
    for layout in LAYOUTS:
        first = make.tensor(2, 3, layout=layout)
        yield Sample((first, make.tensor(2, 3, low=low, high=high)), name=f"{layout} and contiguous")
        yield Sample((first, make.tensor(2, 3, low=low, high=high, layout=layout)), name=f"{layout} twice")
    for other in make.partners():
        yield Sample(
            (make.tensor(2, 3), make.tensor(2, 3, low=low, high=high, dtype=other)), name=f"with {other.name}"
        )
        yield Sample(
            (make.tensor(2, 3), make.tensor(low=low, high=high, dtype=other)), name=f"with {other.name}()"
        )
        yield Sample(
            (make.tensor(dtype=other), make.tensor(3, low=low, high=high)), name=f"{other.name}() first"
        )
    if numbers and _takes_number(make, 1):
        yield Sample((make.tensor(2, 3), make.number), name="with a number")
        yield Sample((make.tensor(), make.number), name="zero-dimensional with a number")
        if make.dtype is not bool_ and make.definition.name not in (
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
        ):
            yield Sample((make.tensor(2, 3), 2), name="with an int")
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: shapes", error=RuntimeError)


def _takes_number(make: Inputs, position: int) -> bool:
    return "Scalar" in str(make.definition.signature.arguments[position].type)


@family("binary_pointwise")
def binary_pointwise(make: Inputs) -> Iterator[Sample]:
    yield from binary(make)
    name = make.definition.name
    if name in ("add", "sub", "rsub"):
        yield Sample(
            (make.tensor(2, 3), make.tensor(3)), {"alpha": True if make.dtype is bool_ else 2}, "alpha"
        )
        if make.dtype.kind in ("signed", "unsigned"):
            yield Sample(
                (make.tensor(2), make.tensor(2)), {"alpha": 1.5}, "error: alpha of a float", RuntimeError
            )
    if name in ("maximum", "minimum", "mul"):
        values = make.extremes
        yield Sample((make.of(values), make.of(values[::-1])), name="extreme values")


@family("binary_nonzero")
def binary_nonzero(make: Inputs) -> Iterator[Sample]:
    low = 1 if make.dtype.kind in ("signed", "unsigned", "bool") else 0.5
    for sample in binary(make, low=low):
        if make.definition.name == "div.optional_mode":
            yield Sample(sample.args, {"rounding_mode": None}, sample.name, sample.error)
        elif not _divides_by_false(make, sample):
            yield sample
    if make.dtype.is_floating_point and make.definition.name in ("div", "floor_divide", "remainder"):
        yield Sample((make.of([1.0, -1.0, 0.0]), make.of([0.0, 0.0, 0.0])), name="by zero")
        yield Sample((make.of([7.0, -7.0, 7.0, -7.0]), make.of([2.0, 2.0, -2.0, -2.0])), name="signs")
    if make.dtype.kind in ("signed", "unsigned") and make.definition.name in ("floor_divide", "remainder"):
        yield Sample((make.of([1, 2]), make.of([0, 1])), name="error: by zero", error=RuntimeError)


def _divides_by_false(make: Inputs, sample: Sample) -> bool:
    """Return whether booleans could make an integer division by zero."""
    if make.definition.name == "div":
        return False
    return any(getattr(value, "dtype", None) is bool_ for value in sample.args)


@family("binary_rounding")
def binary_rounding(make: Inputs) -> Iterator[Sample]:
    low = 1 if make.dtype.kind in ("signed", "unsigned") else 0.5
    for mode in ("floor", "trunc"):
        for sample in binary(make, low=low):
            if not any(getattr(value, "dtype", None) is bool_ for value in sample.args):
                yield Sample(sample.args, {"rounding_mode": mode}, f"{sample.name}, {mode}", sample.error)
    yield Sample(
        (make.tensor(2), make.tensor(2, low=1)), {"rounding_mode": "up"}, "error: unknown mode", OPTION
    )


@family("binary_power")
def binary_power(make: Inputs) -> Iterator[Sample]:
    if not make.definition.signature.arguments[0].type.is_tensor:
        for shape in SHAPES:
            yield Sample((2, make.tensor(*shape, low=0, high=3)), name=f"number and {shape}")
        return
    for left, right in (*((s, s) for s in SHAPES if s), *PAIRS):
        yield Sample(
            (make.tensor(*left, low=1, high=3), make.tensor(*right, low=0, high=3)),
            name=f"{left} and {right}",
        )
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, low=1, layout=layout), make.tensor(2, 3, low=0, high=2)), name=layout)
    for other in make.partners():
        if other is not bool_:  # such an exponent has no gradient, as in PyTorch
            mixed = (make.tensor(2, 3, low=1, high=3), make.tensor(3, low=0, high=3, dtype=other))
            yield Sample(mixed, name=f"with {other.name}")
    for exponent in (0, 1, 2, 3):
        yield Sample((make.tensor(2, 3, low=1), exponent), name=f"exponent {exponent}")
    if make.dtype.is_floating_point or make.dtype.is_complex:
        for power in (0.5, -1, -2.0):
            yield Sample((make.tensor(2, 3, low=0.5), power), name=f"exponent {power}")
    if make.dtype.kind in ("signed", "unsigned"):
        yield Sample((make.tensor(2, 3, low=1), -1), name="error: negative exponent", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: shapes", error=RuntimeError)


@family("comparison", "logical")
def comparison(make: Inputs) -> Iterator[Sample]:
    yield from binary(make, numbers=True)
    values = make.of([0, 1, 1])
    yield Sample((values, make.of([1, 1, 0])), name="equal values")
    yield Sample((make.of([[0, 1, 1], [1, 0, 1]]), make.of([0, 1, 0])), name="equal values, broadcast")
    if make.dtype.is_floating_point:
        yield Sample((make.of(make.extremes), make.of(make.extremes)), name="extreme values")


@family("bitwise")
def bitwise(make: Inputs) -> Iterator[Sample]:
    yield from binary(make)
    if not make.definition.signature.arguments[0].type.is_tensor:
        return
    yield Sample((make.of(make.extremes), make.of(make.extremes[::-1])), name="extreme values")


# --- three arguments -------------------------------------------------------------------------------------------


@family("where")
def where(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.mask(*shape), make.tensor(*shape), make.tensor(*shape)), name=f"shape {shape}")
    for a, b, c in (((2, 1), (3,), (2, 3)), ((), (2, 3), ()), ((3,), (), ()), ((2, 3), (1, 3), (2, 1))):
        yield Sample((make.mask(*a), make.tensor(*b), make.tensor(*c)), name=f"{a}, {b}, {c}")
    for layout in LAYOUTS:
        yield Sample((make.mask(2, 3), make.tensor(2, 3, layout=layout), make.tensor(2, 3)), name=layout)
    yield Sample((make.mask(2, 3), make.tensor(2, 3), make.number), name="with a number")
    yield Sample((make.mask(2, 3), make.number, make.tensor(2, 3)), name="number first")
    for other in make.partners():
        yield Sample((make.mask(3), make.tensor(3), make.tensor(3, dtype=other)), name=f"with {other.name}")
    yield Sample((make.mask(2), make.tensor(2, 3), make.tensor(3)), name="error: shapes", error=RuntimeError)


@family("clamp")
def clamp(make: Inputs) -> Iterator[Sample]:
    low, high = (1, 3) if make.dtype.kind in ("signed", "unsigned") else (-1.5, 2.0)
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), low, high), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), low), name="min only")
    yield Sample((make.tensor(2, 3), None, high), name="max only")
    yield Sample((make.tensor(2, 3), high, low), name="bounds exchanged")
    yield Sample((make.tensor(2, 3), make.tensor(3, high=0), make.tensor(2, 1, low=1)), name="tensor bounds")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), low, high), name=layout)
    if make.dtype.is_floating_point:
        yield Sample((make.of(make.extremes), low, high), name="extreme values")
    yield Sample((make.tensor(2),), name="error: no bound", error=OPTION)


@family("isclose")
def isclose(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        x = make.tensor(*shape)
        yield Sample((x, x.clone()), name=f"equal, shape {shape}")
        yield Sample((x, make.tensor(*shape)), name=f"different, shape {shape}")
    yield Sample((make.tensor(2, 3), make.tensor(3)), name="broadcast")
    if make.dtype.is_floating_point:
        extremes = make.of(make.extremes)
        for equal_nan in (False, True):
            yield Sample(
                (extremes, extremes.clone()), {"equal_nan": equal_nan}, f"extreme values, {equal_nan}"
            )
        yield Sample((make.of([1.0, 2.0]), make.of([1.5, 2.5])), {"rtol": 0.3, "atol": 0.0}, "tolerances")
        yield Sample((make.of([1.0, 2.0]), make.of([1.25, 2.75])), {"rtol": 0.0, "atol": 1.0}, "absolute")
        yield Sample((make.of([1.0]), make.of([1.0])), {"rtol": -1.0}, "error: negative tolerance", OPTION)


@family("equal")
def equal(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        x = make.tensor(*shape)
        yield Sample((x, x.clone()), name=f"equal, shape {shape}")
    yield Sample((make.tensor(2, 3), make.tensor(3)), name="other shape")
    yield Sample((make.of([0, 1]), make.of([1, 1])), name="other values")


# --- values of one tensor --------------------------------------------------------------------------------------


@family("real", "imag")
def parts(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)


@family("fill")
def fill(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.number), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), make.tensor()), name="zero-dimensional tensor")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), make.number), name=layout)


@family("copy")
def copy(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.tensor(*shape)), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3), make.tensor(2, 3, layout=layout)), name=f"from {layout}")
    for layout in LAYOUTS[:-1]:
        yield Sample((make.tensor(2, 3, layout=layout), make.tensor(2, 3)), name=f"to {layout}")
    yield Sample((make.tensor(2, 3), make.tensor(3)), name="broadcast")
    for other in (float32, int64, bool_):
        yield Sample((make.tensor(2, 3), make.tensor(2, 3, low=0, dtype=other)), name=f"from {other.name}")
    yield Sample((make.tensor(3), make.tensor(2, 3)), name="error: larger source", error=RuntimeError)


@family("to_copy")
def to_copy(make: Inputs) -> Iterator[Sample]:
    yield from unary(make, low=0)
    for target in _targets(make):
        yield Sample((make.tensor(2, 3, low=0),), {"dtype": target}, f"to {target.name}")


def _targets(make: Inputs) -> Iterator[Any]:
    for target in (bool_, int64, float32, float64):
        if not make.dtype.is_complex:  # PyTorch warns when it drops the imaginary part
            yield target


@family("item")
def item(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (1,), (1, 1)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield Sample((make.tensor(2),), name="error: several elements", error=RuntimeError)
    yield Sample((make.tensor(0),), name="error: no element", error=RuntimeError)
