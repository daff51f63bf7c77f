"""Orthogonal weights, weight and spectral normalisation."""

from __future__ import annotations

import pytest

import tt
from tt import nn
from tt.nn.utils import parametrizations

MAPS = ["matrix_exp", "cayley", "householder"]


def is_orthogonal(weight):
    tall = weight if weight.shape[0] >= weight.shape[1] else weight.mT
    return tt.allclose(tall.mT @ tall, tt.eye(tall.shape[1], dtype=tall.dtype), atol=1e-5)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("trivial", [True, False])
def test_weights_stay_orthogonal_while_they_are_trained(name, shape, trivial):
    layer = parametrizations.orthogonal(
        nn.Linear(shape[1], shape[0]), "weight", name, use_trivialization=trivial
    )
    assert is_orthogonal(layer.weight)
    layer(tt.randn(2, shape[1])).square().sum().backward()
    with tt.no_grad():
        original = layer.parametrizations.weight.original
        original -= 0.1 * original.grad
    assert is_orthogonal(layer.weight)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize(("name", "trivial"), [*((n, True) for n in MAPS), ("householder", False)])
def test_an_orthogonal_matrix_may_be_assigned(shape, name, trivial):
    layer = nn.Linear(shape[1], shape[0]).double()
    parametrizations.orthogonal(layer, "weight", name, use_trivialization=trivial)
    wanted = nn.init.orthogonal_(tt.empty(shape, dtype=tt.float64))
    layer.weight = wanted
    assert tt.allclose(layer.weight, wanted, atol=1e-12)


def test_unitary_weights():
    module = nn.Module()
    module.weight = nn.Parameter(tt.randn(3, 3, dtype=tt.complex64))
    weight = parametrizations.orthogonal(module).weight
    assert tt.allclose(weight.mH @ weight, tt.eye(3, dtype=tt.complex64), atol=1e-5)


def test_errors_of_orthogonal():
    layer = nn.Linear(3, 2)
    for wrong in (
        lambda: parametrizations.orthogonal(layer, "none"),
        lambda: parametrizations.orthogonal(layer, "bias"),
        lambda: parametrizations.orthogonal(layer, "weight", "polar"),
    ):
        with pytest.raises(ValueError):
            wrong()
    parametrizations.orthogonal(layer, "weight", "cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError):
        layer.weight = tt.eye(2, 3)


@pytest.mark.parametrize(("dim", "shape"), [(0, (4, 1)), (1, (1, 3)), (None, ())])
def test_weight_norm_splits_length_and_direction(dim, shape):
    layer = nn.Linear(3, 4)
    before = layer.weight.detach().clone()
    parametrizations.weight_norm(layer, "weight", dim)
    assert tt.allclose(layer.weight, before, atol=1e-6)
    length = layer.parametrizations.weight.original0
    assert length.shape == shape
    with tt.no_grad():
        length *= 2
    assert tt.allclose(layer.weight, 2 * before, atol=1e-6)


def test_weight_norm_loads_the_older_form():
    layer = parametrizations.weight_norm(nn.Linear(3, 4))
    state = {"bias": tt.zeros(4), "weight_g": tt.ones(4, 1), "weight_v": tt.ones(4, 3)}
    layer.load_state_dict(state)
    assert tt.allclose(layer.weight, tt.full((4, 3), 3**-0.5))


def test_spectral_norm_divides_by_the_largest_singular_value():
    layer = nn.Linear(5, 4)
    expected = layer.weight.detach() / tt.linalg.matrix_norm(layer.weight.detach(), 2)
    parametrizations.spectral_norm(layer, n_power_iterations=20)
    for _ in range(5):
        weight = layer.weight
    assert tt.allclose(weight, expected, atol=1e-4)
    state = layer.eval().parametrizations.weight[0]._u.clone()
    _ = layer.weight
    assert tt.equal(layer.parametrizations.weight[0]._u, state)
    with pytest.raises(ValueError):
        parametrizations.spectral_norm(nn.Linear(1, 1), n_power_iterations=0)
    with pytest.raises(IndexError):
        parametrizations.spectral_norm(nn.Linear(1, 1), dim=2)
