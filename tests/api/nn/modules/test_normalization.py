"""Layer, group, RMS and local response normalisation in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn

X = np.random.default_rng(0).standard_normal((2, 4, 3))


def test_a_layer_norm_normalises_the_last_dimensions():
    norm = nn.LayerNorm((4, 3), eps=1e-3).double()
    norm.weight.data = tt.tensor(np.arange(12.0).reshape(4, 3))
    norm.bias.data = tt.ones(4, 3, dtype=tt.float64)
    mean, var = X.mean((1, 2), keepdims=True), X.var((1, 2), keepdims=True)
    expected = (X - mean) / np.sqrt(var + 1e-3) * np.arange(12.0).reshape(4, 3) + 1
    np.testing.assert_allclose(norm(tt.tensor(X)).detach().numpy(), expected, rtol=1e-10)


def test_a_group_norm_normalises_groups_of_channels():
    norm = nn.GroupNorm(2, 4).double()
    grouped = X.reshape(2, 2, 6)
    expected = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(norm(tt.tensor(X)).detach().numpy(), expected.reshape(X.shape), rtol=1e-10)
    with pytest.raises(ValueError, match="divisible"):
        nn.GroupNorm(3, 4)


def test_an_rms_norm_divides_by_the_root_of_the_mean_square():
    norm = nn.RMSNorm(3, eps=1e-3, elementwise_affine=False)
    expected = X / np.sqrt((X**2).mean(2, keepdims=True) + 1e-3)
    np.testing.assert_allclose(norm(tt.tensor(X)).numpy(), expected, rtol=1e-10)


def test_a_local_response_norm_divides_by_neighbouring_channels():
    norm = nn.LocalResponseNorm(3, alpha=0.3, beta=0.5, k=2.0)
    square = np.pad(X**2, ((0, 0), (1, 1), (0, 0)))
    total = square[:, :-2] + square[:, 1:-1] + square[:, 2:]
    np.testing.assert_allclose(norm(tt.tensor(X)).numpy(), X / np.sqrt(2 + 0.1 * total), rtol=1e-10)
    # The first channel counts in all above, as in PyTorch.
    total[:, 2:] += square[:, 1:2]
    cross = nn.CrossMapLRN2d(3, 0.3, 0.5, 2.0)(tt.tensor(X[..., None]))
    np.testing.assert_allclose(cross.numpy()[..., 0], X / np.sqrt(2 + 0.1 * total), rtol=1e-10)


def test_parameters_are_options():
    assert list(nn.LayerNorm(3, bias=False).state_dict()) == ["weight"]
    assert list(nn.LayerNorm(3, elementwise_affine=False).state_dict()) == []
    assert list(nn.GroupNorm(1, 3, affine=False).state_dict()) == []
    assert repr(nn.LayerNorm(3)) == "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)"


def test_other_shapes_are_refused():
    with pytest.raises(RuntimeError, match="3"):
        nn.LayerNorm(3)(tt.zeros(2, 4))


@pytest.mark.parametrize("half", [tt.float16, tt.bfloat16])
@pytest.mark.parametrize(
    "layer", [nn.GroupNorm(2, 4), nn.GroupNorm(2, 4, bias=False), nn.LayerNorm(5), nn.RMSNorm(5)], ids=str
)
def test_float32_parameters_get_whole_gradients_from_half_precision(layer, half):
    generator = np.random.default_rng(3)
    x, g = (tt.tensor(generator.normal(size=(3, 4, 5)), dtype=half) for _ in range(2))
    found = tt.autograd.grad(layer(x.requires_grad_()), (x, *layer.parameters()), g)
    exact = layer.double()
    try:
        whole = x.detach().double().requires_grad_()
        expected = tt.autograd.grad(exact(whole), (whole, *exact.parameters()), g.double())
    finally:
        layer.float()
    assert found[0].dtype is half and all(f.dtype is tt.float32 for f in found[1:])
    np.testing.assert_allclose(found[0].double().numpy(), expected[0].numpy(), atol=tt.finfo(half).eps * 4)
    for one, other in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)
