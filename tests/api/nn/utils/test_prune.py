"""Pruning: which elements stay, prunings on top of each other, removing, errors."""

from __future__ import annotations

import copy

import pytest

import tt
from tt import nn
from tt.nn.utils import prune


def layer_of(values):
    layer = nn.Linear(len(values[0]), len(values), bias=False)
    layer.load_state_dict({"weight": tt.tensor(values)})
    return layer


def test_the_smallest_elements_are_pruned():
    layer = prune.l1_unstructured(layer_of([[1.0, -4.0], [-2.0, 3.0]]), "weight", amount=0.5)
    assert layer.weight.tolist() == [[0, -4], [0, 3]]
    assert list(layer.state_dict()) == ["weight_orig", "weight_mask"]
    layer(tt.ones(1, 2)).sum().backward()
    assert layer.weight_orig.grad.tolist() == [[0, 1], [0, 1]]
    copy.deepcopy(layer.weight_mask)


def test_scores_may_decide():
    scores = tt.tensor([[4.0, 3.0], [2.0, 1.0]])
    layer = prune.l1_unstructured(layer_of([[1.0, 2.0], [3.0, 4.0]]), "weight", 1, importance_scores=scores)
    assert layer.weight.tolist() == [[1, 2], [3, 0]]


@pytest.mark.parametrize(("dim", "expected"), [(0, [[0, 0], [3, 4]]), (1, [[0, 2], [0, 4]])])
def test_slices_of_the_smallest_norm(dim, expected):
    layer = prune.ln_structured(layer_of([[1.0, 2.0], [3.0, 4.0]]), "weight", 1, n=2, dim=dim)
    assert layer.weight.tolist() == expected


def test_random_elements_and_slices():
    layer = prune.random_unstructured(nn.Linear(10, 10), "weight", amount=0.3)
    assert (layer.weight_mask == 0).sum().item() == 30
    layer = prune.random_structured(nn.Linear(10, 10), "weight", amount=3, dim=1)
    assert sorted(layer.weight_mask.sum(0).tolist()) == [0] * 3 + [10] * 7


def test_prunings_add_up():
    layer = layer_of([[1.0, 2.0], [3.0, 4.0]])
    prune.custom_from_mask(layer, "weight", tt.tensor([[1, 1], [1, 0]]))
    prune.l1_unstructured(layer, "weight", 1)
    assert layer.weight.tolist() == [[0, 2], [3, 0]]
    (hook,) = layer._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2
    prune.ln_structured(layer, "weight", 1, n=1, dim=0)
    assert layer.weight.tolist() == [[0, 0], [3, 0]]


def test_removing_keeps_the_zeros():
    layer = layer_of([[1.0, 2.0]])
    assert not prune.is_pruned(layer)
    prune.l1_unstructured(layer, "weight", 1)
    assert prune.is_pruned(nn.Sequential(layer))
    prune.remove(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.tolist() == [[0, 2]]
    assert list(layer.state_dict()) == ["weight"] and not layer._forward_pre_hooks
    with pytest.raises(ValueError, match="pruned"):
        prune.remove(layer, "weight")


def test_several_parameters_as_one():
    first, second = layer_of([[1.0, 5.0]]), layer_of([[2.0, 6.0]])
    pairs = [(first, "weight"), (second, "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=2)
    assert first.weight.tolist() == [[0, 5]] and second.weight.tolist() == [[0, 6]]
    with pytest.raises(TypeError, match="unstructured"):
        prune.global_unstructured(pairs, prune.LnStructured, amount=1, n=2)
    with pytest.raises(TypeError, match="Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured, amount=1)


def test_tensors_alone():
    method = prune.L1Unstructured(amount=1)
    assert method.prune(tt.tensor([1.0, 2.0])).tolist() == [0, 2]
    assert prune.identity(layer_of([[1.0]]), "weight").weight_mask.tolist() == [[1]]


def test_wrong_amounts_leave_the_module_as_it_was():
    layer = layer_of([[1.0, 2.0]])
    for amount, error in ((3, ValueError), (-1, ValueError), (1.5, ValueError), ("x", TypeError)):
        with pytest.raises(error):
            prune.l1_unstructured(layer, "weight", amount)
    assert list(layer.state_dict()) == ["weight"] and not prune.is_pruned(layer)
    prune.identity(layer, "weight")
    with pytest.raises(ValueError):
        prune.l1_unstructured(layer, "weight", 3)
    assert [type(hook) for hook in layer._forward_pre_hooks.values()] == [prune.Identity]
    with pytest.raises(IndexError):
        prune.random_structured(layer, "weight", 1, dim=5)
    with pytest.raises(ValueError, match="multidimensional"):
        prune.random_structured(nn.Linear(1, 2), "bias", 1, dim=0)
    with pytest.raises(AssertionError, match="shape"):
        prune.l1_unstructured(layer, "weight", 1, importance_scores=tt.ones(7))
