"""A device for the checks to find fault with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tt
from tt.core.library import REGISTRY


@pytest.fixture
def frozen() -> Iterator[str]:
    """A device whose arrays can neither change nor share memory."""
    strict = pytest.importorskip("array_api_strict")
    from tt.library import ArrayApiBackend

    tt.ones(1)
    backend = ArrayApiBackend(strict, "frozen")
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    yield "frozen"
    for handle in reversed(handles):
        handle.remove()
