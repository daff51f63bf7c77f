"""Shapes of windows that slide."""

from __future__ import annotations

from itertools import product

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
F = torch.nn.functional


@pytest.mark.parametrize("count", [1, 2, 3])
def test_convolutions(agree, count):
    conv, transposed = getattr(F, f"conv{count}d"), getattr(F, f"conv_transpose{count}d")
    for batch, channels, stride, padding, dilation, groups in product(
        [(), (2,), (2, 2)], [4, 3], [1, 2, 0], [0, 1, "same"], [1, 2], [1, 2]
    ):
        x, weight = (
            torch.zeros((*batch, channels, *(7,) * count)),
            torch.zeros((6, 4 // groups, *(3,) * count)),
        )
        how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        agree(f"conv{count}d", conv, strides=False, input=x, weight=weight, bias=torch.zeros(6), **how)
        if padding != "same" and stride:
            weight = torch.zeros((4, 3, *(3,) * count))
            how = {"stride": stride, "padding": padding, "output_padding": 0, "groups": groups}
            given = {"input": x, "weight": weight, "bias": None, **how, "dilation": dilation}
            agree(f"conv_transpose{count}d", transposed, strides=False, **given)


def test_a_kernel_larger_than_its_input_is_refused(rule):
    with pytest.raises(RuntimeError, match="the kernel spans"):
        rule("conv", "conv1d", input=torch.zeros(1, 2, 3), weight=torch.zeros(1, 2, 5))


@pytest.mark.parametrize("count", [1, 2])
def test_pooling(agree, count):
    average, largest = getattr(F, f"avg_pool{count}d"), getattr(F, f"max_pool{count}d")
    adaptive = getattr(F, f"adaptive_avg_pool{count}d")
    for batch, kernel, stride, padding, ceil_mode in product(
        [(), (2,), (2, 2, 2)], [1, 2, 3, 9], [None, 1, 2], [0, 1, 2], [False, True]
    ):
        x = torch.zeros((*batch, 3, *(7,) * count))
        how = {"kernel_size": kernel, "stride": stride, "padding": padding}
        agree(f"avg_pool{count}d", average, strides=False, self=x, **how, ceil_mode=ceil_mode)
        more = {"dilation": 1, "ceil_mode": ceil_mode}
        agree(f"max_pool{count}d", largest, strides=False, self=x, **how, **more)
        if len(batch) < 3:  # PyTorch's adaptive pooling takes more batches, its other pooling does not
            agree(f"adaptive_avg_pool{count}d", adaptive, strides=False, self=x, output_size=kernel)


def test_windows_as_columns_and_other_sizes(agree):
    x = torch.zeros(2, 3, 8, 6)
    for kernel, dilation, padding, stride in product([2, (3, 2), 9], [1, 2], [0, 1], [1, 2]):
        how = {"kernel_size": kernel, "dilation": dilation, "padding": padding, "stride": stride}
        agree("functional_unfold", F.unfold, strides=False, input=x, **how)
    for size, factor in ((5, None), ((4, 7), None), (None, 2.5), (None, (0.5, 1.2)), (None, None), (3, 2.0)):
        agree("interpolate", F.interpolate, strides=False, input=x, size=size, scale_factor=factor)
