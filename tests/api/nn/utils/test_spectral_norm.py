"""Spectral normalisation by hooks."""

from __future__ import annotations

import numpy as np
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


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "sizes"), [("Linear", (3, 4)), ("Conv2d", (2, 3, 3)), ("ConvTranspose2d", (2, 3, 3))]
)
def test_state_dicts_from_before_there_were_versions_load(kind, sizes):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs = torch.nn.utils.spectral_norm(getattr(torch.nn, kind)(*sizes))
    theirs(torch.randn(2, *sizes[:1], *(() if kind == "Linear" else (4, 4))))
    old = {name: value.detach() for name, value in theirs.state_dict().items() if not name.endswith("_v")}
    old["weight"] = theirs.weight.detach()
    ours = spectral_norm(getattr(nn, kind)(*sizes))
    state = {name: tt.tensor(value.numpy()) for name, value in old.items()}
    ours.load_state_dict(state)
    assert "weight" in state  # which is the caller's
    ours.eval()(tt.ones(1, *sizes[:1], *(() if kind == "Linear" else (4, 4))))
    np.testing.assert_allclose(ours.weight.detach().numpy(), old["weight"].numpy(), rtol=1e-4, atol=1e-5)
    if kind == "Linear":  # PyTorch's way to v is exact for matrices with more rows than columns
        theirs.load_state_dict(dict(old))
        np.testing.assert_allclose(ours.weight_v.numpy(), theirs.weight_v.numpy(), rtol=1e-4, atol=1e-4)


def test_a_state_dict_of_today_without_versions_loads_and_what_is_missing_is_told():
    layer, other = spectral_norm(nn.Linear(3, 2)), spectral_norm(nn.Linear(3, 2))
    other.load_state_dict(dict(layer.state_dict()))
    assert tt.equal(other.weight_v, layer.weight_v)
    for name in ("weight_u", "weight_orig"):
        with pytest.raises(RuntimeError, match=name):
            other.load_state_dict(
                {k: v for k, v in layer.state_dict().items() if k not in (name, "weight_v")}
            )
    remove_spectral_norm(layer)
    assert not layer._load_state_dict_pre_hooks
