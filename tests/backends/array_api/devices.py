"""Devices over array libraries, for the length of a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import tt
from tt.backends.array_api import ArrayApiBackend
from tt.core.library import REGISTRY


@contextlib.contextmanager
def device(namespace: Any, name: str, devices: Any = None, **options: Any) -> Iterator[ArrayApiBackend]:
    """Bring a device for a while."""
    tt.ones(1)  # the plugins are there before the test's own device
    backend = ArrayApiBackend(namespace, name, devices, **options)
    with contextlib.ExitStack() as stack:
        stack.callback(REGISTRY.add_backend(backend).remove)
        stack.callback(REGISTRY.add(backend.kernels()).remove)
        yield backend


@contextlib.contextmanager
def strict_flags(**flags: Any) -> Iterator[Any]:
    """Return array_api_strict with some of its flags set."""
    strict = pytest.importorskip("array_api_strict")
    with strict.ArrayAPIStrictFlags(**flags):
        yield strict
