"""Spectral normalisation by hooks."""

from __future__ import annotations

import pytest

import tt
from tt import nn
from tt.nn.utils import remove_spectral_norm, spectral_norm


def test_the_weight_has_norm_one_after_some_steps():
    layer = spectral_norm(nn.Linear(5, 4), n_power_iterations=30)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert layer.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    x = tt.randn(2, 5)
    layer(x)
    layer(x).sum().backward()
    assert tt.linalg.matrix_norm(layer.weight.detach(), 2).item() == pytest.approx(1, rel=1e-3)
    assert layer.weight_orig.grad is not None
    u = layer.eval().weight_u.clone()
    expected = layer(x)
    assert tt.equal(layer.weight_u, u)
    remove_spectral_norm(layer)
    assert tt.allclose(layer(x), expected, atol=1e-6) and list(layer.state_dict()) == ["bias", "weight"]
    assert not layer._state_dict_hooks


def test_what_does_not_fit_is_refused():
    layer = spectral_norm(nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="two spectral_norm"):
        spectral_norm(layer)
    with pytest.raises(ValueError, match="not found"):
        remove_spectral_norm(nn.Linear(1, 1))
    with pytest.raises(ValueError, match="positive"):
        spectral_norm(nn.Linear(1, 1), n_power_iterations=0)
    with pytest.raises(ValueError, match="None"):
        spectral_norm(nn.Linear(1, 1, bias=False), "bias")
