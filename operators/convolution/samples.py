"""Samples of convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tt.operators._samples.base import FamilyTable, Inputs, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()


def _spatial(make: Inputs) -> int:
    """Return over how many dimensions the operator of a name like conv2d slides."""
    return int(next(c for c in make.definition.name if c.isdigit()))


def _number(make: Inputs, *shape: int) -> Tensor:
    # Small numbers, whose sums of products fit into every dtype.
    return make.tensor(*shape, low=-2, high=2)


@family("conv")
def conv(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x, w = _number(make, 2, 4, *(5, 4, 3)[:n]), _number(make, 6, 4, *(3, 2, 2)[:n])
    half = _number(make, 6, 2, *(3, 2, 2)[:n])
    bias = _number(make, 6)
    yield Sample((x, w), name="no bias")
    yield Sample((x, w, bias), name="bias")
    yield Sample((x[0], w, bias), name="no batch")
    yield Sample((x[:0], w, bias), name="empty batch")
    yield Sample((x, w, bias, 2, 1), name="stride and padding")
    yield Sample(
        (x, w, None, (2, 1, 1)[:n], (1, 0, 1)[:n], (2, 1, 1)[:n]), name="one of each for a dimension"
    )
    yield Sample((x, w, None, 1, 2, 2), name="dilation")
    yield Sample((x, half, bias, 1, 1, 1, 2), name="groups")
    yield Sample((x, _number(make, 8, 1, *(2,) * n), None, 1, 0, 1, 4), name="depthwise")
    # Such a convolution is a product of matrices, and may be computed so.
    yield Sample((x, _number(make, 3, 4, *(1,) * n)), name="kernel of one element")
    yield Sample((x, _number(make, 3, 4, *(1,) * n), None, 2), name="kernel of one element, stride")
    yield Sample((make.tensor(2, 4, *(5, 4, 3)[:n], low=-2, high=2, layout="strided"), w), name="strided")
    yield Sample(
        (make.tensor(2, 4, *(5, 4, 3)[:n], low=-2, high=2, layout="transposed"), w), name="transposed"
    )
    yield Sample((x, w), {"stride": 3, "groups": 1}, name="keywords")
    yield Sample((x, _number(make, 6, 3, *(1,) * n)), name="error: channels", error=RuntimeError)
    yield Sample((x, _number(make, 6, 4, *(9,) * n)), name="error: kernel too large", error=RuntimeError)
    yield Sample((x, w, None, 0), name="error: stride", error=RuntimeError)
    yield Sample((x, w, None, 1, -1), name="error: padding", error=RuntimeError)
    yield Sample((x, w, None, 1, 0, 0), name="error: dilation", error=RuntimeError)
    yield Sample((x, w, None, 1, 0, 1, 0), name="error: groups", error=RuntimeError)
    yield Sample((x, w, None, 1, 0, 1, 5), name="error: groups that do not divide", error=RuntimeError)
    yield Sample((x, w, bias[:5]), name="error: bias", error=RuntimeError)
    yield Sample((x[0, 0], w), name="error: dimensions", error=RuntimeError)


@family("conv_padding")
def conv_padding(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x, w = _number(make, 2, 4, *(5, 4, 4)[:n]), _number(make, 6, 4, *(3, 2, 2)[:n])
    for padding in ("same", "valid"):
        yield Sample((x, w, None, 1, padding), name=padding)
        yield Sample((x, w, _number(make, 6), 1, padding, (2, 3, 1)[:n]), name=f"{padding}, dilation, bias")
    yield Sample((x[0], _number(make, 2, 2, *(2, 3, 1)[:n]), None, 1, "same", 1, 2), name="no batch, groups")
    yield Sample((x, w, None, 2, "valid"), name="valid, stride")
    yield Sample((x, w, None, 2, "same"), name="error: same, stride", error=RuntimeError)
    yield Sample((x, w, None, 1, "full"), name="error: padding", error=RuntimeError)


@family("conv_transpose")
def conv_transpose(make: Inputs) -> Iterator[Sample]:
    n = _spatial(make)
    x, w = _number(make, 2, 4, *(3, 4, 2)[:n]), _number(make, 4, 3, *(3, 2, 2)[:n])
    bias = _number(make, 3)
    yield Sample((x, w), name="no bias")
    yield Sample((x, w, bias), name="bias")
    yield Sample((x[0], w, bias), name="no batch")
    yield Sample((x[:0], w, bias), name="empty batch")
    yield Sample((x, w, bias, 2, 1, 1), name="stride, padding, output padding")
    yield Sample(
        (x, w, None, (3, 1, 2)[:n], (0, 1, 0)[:n], (2, 0, 1)[:n]), name="one of each for a dimension"
    )
    yield Sample((x, w, None, 1, 0, 1, 1, 2), name="output padding below the dilation")
    yield Sample((x, _number(make, 4, 3, *(1,) * n)), name="kernel of one element")
    yield Sample((_number(make, 1, 4, *(7,) * n), w, None, 1, 3), name="padding beyond the kernel")
    yield Sample((x, w, None, 2, 0, 0, 2), name="groups")
    yield Sample((x, _number(make, 4, 1, *(2,) * n), None, 2, 0, 0, 4, 2), name="depthwise, dilation")
    yield Sample((x, w), {"stride": 2, "dilation": 2}, name="keywords")
    yield Sample((x, _number(make, 3, 3, *(1,) * n)), name="error: channels", error=RuntimeError)
    yield Sample((x, w, None, 1, 0, 1), name="error: output padding", error=RuntimeError)
    yield Sample((x, w, None, 1, -1), name="error: padding", error=RuntimeError)
    yield Sample((x, w, None, 1, 9), name="error: too small", error=RuntimeError)
    yield Sample((x, w, bias[:2]), name="error: bias", error=RuntimeError)


@family("conv_weight")
def conv_weight(make: Inputs) -> Iterator[Sample]:
    x = _number(make, 2, 4, 5, 4)
    sizes = ((6, 4, 3, 2), (1, 1), (0, 0), (1, 1), 1)
    yield Sample((x, _number(make, 2, 6, 3, 3), *sizes), name="two dimensions")
    yield Sample((x[0], _number(make, 6, 3, 3), *sizes), name="no batch")
    yield Sample((x[:0], _number(make, 0, 6, 3, 3), *sizes), name="empty batch")
    yield Sample((x, _number(make, 2, 4, 3, 4), (4, 2, 3, 1), (2, 1), (1, 0), (1, 2), 2), name="groups")
    line = (_number(make, 3, 2, 30), _number(make, 3, 1, 15), (1, 2, 2), (2,), (1,), (3,), 1)
    yield Sample(line, name="one dimension, long")
    many = _number(make, 2, 6, 30, 3)
    yield Sample((x, many, *sizes), name="error: windows beyond the input", error=RuntimeError)
    yield Sample((x, many[:, :5, :3], *sizes), name="error: channels", error=RuntimeError)


@family("unfold_windows")
def unfold_windows(make: Inputs) -> Iterator[Sample]:
    x = make.tensor(2, 3, 5, 4)
    for name, args in (
        ("window", (2,)),
        ("two sizes", ((3, 2),)),
        ("dilation, padding, stride", ((2, 1), (2, 1), (1, 2), (1, 3))),
    ):
        yield Sample((x, *args), name=name)
    # Windows without padding that lie one after the other could be a view.
    yield Sample((make.tensor(1, 1, 2, 2), 1), name="one element")
    yield Sample((make.tensor(2, 2, 2, 3), (2, 3)), name="one window")
    yield Sample((make.tensor(2, 3, 1, 4), (1, 2), 1, 0, (1, 2)), name="windows in a row")
    yield Sample((x[0], 2), {"stride": 2}, "no batch")
    yield Sample((x[:0], 2), name="empty batch")
    yield Sample((x.transpose(1, 3), 2), name="transposed")
    yield Sample((x, 9), name="error: window", error=RuntimeError)
    yield Sample((x, 2, 0), name="error: dilation", error=RuntimeError)
    yield Sample((x, 2, 1, -1), name="error: padding", error=RuntimeError)
    yield Sample((x, 2, 1, 0, 0), name="error: stride", error=RuntimeError)


@family("fold_windows")
def fold_windows(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(2, 8, 9), 4, 2), name="window")
    yield Sample((make.tensor(2, 12, 10), (5, 4), (3, 2), 1, (0, 1), (2, 1)), name="padding and stride")
    yield Sample((make.tensor(2, 4, 9), (5, 4), (2, 1), (2, 1), (1, 2), (2, 3)), name="dilation")
    yield Sample((make.tensor(8, 9), 4, 2), name="no batch")
    yield Sample((make.tensor(0, 8, 9), 4, 2), name="empty batch")
    yield Sample((make.tensor(2, 8, 8), 4, 2), name="error: number of columns", error=RuntimeError)
    yield Sample((make.tensor(2, 7, 9), 4, 2), name="error: length of columns", error=RuntimeError)


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
