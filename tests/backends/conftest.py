"""What compares kernels with PyTorch's: on the CPU, and on the device `strict` of array-api-strict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tt
from tests.backends.strict_device import strict_device


@pytest.fixture(scope="session")
def strict() -> Iterator[tt.device]:
    """The device whose arrays are those of array-api-strict."""
    with strict_device() as device:
        yield device
