"""Convolutions against sums written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn

# Sums of terms of about one: one that cancels keeps none of its digits, so the bound is not relative to it.
TOLERANCE = {"rtol": 1e-12, "atol": 1e-14}


def correlated(x, weight, bias):
    """Return the correlation of an image (C, H, W) with kernels (O, C, h, w)."""
    kernels, _, high, wide = weight.shape
    rows, columns = x.shape[1] - high + 1, x.shape[2] - wide + 1
    out = np.empty((kernels, rows, columns))
    for o in range(kernels):
        for i in range(rows):
            for j in range(columns):
                out[o, i, j] = (x[:, i : i + high, j : j + wide] * weight[o]).sum() + bias[o]
    return out


def test_a_convolution_is_a_sum_over_windows():
    conv = nn.Conv2d(2, 3, (2, 3)).double()
    x = np.random.default_rng(0).standard_normal((2, 5, 6))
    expected = correlated(x, conv.weight.detach().numpy(), conv.bias.detach().numpy())
    np.testing.assert_allclose(conv(tt.tensor(x)).detach().numpy(), expected, **TOLERANCE)


@pytest.mark.parametrize(("mode", "pad"), [("zeros", "constant"), ("reflect", "reflect"), ("replicate", "edge"),
                                           ("circular", "wrap")])  # fmt: skip
def test_padding_modes_are_those_of_numpy(mode, pad):
    conv = nn.Conv2d(1, 1, 3, padding=(1, 2), padding_mode=mode, bias=False).double()
    x = np.random.default_rng(1).standard_normal((1, 4, 5))
    padded = np.pad(x, ((0, 0), (1, 1), (2, 2)), mode=pad)
    expected = correlated(padded, conv.weight.detach().numpy(), [0.0])
    np.testing.assert_allclose(conv(tt.tensor(x)).detach().numpy(), expected, **TOLERANCE)


def test_padding_same_keeps_the_size():
    x = tt.ones(1, 1, 6)
    assert nn.Conv1d(1, 2, 4, padding="same", dilation=2)(x).shape == (1, 2, 6)
    assert nn.Conv1d(1, 2, 4, padding="valid")(x).shape == (1, 2, 3)
    assert nn.Conv3d(1, 2, 3, padding="same")(tt.ones(1, 4, 5, 6)).shape == (2, 4, 5, 6)


def test_groups_see_their_channels_only():
    conv = nn.Conv1d(4, 2, 1, groups=2, bias=False)
    assert conv.weight.shape == (2, 2, 1)
    x = tt.zeros(1, 4, 3)
    x[:, 2:] = 1
    assert conv(x)[0, 0].tolist() == [0, 0, 0]


def test_weights_are_drawn_within_the_bound_of_the_fan_in():
    conv = nn.Conv2d(4, 8, 3)
    bound = 1 / np.sqrt(4 * 9)
    assert float(conv.weight.detach().abs().max()) <= bound and float(conv.bias.detach().abs().max()) <= bound


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 0}, "groups"),
        ({"groups": 3}, "divisible"),
        ({"padding": "full"}, "padding"),
        ({"padding": "same", "stride": 2}, "same"),
        ({"padding_mode": "mirror"}, "padding_mode"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        nn.Conv2d(4, 4, 3, **options)


def test_other_channels_are_refused():
    with pytest.raises(RuntimeError, match="channels"):
        nn.Conv2d(4, 4, 3)(tt.zeros(1, 3, 5, 5))


def test_repr_names_what_is_not_the_default():
    conv = nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2, bias=False, padding_mode="reflect")
    assert repr(conv) == (
        "Conv2d(2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), groups=2, bias=False, padding_mode=reflect)"
    )


@pytest.mark.torch
@pytest.mark.parametrize(
    "name", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
)
@pytest.mark.parametrize(
    ("dtype", "other"), [("bfloat16", "float32"), ("float32", "float64"), ("float64", "float32")]
)
def test_a_backward_pass_begins_with_a_gradient_of_another_precision(name, dtype, other):
    torch = pytest.importorskip("torch")
    shape = (1, 2) + (4,) * int(name[-2])
    found = []
    for library in (tt, torch):
        layer = getattr(library.nn, name)(2, 2, 3).to(getattr(library, dtype))
        with library.no_grad():
            layer.weight.fill_(0.5)
        x = library.ones(shape, dtype=getattr(library, dtype), requires_grad=True)
        y = layer(x)
        y.backward(library.ones(y.shape, dtype=getattr(library, other)))
        grads = (x.grad, layer.weight.grad, layer.bias.grad)
        found.append([(str(g.dtype).partition(".")[2], g.float().sum().item()) for g in grads])
    assert found[0] == found[1]
