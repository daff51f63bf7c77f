"""What changes parameters does the same in PyTorch: clipping, parametrizations, older norms, pruning."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
import torch.nn.utils.parametrizations
import torch.nn.utils.prune

import tt
from tt import nn
from tt.nn.utils import parametrizations, prune

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")]


def pair(inputs, outputs):
    reference = torch.nn.Linear(inputs, outputs).double()
    module = nn.Linear(inputs, outputs).double()
    return copied(module, reference), reference


def copied(module, reference):
    assert list(module.state_dict()) == list(reference.state_dict())
    module.load_state_dict({key: tt.tensor(value.numpy()) for key, value in reference.state_dict().items()})
    return module


def assert_close(got, expected):
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)


def assert_trains_alike(module, reference):
    assert repr(module) == repr(reference)
    x = np.random.default_rng(0).normal(size=(4, module.in_features))
    out, expected = module(tt.tensor(x)), reference(torch.tensor(x))
    assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    own = dict(module.named_parameters())
    assert list(own) == [name for name, _ in reference.named_parameters()]
    for name, param in reference.named_parameters():
        assert_close(own[name].grad, param.grad)
    for name, value in reference.state_dict().items():
        assert_close(module.state_dict()[name], value)


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3)])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(name, shape, trivial):
    module, reference = pair(*shape)
    parametrizations.orthogonal(module, "weight", name, use_trivialization=trivial)
    torch.nn.utils.parametrizations.orthogonal(reference, "weight", name, use_trivialization=trivial)
    if not trivial and name == "householder":
        assert_close(module.weight, reference.weight)
    assert_trains_alike(copied(module, reference), reference)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    module, reference = pair(3, 4)
    parametrizations.weight_norm(module, dim=dim)
    torch.nn.utils.parametrizations.weight_norm(reference, dim=dim)
    assert_trains_alike(module, reference)


def test_spectral_norm():
    module, reference = pair(3, 4)
    parametrizations.spectral_norm(module, n_power_iterations=2)
    torch.nn.utils.parametrizations.spectral_norm(reference, n_power_iterations=2)
    assert_trains_alike(copied(module, reference), reference)


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_older_forms(name):
    module, reference = pair(3, 4)
    getattr(nn.utils, name)(module)
    getattr(torch.nn.utils, name)(reference)
    assert_trains_alike(copied(module, reference), reference)
    for m, library in ((module, nn.utils), (reference, torch.nn.utils)):
        getattr(library, f"remove_{name}")(m)
    assert_close(module.weight, reference.weight)


@pytest.mark.parametrize(
    "calls",
    [
        [("l1_unstructured", 0.5)],
        [("ln_structured", 1, 2, 0), ("l1_unstructured", 3)],
        [("l1_unstructured", 4), ("ln_structured", 0.5, 1, 1), ("identity",)],
        [("custom_from_mask", [[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]]), ("l1_unstructured", 0.25)],
    ],
)
def test_pruning(calls):
    module, reference = pair(3, 4)
    for name, *args in calls:
        lists = name == "custom_from_mask"
        getattr(prune, name)(module, "weight", *([tt.tensor(args[0])] if lists else args))
        getattr(torch.nn.utils.prune, name)(
            reference, "weight", *([torch.tensor(args[0])] if lists else args)
        )
    assert_trains_alike(module, reference)
    prune.remove(module, "weight")
    torch.nn.utils.prune.remove(reference, "weight")
    copied(module, reference)


def test_what_was_pruned_before_counts_for_nothing_in_the_norm_of_a_slice():
    module, reference = pair(2, 3)
    weight = [[3.0, 0.0], [3.0, 5.0], [0.1, 0.2]]
    module.weight.data, reference.weight.data = tt.tensor(weight).double(), torch.tensor(weight).double()
    for own, layer, tensor in ((prune, module, tt.tensor), (torch.nn.utils.prune, reference, torch.tensor)):
        own.custom_from_mask(layer, "weight", tensor([[0, 1], [1, 1], [1, 1]]))
        own.ln_structured(layer, "weight", 1, n=1, dim=1)
    assert module.weight_mask.tolist() == reference.weight_mask.tolist() == [[0, 1], [0, 1], [0, 1]]


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
def test_clipping(order):
    module, reference = pair(3, 4)
    assert_trains_alike(module, reference)
    found = nn.utils.clip_grad_norm_(module.parameters(), 0.1, order)
    assert_close(found, torch.nn.utils.clip_grad_norm_(reference.parameters(), 0.1, order))
    for own, other in zip(module.parameters(), reference.parameters(), strict=True):
        assert_close(own.grad, other.grad)
