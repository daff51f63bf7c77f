"""Copies of a module for devices."""

from __future__ import annotations

import tt
from tt.nn.parallel import replicate


def test_copies_have_tensors_in_place_of_parameters():
    with tt.device("meta"):
        network = tt.nn.Sequential(tt.nn.Linear(2, 3), tt.nn.BatchNorm1d(3))
    first, second = replicate(network, ["meta", "meta"])
    assert first[0] is not second[0] and not list(first.parameters())
    assert first[0].weight.shape == (3, 2) and first[1].running_mean.shape == (3,)
    assert first(tt.ones(4, 2, device="meta")).shape == (4, 3)
    assert not replicate(network, ["meta"], detach=True)[0][0].weight.requires_grad
    assert replicate(network, []) == []
