"""Samples of activation functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tt.core.types.dtype import float64
from tt.operators._samples.base import LAYOUTS, OPTION, FamilyTable, Inputs, Sample
from tt.operators.pointwise.samples import binary, unary

family = FamilyTable()

# Values of the further arguments, by operator.
ARGUMENTS: Final[dict[str, tuple[tuple[Any, ...], ...]]] = {
    "elu": ((0.5,), (2.0,)),
    "celu": ((0.5,), (2.0,)),
    "leaky_relu": ((0.25,),),
    "hardtanh": ((-2, 3),),
    "hardshrink": ((2.5,),),
    "softshrink": ((2.5,),),
    "softplus": ((2.0,), (0.5, 1.0)),
}
ERRORS: Final[dict[str, tuple[Any, ...]]] = {"celu": (0.0,), "hardtanh": (2.0, 1.0), "softshrink": (-1.0,)}


@family("activation")
def activation(make: Inputs) -> Iterator[Sample]:
    name, overload = make.definition.signature.name, make.definition.signature.overload
    # The argument alone chooses the overload; with true it would change the sample.
    kwargs = {"inplace": False} if overload == "inplace" else {}
    if name == "hardtanh" and make.dtype.kind == "unsigned":
        for sample in unary(make):
            yield Sample((*sample.args, 1, 3), kwargs, sample.name)
        return
    for sample in unary(make):
        yield Sample(sample.args, kwargs, sample.name)
    for arguments in ARGUMENTS.get(name, ()):
        yield Sample((make.tensor(2, 5), *arguments), kwargs, f"with {arguments}")
    if make.dtype.is_floating_point:
        far = [-100.0, -30.0, 30.0, 100.0, 0.0]
        yield Sample((make.of(far),), kwargs, "far from 0")
        if name in ERRORS:
            yield Sample((make.tensor(2), *ERRORS[name]), kwargs, "error: argument", OPTION)


@family("threshold")
def threshold(make: Inputs) -> Iterator[Sample]:
    kwargs = {"inplace": False} if make.definition.signature.overload == "inplace" else {}
    for sample in unary(make):
        yield Sample((*sample.args, 1, 7), kwargs, sample.name)
    if make.dtype.is_floating_point:
        yield Sample((make.tensor(2, 3), 0.5, -1.5), kwargs, "fractions")


BACKWARD: Final[dict[str, tuple[tuple[Any, ...], ...]]] = {
    "threshold_backward": ((0,), (0.5,)),
    "hardtanh_backward": ((-1, 1), (-2.5, 3.0)),
    "leaky_relu_backward": ((0.25,),),
    "elu_backward": ((1.0, 1, 1), (0.5, 2.0, 0.25)),
    "softplus_backward": ((1.0, 20.0), (2.0, 1.0)),
}


@family("activation_backward")
def activation_backward(make: Inputs) -> Iterator[Sample]:
    name = make.definition.name
    for number, arguments in enumerate(BACKWARD.get(name, ((),))):
        for sample in binary(make, numbers=False):
            if number == 0 or sample.name.startswith("shape"):
                yield Sample(
                    (*sample.args, *arguments), name=f"{sample.name} {arguments or ''}", error=sample.error
                )
    # On both sides of all bounds and between them, so that it shows which gradient met which number.
    across = make.of([-6.0, 0.5, 6.0])
    first = BACKWARD.get(name, ((),))[0]
    yield Sample((make.tensor(2, 3), across, *first), name="across the bounds, a row of numbers")
    yield Sample((make.tensor(2, 1), across, *first), name="across the bounds, a column of gradients")
    pair = (make.tensor(2, 3), make.tensor(2, 3))
    if name == "gelu_backward":
        yield Sample(pair, {"approximate": "tanh"}, "approximate")
        yield Sample(pair, {"approximate": "sinh"}, "error: approximate", OPTION)


@family("prelu")
def prelu(make: Inputs) -> Iterator[Sample]:
    for sample in unary(make):
        yield Sample((*sample.args, make.tensor(1, low=0.1)), name=sample.name)
    for shape in ((2, 3), (2, 3, 2), (2, 3, 0)):
        yield Sample((make.tensor(*shape), make.tensor(3, low=0.1)), name=f"shape {shape}, by channel")
    yield Sample((make.tensor(2, 3), make.tensor(low=0.1)), name="zero-dimensional weight")
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: channels", error=RuntimeError)


@family("prelu_kernel")
def prelu_kernel(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0, 3)):
        yield Sample((make.tensor(*shape), make.tensor(*shape)), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3, 2), make.tensor(1, 3, 1)), name="by channel")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), make.tensor(2, 3)), name=layout)
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: shapes", error=RuntimeError)


@family("prelu_backward")
def prelu_backward(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0, 3)):
        yield Sample((make.tensor(*shape), make.tensor(*shape), make.tensor(*shape)), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3, 2), make.tensor(2, 3, 2), make.tensor(1, 3, 1)), name="by channel")
    for layout in LAYOUTS:
        args = (make.tensor(2, 3), make.tensor(2, 3, layout=layout), make.tensor(2, 3))
        yield Sample(args, name=layout)
    wrong = (make.tensor(2, 3), make.tensor(2, 3), make.tensor(2))
    yield Sample(wrong, name="error: shapes", error=RuntimeError)


@family("glu")
def glu(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((4,), 0), ((2, 6), 1), ((4, 3), 0), ((2, 3, 4), -1), ((0, 4), 1)):
        yield Sample((make.tensor(*shape), dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 4, layout=layout),), name=layout)
    yield Sample((make.tensor(2, 3),), name="error: odd size", error=RuntimeError)
    yield Sample((make.tensor(2, 4), 2), name="error: dim", error=IndexError)


@family("glu_backward")
def glu_backward(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((4,), 0), ((2, 6), 1), ((4, 3), 0), ((2, 6, 4), -2), ((2, 3, 4), -1), ((0, 4), 1)):
        half = list(shape)
        half[dim] //= 2
        yield Sample((make.tensor(*half), make.tensor(*shape), dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 2), make.tensor(2, 4, layout=layout)), name=layout)
        yield Sample((make.tensor(2, 4, layout=layout), make.tensor(2, 8)), name=f"{layout} gradient")
    yield Sample((make.tensor(2, 1), make.tensor(2, 6)), name="a column of gradients")
    yield Sample((make.tensor(), make.tensor(4, 3), 0), name="one gradient")
    yield Sample((make.tensor(2, 1), make.tensor(2, 3)), name="error: odd size", error=RuntimeError)
    yield Sample((make.tensor(2, 2), make.tensor(2, 4), 2), name="error: dim", error=IndexError)
    yield Sample((make.tensor(2, 4), make.tensor(2, 4)), name="error: shapes", error=RuntimeError)
    yield Sample((make.tensor(2, 2), make.tensor(4)), name="error: more dimensions", error=RuntimeError)


@family("gelu")
def gelu(make: Inputs) -> Iterator[Sample]:
    yield from unary(make)
    yield Sample((make.tensor(2, 3),), {"approximate": "tanh"}, "tanh")
    yield Sample((make.tensor(2, 3),), {"approximate": "cubic"}, "error: unknown approximation", OPTION)


@family("softmax_backward")
def softmax_backward(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (
        ((3,), 0),
        ((2, 3), 1),
        ((2, 3), 0),
        ((2, 3, 4), -2),
        ((), 0),
        ((0, 3), 1),
        ((2, 0), 0),
    ):
        yield Sample((make.tensor(*shape), make.tensor(*shape), dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        args = (make.tensor(2, 3), make.tensor(2, 3, layout=layout), 1)
        yield Sample(args, name=layout)
    yield Sample((make.tensor(2, 3), make.tensor(3, 2), 1), name="error: shapes", error=RuntimeError)


@family("softmax")
def softmax(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (
        ((3,), 0),
        ((2, 3), 1),
        ((2, 3), 0),
        ((2, 3, 4), -2),
        ((), 0),
        ((0, 3), 1),
        ((2, 0), 0),
    ):
        yield Sample((make.tensor(*shape), dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=layout)
    yield Sample((make.of([[100.0, -100.0, 0.0], [300.0, 300.0, 299.0]]), 1), name="large values")
    yield Sample((make.tensor(2, 3), 1, float64), name="dtype=float64")
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


@family("softmax_implicit")
def softmax_implicit(make: Inputs) -> Iterator[Sample]:
    # Without dim these warn.
    for shape, dim in (((), 0), ((3,), -1), ((2, 3), 1), ((2, 3, 2), 0)):
        yield Sample((make.tensor(*shape),), {"dim": dim, "_stacklevel": 3}, f"shape {shape}, dim {dim}")
    if make.dtype.is_floating_point:
        yield Sample((make.tensor(2, 3), 0, 3, float64), name="dim and dtype")
    yield Sample((make.tensor(2, 3), 2, 3), name="error: dim", error=IndexError)


@family("gumbel_softmax")
def gumbel_softmax(make: Inputs) -> Iterator[Sample]:
    for shape in ((3,), (2, 4), (2, 3, 2)):
        for hard in (False, True):
            yield Sample((make.tensor(*shape), 0.5, hard), name=f"{list(shape)}, hard {hard}")
    yield Sample((make.tensor(2, 4),), {"dim": 0}, "dim 0")
    yield Sample((make.tensor(2, 4), 1.0, False, 1e-5), name="eps")
    yield Sample((make.tensor(2, 4),), {"dim": 2}, "error: dim", IndexError)


@family("rrelu")
def rrelu(make: Inputs) -> Iterator[Sample]:
    more = {"inplace": False} if make.definition.signature.overload == "inplace" else {}
    for shape in ((), (3,), (2, 3), (0,)):
        for training in (False, True):
            yield Sample(
                (make.tensor(*shape), 0.1, 0.4, training), more, f"{list(shape)}, training {training}"
            )
    yield Sample((make.tensor(2, 3, layout="transposed"),), {**more, "training": True}, "transposed")
    yield Sample((make.tensor(3), 0.5, 0.25), more, "error: bounds", RuntimeError)
    yield Sample((make.tensor(3), float("-inf"), 0.25), more, "error: infinite", RuntimeError)
