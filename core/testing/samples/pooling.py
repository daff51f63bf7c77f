"""Samples of pooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample

family = FamilyTable()


def _spatial(make: Inputs) -> int:
    """Return over how many dimensions the operator of a name like avg_pool2d slides."""
    return int(next(c for c in make.definition.name if c.isdigit()))


def _distinct(make: Inputs, *shape: int) -> Any:
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
    yield "ceil_mode, a window that starts in the padding", (2, 2, 1), {"ceil_mode": True}


def _wrong(x: Any) -> Iterator[Sample]:
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
        yield Sample((line.reshape(1, *(1,) * (n - 1), 6), (1,) * (n - 1) + (2,), 1), name="NaN")
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
    if n > 1:
        yield Sample((x, 2, 1), {"divisor_override": 3}, "divisor_override")
        yield Sample((x, 2, 1), {"divisor_override": 0}, "error: divisor", RuntimeError)
    yield from _wrong(x)


@family("adaptive_pool")
def adaptive_pool(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x = _distinct(make, 2, 2, *(6, 5, 4)[:n])
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
