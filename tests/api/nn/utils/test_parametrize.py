"""Parametrizations: registration, reading, assigning, removing, caching, errors."""

from __future__ import annotations

import copy
import pickle

import pytest

import tt
from tt import nn
from tt.nn.utils import parametrize


class Twice(nn.Module):
    calls = 0

    def forward(self, x):
        Twice.calls += 1
        return x * 2

    def right_inverse(self, x):
        return x / 2


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT


def test_a_parametrized_weight_is_computed_and_keeps_its_value():
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    assert parametrize.register_parametrization(layer, "weight", Twice()) is layer
    assert tt.allclose(layer.weight, before)
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    layer(tt.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[2] * 3] * 3


def test_a_second_one_takes_the_result_of_the_first():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Twice())
    original = layer.parametrizations.weight.original
    assert tt.allclose(layer.weight, 2 * Symmetric()(original))
    assert len(layer.parametrizations.weight) == 2


def test_assigning_goes_through_the_right_inverse():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Twice())
    layer.weight = tt.full((2, 2), 6.0)
    assert layer.parametrizations.weight.original.tolist() == [[3, 3], [3, 3]]
    other = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with pytest.raises(RuntimeError, match="right_inverse"):
        other.weight = tt.ones(2, 2)


@pytest.mark.parametrize("leave", [True, False])
def test_removing(leave):
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    original, computed = layer.parametrizations.weight.original, layer.weight.detach().clone()
    value = computed if leave else original.detach().clone()
    assert parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave) is layer
    assert type(layer) is nn.Linear and layer.weight is original and tt.equal(layer.weight.detach(), value)
    assert not hasattr(layer, "parametrizations") and list(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError):
        parametrize.remove_parametrizations(layer, "weight")


def test_buffers_may_be_parametrized():
    module = nn.Module()
    module.register_buffer("x", tt.ones(2))
    parametrize.register_parametrization(module, "x", Twice())
    assert module.x.tolist() == [1, 1] and list(module.parametrizations.x._buffers) == ["original"]


def test_cached_values_are_computed_once():
    layer = parametrize.register_parametrization(nn.Linear(1, 1), "weight", Twice())
    Twice.calls = 0
    with parametrize.cached(), parametrize.cached():
        assert layer.weight is layer.weight
    assert Twice.calls == 1
    assert layer.weight is not layer.weight


def test_copies_and_pickles():
    layer = parametrize.register_parametrization(nn.Linear(1, 1), "weight", Twice())
    other = copy.deepcopy(layer)
    with tt.no_grad():
        other.parametrizations.weight.original.zero_()
    assert other.weight.item() == 0 and layer.weight.item() != 0
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(layer)


@pytest.mark.parametrize("swap", [False, True])
def test_an_original_gets_the_class_of_the_inverse_if_tensors_are_swapped(swap):
    class Marked(tt.Tensor):
        pass

    class Mark(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x.as_subclass(Marked)

    layer = nn.Linear(2, 2)
    layer.register_buffer("mean", tt.ones(2))
    before = layer.weight
    tt.__future__.set_swap_module_params_on_conversion(swap)
    try:
        for name in ("weight", "mean"):
            parametrize.register_parametrization(layer, name, Mark())
    finally:
        tt.__future__.set_swap_module_params_on_conversion(False)
    weight, mean = (layer.parametrizations[name].original for name in ("weight", "mean"))
    assert type(weight) is (Marked if swap else nn.Parameter) and type(mean) is (
        Marked if swap else tt.Tensor
    )
    assert weight is before and isinstance(weight, nn.Parameter)
    assert weight.requires_grad and not mean.requires_grad and mean.tolist() == [1, 1]


def test_transfer():
    source = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Twice())
    target = parametrize.transfer_parametrizations_and_params(source, nn.Linear(2, 2))
    assert tt.equal(target.weight, source.weight) and parametrize.is_parametrized(target, "weight")
    assert parametrize.transfer_parametrizations_and_params(nn.Identity(), target) is target


def test_what_does_not_fit_is_refused_and_changes_nothing():
    class Other(nn.Module):
        def __init__(self, result):
            super().__init__()
            self.result = result

        def forward(self, x):
            return self.result

    layer = nn.Linear(2, 2)
    for wrong in (3, tt.ones(2, 2, dtype=tt.float64), tt.ones(3)):
        with pytest.raises(ValueError):
            parametrize.register_parametrization(layer, "weight", Other(wrong))
        assert type(layer) is nn.Linear
    with pytest.raises(ValueError, match="'none'"):
        parametrize.register_parametrization(layer, "none", Twice())
    with pytest.raises(ValueError, match="one or more"):
        parametrize.ParametrizationList([], tt.ones(1))
    parametrize.register_parametrization(layer, "weight", Other(tt.ones(3)), unsafe=True)
    assert layer.weight.shape == (3,)
