"""Distributions on a device over another array library: the CPU's numbers, samples and gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tests.api.distributions.cases import CASES, Case, _made, make_tt, numbers
from tests.backends.array_api.devices import device

NAME = "distributionsdevice"


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    strict = pytest.importorskip("array_api_strict")
    with device(strict, NAME):
        yield NAME


def make_there(case: Case, name: str) -> tuple[Any, list[Any]]:
    leaves: list[Any] = []

    def tensor(values: Any) -> Any:
        leaves.append(tt.tensor(values, dtype=tt.float64, device=name, requires_grad=True))
        return leaves[-1]

    return getattr(tt.distributions, case.name)(**_made(case, tt.distributions, tensor)), leaves


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "case", [c for c in CASES if "loc" not in c.parameters or c.parameters["loc"] != 0.5], ids=repr
)
def test_a_distribution_computes_there_as_on_the_cpu(case, other):
    here = make_tt(case)[0]
    there, leaves = make_there(case, other)
    tt.manual_seed(1)
    expected = here.sample((3,))
    tt.manual_seed(1)
    found = there.rsample((3,)) if there.has_rsample else there.sample((3,))
    assert found.device.type == other
    np.testing.assert_allclose(numbers(found.to("cpu")), numbers(expected), rtol=1e-6, atol=1e-9)
    density = there.log_prob(expected.to(other))
    np.testing.assert_allclose(
        numbers(density.to("cpu")), numbers(here.log_prob(expected)), rtol=1e-9, atol=1e-10
    )
    if density.requires_grad:
        density.sum().backward()
        assert all(leaf.grad is not None and leaf.grad.device.type == other for leaf in leaves)
    try:
        entropy = here.entropy()
    except NotImplementedError:
        return
    np.testing.assert_allclose(numbers(there.entropy().to("cpu")), numbers(entropy), rtol=1e-9, atol=1e-10)
