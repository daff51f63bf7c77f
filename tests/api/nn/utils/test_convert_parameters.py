"""Parameters as one vector, and back."""

from __future__ import annotations

import pytest

import tt
from tt import nn
from tt.nn.utils import parameters_to_vector, vector_to_parameters


def test_there_and_back():
    layer = nn.Linear(2, 3)
    vector = parameters_to_vector(layer.parameters())
    assert vector.shape == (9,) and vector.requires_grad
    vector_to_parameters(tt.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and layer.bias.tolist() == [6, 7, 8]
    assert isinstance(layer.weight, nn.Parameter)


def test_what_does_not_fit_is_refused():
    with pytest.raises(TypeError, match="list"):
        vector_to_parameters([1.0], nn.Linear(1, 1).parameters())
    with pytest.raises(TypeError, match="devices"):
        parameters_to_vector([tt.ones(1), tt.ones(1, device="meta")])
