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
