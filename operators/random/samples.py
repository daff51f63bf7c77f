"""Samples of operators that draw numbers of further distributions."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import TYPE_CHECKING, Any

from tt.core.types.dtype import bool_, float32, float64
from tt.operators._samples.base import LAYOUTS, OPTION, SHAPES, FamilyTable, Inputs, Sample
from tt.operators.creation.samples import factory, like, place, sized

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()
family("random")(factory)


def filled(make: Inputs, *arguments: Any) -> Iterator[Sample]:
    """Yield a call for each shape and layout."""
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), *arguments), name=f"shape {shape}")
    # Not the expanded one: an element that several places share is not written to.
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
        # Away from 0, where the derivative grows without bound.
        pair = make.tensor(*shape, low=0.2, high=5), make.tensor(*shape, low=0.2, high=5)
        yield Sample(pair, name=f"shape {shape}")
    yield Sample((make.tensor(2, 3, low=0.2, high=5), make.tensor(3, low=0.2, high=5)), name="broadcast")
    # The derivative is computed in other ways for small and for large values.
    yield Sample((make.of([0.2, 2, 60]), make.of([0.01, 9, 55])), name="far from the mean")
    for other in make.partners():
        if other.is_floating_point:
            mixed = make.tensor(3, low=0.2, high=5), make.tensor(3, low=0.2, high=5, dtype=other)
            yield Sample(mixed, name=f"with {other.name}")


@family("dirichlet_grad")
def dirichlet_grad(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        alpha = make.tensor(*shape, low=0.2, high=2)
        # The total is above alpha, as a sum of which alpha is one part.
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
    # Large rates are drawn by rejection, small ones by counting.
    yield Sample((make.tensor(2, 3, low=0, high=60),), name="small and large")
    yield Sample((make.tensor(4, 3, low=20, high=60, layout="transposed"),), name="large, transposed")
    yield Sample((make.of([1.0, -1.0]),), name="error: negative", error=OPTION)
    yield Sample((make.of([nan]),), name="error: NaN", error=OPTION)


@family("binomial")
def binomial(make: Inputs) -> Iterator[Sample]:
    def probabilities(*shape: int) -> Tensor:
        return make.tensor(*shape, low=0, high=1)

    def counts(*shape: int) -> Tensor:
        # Below and above where the way of drawing changes.
        return make.of(make.random.integers(0, 120, shape))

    for shape in SHAPES:
        yield Sample((counts(*shape), probabilities(*shape)), name=f"shape {shape}")
    yield Sample((counts(3, 1), probabilities(2)), name="broadcast")
    yield Sample((make.of([5.0, 0.0, -1.0, 3.0]), make.of([1.0, 0.5, 0.5, 0.0])), name="certain")
    yield Sample((counts(2), probabilities(3)), name="error: shape", error=RuntimeError)


@family("randint")
def randint(make: Inputs) -> Iterator[Sample]:
    yield from sized(make, 2 if make.dtype is bool_ else 10)
    yield Sample((0, (2,)), place(make), "error: no number", RuntimeError)


@family("randint_low")
def randint_low(make: Inputs) -> Iterator[Sample]:
    yield from sized(make, *((1, 2) if make.dtype is bool_ else (2, 10)))
    if make.dtype is bool_:
        yield Sample((0, 2, (2, 3)), place(make), "both values")
    yield Sample((3, 3, (2,)), place(make), "error: no number", RuntimeError)


@family("randint_like")
def randint_like(make: Inputs) -> Iterator[Sample]:
    for sample in like(make):
        yield Sample((*sample.args, 2), sample.kwargs, sample.name, sample.error)
    yield Sample((make.tensor(2), 0), name="error: no number", error=RuntimeError)


@family("randint_like_low")
def randint_like_low(make: Inputs) -> Iterator[Sample]:
    for sample in like(make):
        yield Sample((*sample.args, 0, 2), sample.kwargs, sample.name, sample.error)
    yield Sample((make.tensor(2), 3, 3), name="error: no number", error=RuntimeError)


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
    # Bounds in the wrong order, or a negative deviation.
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


@family("bernoulli_tensor")
def bernoulli_tensor(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample(
            (make.tensor(*shape), make.tensor(*shape, low=0, high=1, dtype=float64)), name=f"shape {shape}"
        )
    yield Sample((make.tensor(2, 3), make.of([0.5, 0, 1], float64)), name="one row")
    yield Sample((make.tensor(2), make.of([0.5, 2], float64)), name="error: no probability", error=OPTION)
    yield Sample((make.tensor(2), make.of([0.5, 1, 0], float64)), name="error: shape", error=RuntimeError)


@family("exponential")
def exponential(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), 2.5), name="parameter")
    yield Sample((make.tensor(2), 0.0), name="error: rate", error=OPTION)


@family("multinomial")
def multinomial(make: Inputs) -> Iterator[Sample]:
    for shape, count in (((4,), 2), ((3, 4), 4), ((1,), 1), ((0, 3), 2)):
        # Away from 0, so that there are enough weights to draw from without replacement.
        yield Sample((make.tensor(*shape, low=0.5, high=1), count), name=f"{count} of {shape}")
        yield Sample((make.tensor(*shape, low=0.5, high=1), 5, True), name=f"5 of {shape} with replacement")
    yield Sample((make.of([1.0, 2.0]), 3), name="error: too many", error=RuntimeError)
    yield Sample((make.of([1.0, 2.0]), 0), name="error: none", error=RuntimeError)
    yield Sample((make.of([0.0, 0.0]), 1), name="error: no weight", error=RuntimeError)
    yield Sample((make.of([1.0, -1.0]), 1), name="error: negative", error=RuntimeError)
    yield Sample((make.tensor(2, 2, 2, low=0, high=1), 1), name="error: three dims", error=RuntimeError)


@family("normal_tensors")
def normal_tensors(make: Inputs) -> Iterator[Sample]:
    for left, right in (((), ()), ((3,), (3,)), ((2, 1), (3,)), ((0,), (1,))):
        std = make.tensor(*right, low=0, high=2, dtype=float32)
        yield Sample((make.tensor(*left), std), name=f"{left} and {right}")
    yield Sample((make.tensor(2), make.of([1.0, -1.0], float32)), name="error: negative", error=OPTION)
    yield Sample((make.tensor(2), make.tensor(3, dtype=float32)), name="error: shapes", error=RuntimeError)


@family("normal_tensor_float")
def normal_tensor_float(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), 0.5), name=f"shape {shape}")
    yield Sample((make.tensor(2), -1.0), name="error: negative", error=OPTION)


@family("normal_float_tensor")
def normal_float_tensor(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((0.5, make.tensor(*shape, low=0, high=2)), name=f"shape {shape}")
    yield Sample((0.5, make.of([1.0, -1.0])), name="error: negative", error=OPTION)


@family("normal_float_float")
def normal_float_float(make: Inputs) -> Iterator[Sample]:
    yield from sized(make, 1.0, 2.0)
    yield Sample((1.0, -1.0, (2,)), place(make), "error: negative deviation", OPTION)


def channels(make: Inputs, *shapes: tuple[int, ...], below: str = "a vector") -> Iterator[Sample]:
    """Yield samples of operators that drop whole channels; `below` has too few dimensions."""
    for shape in shapes:
        yield Sample((make.tensor(*shape), 0.5, True), name=f"shape {shape}")
    yield Sample((make.tensor(*shapes[0]), 0.5, False), name="not training")
    small = make.tensor(3) if below == "a vector" else make.tensor()
    yield Sample((small, 0.5, True), name=f"error: {below}", error=RuntimeError)
    yield Sample((make.tensor(*shapes[0]), 1.5), name="error: no probability", error=OPTION)


@family("dropout1d")
def dropout1d(make: Inputs) -> Iterator[Sample]:
    yield from channels(make, (2, 3, 4), (3, 4))


@family("dropout2d")
def dropout2d(make: Inputs) -> Iterator[Sample]:
    yield from channels(make, (2, 3, 4, 5), (3, 4, 5))


@family("dropout3d")
def dropout3d(make: Inputs) -> Iterator[Sample]:
    yield from channels(make, (2, 3, 4, 2, 2), (3, 4, 2, 2), below="a number")


@family("dropout")
def dropout(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), 0.5), name=f"shape {shape}")
    for p, training in ((0.5, True), (0.5, False), (0.0, True), (1.0, True)):
        yield Sample((make.tensor(2, 3), p, training), name=f"p {p}, training {training}")
    yield Sample((make.tensor(2), 1.5), name="error: no probability", error=OPTION)


@family("native_dropout")
def native_dropout(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), 0.5, True), name=f"shape {shape}")
    for p, training in ((0.5, None), (0.5, False), (0.0, True), (1.0, True)):
        yield Sample((make.tensor(2, 3), p, training), name=f"p {p}, training {training}")
    yield Sample((make.tensor(2), 1.5, True), name="error: no probability", error=OPTION)


@family("native_dropout_backward")
def native_dropout_backward(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.tensor(*shape, dtype=bool_), 2.0), name=f"shape {shape}")
    yield Sample((make.tensor(2), make.tensor(3, dtype=bool_), 2.0), name="error: shapes", error=RuntimeError)
