"""Samples of pooling by powers, of what undoes max pooling, and of windows at random places."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample
from tt.core.testing.samples.pooling import _distinct, _spatial
from tt.core.types.dtype import int32, int64

family = FamilyTable()


@family("lp_pool")
def lp_pool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x = make.tensor(2, 2, *(5, 4, 3)[:n], low=0.5)
    yield Sample((x, 2.0, 2), name="window")
    yield Sample((x, 3.0, 2, 1), name="odd norm, stride")
    yield Sample((x, 1.5, (2, 1, 3)[:n], (1, 2, 1)[:n]), name="one of each for a dimension")
    yield Sample((x, 2.0, 2, 2, True), name="ceil_mode")
    yield Sample((x[0], 2.0, 2), name="no batch")
    yield Sample((x[:0], 2.0, 2), name="empty batch")
    yield Sample((x.transpose(1, -1), 2.0, 2, 1), name="transposed")
    yield Sample((x, 2.0, 9), name="error: window", error=RuntimeError)
    yield Sample((x, 2.0, 2, 0), name="error: stride", error=RuntimeError)


def _windows_of_powers(make: Inputs) -> Iterator[tuple[Any, ...]]:
    """Yield an input, the order of its norm, and windows."""
    for n in (1, 2, 3):
        x = make.tensor(2, 2, *(5, 4, 3)[:n], low=0.5)
        yield x, 2.0, (2,) * n, None, False
        yield x, 3.0, (2, 1, 3)[:n], (1, 2, 1)[:n], False
        yield x[0], 1.5, (2,) * n, (2,) * n, True
        yield x.transpose(1, -1), 1.0, (2,) * n, (1,) * n, False
        yield x[:0], 2.0, (2,) * n, None, False


@family("lp_pool_windows")
def lp_pool_windows(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(_windows_of_powers(make)):
        yield Sample(args, name=f"{number}: {list(args[0].shape)}, norm {args[1]}")
    x = make.tensor(2, 2, 5, low=0.5)
    yield Sample((x, 0.0, (2,), None, False), name="error: norm", error=ZeroDivisionError)
    yield Sample((x, 2.0, (9,), None, False), name="error: window", error=RuntimeError)
    yield Sample((x, 2.0, (2,), (0,), False), name="error: stride", error=RuntimeError)


@family("lp_pool_backward")
def lp_pool_backward(make: Inputs) -> Iterator[Sample]:
    for number, (x, order, kernel, stride, ceil_mode) in enumerate(_windows_of_powers(make)):
        hops = kernel if stride is None else stride
        shape = [
            (-((k - n) // h) if ceil_mode else (n - k) // h) + 1
            for n, k, h in zip(x.shape[-len(kernel) :], kernel, hops, strict=True)
        ]
        grad = make.tensor(*x.shape[: -len(kernel)], *shape)
        name = f"{number}: {list(x.shape)}, norm {order}"
        yield Sample((grad, x, order, kernel, stride, ceil_mode), name=name)
    x = make.tensor(2, 2, 5, low=0.5)
    yield Sample((x, x, 2.0, (2,), None, False), name="error: grad", error=RuntimeError)


def _places(make: Inputs, *shape: int, limit: int) -> Any:
    """Return indices that are all different in each channel."""
    lead, count = shape[:2], prod(shape[2:])
    rows = [make.random.permutation(limit)[:count] for _ in range(prod(lead))]
    return make.of(np.array(rows, dtype=np.int64).reshape(shape), int64)


@family("max_unpool")
def max_unpool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    sizes = (3, 2, 2)[:n]
    x, wide = make.tensor(2, 2, *sizes), prod(2 * size for size in sizes)
    places = _places(make, 2, 2, *sizes, limit=wide)
    yield Sample((x, places, 2), name="window")
    yield Sample((x, places, (2, 2, 2)[:n], (2, 3, 2)[:n]), name="stride")
    padded = prod(2 * (size - 1) + 1 for size in sizes)
    yield Sample((x, _places(make, 2, 2, *sizes, limit=padded), 3, 2, 1), name="padding")
    larger = [2 * size + 1 for size in sizes]
    yield Sample((x, places, 2), {"output_size": larger}, "larger")
    yield Sample((x, places, 2), {"output_size": [2, 2, *larger]}, "larger, with batch and channels")
    yield Sample((x[0], places[0], 2), name="no batch")
    yield Sample((x[:0], places[:0], 2), name="empty batch")
    yield Sample((x.transpose(0, 1), places.transpose(0, 1), 2), name="transposed")
    yield Sample((x, places + wide, 2), name="error: index", error=RuntimeError)
    yield Sample((x, places.to(int32), 2), name="error: dtype", error=RuntimeError)
    yield Sample((x, places[:1], 2), name="error: indices", error=RuntimeError)
    yield Sample((x, places, 2), {"output_size": [9 * size for size in sizes]}, "error: size", ValueError)
    yield Sample((x, places, 2), {"output_size": [4] * (n + 1)}, "error: sizes", ValueError)
    yield Sample((x[0, 0], places[0, 0], 2), name="error: dimensions", error=RuntimeError)


@family("fractional_max_pool")
def fractional_max_pool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x, samples = _distinct(make, 2, 2, *(7, 6, 5)[:n]), make.tensor(2, 2, n, low=0, high=0.99)
    given = {"_random_samples": samples}
    yield Sample((x, 2, 3), given, "size")
    yield Sample((x, (3, 2, 1)[:n], (3, 4, 2)[:n], None, True), given, "one of each for a dimension")
    yield Sample((x, 2), {"output_ratio": 0.5, **given}, "ratio")
    yield Sample((x, 2), {"output_ratio": (0.5, 0.7, 0.4)[:n], **given}, "ratios")
    yield Sample((x[0], 2, 3), {"_random_samples": samples[:1]}, "no batch")
    # So many channels that two seeds do not choose the same windows in all of them.
    yield Sample((_distinct(make, 4, 5, *(7, 6, 5)[:n]), 2, 3), name="drawn")
    yield Sample((x, 2), name="error: size", error=ValueError)
    yield Sample((x, 2, 9), name="error: windows", error=RuntimeError)
    yield Sample((x, 2, 3, None, False, samples[:, :1]), name="error: samples", error=RuntimeError)


@family("fractional_max_pool_of_samples")
def fractional_max_pool_of_samples(make: Inputs) -> Iterator[Sample]:
    for n in (2, 3):
        x, samples = _distinct(make, 2, 2, *(7, 6, 5)[:n]), make.tensor(2, 2, n, low=0, high=0.99)
        yield Sample((x, (2, 3, 1)[:n], (3, 4, 2)[:n], samples), name=f"{n} dimensions")
        yield Sample((x[0], (2,) * n, (1,) * n, samples[:1]), name=f"{n} dimensions, no batch, one window")
        yield Sample((x[:0], (2,) * n, (2,) * n, samples[:0]), name=f"{n} dimensions, empty batch")
        yield Sample((x, (2,) * n, (0,) * n, samples), name=f"{n} dimensions, no windows")
        if make.dtype.is_floating_point:
            holes = x.masked_fill(x % 3 == 0, float("nan"))
            yield Sample((holes, (2,) * n, (3,) * n, samples), name=f"{n} dimensions, NaN")
    yield Sample((x, (9,) * 3, (1,) * 3, samples), name="error: window", error=RuntimeError)
    yield Sample((x, (2,) * 3, (2,) * 3, samples[..., :2]), name="error: samples", error=RuntimeError)


@family("channel_shuffle")
def channel_shuffle(make: Inputs) -> Iterator[Sample]:
    for shape, groups in (
        ((2, 6, 3), 3),
        ((1, 4, 2, 2), 2),
        ((2, 3, 1, 2, 1), 1),
        ((0, 4, 2), 2),
        ((2, 4, 0), 2),
    ):
        yield Sample((make.tensor(*shape), groups), name=f"{list(shape)}, {groups} groups")
    yield Sample((make.tensor(2, 4, 3, layout="transposed"), 2), name="transposed")
    yield Sample((make.tensor(4, 4), 2), name="error: dimensions", error=RuntimeError)
    yield Sample((make.tensor(2, 4, 3), 3), name="error: channels", error=RuntimeError)
    yield Sample((make.tensor(2, 4, 3), 0), name="error: groups", error=RuntimeError)


@family("conv_tbc")
def conv_tbc(make: Inputs) -> Iterator[Sample]:
    x, weight, bias = make.tensor(5, 2, 3), make.tensor(2, 3, 4), make.tensor(4)
    yield Sample((x, weight, bias), name="no padding")
    yield Sample((x, weight, bias, 2), name="padding")
    yield Sample((x.transpose(0, 1), weight, bias), name="transposed")
    yield Sample((x[0], weight, bias), name="error: input", error=RuntimeError)
    yield Sample((x, weight[0], bias), name="error: weight", error=RuntimeError)
    yield Sample((x, weight[:, :2], bias), name="error: channels", error=RuntimeError)
    yield Sample((x, weight, bias[:3]), name="error: bias", error=RuntimeError)


@family("upsample", "upsample_bilinear")
def upsample(make: Inputs) -> Iterator[Sample]:
    x = make.tensor(1, 2, 3, 4)
    yield Sample((x, (5, 7)), name="size")
    yield Sample((x,), {"scale_factor": 2}, "factor")
    if make.definition.name == "upsample" and make.dtype.is_floating_point:
        yield Sample((x, None, 2, "bilinear", True), name="bilinear")
    yield Sample((x,), name="error: size", error=ValueError)


@family("local_response_norm")
def local_response_norm(make: Inputs) -> Iterator[Sample]:
    for shape in ((2, 4, 3), (2, 5, 2, 3), (1, 3, 2, 1, 2)):
        for size in (1, 2, 3):
            yield Sample((make.tensor(*shape), size), name=f"{list(shape)}, size {size}")
            more = {"alpha": 0.5, "beta": 0.5, "k": 2.0}
            yield Sample((make.tensor(*shape), size), more, f"{list(shape)}, size {size}, {more}")
    yield Sample((make.tensor(0, 4, 3), 2), name="empty batch")
    yield Sample((make.tensor(2, 4, 3, layout="transposed"), 3), name="transposed")
    yield Sample((make.tensor(2, 4), 2), name="error: dimensions", error=ValueError)
    yield Sample((make.tensor(2, 4, 3), 0), name="error: size", error=RuntimeError)


def _responses(make: Inputs) -> Iterator[tuple[Any, int, float, float, float]]:
    """Yield the arguments of a normalization by neighbouring channels."""
    for size in (1, 2, 3):
        yield make.tensor(2, 4, 3), size, 0.5, 0.75, 1.0
        yield make.tensor(1, 3, 2, 1, 2), size, 0.5, 0.5, 2.0
    yield make.tensor(2, 4, 3, layout="transposed"), 3, 0.5, 0.75, 1.0
    yield make.tensor(0, 4, 3), 2, 0.5, 0.75, 1.0


@family("local_response_norm_parts")
def local_response_norm_parts(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(_responses(make)):
        yield Sample(args, name=f"{number}: {list(args[0].shape)}, size {args[1]}")
    yield Sample((make.tensor(2, 4), 2, 0.5, 0.75, 1.0), name="error: dimensions", error=ValueError)
    yield Sample((make.tensor(2, 4, 3), 0, 0.5, 0.75, 1.0), name="error: size", error=RuntimeError)


@family("local_response_norm_backward")
def local_response_norm_backward(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(_responses(make)):
        grad = make.tensor(*args[0].shape)
        yield Sample((grad, *args), name=f"{number}: {list(args[0].shape)}, size {args[1]}")
    x = make.tensor(2, 4, 3)
    yield Sample((x[:1], x, 2, 0.5, 0.75, 1.0), name="error: grad", error=RuntimeError)


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
