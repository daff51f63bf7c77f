"""Layers that include the normalisation behind them give the same outputs."""

from __future__ import annotations

import pytest

import tt
import tt.nn.functional as F
from tt import nn
from tt.nn.utils import fuse_conv_bn_weights, fuse_linear_bn_eval


class Norm(nn.Module):
    def __init__(self, features, affine=True):
        super().__init__()
        self.num_features, self.eps = features, 1e-3
        self.running_mean, self.running_var = tt.randn(features), tt.rand(features) + 0.5
        self.weight = nn.Parameter(tt.randn(features)) if affine else None
        self.bias = nn.Parameter(tt.randn(features)) if affine else None

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_a_convolution_and_its_normalisation(bias, transpose, affine):
    norm = Norm(4, affine).eval()
    weight = tt.randn(3, 4, 2, 2) if transpose else tt.randn(4, 3, 2, 2)
    offset = tt.randn(4) if bias else None
    conv = F.conv_transpose2d if transpose else F.conv2d
    fused = fuse_conv_bn_weights(
        weight, offset, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias, transpose
    )
    x = tt.randn(2, 3, 5, 5)
    assert tt.allclose(conv(x, *fused), norm(conv(x, weight, offset)), atol=1e-4)
    assert all(isinstance(param, nn.Parameter) for param in fused)


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_and_its_normalisation(bias):
    layer, norm = nn.Linear(3, 4, bias=bias).eval(), Norm(4).eval()
    fused = fuse_linear_bn_eval(layer, norm)
    x = tt.randn(5, 3)
    assert tt.allclose(fused(x), norm(layer(x)), atol=1e-5)
    assert fused is not layer and type(fused) is nn.Linear


def test_only_for_evaluation_and_as_many_features():
    with pytest.raises(AssertionError, match="eval"):
        fuse_linear_bn_eval(nn.Linear(3, 4), Norm(4))
    with pytest.raises(AssertionError, match="features"):
        fuse_linear_bn_eval(nn.Linear(3, 4).eval(), Norm(5).eval())
