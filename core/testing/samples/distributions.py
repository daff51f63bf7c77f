"""Samples of operators that draw numbers of further distributions."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Any

from tt.core.testing.samples.base import LAYOUTS, OPTION, SHAPES, FamilyTable, Inputs, Sample

family = FamilyTable()


def filled(make: Inputs, *arguments: Any) -> Iterator[Sample]:
    """Yield a call for each shape and layout."""
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), *arguments), name=f"shape {shape}")
    for layout in LAYOUTS[:3]:
        yield Sample((make.tensor(2, 3, layout=layout), *arguments), name=layout)


@family("cauchy", "log_normal")
def cauchy(make: Inputs) -> Iterator[Sample]:
    yield from filled(make)
    yield Sample((make.tensor(2, 3), 1.0, 0.5), name="parameters")
    yield Sample((make.tensor(2), 0.0, 0.0), name="error: scale", error=OPTION)


@family("geometric")
def geometric(make: Inputs) -> Iterator[Sample]:
    yield from filled(make, 0.5)
    yield Sample((make.tensor(2), 0.0), name="error: zero", error=OPTION)
    yield Sample((make.tensor(2), 1.0), name="error: one", error=OPTION)


@family("random_from")
def random_from(make: Inputs) -> Iterator[Sample]:
    yield from filled(make, 0, 2)
    yield Sample((make.tensor(2, 3), 1, None), name="to the largest")
    yield Sample((make.tensor(2), 3, 3), name="error: bounds", error=RuntimeError)


@family("random_to")
def random_to(make: Inputs) -> Iterator[Sample]:
    yield from filled(make, 2)
    yield Sample((make.tensor(2), 0), name="error: bound", error=RuntimeError)


@family("random_of_dtype")
def random_of_dtype(make: Inputs) -> Iterator[Sample]:
    yield from filled(make)


@family("standard_gamma")
def standard_gamma(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        if shape:
            yield Sample((make.tensor(*shape, low=0.1, high=5),), name=f"shape {shape}")
    for layout in LAYOUTS[:3]:
        yield Sample((make.tensor(2, 3, low=0.1, high=5, layout=layout),), name=layout)


@family("standard_gamma_grad")
def standard_gamma_grad(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        pair = make.tensor(*shape, low=0.2, high=5), make.tensor(*shape, low=0.2, high=5)
        yield Sample(pair, name=f"shape {shape}")
    yield Sample((make.tensor(2, 3, low=0.2, high=5), make.tensor(3, low=0.2, high=5)), name="broadcast")
    yield Sample((make.of([0.2, 2, 60]), make.of([0.01, 9, 55])), name="far from the mean")
    for other in make.partners():
        if other.is_floating_point:
            mixed = make.tensor(3, low=0.2, high=5), make.tensor(3, low=0.2, high=5, dtype=other)
            yield Sample(mixed, name=f"with {other.name}")


@family("dirichlet_grad")
def dirichlet_grad(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        alpha = make.tensor(*shape, low=0.2, high=2)
        x, total = make.tensor(*shape, low=0.1, high=0.9), make.tensor(*shape, low=2.5, high=5)
        yield Sample((x, alpha, total), name=f"shape {shape}")
    yield Sample((make.of([0.1, 0.5, 0.99]), make.of(2.0), make.of([3.0, 40, 2.1])), name="broadcast")
    rows = make.of([[0.2], [0.7]]), make.of([0.5, 1.5, 2.0]), make.of([3.0, 4.0, 5.0])
    yield Sample(rows, name="broadcast from the first")
    for other in make.partners():
        if other.is_floating_point:
            alpha = make.tensor(3, low=0.2, high=2, dtype=other)
            mixed = make.tensor(3, low=0.1, high=0.9), alpha, make.tensor(3, low=2.5, high=5)
            yield Sample(mixed, name=f"with {other.name}")


@family("poisson")
def poisson(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape, low=0, high=4),), name=f"small, shape {shape}")
    yield Sample((make.tensor(2, 3, low=0, high=60),), name="small and large")
    yield Sample((make.tensor(4, 3, low=20, high=60, layout="transposed"),), name="large, transposed")
    yield Sample((make.of([1.0, -1.0]),), name="error: negative", error=OPTION)
    yield Sample((make.of([nan]),), name="error: NaN", error=OPTION)


@family("binomial")
def binomial(make: Inputs) -> Iterator[Sample]:
    def probabilities(*shape: int) -> Any:
        return make.tensor(*shape, low=0, high=1)

    def counts(*shape: int) -> Any:
        return make.of(make.random.integers(0, 120, shape))

    for shape in SHAPES:
        yield Sample((counts(*shape), probabilities(*shape)), name=f"shape {shape}")
    yield Sample((counts(3, 1), probabilities(2)), name="broadcast")
    yield Sample((make.of([5.0, 0.0, -1.0, 3.0]), make.of([1.0, 0.5, 0.5, 0.0])), name="certain")
    yield Sample((counts(2), probabilities(3)), name="error: shape", error=RuntimeError)
