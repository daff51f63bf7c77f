"""Samples of pointwise operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.types.dtype import bool_, float32, float64, int32
from tt.operators._samples.base import LAYOUTS, OPTION, SHAPES, FamilyTable, Inputs, Sample

family = FamilyTable()

# Each side broadcasts alone, both do at once, and no elements do.
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


def takes_number_first(make: Inputs) -> bool:
    """Return whether the operator's first argument is a number."""
    return not make.definition.signature.arguments[0].type.is_tensor


def pairs(make: Inputs, values: list[Any]) -> tuple[Any, Any]:
    """Return each of some values with each other, as two tensors."""
    return (
        make.of([a for a in values for _ in values]),
        make.of([b for _ in values for b in values]),
    )


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
    if takes_number_first(make):
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
    # Integers are drawn without their fraction, so 0.5 would allow zeros.
    low = 1 if make.dtype.kind in ("signed", "unsigned", "bool") else 0.5
    for sample in binary(make, low=low):
        if make.definition.name == "div.optional_mode":
            yield Sample(sample.args, {"rounding_mode": None}, sample.name, sample.error)
        elif not _divides_by_false(make, sample):
            yield sample
    if make.dtype.is_floating_point and make.definition.name in ("div", "floor_divide", "remainder"):
        yield Sample((make.of([1.0, -1.0, 0.0]), make.of([0.0, 0.0, 0.0])), name="by zero")
        # Rounding down and toward zero differ for one sign of each pair.
        yield Sample((make.of([7.0, -7.0, 7.0, -7.0]), make.of([2.0, 2.0, -2.0, -2.0])), name="signs")
    if make.dtype.kind in ("signed", "unsigned") and make.definition.name in ("floor_divide", "remainder"):
        yield Sample((make.of([1, 2]), make.of([0, 1])), name="error: by zero", error=RuntimeError)


def _divides_by_false(make: Inputs, sample: Sample) -> bool:
    """Return whether booleans could make an integer division by zero."""
    if make.definition.name == "div":
        # Division of bools is one of floats, which has a result by zero.
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
            # Small, so that powers fit into every integer, and positive, so that they are real.
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
        # NaN is not equal to itself.
        yield Sample((make.of(make.extremes), make.of(make.extremes)), name="extreme values")


@family("bitwise")
def bitwise(make: Inputs) -> Iterator[Sample]:
    yield from binary(make)
    if not make.definition.signature.arguments[0].type.is_tensor:
        return
    yield Sample((make.of(make.extremes), make.of(make.extremes[::-1])), name="extreme values")


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
        # PyTorch promotes nothing here.
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
        # Bools are not shifted.
        if all(getattr(v, "dtype", make.dtype).kind != "bool" for v in sample.args):
            yield sample
    bits = make.dtype.itemsize * 8
    # C leaves a shift by all bits undefined; here it must give what PyTorch gives.
    yield Sample((make.of(make.extremes * 2), make.of([bits - 1] * 4 + [bits] * 4)), name="all bits")


@family("binary_logarithm")
def binary_logarithm(make: Inputs) -> Iterator[Sample]:
    yield from binary(make)
    if make.dtype.is_floating_point:
        inf = float("inf")
        values = [inf, -inf, 0.0, 1.0]
        yield Sample(pairs(make, values), name="infinities")
        # Their exponential overflows, and their sum would, too.
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
        # Beyond the exponents of float32, and of every dtype.
        far = make.of([0, 140, -140, 3000, -3000], int32)
        yield Sample((make.of(limits), far), name="far exponents")
    yield Sample((make.tensor(2, 3), make.tensor(2, dtype=whole)), name="error: shapes", error=RuntimeError)


@family("frexp")
def frexp(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    # Where the exponent changes, and the ends of the normal numbers.
    values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-14, 1000.0, make.extremes[5], make.extremes[7]]
    yield Sample((make.of(values),), name="powers of two and limits")


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
    # Bounds that an integer holds, without a sign for unsigned ones.
    low, high = (1, 3) if make.dtype.kind in ("signed", "unsigned") else (-1.5, 2.0)
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), low, high), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), low), name="min only")
    yield Sample((make.tensor(2, 3), None, high), name="max only")
    # The upper bound wins, as in PyTorch.
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
    # The formula changes at 0.5, and weights beyond the ends extrapolate.
    for value in (0, 1, 0.25, 0.75, -1.5, 3.0):
        weight = value if number else make.of(value)
        yield Sample((make.tensor(2, 3), make.tensor(2, 3), weight), name=f"weight {value}")
    other = float64 if make.dtype is float32 else float32
    ends = make.tensor(2, 3), make.tensor(2, 3, dtype=other), weight
    yield Sample(ends, name=f"error: with {other.name}", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(2), weight), name="error: shapes", error=RuntimeError)


# --- special functions -----------------------------------------------------------------------------------------


@family("unary_unit")
def unary_unit(make: Inputs) -> Iterator[Sample]:
    """Numbers between -1 and 1, and these."""
    yield from unary(make, low=-0.99, high=0.99)
    yield Sample((make.of([0, 1]),), name="zero and one")
    if make.dtype.is_floating_point:
        yield Sample((make.of([-1.0, -1e-4, 1e-4, 0.999, 1.5]),), name="edges")


@family("unary_probability")
def unary_probability(make: Inputs) -> Iterator[Sample]:
    yield from unary(make, low=0.01, high=0.99)
    yield Sample((make.of([0, 1]),), name="zero and one")


@family("unary_above_one")
def unary_above_one(make: Inputs) -> Iterator[Sample]:
    yield from unary(make, low=1.1)
    yield Sample((make.of([1, 2]),), name="one")


@family("unary_gamma")
def unary_gamma(make: Inputs) -> Iterator[Sample]:
    """Positive numbers, and negative ones between the poles."""
    yield from unary(make, low=0.2)
    if make.dtype.is_floating_point:
        # Between the poles, which are the integers that are not positive.
        yield Sample(
            (make.of([-0.5, -1.25, -2.75, 0.5, 1.5, 2.5, 7.5, 30.0]),), name="negative, small, large"
        )
        yield Sample((make.of([0.0, float("inf"), float("nan")]),), name="edges")


@family("polygamma")
def polygamma(make: Inputs) -> Iterator[Sample]:
    for n in (0, 1, 2, 3):
        for sample in unary(make, low=0.5):
            yield Sample((n, *sample.args), name=f"n={n}, {sample.name}")
    if make.dtype.is_floating_point:
        yield Sample((1, make.of([-0.5, -1.25])), name="negative")
        yield Sample((2, make.of([-0.5, -1.25])), name="negative, n=2")
    yield Sample((-1, make.tensor(2, low=1)), name="error: negative order", error=RuntimeError)


@family("polygamma_method")
def polygamma_method(make: Inputs) -> Iterator[Sample]:
    for sample in polygamma(make):
        yield Sample((sample.args[1], sample.args[0]), name=sample.name, error=sample.error)


@family("polynomial", "polynomial_of_number")
def polynomial(make: Inputs) -> Iterator[Sample]:
    of_number = make.definition.name.endswith(".x_scalar")
    for shape in ((), (4,), (2, 3), (0,)):
        n = make.tensor(*shape, low=0, high=5)
        if of_number:
            yield Sample((make.number, n), name=f"shape {shape}")
        else:
            yield Sample((make.tensor(*shape, low=-2, high=2), n), name=f"shape {shape}")
    if of_number:
        yield Sample((0.5, make.of([0, 1, 2, 3, 4])), name="degrees")
        return
    degrees = make.of([0, 1, 2, 3])
    yield Sample((make.tensor(3, 1, low=-2, high=2), degrees), name="broadcast")
    yield Sample((make.tensor(3, low=-2, high=2), 3), name="a number")
    if make.dtype.kind != "bool":
        yield Sample((make.tensor(4, low=-1, high=1), make.of([5, 7, 12, 25])), name="high degrees")
    if make.dtype.is_floating_point:
        yield Sample(
            (make.of([1.0, -1.0, 0.5]), make.of([-1.0, 2.7, -3.0])), name="fractions, negative degrees"
        )
        yield Sample((make.of([float("nan"), float("inf")]), make.of([0.0, 2.0])), name="extreme values")


@family("igamma")
def igamma(make: Inputs) -> Iterator[Sample]:
    for left, right in (((3,), (3,)), ((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,)), ((0,), (1,))):
        yield Sample(
            (make.tensor(*left, low=0.2), make.tensor(*right, low=0.2)), name=f"shapes {left}, {right}"
        )
    # A series, a continued fraction, and an expansion for large and close arguments.
    yield Sample((make.of([0.1, 2.0, 30.0, 300.0]), make.of([5.0, 0.01, 35.0, 290.0])), name="far, near")
    for other in make.partners():
        if other.is_floating_point:
            yield Sample(
                (make.tensor(3, low=0.2), make.tensor(3, low=0.2, dtype=other)), name=f"with {other.name}"
            )
    edges: tuple[list[float | str], ...]
    # Limits, each with a value of its own in PyTorch.
    edges = ([0, 0, 1, 2, -1, 1, "inf", "inf", 1, "nan"], [0, 1, 0, "inf", 1, -1, 1, "inf", "nan", 1])
    yield Sample(tuple(make.of([float(v) for v in side]) for side in edges), name="extreme values")


@family("mvlgamma")
def mvlgamma(make: Inputs) -> Iterator[Sample]:
    for p in (1, 2, 4):
        # The function is defined above (p - 1) / 2.
        for sample in unary(make, low=2.5):
            yield Sample((*sample.args, p), name=f"p={p}, {sample.name}")
    yield Sample((make.tensor(2, low=1), 0), name="error: p", error=RuntimeError)


@family("zeta", "zeta_of_number")
def zeta(make: Inputs) -> Iterator[Sample]:
    of_number = make.definition.name.endswith(".self_scalar")
    for shape in ((), (4,), (2, 3), (0,)):
        x = 3 if of_number else make.tensor(*shape, low=2)
        yield Sample((x, make.tensor(*shape, low=0.5)), name=f"shape {shape}")
    if of_number:
        return
    yield Sample((make.tensor(3, 1, low=2), make.tensor(4, low=1)), name="broadcast")
    yield Sample((make.tensor(3, low=2), 1), name="a number")
    for other in make.partners():
        if other.is_floating_point:
            yield Sample(
                (make.tensor(3, low=2), make.tensor(3, low=1, dtype=other)), name=f"with {other.name}"
            )
    if make.dtype.is_floating_point:
        nan = float("nan")
        # The pole at 1, no value below it, and q at and below zero.
        powers, q = [1.0, 0.5, 2.0, 2.5, 3.0, 1.5, nan, 30.0], [2.0, 1.0, 0.0, -0.5, -1.5, 40.0, 1.0, 3.0]
        yield Sample((make.of(powers), make.of(q)), name="extreme values")


@family("logit")
def logit(make: Inputs) -> Iterator[Sample]:
    yield from unary(make, low=0.1, high=0.9)
    yield Sample((make.of([0, 1]),), name="zero and one")
    if make.dtype.is_floating_point:
        yield Sample((make.of([-0.5, 0.05, 0.3, 0.98, 1.5]), 0.1), name="eps")
        yield Sample((make.of([0.2, 0.3]),), {"eps": 0.25}, name="eps by name")


@family("angle")
def angle(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    yield Sample((make.of([0, 1]),), name="zero and one")
    if make.dtype.is_floating_point:
        # Of -0 PyTorch's angle is 0 and NumPy's pi.
        yield Sample((make.of([v for v in make.extremes if v]),), name="extreme values")


@family("positive")
def positive(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)


@family("signbit")
def signbit(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    yield Sample((make.of([v for v in make.extremes if v == v]),), name="extreme values")


@family("nan_to_num")
def nan_to_num(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    extremes = make.of(make.extremes)
    yield Sample((extremes,), name="extreme values")
    if make.dtype.is_floating_point:
        yield Sample((extremes, 1.5, 2.0, -2.0), name="replacements")
        yield Sample((extremes,), {"posinf": 3.0}, "posinf")


@family("complex")
def complex_numbers(make: Inputs) -> Iterator[Sample]:
    for left, right in (((), ()), ((3,), (3,)), ((2, 1), (3,)), ((0,), (1,)), ((2, 0, 3), (3,))):
        yield Sample((make.tensor(*left), make.tensor(*right)), name=f"{left} and {right}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), make.tensor(2, 3, layout=layout)), name=layout)
    yield Sample((make.tensor(3), make.tensor(2)), name="error: shapes", error=RuntimeError)
    other = float64 if make.dtype is not float64 else float32
    yield Sample((make.tensor(3), make.tensor(3, dtype=other)), name="error: dtypes", error=RuntimeError)
