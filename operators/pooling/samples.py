"""Samples of pooling."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.types.dtype import int32, int64
from tt.operators._samples.base import FamilyTable, Inputs, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()


def _spatial(make: Inputs) -> int:
    """Return over how many dimensions the operator of a name like avg_pool2d slides."""
    return int(next(c for c in make.definition.name if c.isdigit()))


def _distinct(make: Inputs, *shape: int) -> Tensor:
    """Return a tensor without equal elements, among which the largest is not unique."""
    count = 1
    for size in shape:
        count *= size
    return make.of(make.random.permutation(count).reshape(shape) - count // 2)


def _windows(n: int) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Yield windows that all kinds of pooling have."""
    yield "window", (2,), {}
    yield "stride 1", (2, 1), {}
    yield "stride beyond the window", (2, 3), {}
    yield "padding", (3, 2, 1), {}
    yield "one of each for a dimension", ((3, 2, 1)[:n], (2, 1, 1)[:n], (1, 1, 0)[:n]), {}
    yield "ceil_mode", (2, 2, 0), {"ceil_mode": True}
    yield "ceil_mode, padding", (3, 3, 1), {"ceil_mode": True}
    # Such a window is left out: it would hold no element.
    yield "ceil_mode, a window that starts in the padding", (2, 2, 1), {"ceil_mode": True}


def _wrong(x: Tensor) -> Iterator[Sample]:
    """Yield windows that all kinds of pooling refuse."""
    yield Sample((x, 9), name="error: window", error=RuntimeError)
    yield Sample((x, 2, 0), name="error: stride", error=RuntimeError)
    yield Sample((x, 2, 1, 2), name="error: padding", error=RuntimeError)
    yield Sample((x, 2, 1, -1), name="error: negative padding", error=RuntimeError)
    yield Sample((x[0, 0], 1), name="error: dimensions", error=RuntimeError)
    yield Sample((x[:, :0], 1), name="error: no channels", error=RuntimeError)


@family("max_pool_with_indices")
def max_pool_with_indices(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x = _distinct(make, 2, 2, *(5, 4, 3)[:n])
    for name, args, kwargs in _windows(n):
        yield Sample((x, *args), kwargs, name)
    yield Sample((x, 2, 1, 0, 2), name="dilation")
    yield Sample((x, 2, 1, 1, 2), name="dilation, padding")
    yield Sample((x, 3, 2, 1, 1, True), name="all by position")
    yield Sample((x[0], 2), name="no batch")
    yield Sample((x[:0], 2), name="empty batch")
    yield Sample((x.transpose(1, -1), 2, 1), name="transposed")
    if make.dtype.is_floating_point:
        line = make.of([[1.0, float("nan"), 0.0, float("nan"), 2.0, float("-inf")]])
        # NaN counts as the largest, whichever side of it a window begins at.
        yield Sample((line.reshape(1, *(1,) * (n - 1), 6), (1,) * (n - 1) + (2,), 1), name="NaN")
        # No element is above the value that a search would begin with.
        infinite = make.of([[float("-inf")] * 4])
        yield Sample(
            (infinite.reshape(1, *(1,) * (n - 1), 4), (1,) * (n - 1) + (3,), 1), name="minus infinity"
        )
    yield Sample((x, 2, 1, 0, 0), name="error: dilation", error=RuntimeError)
    yield from _wrong(x)


@family("max_pool_values")
def max_pool_values(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x = _distinct(make, 2, 2, *(5, 4, 3)[:n])
    for width, *others in (
        (2, None, 0, 1),
        (3, 2, 1, 1),
        (2, 1, 1, 2),
        (3, 1, 1, 1),
        (2, 2, 0, 1),
        (3, 3, 0, 1),
    ):
        for ceil_mode in (False, True):
            yield Sample((x, width, *others, ceil_mode), name=f"{width}, {others}, {ceil_mode}")
    yield Sample((x[0], 2, None, 0, 1, False), name="no batch")
    yield Sample((x[:0], 2, None, 0, 1, False), name="empty batch")
    yield Sample((x.transpose(1, -1), 2, 1, 0, 1, False), name="transposed")
    if make.dtype.is_floating_point:
        line = make.of([[1.0, float("nan"), 0.0, float("nan"), 2.0, float("-inf")]])
        yield Sample((line.reshape(1, *(1,) * (n - 1), 6), (1,) * (n - 1) + (2,), 1, 0, 1, False), name="NaN")
    yield Sample((x, 2, 1, 0, 0, False), name="error: dilation", error=RuntimeError)
    yield Sample((x, 2, 1, 2, 1, False), name="error: padding", error=RuntimeError)
    yield Sample((x, 9, 1, 0, 1, False), name="error: no window", error=RuntimeError)


@family("max_pool")
def max_pool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x = _distinct(make, 2, 2, *(5, 4, 3)[:n])
    yield Sample((x, 2), name="window")
    yield Sample((x, 3, 2, 1, 1, True), name="all but indices")
    yield Sample((x, 2, 1, 0, 2), name="dilation")
    yield Sample((x, 2, 2, 0, 1, True), name="ceil_mode")
    yield Sample((x[0], 2), {"return_indices": True}, "no batch, indices")
    yield from _wrong(x)


@family("avg_pool")
def avg_pool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x = make.tensor(2, 2, *(5, 4, 3)[:n])
    for name, args, kwargs in _windows(n):
        yield Sample((x, *args), kwargs, name)
        yield Sample((x, *args), {**kwargs, "count_include_pad": False}, f"{name}, padding not counted")
    yield Sample((x[0], 2), name="no batch")
    yield Sample((x[:0], 2), name="empty batch")
    yield Sample((x.transpose(1, -1), 2, 1), name="transposed")
    # PyTorch's avg_pool1d has no divisor.
    if n > 1:
        yield Sample((x, 2, 1), {"divisor_override": 3}, "divisor_override")
        yield Sample((x, 2, 1), {"divisor_override": 0}, "error: divisor", RuntimeError)
    yield from _wrong(x)


@family("adaptive_pool")
def adaptive_pool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x = _distinct(make, 2, 2, *(6, 5, 4)[:n])
    # Of 7 windows over 6 elements some overlap.
    for size in (1, 2, 3, 7):
        yield Sample((x, size), name=f"size {size}")
    yield Sample((x, (3, 2, 4)[:n]), name="one of each for a dimension")
    if n > 1:
        yield Sample((x, (None, 2, 3)[:n]), name="None keeps the size")
    yield Sample((x[0], 2), name="no batch")
    yield Sample((x[:0], 2), name="empty batch")
    yield Sample((x.transpose(1, -1), 2), name="transposed")
    yield Sample((x[0, 0], 1), name="error: dimensions", error=RuntimeError)
    yield Sample((x, -1), name="error: size", error=RuntimeError)


@family("adaptive_max_pool")
def adaptive_max_pool(make: Inputs) -> Iterator[Sample]:
    x = _distinct(make, 2, 2, *(6, 5, 4)[: _spatial(make)])
    yield Sample((x, 2), name="size 2")
    yield Sample((x, 4, True), name="size 4, indices")
    yield Sample((x[0], 2), {"return_indices": True}, "no batch, indices")


@family("unpool")
def unpool(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(2, 3), make.indices(2, 3, limit=5), (2, 5), 1), name="one dimension")
    yield Sample(
        (make.tensor(2, 3, 2, 2), make.indices(2, 3, 2, 2, limit=20), (2, 3, 5, 4), 2), name="two dimensions"
    )
    yield Sample((make.tensor(0, 2, 2, 2), make.indices(0, 2, 2, 2, limit=4), (0, 2, 5, 4), 2), name="empty")
    yield Sample(
        (make.tensor(2, 3), make.indices(2, 2, limit=5), (2, 5), 1), name="error: shapes", error=RuntimeError
    )


@family("avg_unpool")
def avg_unpool(make: Inputs) -> Iterator[Sample]:
    g = make.tensor(2, 3, 3)
    yield Sample((g, (7,), (3,), (2,), (0,), False, True, None), name="one dimension")
    yield Sample((g[0], (6,), (3,), (2,), (1,), False, False, None), name="padding not counted")
    yield Sample((g, (6,), (2,), None, (0,), False, True, None), name="a window's size as its step")
    yield Sample(
        (make.tensor(2, 2, 3, 3), (5, 4), (2, 3), (2, 2), (0, 1), True, True, None), name="ceil_mode"
    )
    yield Sample(
        (make.tensor(1, 2, 3, 3), (5, 4), (2, 3), (2, 2), (0, 1), True, True, 5), name="divisor_override"
    )
    yield Sample(
        (make.tensor(1, 2, 2, 2, 2), (4, 4, 5), (2, 2, 2), (2, 2, 2), (0, 0, 0), False, True, None),
        name="a volume",
    )
    yield Sample((g[:0], (7,), (3,), (2,), (0,), False, True, None), name="empty batch")
    yield Sample((g, (9,), (3,), (2,), (0,), False, True, None), name="error: windows", error=RuntimeError)
    yield Sample(
        (g, (), (3,), (2,), (0,), False, True, None), name="error: no dimensions", error=RuntimeError
    )


@family("adaptive_avg_unpool")
def adaptive_avg_unpool(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(2, 3, 3), (7,)), name="one dimension")
    yield Sample((make.tensor(2, 2, 3, 2), (6, 5)), name="two dimensions")
    yield Sample((make.tensor(2, 3, 2), (2, 5)), name="windows that share elements, no batch")
    yield Sample((make.tensor(1, 2, 2, 1, 3), (4, 4, 4)), name="a volume")
    yield Sample((make.tensor(0, 2, 2, 2), (4, 4)), name="empty batch")
    yield Sample((make.tensor(2, 3, 3), (0,)), name="error: size", error=RuntimeError)
    yield Sample((make.tensor(2, 3, 3), ()), name="error: no dimensions", error=RuntimeError)


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


def _places(make: Inputs, *shape: int, limit: int) -> Tensor:
    """Return indices that are all different in each channel."""
    lead, count = shape[:2], prod(shape[2:])
    rows = [make.random.permutation(limit)[:count] for _ in range(prod(lead))]
    return make.of(np.array(rows, dtype=np.int64).reshape(shape), int64)


@family("max_unpool")
def max_unpool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    sizes = (3, 2, 2)[:n]
    x, wide = make.tensor(2, 2, *sizes), prod(2 * size for size in sizes)
    indices = _places(make, 2, 2, *sizes, limit=wide)
    yield Sample((x, indices, 2), name="window")
    yield Sample((x, indices, (2, 2, 2)[:n], (2, 3, 2)[:n]), name="stride")
    padded = prod(2 * (size - 1) + 1 for size in sizes)
    yield Sample((x, _places(make, 2, 2, *sizes, limit=padded), 3, 2, 1), name="padding")
    larger = [2 * size + 1 for size in sizes]
    yield Sample((x, indices, 2), {"output_size": larger}, "larger")
    yield Sample((x, indices, 2), {"output_size": [2, 2, *larger]}, "larger, with batch and channels")
    yield Sample((x[0], indices[0], 2), name="no batch")
    yield Sample((x[:0], indices[:0], 2), name="empty batch")
    yield Sample((x.transpose(0, 1), indices.transpose(0, 1), 2), name="transposed")
    yield Sample((x, indices + wide, 2), name="error: index", error=RuntimeError)
    yield Sample((x, indices.to(int32), 2), name="error: dtype", error=RuntimeError)
    yield Sample((x, indices[:1], 2), name="error: indices", error=RuntimeError)
    yield Sample((x, indices, 2), {"output_size": [9 * size for size in sizes]}, "error: size", ValueError)
    yield Sample((x, indices, 2), {"output_size": [4] * (n + 1)}, "error: sizes", ValueError)
    yield Sample((x[0, 0], indices[0, 0], 2), name="error: dimensions", error=RuntimeError)


@family("fractional_max_pool")
def fractional_max_pool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x, samples = _distinct(make, 2, 2, *(7, 6, 5)[:n]), make.tensor(2, 2, n, low=0, high=0.99)
    random = {"_random_samples": samples}
    yield Sample((x, 2, 3), random, "size")
    yield Sample((x, (3, 2, 1)[:n], (3, 4, 2)[:n], None, True), random, "one of each for a dimension")
    yield Sample((x, 2), {"output_ratio": 0.5, **random}, "ratio")
    yield Sample((x, 2), {"output_ratio": (0.5, 0.7, 0.4)[:n], **random}, "ratios")
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
