"""Transposed convolutions: the gradients of convolutions."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}]
)
def test_it_is_the_gradient_of_a_convolution(options):
    conv = nn.Conv2d(4, 2, 3, bias=False, **options).double()
    transposed = nn.ConvTranspose2d(2, 4, 3, bias=False, **options).double()
    transposed.weight.data = conv.weight.detach()
    x = tt.randn(1, 4, 7, 7, dtype=tt.float64, requires_grad=True)
    y = conv(x)
    grad = tt.randn(*y.shape, dtype=tt.float64)
    (expected,) = tt.autograd.grad(y, x, grad)
    got = transposed(grad, output_size=x.shape).detach()
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-10, atol=1e-12)


def test_an_element_spreads_its_kernel():
    layer = nn.ConvTranspose1d(1, 1, 2, stride=3)
    layer.weight.data = tt.tensor([[[1.0, 2.0]]])
    layer.bias.data = tt.tensor([10.0])
    assert layer(tt.tensor([[1.0, 5.0]])).tolist() == [[11, 12, 10, 15, 20]]


def test_the_size_of_the_result_can_be_chosen_within_a_stride():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = tt.zeros(1, 1, 4, 4)
    assert layer(x).shape == (1, 1, 9, 9)
    assert layer(x, output_size=(10, 9)).shape == (1, 1, 10, 9)
    with pytest.raises(ValueError, match="output"):
        layer(x, output_size=(11, 9))


def test_only_zeros_are_padded():
    with pytest.raises(ValueError, match="zeros"):
        nn.ConvTranspose1d(1, 1, 2, padding_mode="reflect")


def test_weights_have_the_input_channels_first():
    layer = nn.ConvTranspose3d(4, 6, (1, 2, 3), groups=2)
    assert layer.weight.shape == (4, 3, 1, 2, 3) and layer.bias.shape == (6,)
    assert "kernel_size=(1, 2, 3)" in repr(layer) and "groups=2" in repr(layer)
