"""Optimizers on devices whose arrays cannot change, and have no views of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.backends.strict_device import strict_device

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.1},
    "Adamax": {"lr": 0.1},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "RMSprop": {"lr": 0.1, "momentum": 0.5, "centered": True},
    "Rprop": {"lr": 0.1},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {"lr": 0.5},
    "ASGD": {"lr": 0.1},
    "LBFGS": {"lr": 0.1, "max_iter": 3},
}


def trained(name: str, device: Any, **options: Any) -> np.ndarray[Any, Any]:
    """Return a complex parameter after three steps."""
    weight = tt.nn.Parameter(tt.tensor([1.0 + 0.5j, -2.0j], dtype=tt.complex64, device=device))
    optimizer = getattr(tt.optim, name)([weight], **OPTIMIZERS[name], **options)

    def loss() -> tt.Tensor:
        optimizer.zero_grad()
        value = ((weight * (1 + 2j) - 3).abs() ** 2).sum()
        value.backward()
        return value

    for _ in range(3):
        optimizer.step(loss)
    return weight.detach().cpu().numpy()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_complex_parameters_are_trained_as_on_the_cpu(name: str) -> None:
    forms: list[dict[str, Any]] = [{}] if name == "LBFGS" else [{"foreach": False}, {"foreach": True}]
    with strict_device() as device:
        for options in forms:
            expected = trained(name, "cpu", **options)
            assert not np.allclose(expected, [1.0 + 0.5j, -2.0j])
            np.testing.assert_allclose(trained(name, device, **options), expected, rtol=1e-4, atol=1e-5)
