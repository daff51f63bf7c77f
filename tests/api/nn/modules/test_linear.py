"""Identity, Linear, Bilinear: values by NumPy, parameters, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn


def test_linear_is_a_product_and_a_bias():
    layer = nn.Linear(3, 2)
    x = tt.randn(4, 3)
    weight, bias = (p.detach().numpy() for p in layer.parameters())
    np.testing.assert_allclose(layer(x).detach().numpy(), x.numpy() @ weight.T + bias, rtol=1e-5)


def test_linear_without_bias_has_one_parameter():
    layer = nn.Linear(3, 2, bias=False, dtype=tt.float64)
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    assert layer.bias is None
    assert layer.weight.dtype == tt.float64
    assert repr(layer) == "Linear(in_features=3, out_features=2, bias=False)"


def test_linear_is_drawn_within_its_bound():
    layer = nn.Linear(100, 50)
    for param in layer.parameters():
        assert 0.05 < param.abs().max().item() <= 0.1


def test_bilinear_by_einsum():
    layer = nn.Bilinear(2, 3, 4)
    a, b = tt.randn(5, 2), tt.randn(5, 3)
    expected = np.einsum("ni,oij,nj->no", a.numpy(), layer.weight.detach().numpy(), b.numpy())
    np.testing.assert_allclose(
        layer(a, b).detach().numpy(), expected + layer.bias.detach().numpy(), atol=1e-5
    )
    assert repr(layer) == "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)"


def test_bilinear_without_features_is_refused():
    with pytest.raises(ValueError, match="in1_features"):
        nn.Bilinear(0, 1, 1)


def test_identity_ignores_its_arguments():
    x = tt.ones(2)
    assert nn.Identity(1, two=2)(x) is x


def test_a_negative_size_is_refused():
    with pytest.raises(RuntimeError):
        nn.Linear(-1, 2)
