"""Which accelerator a machine has, and programs where there is none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import tt
from tt.core.dispatch.registry import accelerators
from tt.core.library import REGISTRY
from tt.errors import DeviceError


def test_without_an_accelerator_programs_get_none_and_the_cpu(monkeypatch) -> None:
    monkeypatch.setattr(accelerators, "_declared", list)
    assert tt.accelerator.current_accelerator() is None
    assert not tt.accelerator.is_available() and tt.accelerator.device_count() == 0
    assert tt.get_device_module() is tt.cpu and tt.Stream().device == tt.device("cpu")
    with pytest.raises(DeviceError, match="no accelerator is installed: no plugin provides one"):
        tt.accelerator.synchronize()


def test_a_backend_that_declares_no_accelerator_is_never_chosen() -> None:
    from tt.library import ArrayApiBackend

    before = tt.accelerator.current_accelerator(), tt.get_device_module()
    with contextlib.ExitStack() as stack:
        stack.callback(REGISTRY.add_backend(ArrayApiBackend(np, "modest")).remove)
        assert (tt.accelerator.current_accelerator(), tt.get_device_module()) == before
