"""Samples of functions of one argument whose domain is not all numbers, or that have further arguments."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample
from tt.core.testing.samples.pointwise import unary

family = FamilyTable()


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
    yield Sample((make.of([0.1, 2.0, 30.0, 300.0]), make.of([5.0, 0.01, 35.0, 290.0])), name="far, near")
    for other in make.partners():
        if other.is_floating_point:
            yield Sample(
                (make.tensor(3, low=0.2), make.tensor(3, low=0.2, dtype=other)), name=f"with {other.name}"
            )
    edges: tuple[list[float | str], ...]
    edges = ([0, 0, 1, 2, -1, 1, "inf", "inf", 1, "nan"], [0, 1, 0, "inf", 1, -1, 1, "inf", "nan", 1])
    yield Sample(tuple(make.of([float(v) for v in side]) for side in edges), name="extreme values")


@family("mvlgamma")
def mvlgamma(make: Inputs) -> Iterator[Sample]:
    for p in (1, 2, 4):
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
