"""Weight normalisation by hooks."""

from __future__ import annotations

import pytest

import tt
from tt import nn
from tt.nn.utils import remove_weight_norm, weight_norm

pytestmark = pytest.mark.filterwarnings("ignore:.*weight_norm.*deprecated:FutureWarning")


@pytest.mark.parametrize("dim", [0, 1, None])
def test_there_and_back(dim):
    layer = nn.Linear(3, 4)
    before, x = layer.weight.detach().clone(), tt.randn(2, 3)
    expected = layer(x)
    assert weight_norm(layer, dim=dim) is layer
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_g", "weight_v"]
    assert tt.allclose(layer(x), expected, atol=1e-6)
    layer(x).sum().backward()
    assert layer.weight_g.grad is not None and layer.weight_v.grad is not None
    remove_weight_norm(layer)
    assert isinstance(layer.weight, nn.Parameter) and tt.allclose(layer.weight, before, atol=1e-6)
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_once_for_a_parameter():
    layer = weight_norm(nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="two weight_norm"):
        weight_norm(layer)
    with pytest.raises(ValueError, match="'bias' not found"):
        remove_weight_norm(layer, "bias")
    with pytest.raises(ValueError, match="shape"):
        weight_norm(nn.LazyLinear(1))
