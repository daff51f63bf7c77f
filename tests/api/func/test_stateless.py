"""Modules as functions of their parameters."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_parameters_are_given_by_name():
    model = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]])
    weights = {"0.weight": tt.ones(1, 2)}, {"0.bias": tt.zeros(1), "1.bias": tt.full((1,), 5.0)}
    got = tt.func.functional_call(model, parameter_and_buffer_dicts=weights, args=(x,))
    tt.testing.assert_close(got, tt.tensor([[4.0], [6.0]]), rtol=1e-4, atol=1e-4)
    assert model[1].bias.tolist() == [0]
    with pytest.raises(RuntimeError):
        tt.func.functional_call(model, {"x": tt.zeros(1)}, x, strict=True)


def test_models_are_stacked_for_vmap():
    models = [nn.Linear(3, 2) for _ in range(4)]
    params, buffers = tt.func.stack_module_state(models)
    x = tt.randn(5, 3)
    got = tt.func.vmap(lambda p, b: tt.func.functional_call(models[0], (p, b), x))(params, buffers)
    tt.testing.assert_close(got, tt.stack([model(x) for model in models]))
