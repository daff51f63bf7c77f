"""Programs that run on arrays of the standard alone; those that the CPU runs too are in `tests/backends/cpu`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tt
from tests.backends.strict_device import run_same_on


@pytest.fixture
def device(strict: tt.device) -> tt.device:
    """The device whose arrays are those of array-api-strict."""
    return strict


@pytest.fixture
def same(strict: tt.device) -> Callable[..., None]:
    """Return what runs a program with PyTorch and with tt on the device, and compares."""
    pytest.importorskip("torch")
    return run_same_on(strict)
